"""The process: sockets, uvicorn on plain asyncio (resets need its transports), a ready line, a quiet end."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from crmsim.app import applications
from crmsim.certificate import Certificate, certificate
from crmsim.options import Doors, Setup
from crmsim.panel import CONTROL
from crmsim.wire import SimProtocol

PATIENCE = 1  # seconds that requests in work have to end on SIGTERM


@dataclass(frozen=True, slots=True)
class Listener:
    """One socket: `name` is the CRM's, with `_https` where it speaks TLS."""

    name: str
    app: ASGIApp
    socket: socket.socket
    certificate: Certificate | None

    @property
    def port(self) -> int:
        return int(self.socket.getsockname()[1])

    def url(self, host: str) -> str:
        shown = f"[{host}]" if ":" in host else host
        return f"{'https' if self.certificate else 'http'}://{shown}:{self.port}"


class _Server(uvicorn.Server):
    """uvicorn, but signals are the process's business: several servers end together, with exit code 0."""

    def __init__(self, config: uvicorn.Config, listening: Callable[[], None]) -> None:
        super().__init__(config)
        self.listening = listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.listening()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def serve(setup: Setup, doors: Doors, *, exit_with_parent: bool) -> None:
    """Run until SIGTERM or SIGINT, or until stdin closes. OSError: a port is taken; ValueError: as `applications`."""
    with tempfile.TemporaryDirectory(prefix="crmsim-") as folder:
        shown = None
        if doors.https:
            shown = certificate(doors.certificate or Path(folder), datetime.now(UTC), [doors.host])
        listeners = _listeners(setup, doors, shown)
        asyncio.run(_run(listeners, ready_line(listeners, doors.host), exit_with_parent=exit_with_parent))


def _listeners(setup: Setup, doors: Doors, shown: Certificate | None) -> list[Listener]:
    """Http, and https if asked for, of each CRM: both speak for one application, one state."""
    listeners = []
    for name, app in applications(setup).items():
        port, secure_port = doors.ports(name)
        listeners.append(Listener(name, app, _listen(doors.host, port), None))
        if shown is not None:
            listeners.append(Listener(f"{name}_https", app, _listen(doors.host, secure_port), shown))
    return listeners


def _listen(host: str, port: int) -> socket.socket:
    """asyncio sets TCP_NODELAY only where the protocol is named: without it every answer waits 40 ms for an ACK."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    listener.listen(512)
    return listener


def ready_line(listeners: Sequence[Listener], host: str) -> str:
    urls = {item.name: item.url(host) for item in listeners}
    ports = {item.name: item.port for item in listeners}
    line = {"ready": True, "pid": os.getpid(), "ports": ports, **urls, "control": urls["salesforce"] + CONTROL}
    if "hubspot" in urls:
        line["hubspot_control"] = urls["hubspot"] + CONTROL
    secure = next((item.certificate for item in listeners if item.certificate), None)
    if secure is not None:
        line["certificate"] = str(secure.authority)
    return json.dumps(line)


def _server(listener: Listener, listening: Callable[[], None]) -> _Server:
    shown = listener.certificate
    config = uvicorn.Config(
        listener.app,
        loop="asyncio",
        http=SimProtocol,
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=PATIENCE,
        server_header=False,
        ssl_certfile=shown.chain if shown else None,
        ssl_keyfile=shown.key if shown else None,
    )
    return _Server(config, listening)


async def _run(listeners: Sequence[Listener], ready: str, *, exit_with_parent: bool) -> None:
    silent = len(listeners)

    def listening() -> None:
        nonlocal silent
        silent -= 1
        if not silent:
            print(ready, flush=True)

    servers = [_server(listener, listening) for listener in listeners]

    def stop() -> None:
        for server in servers:
            server.should_exit = True

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    if exit_with_parent:
        threading.Thread(target=_watch_stdin, args=(loop, stop), daemon=True).start()
    await asyncio.gather(*(
        server.serve(sockets=[listener.socket]) for server, listener in zip(servers, listeners, strict=True)
    ))  # fmt: skip


def _watch_stdin(loop: asyncio.AbstractEventLoop, stop: Callable[[], None]) -> None:
    """A parent that dies closes our stdin, whatever killed it."""
    with contextlib.suppress(OSError, RuntimeError):
        while os.read(0, 4096):
            pass
        loop.call_soon_threadsafe(stop)
