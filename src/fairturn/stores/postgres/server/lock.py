"""One Fairturn per data directory: a flock, which the kernel lifts when its holder dies, however it dies."""

from __future__ import annotations

import asyncio
import fcntl
import os
from pathlib import Path

from fairturn.errors import DataInUse, StoreError

_NAME = "fairturn.lock"
_TRIES = 10
_PAUSE = 0.05  # `status` holds a shared lock for microseconds, and a new holder writes its pid just after locking


class DataLock:
    """The held lock. Not inherited by programs we start; released by `release` or by our death."""

    def __init__(self, file: int) -> None:
        self._file = file

    def release(self) -> None:
        if self._file >= 0:
            os.ftruncate(self._file, 0)
            os.close(self._file)
            self._file = -1


async def take(data: Path) -> DataLock:
    """Lock an existing data directory.

    Raises:
        DataInUse: another process holds it; the message names its pid.
    """
    file = _open(data, os.O_RDWR | os.O_CREAT)
    try:
        for _ in range(_TRIES):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                await asyncio.sleep(_PAUSE)
                continue
            os.ftruncate(file, 0)
            os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
            return DataLock(file)
        pid = _pid_in(file)
    except BaseException:
        os.close(file)
        raise
    os.close(file)
    raise DataInUse(
        f"{data} is in use by {f'process {pid}' if pid else 'another process'}. Stop that Fairturn first, or give this "
        "one a data directory of its own."
    )


def holder(data: Path) -> int | None:
    """The pid of the process that holds the lock (0 if it cannot be read), or None. Takes no lock that lasts."""
    try:
        file = _open(data, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _pid_in(file)
    else:
        return None
    finally:
        os.close(file)


def remove(data: Path) -> None:
    """Remove the file with the data that it guards, and at no other time: two could then lock two files."""
    (data / _NAME).unlink(missing_ok=True)


def _open(data: Path, flags: int) -> int:
    path = data / _NAME
    try:
        file = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StoreError(f"{path} cannot be opened: {error.strerror}. Run Fairturn as the owner of {data}.") from error
    owner = data.stat()
    if flags & os.O_CREAT and os.geteuid() == 0 and owner.st_uid != 0:
        os.fchown(file, owner.st_uid, owner.st_gid)  # started once with sudo, the owner can still start it later
    return file


def _pid_in(file: int) -> int:
    text = os.pread(file, 32, 0).decode("ascii", "replace").strip()
    return int(text) if text.isdigit() else 0
