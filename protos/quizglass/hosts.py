"""Names and addresses of machines."""

from __future__ import annotations

import ipaddress


def is_loopback(host: str) -> bool:
    """Whether a host, by its name or IP address, is this machine and no other can reach it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def host_and_port(host: str, port: int) -> str:
    """Both as addresses have them: "127.0.0.1:50061", "[::1]:50061"."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
