"""The running server: whether postmaster.pid tells the truth, and pg_ctl."""

from __future__ import annotations

import asyncio
import contextlib
import enum
import os
import platform
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import asyncpg

from fairturn.stores.postgres.server.account import Account
from fairturn.stores.postgres.server.places import Places, is_private

USER = "fairturn"
DATABASE = "fairturn"
_PATIENCE = 5.0  # seconds for one connection; a server that is stopped (SIGSTOP) accepts and says nothing


class Answer(enum.Enum):
    """What came through the socket."""

    OURS = "ours"  # a server, on our data
    BUSY = "busy"  # a server that starts, recovers, stops, or is too slow to say
    SILENT = "silent"  # nobody, or somebody else's


@dataclass(frozen=True, slots=True)
class PidFile:
    """postmaster.pid (PostgreSQL: src/include/utils/pidfile.h): lines appear one after the other while it starts."""

    pid: int
    port: int | None
    socket_dir: Path | None
    status: str  # starting, ready, stopping, standby; "" while not yet written

    def dsn(self, database: str = DATABASE) -> str | None:
        if self.socket_dir is None or self.port is None:
            return None
        return f"postgresql://{USER}@/{database}?host={quote(str(self.socket_dir))}&port={self.port}"


def read_pid_file(pgdata: Path) -> PidFile | None:
    """The file as it stands, or None if there is none (or nothing that could be one)."""
    try:
        lines = (pgdata / "postmaster.pid").read_text(errors="replace").split("\n")
    except FileNotFoundError:
        return None
    lines += [""] * 8
    if not lines[0].strip().isdigit():
        return None
    port = lines[3].strip()
    folder = lines[4].strip()
    return PidFile(
        int(lines[0]),
        int(port) if port.isdigit() else None,
        Path(folder) if folder.startswith("/") else None,
        lines[7].strip(),
    )


def is_postmaster(pid: int, pgdata: Path) -> bool:
    """Whether the process runs `postgres -D <pgdata>`. Pids are reused; a zombie has no command line."""
    if platform.system() == "Linux":
        # Readable for all, unlike cwd and exe, which root in a container may not read of another account.
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return False
        return words[0].endswith(b"postgres") and os.fsencode(pgdata) in words
    # No shell, and the one argument of ours is a whole number.
    # macOS and the BSDs. No shell, nothing from outside but a number.
    ps = subprocess.run(["/bin/ps", "-ww", "-o", "args=", "-p", str(pid)], capture_output=True, check=False)  # noqa: S603
    line = ps.stdout.strip() + b" "
    return line.split(b" -D ")[0].endswith(b"postgres") and b" -D " + os.fsencode(pgdata) + b" " in line


async def ask(places: Places, file: PidFile, patience: float = _PATIENCE) -> Answer:
    """Connect through the socket that the file names, and let the server say whose data it serves."""
    dsn = file.dsn("postgres")
    if dsn is None or file.socket_dir is None or not is_private(file.socket_dir, places.account):
        return Answer.SILENT
    try:
        connection = await asyncpg.connect(dsn, timeout=min(patience, _PATIENCE))
    except asyncpg.CannotConnectNowError:  # 57P03: starting up, recovering, shutting down
        return Answer.BUSY
    except asyncpg.TooManyConnectionsError:
        return Answer.OURS  # the folder is private to our account, and named for these data
    except TimeoutError:
        return Answer.BUSY
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        return Answer.SILENT
    try:
        served = await connection.fetchval("SHOW data_directory", timeout=min(patience, _PATIENCE))
    except (TimeoutError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        return Answer.BUSY
    finally:
        connection.terminate()
    same = os.path.realpath(served) == os.path.realpath(places.pgdata)
    return Answer.OURS if same else Answer.SILENT


async def run(account: Account, argv: Sequence[str], timeout: float) -> tuple[int, str]:
    """Run one of PostgreSQL's programs to its end: exit code and what it printed. Cancelled, or late: killed.

    A thread waits, because uvloop cannot start a process as another user.
    """
    with tempfile.TemporaryFile() as output:  # a pipe would stay open as long as the daemon has it
        process = account.spawn(argv, output)
        try:
            code = await asyncio.to_thread(process.wait, timeout)
        except subprocess.TimeoutExpired:
            code = -1
        finally:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                process.wait()
        output.seek(0)
        return code, output.read().decode(errors="replace").strip()
