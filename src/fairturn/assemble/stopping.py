"""A process and its parent: when to stop, and what to tell whoever started us."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading

CHILD = "FAIRTURN_CHILD"  # set: our standard input is a pipe that our parent holds open while it lives
REPORT = "FAIRTURN_REPORT"  # the descriptor of a pipe on which our parent waits for one message
UP = "up"
TRY_AGAIN = 75  # EX_TEMPFAIL of sysexits.h: a child that could not start now, and may be able to soon


def stop_signal() -> asyncio.Event:
    """An event of the running loop that is set when this process should end."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if os.environ.get(CHILD):
        threading.Thread(target=_watch_parent, args=(loop, stop), daemon=True).start()
    return stop


def _watch_parent(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """A parent that is killed -9 sends no signal, but its end of the pipe closes."""
    while os.read(sys.stdin.fileno(), 1024):
        continue
    if not loop.is_closed():
        loop.call_soon_threadsafe(stop.set)


def has_parent() -> bool:
    """Whether somebody waits for our report."""
    return REPORT in os.environ


def report(words: str) -> bool:
    """Tell our parent `UP`, or why we cannot start. Only the first message counts. False when nobody waits for one."""
    place = os.environ.pop(REPORT, None)
    if place is None:
        return False
    try:
        with os.fdopen(int(place), "wb") as pipe:
            pipe.write(words.encode()[:4000])
    except (OSError, ValueError):
        return False
    return True
