"""The lines that the server logged during one start, for the error that says why it failed."""

from __future__ import annotations

import os
from pathlib import Path

from fairturn.stores.postgres.server.places import Places

Marks = dict[Path, int]

_LINES = 20
_BYTES = 16_384


def marks(places: Places) -> Marks:
    """How long each log file is now. What stands before the mark is another day's, and not for an error message."""
    return {path: path.lstat().st_size for path in _files(places)}


def since(places: Places, marked: Marks) -> str:
    """The last lines written after the marks: those of the start-up log, then the collector's."""
    lines: list[str] = []
    for path in _files(places):
        lines += _tail(path, marked.get(path, 0))[-_LINES:]
    return "\n".join(lines)


def _files(places: Places) -> list[Path]:
    found = [places.startup_log, *sorted((places.pgdata / "log").glob("*.log"))]
    return [path for path in found if path.is_file()]


def _tail(path: Path, start: int) -> list[str]:
    # The folder belongs to the server's account: root follows no link that it may have put there.
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        size = os.fstat(file).st_size
        start = start if start <= size else 0  # the ring came round and emptied the file
        start = max(start, size - _BYTES)
        return os.pread(file, size - start, start).decode(errors="replace").splitlines()
    finally:
        os.close(file)
