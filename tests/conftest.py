"""A real PostgreSQL for the tests: one cluster per process, one migrated template, one clone of it per test.

async def test_something(database: str): connection = await asyncpg.connect(database)
"""

import asyncio
import concurrent.futures
import contextlib
import functools
import itertools
import os
import shutil
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from fairturn.errors import FairturnError
from fairturn.stores.postgres import embedded, migrate

# Nothing in a test outlives the machine, so nothing is flushed. Collector, autovacuum and I/O workers would only take
# the two cores from the tests.
TEST_SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "64MB",
    "io_method": "sync",
    "autovacuum": "off",
    "logging_collector": "off",
}
_TEMPLATE = "fairturn_template"
# A database is cloned with 15 ms of a core in memory, and with 190 on ext4: its 330 files go through a journal.
MEMORY = Path("/dev/shm")
ROOM = 4 << 30  # bytes; four workers take one GiB, and a container's may have 64 MB
_numbers = itertools.count(1)


def pytest_configure(config: pytest.Config) -> None:
    if "TMPDIR" not in os.environ and roomy(MEMORY):
        os.environ["TMPDIR"] = str(MEMORY)  # of the processes that tests start, too
        tempfile.tempdir = None
    # Without bytecode each of the hundreds of processes that tests start compiles everything anew.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if not hasattr(config, "workerinput"):
        # xdist would make this id itself, but only for its workers; the controller cleans up behind them.
        config.option.testrunuid = getattr(config.option, "testrunuid", None) or uuid.uuid4().hex


def roomy(place: Path) -> bool:
    """There, with room for all, and willing to run programs: a test copies PostgreSQL's."""
    if not place.is_dir() or os.statvfs(place).f_flag & getattr(os, "ST_NOEXEC", 0):
        return False
    return shutil.disk_usage(place).free >= ROOM


@pytest.hookimpl(wrapper=True)  # before xdist, which reads the groups in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None, None, None]:
    """Journeys wait more than they work: begun first, they leave no worker with half a minute of them at the end.

    Next what is made once for a module: its tests stay on one worker, or each of four would make it.
    """
    for item in items:
        if shares(item) and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(str(item.path.relative_to(item.config.rootpath))))
    items.sort(key=lambda item: ("journeys" not in item.path.parts, not item.get_closest_marker("xdist_group")))
    yield
    for item in items:
        group = item.get_closest_marker("xdist_group")
        # xdist 3.8 writes the group where pytest 9.2 does not read: https://github.com/pytest-dev/pytest-xdist/pull/1388
        if group and getattr(item.config.option, "loadgroup", False) and not item.nodeid.endswith(f"@{group.args[0]}"):
            item._id = item.id.parse(f"{item.nodeid}@{group.args[0]}")


def shares(item: pytest.Item) -> bool:
    """Whether it uses a fixture that its own module makes once."""
    found = item._fixtureinfo.name2fixturedefs.values() if isinstance(item, pytest.Function) else ()
    here = item.nodeid.partition("::")[0]
    return any(one[-1].scope == "module" and one[-1].baseid == here for one in found)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Whatever a crashed worker left behind goes now; in the usual case there is nothing."""
    folder = _folder(config)
    if hasattr(config, "workerinput") or not folder.is_dir():
        return
    for data in folder.iterdir():
        with contextlib.suppress(FairturnError):
            _apart(functools.partial(embedded.discard, data))
    shutil.rmtree(folder, ignore_errors=True)


def _folder(config: pytest.Config) -> Path:
    """The session's own folder, the same for the controller and its workers."""
    worker = getattr(config, "workerinput", None)
    mark = worker["testrunuid"] if worker else config.option.testrunuid
    return Path(tempfile.gettempdir()) / f"fairturn-tests-{mark[:12]}"


def _apart(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Run it on a loop of its own in a thread of its own: pytest-asyncio's loops stay as they are."""
    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(work())).result()


@pytest.fixture(scope="session")
def postgres_cluster(request: pytest.FixtureRequest, worker_id: str) -> Iterator[embedded.Embedded]:
    """This process's cluster, with the migrated template. Tests that stop or break a server start their own."""
    data = _folder(request.config) / worker_id

    async def start() -> embedded.Embedded:
        cluster = await embedded.start(data, settings=TEST_SETTINGS)
        await _execute(cluster.dsn, f'CREATE DATABASE "{_TEMPLATE}"')
        await migrate.migrate(cluster.dsn_of(_TEMPLATE))
        return cluster

    async def stop() -> None:
        await cluster.stop("immediate")
        await embedded.discard(data)

    cluster: embedded.Embedded = _apart(start)
    yield cluster
    _apart(stop)


@pytest.fixture
async def database(postgres_cluster: embedded.Embedded) -> AsyncIterator[str]:
    """The DSN of a migrated, empty database of this test's own.

    Files are copied: through the WAL, as is the default, a clone takes 118 ms of a core instead of 25.
    """
    name = f"t{next(_numbers)}"
    await _execute(postgres_cluster.dsn, f'CREATE DATABASE "{name}" TEMPLATE "{_TEMPLATE}" STRATEGY FILE_COPY')
    yield postgres_cluster.dsn_of(name)
    await _execute(postgres_cluster.dsn, f'DROP DATABASE "{name}" WITH (FORCE)')


async def _execute(dsn: str, sql: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(sql)
    finally:
        await connection.close()
