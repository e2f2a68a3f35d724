"""Clusters that a test may break: a data directory of its own, and Fairturns in processes of their own."""

import asyncio
import concurrent.futures
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from fairturn.stores.postgres import embedded

# What a power cut would do is PostgreSQL's business; without fsync a start takes a third of the time.
QUICK = {"fsync": "off"}

_FAIRTURN = """
import asyncio, sys
from pathlib import Path
from fairturn.stores.postgres import embedded

async def main():
    server = await embedded.start(Path(sys.argv[1]), settings={"fsync": "off"})
    print(server.pid, server.dsn, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@dataclass
class Fairturn:
    """A process that has started a server and holds its lock."""

    process: subprocess.Popen[str]
    server_pid: int
    dsn: str

    def kill(self, number: int = signal.SIGKILL) -> str:
        """Signal its whole group, as a terminal does, and wait. What it printed since."""
        os.killpg(self.process.pid, number)
        return self.process.communicate()[0]  # ends only when nobody holds the pipe any more


@pytest.fixture
async def fresh(tmp_path: Path) -> AsyncIterator[Path]:
    """A folder for data, below pytest's own 0700 one: for root, one that the server's account cannot reach."""
    folder = tmp_path / "data"
    yield folder
    await embedded.discard(folder)


@pytest.fixture
async def reachable() -> AsyncIterator[Path]:
    """A folder for data that every account can reach."""
    parent = Path(tempfile.mkdtemp(prefix="ft-"))
    parent.chmod(0o755)
    yield parent / "data"
    await embedded.discard(parent / "data")
    shutil.rmtree(parent)


@pytest.fixture(scope="session")
def stopped_cluster() -> Iterator[Path]:
    """A cluster that was started once and stopped; copied in a tenth of initdb's time."""
    parent = Path(tempfile.mkdtemp(prefix="ft-"))
    parent.chmod(0o755)

    async def make() -> None:
        server = await embedded.start(parent / "data", settings=QUICK)
        await server.stop()

    with concurrent.futures.ThreadPoolExecutor(1) as thread:  # a loop of its own, away from pytest-asyncio's
        thread.submit(lambda: asyncio.run(make())).result()
    yield parent / "data"
    shutil.rmtree(parent)


@pytest.fixture
def data(reachable: Path, stopped_cluster: Path) -> Path:
    """A data directory with a cluster in it."""
    subprocess.run(["cp", "-a", stopped_cluster, reachable], check=True)
    return reachable


@pytest.fixture
def fairturn() -> Iterator[Callable[[Path], Fairturn]]:
    """Start another Fairturn on a data directory."""
    started: list[subprocess.Popen[str]] = []

    def begin(folder: Path) -> Fairturn:
        process = subprocess.Popen(
            [sys.executable, "-c", _FAIRTURN, str(folder)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        pid, _, dsn = line.strip().partition(" ")
        assert pid.isdigit(), line + process.stdout.read()
        return Fairturn(process, int(pid), dsn)

    yield begin
    for process in started:
        if process.poll() is None:
            process.kill()
            process.communicate()
