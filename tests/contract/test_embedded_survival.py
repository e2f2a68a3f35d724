"""PostgreSQL of our own, when something is killed: Fairturn, the server, the socket, the truth of postmaster.pid."""

import asyncio
import os
import platform
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import asyncpg
import pytest

from fairturn.errors import StoreUnavailable
from fairturn.stores.postgres import embedded
from fairturn.stores.postgres.server import places, postmaster

# What a power cut would do is PostgreSQL's business; without fsync a start takes a third of the time.
QUICK = {"fsync": "off"}


async def ask(dsn: str, sql: str) -> object:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(sql)
    finally:
        await connection.close()


def found(data: Path) -> places.Places:
    there = places.existing(data.resolve())
    assert there is not None
    return there


def sleeper(data: Path) -> subprocess.Popen[bytes]:
    """A program of the server's own account: PostgreSQL itself would take its pid for a postmaster's."""
    return found(data).account.spawn(["/bin/sleep", "600"], subprocess.DEVNULL)


async def test_the_server_survives_kill_9_and_the_next_fairturn_stops_it(data: Path, fairturn: Callable):
    first = fairturn(data)
    await ask(first.dsn, "CREATE TABLE mark AS SELECT 7 AS n")
    first.kill()
    assert await ask(first.dsn, "SELECT n FROM mark") == 7
    orphan = await embedded.status(data)
    assert (orphan.state, orphan.holder, orphan.pid) == ("running", None, first.server_pid)
    second = await embedded.start(data, settings=QUICK)
    assert second.pid == first.server_pid
    assert second.owns
    assert await ask(second.dsn, "SELECT n FROM mark") == 7
    await second.stop()
    assert not postmaster.is_postmaster(first.server_pid, found(data).pgdata)


async def test_ctrl_c_in_the_terminal_does_not_reach_the_server(data: Path, fairturn: Callable):
    first = fairturn(data)
    assert os.getsid(first.server_pid) != os.getsid(first.process.pid)
    first.kill(signal.SIGINT)
    assert await ask(first.dsn, "SELECT 1") == 1
    assert await embedded.stop(data)
    assert (await embedded.status(data)).state == "stopped"


async def test_pipes_of_a_killed_fairturn_close_while_the_server_runs(data: Path, fairturn: Callable):
    first = fairturn(data)
    assert await asyncio.to_thread(first.kill) == ""
    assert await ask(first.dsn, "SELECT 1") == 1


async def test_found_again_with_other_settings_it_is_started_anew(data: Path, fairturn: Callable):
    first = fairturn(data)
    first.kill()
    second = await embedded.start(data, settings=QUICK | {"max_connections": "50"})
    assert second.pid != first.server_pid
    assert await ask(second.dsn, "SHOW max_connections") == "50"
    await second.stop()


async def test_a_killed_server_recovers_at_the_next_start(data: Path):
    first = await embedded.start(data, settings=QUICK)
    await ask(first.dsn, "CREATE TABLE mark AS SELECT 7 AS n")
    os.kill(first.pid, signal.SIGKILL)
    await first.stop()  # there is nothing left to stop; the lock is free
    assert (found(data).pgdata / "postmaster.pid").exists()
    second = await embedded.start(data, settings=QUICK)
    assert second.pid != first.pid
    assert await ask(second.dsn, "SELECT n FROM mark") == 7
    await second.stop()


async def test_a_backend_that_outlives_its_killed_server_is_waited_for(data: Path):
    """A busy backend looks for its postmaster only when it waits; until it is gone PostgreSQL refuses to start."""
    first = await embedded.start(data, settings=QUICK)
    connection = await asyncpg.connect(first.dsn)
    await connection.execute("SET client_connection_check_interval = 0")
    busy = asyncio.create_task(connection.fetchval("SELECT count(*) FROM generate_series(1, 10000000)"))
    while await ask(first.dsn, "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%generate%'") != 2:  # and us
        pass
    os.kill(first.pid, signal.SIGKILL)
    await first.stop()
    second = await embedded.start(data, settings=QUICK)
    assert await ask(second.dsn, "SELECT 1") == 1
    await second.stop()
    await asyncio.gather(busy, return_exceptions=True)
    connection.terminate()


@pytest.mark.parametrize("whose", ["gone", "of another program"])
async def test_a_pid_file_that_lies_is_not_believed(data: Path, whose: str):
    """As after a power cut: postmaster.pid and the socket's lock file are there, and somebody may have the pid."""
    server = await embedded.start(data, settings=QUICK)
    os.kill(server.pid, signal.SIGKILL)
    await server.stop()
    other = sleeper(data)
    try:
        if whose == "gone":
            other.kill()
            other.wait()
        left = [found(data).pgdata / "postmaster.pid", found(data).home / "run" / ".s.PGSQL.5432.lock"]
        for file in left:
            file.write_text(file.read_text().replace(str(server.pid), str(other.pid), 1))
        assert (await embedded.status(data)).state == "stopped"
        assert not await embedded.stop(data)
        again = await embedded.start(data, settings=QUICK)
        assert again.pid != other.pid
        assert await ask(again.dsn, "SELECT 1") == 1
        await again.stop()
        assert whose == "gone" or other.poll() is None
    finally:
        other.kill()
        other.wait()


async def test_a_pid_file_that_makes_no_sense_is_removed(data: Path):
    for text in ("", "not a number\n", "999999999999\n"):
        (found(data).pgdata / "postmaster.pid").write_text(text)
        server = await embedded.start(data, settings=QUICK)
        assert await ask(server.dsn, "SELECT 1") == 1
        await server.stop()


@pytest.mark.parametrize("system", ["Linux", "Darwin"])
async def test_a_postmaster_is_known_by_its_command_line(data: Path, system: str, monkeypatch: pytest.MonkeyPatch):
    if platform.system() != "Linux" and system == "Linux":
        pytest.skip("/proc is Linux's")
    server = await embedded.start(data, settings=QUICK)
    other = sleeper(data)
    monkeypatch.setattr(platform, "system", lambda: system)
    pgdata = found(data).pgdata
    assert postmaster.is_postmaster(server.pid, pgdata)
    assert not postmaster.is_postmaster(server.pid, pgdata.with_name("pgdat"))
    assert not postmaster.is_postmaster(other.pid, pgdata)
    other.kill()
    assert not postmaster.is_postmaster(other.pid, pgdata)  # a zombie
    other.wait()
    assert not postmaster.is_postmaster(other.pid, pgdata)
    await server.stop()


async def test_a_server_whose_socket_was_removed_is_replaced(data: Path, fairturn: Callable):
    first = fairturn(data)
    await ask(first.dsn, "CREATE TABLE mark AS SELECT 7 AS n")
    first.kill()
    (found(data).home / "run" / ".s.PGSQL.5432").unlink()
    second = await embedded.start(data, settings=QUICK)
    assert second.pid != first.server_pid
    assert await ask(second.dsn, "SELECT n FROM mark") == 7
    await second.stop()


async def test_a_server_that_does_not_answer_is_waited_for_and_never_doubled(data: Path, fairturn: Callable):
    first = fairturn(data)
    first.kill()
    os.kill(first.server_pid, signal.SIGSTOP)
    try:
        assert (await embedded.status(data)).state == "busy"
        with pytest.raises(StoreUnavailable, match=f"process {first.server_pid}"):
            await embedded.start(data, settings=QUICK, timeout=1)
    finally:
        os.kill(first.server_pid, signal.SIGCONT)
    second = await embedded.start(data, settings=QUICK)
    assert second.pid == first.server_pid
    await second.stop()


async def test_a_long_recovery_goes_on_after_the_deadline_and_the_next_start_waits_for_it(data: Path):
    signal_file = found(data).pgdata / "recovery.signal"
    signal_file.touch()
    found(data).account.give(signal_file)
    slow = QUICK | {"restore_command": "sleep 1; false", "hot_standby": "off"}  # asked for several files, one by one
    with pytest.raises(StoreUnavailable, match="start again in a while"):
        await embedded.start(data, settings=slow, timeout=1)
    recovering = await embedded.status(data)
    assert (recovering.state, recovering.holder) == ("busy", None)
    server = await embedded.start(data, settings=slow)
    assert server.pid == recovering.pid
    assert await ask(server.dsn, "SELECT pg_is_in_recovery()") is False
    await server.stop()
