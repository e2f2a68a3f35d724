"""Find, launch and halt the server of one cluster. The caller holds the lock of its data directory."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import time
from typing import Literal

from fairturn.errors import StoreError, StoreUnavailable
from fairturn.stores.postgres.server import binaries, postmaster, startlog
from fairturn.stores.postgres.server.binaries import Binaries
from fairturn.stores.postgres.server.places import Places, clear_sockets, socket_dir
from fairturn.stores.postgres.server.postmaster import Answer, PidFile

Mode = Literal["fast", "smart", "immediate"]

_NAP = 0.1
# Backends of a postmaster that was killed leave at their next look at its pipe; until then PostgreSQL refuses to start.
_ORPHANS = 30.0


async def find(places: Places, deadline: float) -> PidFile | None:
    """The running server, once it answers; None if there is none, with no postmaster.pid left to hinder a start.

    Raises:
        StoreUnavailable: it is still starting, recovering or stopping at the deadline (monotonic seconds).
        StoreError: a server that we cannot see (in another container) serves these data.
    """
    signalled = False
    empty = 0
    while True:
        file = postmaster.read_pid_file(places.pgdata)
        if file is None:
            if not (places.pgdata / "postmaster.pid").exists() or empty == 3:
                _forget(places)
                return None
            empty += 1  # created, not yet written
        else:
            answer = await postmaster.ask(places, file, max(1.0, deadline - time.monotonic()))
            visible = postmaster.is_postmaster(file.pid, places.pgdata)
            if answer is Answer.OURS and visible:
                return file
            if answer is Answer.OURS:
                raise StoreError(
                    f"A PostgreSQL that cannot be seen from here serves {places.pgdata}: another container on the same "
                    "volume? Stop it there; two servers would destroy the data."
                )
            if answer is Answer.SILENT and not visible:
                _forget(places)
                return None
            if answer is Answer.SILENT and file.status == "ready" and not signalled:
                os.kill(file.pid, signal.SIGINT)  # its socket was removed; nobody can reach it any more
                signalled = True
        if time.monotonic() > deadline:
            raise StoreUnavailable(
                f"PostgreSQL of {places.data} (process {file.pid if file else '?'}) is still starting, recovering or "
                "stopping. It goes on by itself: try again in a while."
            )
        await asyncio.sleep(_NAP)


def _forget(places: Places) -> None:
    # PostgreSQL would take any living process of its own user for a postmaster, and refuse to start. Should one live
    # after all, its shared memory (found by the folder's inode, not by this file) still keeps a second one out.
    (places.pgdata / "postmaster.pid").unlink(missing_ok=True)
    clear_sockets(places)


async def launch(places: Places, programs: Binaries, deadline: float) -> PidFile:
    options = ["-c", f"config_file={places.config}", "-c", f"unix_socket_directories={socket_dir(places)}"]
    seconds = max(1, round(deadline - time.monotonic()))
    argv = [programs.program("pg_ctl"), "start", "-D", str(places.pgdata), "-l", str(places.startup_log)]
    argv += ["-w", "-t", str(seconds), "-s", "-o", shlex.join(options)]
    orphans_until = min(deadline, time.monotonic() + _ORPHANS)
    while True:
        marks = startlog.marks(places)
        code, said = await postmaster.run(places.account, argv, seconds + 10)
        found = await _after_launch(places, code, seconds)
        if found is not None:
            return found
        lines = startlog.since(places, marks)
        kept_out = "pre-existing shared memory block" in lines or 'lock file "postmaster.pid"' in lines
        if kept_out and time.monotonic() < orphans_until:
            await asyncio.sleep(_NAP)
            found = await find(places, deadline)  # somebody else's start, overtaking ours
            if found is not None:
                return found
            continue
        raise StoreError(
            f"PostgreSQL did not start in {places.pgdata}. {said}\nThe last lines of its log:\n{lines or '(none)'}"
        )


async def _after_launch(places: Places, code: int, seconds: int) -> PidFile | None:
    file = postmaster.read_pid_file(places.pgdata)
    alive = file is not None and postmaster.is_postmaster(file.pid, places.pgdata)
    if code == 0 and alive:
        return file
    if alive:
        raise StoreUnavailable(
            f"PostgreSQL of {places.data} is not ready after {seconds} s; it recovers from an unclean stop. It goes on "
            f"by itself: start again in a while. Its log: {places.pgdata / 'log'}"
        )
    return None


async def halt(places: Places, mode: Mode, timeout: float) -> bool:
    """Stop the server if it runs; whether it did. The pid is signalled only if it runs PostgreSQL on these data."""
    file = postmaster.read_pid_file(places.pgdata)
    if file is None or not postmaster.is_postmaster(file.pid, places.pgdata):
        return False
    programs = await asyncio.to_thread(binaries.runnable_by, places.account, binaries.installed())
    argv = [programs.program("pg_ctl"), "stop", "-D", str(places.pgdata), "-m", mode, "-s", "-w"]
    code, said = await postmaster.run(places.account, [*argv, "-t", str(max(1, round(timeout)))], timeout + 10)
    if code != 0 and postmaster.is_postmaster(file.pid, places.pgdata):
        raise StoreUnavailable(f"PostgreSQL (process {file.pid}) is still stopping after {timeout:.0f} s. {said}")
    return True
