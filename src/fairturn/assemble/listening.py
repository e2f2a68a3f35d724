"""The address at which webhooks come in."""

from __future__ import annotations

import errno
import os
import socket
from typing import Any

from fairturn.errors import NotServing

BACKLOG = 4096
REMEDY = "Name another with --host, or as server.host in the settings."


def listen(host: str, port: int) -> list[socket.socket]:
    """Sockets that listen on every address of `host`; port 0 = any. Raises NotServing, with what to do about it."""
    return _bound(host, port, BACKLOG)


def free(host: str, port: int) -> None:
    """Raises NotServing when somebody listens there: told before anything is started."""
    for one in _bound(host, port, None):
        one.close()


def _bound(host: str, port: int, backlog: int | None) -> list[socket.socket]:
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise NotServing(f"{host!r} is no address of this machine ({error}). {REMEDY}") from None
    bound: list[socket.socket] = []
    faults: list[OSError] = []
    for family, _, _, _, address in dict.fromkeys(found):
        try:
            bound.append(_one(family, address, backlog))
        except OSError as error:
            faults.append(error)
        if bound and not port:
            break  # two addresses would get two ports
    # "localhost" is ::1 too, on machines that have no IPv6: that one address is missing is no fault.
    serious = [fault for fault in faults if not bound or fault.errno not in {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}]
    if serious:
        for one in bound:
            one.close()
        raise NotServing(refusal(host, port, serious[0])) from None
    return bound


def _one(family: int, address: Any, backlog: int | None) -> socket.socket:
    one = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":  # a port whose last connections linger after our end is free
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        one.bind(address)
        if backlog is not None:
            one.listen(backlog)  # of two who bound it at one moment, one is refused here
    except OSError:
        one.close()
        raise
    return one


def refusal(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} on {host} is taken by another program, or by a Fairturn that runs already. Stop that one, or "
            "listen elsewhere: --port, or server.port in the settings."
        )
    if error.errno == errno.EACCES:
        return (
            f"Port {port} is not for everybody ({error.strerror}): those below 1024 belong to root. Listen on 8080 and "
            "let a proxy take 443."
        )
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{host} is no address of this machine. {REMEDY}"
    return f"Port {port} on {host} cannot be listened on ({error.strerror}). {REMEDY}"
