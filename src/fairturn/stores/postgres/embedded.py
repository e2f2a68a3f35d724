"""PostgreSQL of our own: started, found again, and stopped, in a data directory.

The server is a daemon. It outlives a Fairturn that was killed, and the next one on the same data finds it. Whoever
holds the lock of the data directory starts and stops it; everybody else (child processes, `fairturn db status`)
connects by the DSN. It listens on a unix socket in a 0700 folder and on nothing else.

What `start` meets, and does:

    no cluster                     initdb beside its final place, then a rename: half a cluster never has the name
    postmaster.pid, process gone   the file is removed, the server started; it recovers by itself
    pid of another program         the same; the other program is never signalled
    server answers, same settings  used as it is
    server answers, others         stopped and started with the new ones (or the new programs)
    server starts, recovers, stops waited for
    server without its socket      stopped by a signal, started
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeVar

import asyncpg

from fairturn.errors import StoreError, StoreUnavailable
from fairturn.stores.postgres.server import binaries, configuration, control, lock, postmaster
from fairturn.stores.postgres.server.binaries import Binaries
from fairturn.stores.postgres.server.control import Mode
from fairturn.stores.postgres.server.places import (
    Places,
    default_data_dir,
    existing,
    make_data_dir,
    prepare,
    remove_all,
)
from fairturn.stores.postgres.server.postmaster import DATABASE, USER, Answer, PidFile

__all__ = ["Embedded", "Mode", "Status", "attach", "default_data_dir", "discard", "start", "status", "stop"]

T = TypeVar("T")

_NONE: Mapping[str, str] = MappingProxyType({})


class Embedded:
    """A running server. `pid` is its postmaster's."""

    def __init__(self, places: Places, file: PidFile, dsn: str, held: lock.DataLock | None) -> None:
        self.data = places.data
        self.pid = file.pid
        self.dsn = dsn  # libpq's form; asyncpg.connect and psql take it, child processes too
        self._places = places
        self._file = file
        self._lock = held
        self._stopped = False

    @property
    def url(self) -> str:
        return self.dsn

    def dsn_of(self, database: str) -> str:
        """The DSN of another database of this server."""
        return self._file.dsn(database) or ""

    @property
    def owns(self) -> bool:
        """Whether we hold the lock of the data directory, and so may stop the server."""
        return self._lock is not None

    async def revive(self, *, settings: Mapping[str, str] = _NONE, timeout: float = 120) -> bool:
        """Start the server again if it ended and not by us: killed for want of memory, stopped by hand. Whether it had.

        Raises:
            StoreUnavailable: not ready after `timeout` seconds; try again.
            StoreError: it cannot start; with the last lines of its log.
        """
        if self._lock is None or postmaster.is_postmaster(self._file.pid, self._places.pgdata):
            return False
        with _files_of(self.data):
            _, self._file, _ = await _start(self.data, settings, time.monotonic() + timeout)
        self.pid = self._file.pid
        return True

    async def stop(self, mode: Mode = "fast", *, timeout: float = 60) -> None:
        """Stop the server, wait until it is gone, and release the data directory. Again: nothing.

        Raises:
            StoreError: we do not hold the lock, so it is another's to stop.
            StoreUnavailable: it is still stopping after `timeout` seconds; the lock is released all the same.
        """
        if self._lock is None:
            if self._stopped:
                return
            raise StoreError(f"The server of {self.data} is stopped by the Fairturn that holds its lock, not by us.")
        try:
            await control.halt(self._places, mode, timeout)
        finally:
            self._lock.release()
            self._lock = None
            self._stopped = True


@dataclass(frozen=True, slots=True)
class Status:
    """What can be said of a data directory without its lock."""

    data: Path
    state: Literal["absent", "stopped", "running", "busy"]  # busy: it starts, recovers or stops
    holder: int | None  # pid of the Fairturn that holds the lock; 0 if it has not written it yet
    pid: int | None  # of the postmaster
    dsn: str | None


async def start(data: Path, *, settings: Mapping[str, str] = _NONE, timeout: float = 120) -> Embedded:
    """Start, or find, the server of this data directory, and hold its lock. `settings` are PostgreSQL's, over ours.

    Raises:
        DataInUse: another Fairturn holds the directory; the message names its pid.
        StoreUnavailable: not ready after `timeout` seconds (a long recovery goes on by itself: start again).
        StoreError: it cannot start; with the last lines of its log.
    """
    data = data.expanduser().resolve()
    make_data_dir(data)
    held = await lock.take(data)
    try:
        with _files_of(data):
            places, file, dsn = await _start(data, settings, time.monotonic() + timeout)
    except BaseException:
        held.release()
        raise
    return Embedded(places, file, dsn, held)


async def attach(data: Path) -> Embedded:
    """The running server of this data directory, without its lock.

    Raises:
        StoreUnavailable: no server answers for these data.
    """
    data = data.expanduser().resolve()
    with _files_of(data):
        places = existing(data)
        file = postmaster.read_pid_file(places.pgdata) if places else None
    if places and file and await postmaster.ask(places, file) is Answer.OURS:
        return Embedded(places, file, file.dsn() or "", None)
    raise StoreUnavailable(
        f"No PostgreSQL runs for {data}. Start Fairturn (`fairturn serve`), or name its data directory."
    )


async def status(data: Path) -> Status:
    """Look, without the lock and without changing anything."""
    data = data.expanduser().resolve()
    if not data.is_dir():
        return Status(data, "absent", None, None, None)
    holder = lock.holder(data)
    with _files_of(data):
        places = existing(data)
        file = postmaster.read_pid_file(places.pgdata) if places else None
    if places is None:
        return Status(data, "absent", holder, None, None)
    if file is None or not postmaster.is_postmaster(file.pid, places.pgdata):
        return Status(data, "stopped", holder, None, None)
    ready = await postmaster.ask(places, file, 2) is Answer.OURS
    return Status(data, "running" if ready else "busy", holder, file.pid, file.dsn() if ready else None)


async def stop(data: Path, mode: Mode = "fast", *, timeout: float = 60) -> bool:
    """Stop a server that no Fairturn holds (its owner was killed). Whether there was one.

    Raises:
        DataInUse: a living Fairturn holds it: stop that.
        StoreUnavailable: still stopping after `timeout` seconds.
    """
    data = data.expanduser().resolve()
    if not data.is_dir():
        return False
    held = await lock.take(data)
    try:
        with _files_of(data):
            places = existing(data)
            return places is not None and await control.halt(places, mode, timeout)
    finally:
        held.release()


async def discard(data: Path) -> None:
    """Stop the server and delete its data, for demos and tests. Other files in the folder are left.

    Raises:
        DataInUse: a living Fairturn holds it.
    """
    data = data.expanduser().resolve()
    if not data.is_dir():
        return
    held = await lock.take(data)
    try:
        with _files_of(data):
            places = existing(data)
            if places is not None:
                await control.halt(places, "immediate", 30)
            await _to_its_end(remove_all, data)
    finally:
        held.release()
    lock.remove(data)
    with contextlib.suppress(OSError):
        data.rmdir()


async def _to_its_end(work: Callable[..., T], *facts: object) -> T:
    """Run it in a thread. Cancelled, we still wait for it: it must not go on after the lock is released."""
    task = asyncio.ensure_future(asyncio.to_thread(work, *facts))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


@contextlib.contextmanager
def _files_of(data: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"The data directory {data} cannot be used: {error}. Run Fairturn as its owner.") from error


async def _start(data: Path, settings: Mapping[str, str], deadline: float) -> tuple[Places, PidFile, str]:
    places = await _to_its_end(prepare, data)
    programs = await _to_its_end(binaries.runnable_by, places.account, binaries.installed())
    for path in (places.home, programs.bin):
        if set(str(path)) & set('"$`\\\n'):  # pg_ctl hands them to sh, within double quotes
            raise StoreError(f"{path} has a character in its name that pg_ctl cannot take. Choose another folder.")
    text = configuration.render(settings, programs)
    await _initialise(places, programs, sync=settings.get("fsync") != "off")
    file = await control.find(places, deadline)
    if file is not None and not configuration.same(places.config, text):
        await control.halt(places, "fast", max(1.0, deadline - time.monotonic()))
        file = None
    try:
        if file is None:
            configuration.write(places.config, text)
            file = await control.launch(places, programs, deadline)
        dsn = await _own_database(file)
    except StoreUnavailable:
        raise
    except BaseException:
        # Cancelled (Ctrl-C) or refused: the server is no use to anybody, and nobody would stop it.
        with contextlib.suppress(StoreError):
            await control.halt(places, "fast", 10)
        raise
    return places, file, dsn


async def _initialise(places: Places, programs: Binaries, *, sync: bool) -> None:
    """initdb, unless the cluster is there. Raises StoreError if what is there is none of ours."""
    pgdata = places.pgdata
    for half in places.home.glob("pgdata.new-*"):  # a start that was killed within initdb
        await _to_its_end(shutil.rmtree, half, True)
    if pgdata.is_dir() and any(pgdata.iterdir()):
        version = pgdata / "PG_VERSION"
        found = version.read_text().strip() if version.exists() else ""
        if not found:
            raise StoreError(f"{pgdata} holds files, but no PostgreSQL data. Move them away to begin anew.")
        if found != str(binaries.MAJOR):
            raise StoreError(
                f"{pgdata} was made by PostgreSQL {found}, and this Fairturn brings {binaries.MAJOR}. Move the data "
                "with pg_dump of the old release or with pg_upgrade."
            )
        return
    new = Path(tempfile.mkdtemp(prefix="pgdata.new-", dir=places.home))
    places.account.give(new)
    argv = [programs.program("initdb"), "-D", str(new), f"--username={USER}", "--encoding=UTF8", "--locale=C"]
    argv += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]  # the same order of text on every system
    argv += ["--auth-local=trust", "--auth-host=reject"]  # the socket's folder is 0700; TCP is a decision of its own
    argv += ["--no-instructions"] if sync else ["--no-instructions", "--no-sync"]
    code, said = await postmaster.run(places.account, argv, 300)
    if code != 0:
        await _to_its_end(shutil.rmtree, new, True)
        raise StoreError(f"initdb could not make a database in {places.home}:\n{said[-2000:]}")
    if pgdata.is_dir():
        pgdata.rmdir()
    new.rename(pgdata)


async def _own_database(file: PidFile) -> str:
    """The DSN of our database, created at the first start."""
    dsn, maintenance = file.dsn(), file.dsn("postgres")
    if dsn is None or maintenance is None:
        raise StoreError(f"PostgreSQL (process {file.pid}) runs without a unix socket; Fairturn needs one.")
    try:
        connection = await asyncpg.connect(maintenance, timeout=30)
        try:
            if not await connection.fetchval("SELECT true FROM pg_database WHERE datname = $1", DATABASE):
                await connection.execute(f'CREATE DATABASE "{DATABASE}"')
        finally:
            await connection.close()
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise StoreError(f"PostgreSQL runs, but refuses us: {error}") from error
    return dsn
