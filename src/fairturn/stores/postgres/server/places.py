"""Where a cluster's files lie.

    <data>/fairturn.lock      who uses it
    <home>/pgdata/            the cluster (0700), with log/ and startup.log
    <home>/run/               the socket's folder (0700)
    <home>/fairturn.conf      the settings of the last start

`home` is `data`, except for root where the server's account cannot reach `data` (a folder below a 0700 one, as
`mktemp -d` makes them). Then `home` is a folder of its own, below the system's temporary folder if `data` is, else in
/var/lib/fairturn, and <data>/pgdata is a link to it. Nobody's rights are widened.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import socket
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from fairturn.errors import StoreError
from fairturn.stores.postgres.server.account import Account, server_account

ROOTS_OWN = Path("/var/lib/fairturn")
# sun_path holds 104 bytes with its NUL on macOS, 108 on Linux.
_SOCKET_BYTES = 103
# asyncpg and PostgreSQL split lists of hosts and folders at commas and quotes.
_PLAIN = re.compile(r"[\w./@%+=~ -]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Places:
    """The paths of one cluster, and the account that owns them."""

    data: Path
    home: Path
    account: Account

    @property
    def pgdata(self) -> Path:
        return self.home / "pgdata"

    @property
    def config(self) -> Path:
        return self.home / "fairturn.conf"

    @property
    def startup_log(self) -> Path:
        return self.pgdata / "startup.log"


def default_data_dir() -> Path:
    """/var/lib/fairturn for root, else $XDG_DATA_HOME/fairturn or ~/.local/share/fairturn."""
    if os.geteuid() == 0:
        return ROOTS_OWN
    xdg = os.environ.get("XDG_DATA_HOME", "")
    base = Path(xdg) if xdg.startswith("/") else Path.home() / ".local" / "share"  # the spec: relative ones are ignored
    return base / "fairturn"


def make_data_dir(data: Path) -> None:
    """Create the folder and its missing parents; what exists keeps its rights.

    Raises:
        StoreError: it cannot be created.
    """
    missing = [folder for folder in (data, *data.parents) if not folder.exists()]
    root = os.geteuid() == 0
    try:
        for folder in reversed(missing):
            folder.mkdir(mode=0o755, exist_ok=True)
            # Whatever the umask: the server's account passes through root's folders, nobody looks into a user's.
            folder.chmod(0o755 if root else 0o700)
        if not data.is_dir():
            raise NotADirectoryError(20, "not a folder")
    except OSError as error:
        raise StoreError(f"The data directory {data} cannot be made: {error.strerror}.") from error


def existing(data: Path) -> Places | None:
    """The places of a cluster made earlier, or None. Changes nothing.

    Raises:
        StoreError: `data` points to a folder that is gone or is not safe.
    """
    pointer = data / "pgdata"
    if pointer.is_symlink():
        home = pointer.readlink().parent
        _check_stand_in(data, home)
    else:
        home = data
    try:
        owner = (home / "pgdata").stat().st_uid
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{home / 'pgdata'} cannot be read: {error.strerror}. Run Fairturn as its owner.") from error
    return Places(data, home, server_account(owner))


def prepare(data: Path) -> Places:
    """The places of the cluster of this (existing, locked) data directory, chosen now if it is new.

    Raises:
        StoreError: the server's account cannot reach the data, or no place can be found for them.
    """
    found = existing(data)
    if found is None:
        account = server_account(None)
        pointer = data / "pgdata"
        if pointer.is_symlink():  # a start that was killed before initdb was through
            return Places(data, pointer.readlink().parent, account)
        if account.can_enter(data):
            return Places(data, data, account)
        home = _stand_in(data, account)
        pointer.symlink_to(home / "pgdata")
        return Places(data, home, account)
    if not found.account.can_enter(found.home):
        raise StoreError(
            f"PostgreSQL runs as {found.account.name} here, and {found.account.name} cannot enter {found.home}. Move "
            "the data directory to where that account can reach it, or let it pass (chmod o+x on the parents)."
        )
    return found


def socket_dir(places: Places) -> Path:
    """A folder of the server's account, 0700, for the socket: beside the data, where no clean-up of /tmp or end of a
    login session removes it; a short one in the temporary folder where that path is too long or takes no sockets.

    Raises:
        StoreError: the folder belongs to someone else.
    """
    own, *short = _socket_dirs(places)
    if _fits(own):
        _private(own, places.account)
        if _takes_sockets(own):
            return own
    for folder in short:
        if _fits(folder) and places.account.can_enter(folder.parent):
            _private(folder, places.account)
            return folder
    raise StoreError(f"No folder is short enough for PostgreSQL's socket ({_SOCKET_BYTES} bytes); set TMPDIR to one.")


def clear_sockets(places: Places) -> None:
    """Remove what a killed server left. Its .lock names a pid, which PostgreSQL believes as it does postmaster.pid."""
    for folder in _socket_dirs(places):
        if is_private(folder, places.account):
            for left in folder.glob(".s.PGSQL.*"):
                left.unlink(missing_ok=True)


def remove_all(data: Path) -> None:
    """Delete the cluster, whole or half. What else lies in the data directory stays."""
    pointer = data / "pgdata"
    places = existing(data)
    if places is not None:
        for folder in (places.pgdata, *_socket_dirs(places)):
            if is_private(folder, places.account):
                _remove(folder)
        places.config.unlink(missing_ok=True)
    if pointer.is_symlink():
        _remove(pointer.readlink().parent)
        pointer.unlink()


def _remove(folder: Path) -> None:
    """Delete a tree from which a postmaster at its very end still takes its own files (postmaster.pid) away, or into
    which the child of an initdb that was killed still writes.
    """
    while folder.exists():
        try:
            shutil.rmtree(folder)
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise


def _socket_dirs(places: Places) -> list[Path]:
    mark = hashlib.sha256(os.fsencode(places.data)).hexdigest()[:12]
    bases = dict.fromkeys((Path(tempfile.gettempdir()), Path("/tmp")))  # noqa: S108  _private checks owner and mode
    return [places.home / "run", *(base / f"fairturn-{mark}" for base in bases)]


def is_private(folder: Path, account: Account) -> bool:
    """Whether it is a folder (no link) that only this account may enter."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == account.uid and not found.st_mode & 0o077


def _private(folder: Path, account: Account) -> None:
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        pass
    else:
        account.give(folder)
    if not is_private(folder, account):
        raise StoreError(
            f"{folder} is to hold PostgreSQL's socket, but does not belong to {account.name} alone. Someone else may "
            "have made it; look at it, and remove it."
        )


def _fits(folder: Path) -> bool:
    path = str(folder / ".s.PGSQL.65535")
    return len(os.fsencode(path)) <= _SOCKET_BYTES and _PLAIN.fullmatch(path) is not None


def _takes_sockets(folder: Path) -> bool:
    """Shared folders of virtual machines and some network mounts hold files but no sockets."""
    probe = folder / ".probe"
    try:
        probe.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(probe))
        probe.unlink()
    except OSError:
        return False
    return True


def _stand_in(data: Path, account: Account) -> Path:
    """A new folder that root owns and the account can reach. Random name: one left by others is never adopted."""
    temporary = [Path(tempfile.gettempdir()), Path("/tmp")]  # noqa: S108  mkdtemp below
    resolved = data.resolve()
    passing = any(resolved.is_relative_to(base.resolve()) for base in (*temporary, Path("/var/tmp")))  # noqa: S108
    for base in [*temporary, ROOTS_OWN] if passing else [ROOTS_OWN]:
        if base == ROOTS_OWN:
            make_data_dir(base)
        if base.is_dir() and account.can_enter(base):
            home = Path(tempfile.mkdtemp(prefix="fairturn-", dir=base.resolve()))
            home.chmod(0o755)  # to pass through; pgdata and run inside are 0700
            return home
    raise StoreError(
        f"PostgreSQL runs as {account.name} here, which can reach neither {data} nor {ROOTS_OWN}. Give a data "
        "directory that it can reach, or set database_url."
    )


def _check_stand_in(data: Path, home: Path) -> None:
    try:
        found = home.lstat()
    except FileNotFoundError:
        raise StoreError(
            f"The data of {data} were kept in {home}, which is gone. Restore it from a backup, or remove "
            f"{data / 'pgdata'} to begin with an empty database."
        ) from None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in {0, os.geteuid()} or found.st_mode & 0o022:
        raise StoreError(
            f"{data / 'pgdata'} points into {home}, which others can write to. Look at it before starting."
        )
