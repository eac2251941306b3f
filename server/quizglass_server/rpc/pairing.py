"""PairingService: convert, call, convert."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from quizglass.v1 import pairing_pb2, pairing_pb2_grpc
from quizglass_server.domain import checks
from quizglass_server.errors import InvalidInput, Stopping
from quizglass_server.network.login import current_login
from quizglass_server.network.network import Network
from quizglass_server.network.pairing import VALID, PublicAddress, own_authority, qr_svg
from quizglass_server.network.permissions import Permission
from quizglass_server.rpc.transport.guard import Context, Guard, to_its_end

_LONGEST_S = 100 * 366 * 86_400


class PairingServicer(pairing_pb2_grpc.PairingServiceServicer):
    """Gives tokens to devices for codes."""

    def __init__(self, network: Network, guard: Guard) -> None:
        self._network = network
        self._guard = guard

    async def CreatePairing(
        self, request: pairing_pb2.CreatePairingRequest, context: Context
    ) -> pairing_pb2.CreatePairingResponse:
        """A code for a device."""
        async with self._guard(context, "CreatePairing"):
            may = _permissions(request.may)
            place = self._place()
            place.link("", request.page)  # refused before there is a code
            seconds = checks.within(request.expires_after_s, 0, _LONGEST_S, "expires_after_s")
            expires = (datetime.now(UTC) + timedelta(seconds=seconds)).replace(microsecond=0) if seconds else None
            creating = self._network.pairings.create(request.name, may, expires, current_login())
            code = await to_its_end(creating)
            link = place.link(code, request.page)
            valid_s = round(VALID.total_seconds())
            return pairing_pb2.CreatePairingResponse(code=code, link=link, qr_svg=qr_svg(link), valid_s=valid_s)

    async def RedeemPairing(
        self, request: pairing_pb2.RedeemPairingRequest, context: Context
    ) -> pairing_pb2.RedeemPairingResponse:
        """The token for a code."""
        async with self._guard(context, "RedeemPairing"):
            text, token = await to_its_end(self._network.pairings.redeem(request.code))
            tls = self._network.tls
            return pairing_pb2.RedeemPairingResponse(
                token=text,
                name=token.name,
                may=sorted(token.may),
                expires=0 if token.expires is None else int(token.expires.timestamp()),
                authority="" if tls is None else own_authority(tls.current.chain),
            )

    def _place(self) -> PublicAddress:
        if self._network.place is None:
            raise Stopping
        tls = self._network.tls
        return replace(self._network.place, chain=None if tls is None else tls.current.chain)


def _permissions(names: Iterable[str]) -> frozenset[Permission]:
    may = set()
    for at, name in enumerate(names):
        if name not in list(Permission):
            raise InvalidInput(f"may[{at}]", f"{name[:80]!r} is none of {', '.join(Permission)}")
        may.add(Permission(name))
    if not may:
        raise InvalidInput("may", f"names nothing that the device may do: {', '.join(Permission)}")
    return frozenset(may)
