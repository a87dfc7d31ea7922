"""Addresses of hosts."""

from __future__ import annotations

import ipaddress


def is_loopback(host: str) -> bool:
    """Whether a host, by name or address, is this machine itself, so that what is sent there crosses no network."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
