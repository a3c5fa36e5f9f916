"""Connections to public addresses only, whatever a link, a redirect or a name server says."""

from __future__ import annotations

import ipaddress
import socket
import threading
from contextlib import suppress
from typing import Any

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.util.connection import create_connection

from mascot.bench.prepare.outcomes import Loss

_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def is_public(text: str) -> bool:
    """Return whether an IP address is on the public internet, and so is every IPv4 address inside an IPv6 one.

    >>> is_public("93.184.216.34"), is_public("169.254.169.254"), is_public("::ffff:10.0.0.1")
    (True, False, False)
    """
    address = ipaddress.ip_address(text.partition("%")[0])
    addresses: list[Any] = [address]
    if isinstance(address, ipaddress.IPv6Address):
        nat64 = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else None
        addresses += [address.ipv4_mapped, address.sixtofour, *(address.teredo or ()), nat64]
    return all(each.is_global and not each.is_multicast for each in addresses if each is not None)


def resolve(host: str, allow_private: bool) -> list[str]:
    """Return the addresses of a host; raise `Loss` if any of them is not public, `socket.gaierror` if there is none."""
    entries = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in entries))
    for address in addresses:
        if not allow_private and not is_public(address):
            raise Loss("private address", f"{host} is {address}", f"//{host}")
    return addresses


def pool_classes(patience: float, allow_private: bool) -> dict[str, Any]:
    """Return urllib3's pools by scheme, with connections that check addresses and limit the time of a header."""

    class Checked:
        def _new_conn(self: Any) -> socket.socket:
            failure = OSError(f"{self.host} has no address")
            for address in resolve(self.host, allow_private):  # the address that was checked, not the name
                try:
                    return create_connection((address, self.port), self.timeout, None, self.socket_options)
                except OSError as error:
                    failure = error
            raise failure

        def getresponse(self: Any) -> Any:
            timer = threading.Timer(patience, _shut, (self.sock,))  # a socket's own timeout starts anew with every byte
            timer.daemon = True
            timer.start()
            try:
                return super().getresponse()  # type: ignore[misc]
            finally:
                timer.cancel()

    kinds = {"http": (HTTPConnectionPool, HTTPConnection), "https": (HTTPSConnectionPool, HTTPSConnection)}
    return {
        scheme: type("CheckedPool", (pool,), {"ConnectionCls": type("CheckedConnection", (Checked, connection), {})})
        for scheme, (pool, connection) in kinds.items()
    }


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):
        socket.socket.shutdown(connection, socket.SHUT_RDWR)  # below TLS, which another thread may still be reading
