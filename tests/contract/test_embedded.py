"""PostgreSQL of our own: how it comes up, what it lets in, how it goes."""

import asyncio
import contextlib
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import asyncpg
import pytest

from fairturn.errors import DataInUse, StoreError, StoreUnavailable
from fairturn.stores.postgres import embedded
from fairturn.stores.postgres.server import binaries, places

# What a power cut would do is PostgreSQL's business; without fsync a start takes a third of the time.
QUICK = {"fsync": "off"}


async def ask(dsn: str, sql: str) -> object:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(sql)
    finally:
        await connection.close()


async def test_a_first_start_makes_a_database_and_a_second_finds_its_rows(fresh: Path):
    first = await embedded.start(fresh)
    assert first.owns
    await ask(first.dsn, "CREATE TABLE mark AS SELECT 7 AS n")
    await first.stop()
    await first.stop()  # again: nothing
    second = await embedded.start(fresh)
    assert await ask(second.dsn, "SELECT n FROM mark") == 7
    await second.stop()
    assert (await embedded.status(fresh)).state == "stopped"


async def test_text_is_utf8_and_its_order_that_of_code_points_on_every_system(data: Path):
    server = await embedded.start(data, settings=QUICK)
    assert await ask(server.dsn, "SHOW server_encoding") == "UTF8"
    names = "SELECT string_agg(n, '' ORDER BY n) FROM (VALUES ('b'), ('A'), ('a'), ('é'), ('B')) v(n)"
    assert await ask(server.dsn, names) == "ABabé"
    assert await ask(server.dsn, "SELECT upper('straßé')") == "STRASSÉ"[:4] + "ßÉ"
    assert await ask(server.dsn, "SHOW timezone") == "UTC"
    assert await ask(server.dsn, "SHOW max_connections") == "200"
    await server.stop()


async def test_the_only_door_is_a_socket_in_a_private_folder(data: Path):
    server = await embedded.start(data, settings=QUICK)
    assert await ask(server.dsn, "SHOW listen_addresses") == ""
    folder = Path(str(await ask(server.dsn, "SHOW unix_socket_directories")))
    assert stat.S_IMODE(folder.lstat().st_mode) == 0o700
    assert len(os.fsencode(folder / ".s.PGSQL.5432")) <= 103
    await server.stop()


async def test_libpq_and_child_processes_take_the_dsn(data: Path):
    server = await embedded.start(data, settings=QUICK)
    psql = binaries.installed().program("psql")
    done = await asyncio.to_thread(subprocess.run, [psql, "-XAtc", "SELECT 6*7", server.dsn], capture_output=True)
    assert (done.stdout, done.stderr) == (b"42\n", b"")
    await server.stop()


async def test_odd_and_long_paths(reachable: Path):
    """Commas, quotes and blanks part lists in PostgreSQL and asyncpg; a socket's path has 103 bytes."""
    for name in ("it's, a Käufer", "x" * 120):
        server = await embedded.start(reachable / name, settings=QUICK)
        assert await ask(server.dsn, "SELECT 1") == 1
        await server.stop()
        await embedded.discard(reachable / name)


async def test_a_path_that_pg_ctl_would_hand_to_the_shell_is_refused(reachable: Path):
    with pytest.raises(StoreError, match="Choose another folder"):
        await embedded.start(reachable / "$(touch x)")


async def test_a_second_fairturn_is_told_who_holds_the_data(data: Path, fairturn: Callable):
    other = fairturn(data)
    with pytest.raises(DataInUse, match=f"process {other.process.pid}"):
        await embedded.start(data, settings=QUICK)
    with pytest.raises(DataInUse, match=f"process {other.process.pid}"):
        await embedded.stop(data)
    found = await embedded.status(data)
    assert (found.state, found.holder, found.pid) == ("running", other.process.pid, other.server_pid)
    guest = await embedded.attach(data)
    assert not guest.owns
    assert await ask(guest.dsn, "SELECT 1") == 1
    with pytest.raises(StoreError, match="holds its lock"):
        await guest.stop()
    assert await ask(other.dsn, "SELECT 1") == 1


async def test_of_two_starts_at_once_one_wins(fresh: Path):
    results = await asyncio.gather(
        embedded.start(fresh, settings=QUICK), embedded.start(fresh, settings=QUICK), return_exceptions=True
    )
    won = [one for one in results if isinstance(one, embedded.Embedded)]
    lost = [one for one in results if isinstance(one, DataInUse)]
    assert (len(won), len(lost)) == (1, 1)
    assert str(os.getpid()) in str(lost[0])
    await won[0].stop()


async def test_status_and_stop_where_there_is_nothing(tmp_path: Path):
    assert (await embedded.status(tmp_path / "none")).state == "absent"
    assert not await embedded.stop(tmp_path / "none")
    assert not (tmp_path / "none").exists()
    with pytest.raises(StoreUnavailable, match="fairturn serve"):
        await embedded.attach(tmp_path / "none")


async def test_a_failed_start_shows_the_log_and_lets_go_of_the_data(data: Path):
    with pytest.raises(StoreError, match='invalid value for parameter "work_mem"'):
        await embedded.start(data, settings=QUICK | {"work_mem": "plenty"})
    with pytest.raises(StoreError, match="not a PostgreSQL setting"):
        await embedded.start(data, settings=QUICK | {"work mem": "1MB"})
    server = await embedded.start(data, settings=QUICK | {"work_mem": "5MB", "application_name": "it's \\ fine"})
    assert await ask(server.dsn, "SHOW work_mem") == "5MB"
    await server.stop()


async def test_a_log_of_another_day_stays_out_of_the_error(data: Path):
    server = await embedded.start(data, settings=QUICK)
    with pytest.raises(asyncpg.PostgresError):
        await ask(server.dsn, "SELECT 'jane@acme.com'::integer")
    await server.stop()
    with pytest.raises(StoreError) as failed:
        await embedded.start(data, settings=QUICK | {"work_mem": "plenty"})
    assert "jane" not in str(failed.value)


async def test_the_server_logs_no_statement_and_no_key(data: Path):
    server = await embedded.start(data, settings=QUICK)
    await ask(server.dsn, "CREATE TABLE lead (email text PRIMARY KEY)")
    for _ in range(2):
        with contextlib.suppress(asyncpg.UniqueViolationError):
            await ask(server.dsn, "INSERT INTO lead VALUES ('jane@acme.com')")
    await server.stop()
    found = places.existing(data.resolve())
    assert found is not None
    text = "".join(path.read_text() for path in (found.pgdata / "log").glob("*.log"))
    assert "duplicate key" in text
    assert "jane" not in text


async def test_initdb_killed_half_way_is_done_again(reachable: Path):
    """Half a cluster never has the name of one."""
    program = "import asyncio, sys, pathlib; from fairturn.stores.postgres.embedded import start; "
    program += "asyncio.run(start(pathlib.Path(sys.argv[1])))"
    first = subprocess.Popen([sys.executable, "-c", program, str(reachable)])  # noqa: ASYNC220
    while not list(reachable.glob("pgdata.new-*/PG_VERSION")):
        assert first.poll() is None
        await asyncio.sleep(0.005)
    first.kill()
    first.wait()
    assert (await embedded.status(reachable)).state == "absent"
    server = await embedded.start(reachable, settings=QUICK)
    assert await ask(server.dsn, "SELECT current_database()") == "fairturn"
    await server.stop()


async def test_a_first_start_that_is_cancelled_leaves_nothing_behind(fresh: Path):
    task = asyncio.create_task(embedded.start(fresh))
    while not (fresh / "fairturn.lock").exists():  # noqa: ASYNC110
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    last = await embedded.status(fresh)
    assert (last.state, last.holder) == ("absent", None)
    await (await embedded.start(fresh, settings=QUICK)).stop()


async def test_a_start_that_is_cancelled_leaves_no_server(data: Path):
    await (await embedded.start(data, settings=QUICK)).stop()
    found = places.existing(data.resolve())
    assert found is not None
    task = asyncio.create_task(embedded.start(data, settings=QUICK))
    while not (found.pgdata / "postmaster.pid").exists() and not task.done():  # noqa: ASYNC110
        await asyncio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    last = await embedded.status(data)
    assert (last.state, last.holder) == ("stopped", None)


@pytest.mark.parametrize(("version", "said"), [("", "no PostgreSQL data"), ("16\n", "made by PostgreSQL 16")])
async def test_data_of_others_are_left_alone(reachable: Path, version: str, said: str):
    pgdata = reachable / "pgdata"
    pgdata.mkdir(parents=True)
    reachable.chmod(0o755)
    (pgdata / "precious").write_text("x")
    if version:
        (pgdata / "PG_VERSION").write_text(version)
    if os.geteuid() == 0:
        os.chown(pgdata, 65534, 65534)
    with pytest.raises(StoreError, match=said):
        await embedded.start(reachable, settings=QUICK)
    assert (pgdata / "precious").exists()


async def test_a_socket_folder_that_others_can_enter_is_refused(reachable: Path):
    (reachable / "run").mkdir(parents=True)
    reachable.chmod(0o755)
    (reachable / "run").chmod(0o777)
    with pytest.raises(StoreError, match="does not belong to"):
        await embedded.start(reachable, settings=QUICK)


async def test_the_server_sees_nothing_of_our_environment(data: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CRM_CLIENT_SECRET", "hunter2")
    for name, value in {"PGPORT": "1", "PGDATABASE": "nowhere", "PGHOST": "nowhere", "PGUSER": "nobody"}.items():
        monkeypatch.setenv(name, value)
    server = await embedded.start(data, settings=QUICK)
    assert await ask(server.dsn, "SELECT current_database()") == "fairturn"
    environment = Path(f"/proc/{server.pid}/environ")
    if environment.exists() and os.access(environment, os.R_OK):
        assert b"hunter2" not in environment.read_bytes()
    await server.stop()


def test_the_default_folder(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert embedded.default_data_dir() == Path("/var/lib/fairturn")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("HOME", "/home/ann")
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert embedded.default_data_dir() == Path("/home/ann/.local/share/fairturn")
    monkeypatch.setenv("XDG_DATA_HOME", "/srv/ann")
    assert embedded.default_data_dir() == Path("/srv/ann/fairturn")
