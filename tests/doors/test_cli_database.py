"""Commands and the embedded database: they start it when nobody runs it, and leave it as they found it."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from fairturn.assemble.database import find, reached
from fairturn.assemble.operator import operator
from fairturn.errors import StoreUnavailable
from fairturn.stores.postgres import embedded
from tests.flow.world import config


@pytest.fixture
async def settings(tmp_path: Path) -> AsyncIterator[Path]:
    """Settings whose database is in a folder of the test's own, which is not there yet."""
    file = tmp_path / "fairturn.toml"
    file.write_text(f'data = "{tmp_path}/data"\n{config()}')
    yield file
    await embedded.discard(tmp_path / "data")


def fairturn(*words: str, file: Path) -> subprocess.CompletedProcess[str]:
    """The console script's process, as a person runs it."""
    command = [sys.executable, "-m", "fairturn", *words, "--config", str(file)]
    return subprocess.run(command, text=True, capture_output=True, check=False, timeout=100)


async def test_a_command_starts_the_database_and_stops_it(settings: Path):
    missing = await asyncio.to_thread(fairturn, "audit", file=settings)
    assert missing.returncode == 3
    assert "There is no database" in missing.stderr
    assert not (settings.parent / "data").exists()  # a question makes nothing
    assert (await asyncio.to_thread(fairturn, "db", "migrate", file=settings)).returncode == 0
    assert (await embedded.status(settings.parent / "data")).state == "stopped"
    found = await asyncio.to_thread(fairturn, "audit", "--json", file=settings)
    assert (found.returncode, '"ok": true' in found.stdout) == (0, True), found.stderr
    assert (await embedded.status(settings.parent / "data")).state == "stopped"


async def test_a_database_that_runs_is_left_running(settings: Path):
    server = await embedded.start(settings.parent / "data")
    async with reached(find(settings, {}).place) as dsn:
        assert dsn == server.dsn
    assert (await embedded.status(settings.parent / "data")).pid == server.pid
    behind = await asyncio.to_thread(fairturn, "audit", file=settings)
    assert behind.returncode == 3
    assert "fairturn db migrate" in behind.stderr
    await server.stop()


async def refused(dsn: str) -> None:
    """Returns once no further connection is let in."""
    with contextlib.suppress(asyncpg.CannotConnectNowError, OSError):
        while True:
            await (await asyncpg.connect(dsn)).close()


async def test_two_commands_at_once_share_it(settings: Path):
    """The second attaches to what the first started, and is not cut off when the first ends."""
    place = find(settings, {}).place
    first = reached(place, create=True)
    dsn = await first.__aenter__()
    async with reached(place) as attached:
        assert attached == dsn
        connection = await asyncpg.connect(attached)
        ending = asyncio.create_task(first.__aexit__(None, None, None))
        await refused(dsn)  # it has begun to stop
        assert await connection.fetchval("select 1") == 1
        await connection.close()
    await ending
    assert (await embedded.status(settings.parent / "data")).state == "stopped"


async def test_settings_with_a_fault_still_say_where_the_database_is(settings: Path):
    """At night somebody must pause a rep; the typing error in a rule waits until the morning."""
    settings.write_text(settings.read_text() + '\n[[rules]]\nid = "late"\nwhen = "lead.contry == 1"\npool = "nope"\n')
    async with reached(find(settings, {}).place, create=True):
        pass
    await asyncio.to_thread(fairturn, "db", "migrate", file=settings)
    said = await asyncio.to_thread(fairturn, "history", file=settings)
    assert said.returncode == 0
    assert "does not stand" in said.stderr
    settings.write_text("data = \n")
    said = await asyncio.to_thread(fairturn, "history", file=settings)
    assert said.returncode == 2
    assert "Traceback" not in said.stderr


async def test_a_password_is_in_no_message(tmp_path: Path):
    """Case 123: nobody listens there, and the error names the trouble, not the secret."""
    file = tmp_path / "fairturn.toml"
    file.write_text(f'database_url = "env:DB"\n{config()}')
    url = {"DB": "postgresql://fairturn:SECRET123@127.0.0.1:1/fairturn"}
    with pytest.raises(StoreUnavailable) as caught:
        async with operator(file, url):
            pass
    assert "SECRET123" not in str(caught.value)
    assert "SECRET123" not in repr(find(file, url).place)
    said = await asyncio.to_thread(fairturn, "audit", file=file)
    assert said.returncode == 2
    assert "the environment has no DB" in said.stderr
