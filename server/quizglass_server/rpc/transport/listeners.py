"""Holds new connections of some addresses back where the system accepts them.

gRPC accepts whatever comes and has no hook before that. But its listening sockets are this process's, and Linux lets a
process filter what comes in over a socket of its own (a classic BPF program, `SO_ATTACH_FILTER`): the first packet of a
connection that is held back is dropped, and its client tries again after a second, as on a busy network. Connections
that are open are not touched.
"""

from __future__ import annotations

import ctypes
import os
import socket
import stat
import struct
from collections.abc import Collection
from contextlib import suppress
from ipaddress import IPv4Network, IPv6Network, ip_network

# Of Linux's headers; Python's socket module has none of them.
_ATTACH, _DETACH = 26, 27
_LOAD_BYTE, _LOAD_WORD, _SHIFT_RIGHT, _JUMP_IF_EQUAL, _RETURN = 0x30, 0x20, 0x74, 0x15, 0x06
_NETWORK_HEADER = -0x100000
_SOURCE_4, _SOURCE_6 = 12, 8
"""Where an address stands in the header of its protocol."""
_PASS, _DROP = 0xFFFFFFFF, 0
MOST = 64
"""Addresses that are held back at once: a jump reaches 255 instructions."""


class Listeners:
    """The sockets of this process that listen on a port; 0: none are known."""

    def __init__(self, port: int = 0) -> None:
        self.port = port
        self._held: frozenset[str] = frozenset()

    def hold_back(self, groups: Collection[str]) -> None:
        """Accept no new connections of these addresses and networks, and those of all others again.

        Does nothing where the system cannot.
        """
        held = frozenset(sorted(groups)[:MOST])
        if held == self._held or not self.port:
            return
        self._held = held
        program = _program([ip_network(group) for group in sorted(held)])
        for descriptor in map(int, os.listdir("/dev/fd")):  # noqa: PTH208  # seldom
            with suppress(OSError):  # closed meanwhile, or a system without filters
                if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                    self._filter(descriptor, program)

    def _filter(self, descriptor: int, program: bytes) -> None:
        there = socket.socket(fileno=descriptor)
        try:
            if there.family not in (socket.AF_INET, socket.AF_INET6) or there.getsockname()[1] != self.port:
                return
            if not there.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                return
            if not self._held:
                there.setsockopt(socket.SOL_SOCKET, _DETACH, 0)
                return
            kept = ctypes.create_string_buffer(program, len(program))
            where = struct.pack("HL", len(program) // 8, ctypes.addressof(kept))
            there.setsockopt(socket.SOL_SOCKET, _ATTACH, where)
        finally:
            there.detach()


def _program(networks: Collection[IPv4Network | IPv6Network]) -> bytes:
    """Drops packets of these networks, IPv4 addresses and IPv6 /64, and passes all others."""
    old = [int(each.network_address) for each in networks if isinstance(each, IPv4Network)]
    new = [int(each.network_address) >> 64 for each in networks if isinstance(each, IPv6Network)]
    end = 2 + 1 + 1 + len(old) + 1 + 4 * len(new)
    """Place of the instruction that passes; the one that drops follows it."""
    code: list[tuple[int, int, int, int]] = [
        (_LOAD_BYTE, 0, 0, _NETWORK_HEADER),
        (_SHIFT_RIGHT, 0, 0, 4),
        (_JUMP_IF_EQUAL, 0, len(old) + 2, 4),
        (_LOAD_WORD, 0, 0, _NETWORK_HEADER + _SOURCE_4),
    ]
    code += [(_JUMP_IF_EQUAL, end - len(code) - at, 0, address) for at, address in enumerate(old)]
    code.append((_RETURN, 0, 0, _PASS))
    for half in new:
        code.append((_LOAD_WORD, 0, 0, _NETWORK_HEADER + _SOURCE_6))
        code.append((_JUMP_IF_EQUAL, 0, 2, half >> 32))
        code.append((_LOAD_WORD, 0, 0, _NETWORK_HEADER + _SOURCE_6 + 4))
        code.append((_JUMP_IF_EQUAL, end - len(code), 0, half & 0xFFFFFFFF))
    code += [(_RETURN, 0, 0, _PASS), (_RETURN, 0, 0, _DROP)]
    return b"".join(struct.pack("HBBI", kind, yes, no, value & 0xFFFFFFFF) for kind, yes, no, value in code)
