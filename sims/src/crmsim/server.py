"""The process: a socket, uvicorn on plain asyncio (resets need its transports), a ready line, a quiet end."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import threading
from collections.abc import Generator

import uvicorn

from crmsim.app import CONTROL, application
from crmsim.options import Options
from crmsim.wire import SimProtocol

PATIENCE = 1  # seconds that requests in work have to end on SIGTERM


class _Server(uvicorn.Server):
    """uvicorn, but a SIGTERM ends the process with exit code 0, and the ready line comes when it listens."""

    ready_line: str = ""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        yield

    def stop(self) -> None:
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        print(self.ready_line, flush=True)


def serve(options: Options, host: str, port: int, *, exit_with_parent: bool) -> None:
    """Run until SIGTERM or SIGINT, or until stdin closes. OSError: the port is taken; ValueError: as `build`."""
    app = application(options)
    listener = _listen(host, port)
    config = uvicorn.Config(
        app,
        loop="asyncio",
        http=SimProtocol,
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=PATIENCE,
        server_header=False,
    )
    server = _Server(config)
    server.ready_line = ready_line(host, listener.getsockname()[1])
    asyncio.run(_run(server, listener, exit_with_parent=exit_with_parent))


def _listen(host: str, port: int) -> socket.socket:
    """asyncio sets TCP_NODELAY only where the protocol is named: without it every answer waits 40 ms for an ACK."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    listener.listen(512)
    return listener


def ready_line(host: str, port: int) -> str:
    shown = f"[{host}]" if ":" in host else host
    base = f"http://{shown}:{port}"
    return json.dumps(
        {
            "ready": True,
            "pid": os.getpid(),
            "ports": {"salesforce": port},
            "salesforce": base,
            "control": base + CONTROL,
        }
    )


async def _run(server: _Server, listener: socket.socket, *, exit_with_parent: bool) -> None:
    if exit_with_parent:
        loop = asyncio.get_running_loop()
        threading.Thread(target=_watch_stdin, args=(loop, server), daemon=True).start()
    await server.serve(sockets=[listener])


def _watch_stdin(loop: asyncio.AbstractEventLoop, server: _Server) -> None:
    """A parent that dies closes our stdin, whatever killed it."""
    with contextlib.suppress(OSError, RuntimeError):
        while os.read(0, 4096):
            pass
        loop.call_soon_threadsafe(server.stop)
