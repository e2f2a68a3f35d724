"""The operating-system account that PostgreSQL runs as: our own, or, as root, an unprivileged one (it refuses root)."""

from __future__ import annotations

import os
import pwd
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from fairturn.errors import StoreError

# `fairturn` first, so that an administrator can give it an account of its own. initdb insists on a passwd entry, so a
# bare number will not do. `nobody` is last: what else runs as nobody could read the data.
_CANDIDATES = ("fairturn", "postgres", "_postgres", "nobody")

# PostgreSQL reads PGPORT, PGDATA, PGOPTIONS ..., and /proc/<pid>/environ of a daemon outlives us: it gets none of our
# environment, the CRM's secrets least of all. LC_ALL=C keeps messages in English and, on macOS, the postmaster
# single-threaded (PostgreSQL's manual, "Locale Support").
_ENVIRONMENT = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C", "TZ": "UTC", "HOME": "/"}


@dataclass(frozen=True, slots=True)
class Account:
    """Who PostgreSQL runs as. `switched`: not ourselves, because we are root."""

    uid: int
    gid: int
    name: str
    switched: bool

    def spawn(self, argv: Sequence[str], output: IO[bytes] | int) -> subprocess.Popen[bytes]:
        """Start a program of the wheel, or sh, as this account: own session, no terminal, nothing inherited."""
        switch: dict[str, Any] = {"user": self.uid, "group": self.gid, "extra_groups": []} if self.switched else {}
        # "/" as the folder: ours may be one that the account cannot enter.
        return subprocess.Popen(  # noqa: S603  the programs are PostgreSQL's own, the arguments ours
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd="/",
            env=_ENVIRONMENT,
            start_new_session=True,
            umask=0o077,
            **switch,
        )

    def succeeds(self, argv: Sequence[str], seconds: float = 30) -> bool:
        """Whether the command, run as this account, ends with 0."""
        with tempfile.TemporaryFile() as output:
            try:
                process = self.spawn(argv, output)
            except OSError:
                return False
            try:
                return process.wait(seconds) == 0
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                return False

    def can_enter(self, folder: Path) -> bool:
        """Whether the account may pass through this folder. Asked of the kernel: mode bits do not tell of ACLs."""
        if not self.switched:
            return os.access(folder, os.X_OK)
        return self.succeeds(["/bin/sh", "-c", 'cd -- "$0"', str(folder)])

    def give(self, path: Path) -> None:
        """Make the account the owner of a file or folder that we have just created."""
        if self.switched:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)


def server_account(owner: int | None) -> Account:
    """The account for a cluster whose data folder belongs to `owner` (uid), or for a new one (None).

    Raises:
        StoreError: we are root and there is no unprivileged account, or the data belong to root.
    """
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid(), str(os.geteuid()), switched=False)
    if owner == 0:
        raise StoreError("The PostgreSQL data belong to root, and PostgreSQL does not run as root. Give them to the "
                         "account that made them (chown -R).")  # fmt: skip
    if owner is not None:
        try:
            entry = pwd.getpwuid(owner)
        except KeyError:
            raise StoreError(
                f"The PostgreSQL data belong to user id {owner}, which has no account here. Create it, or give the "
                f"data to one of {', '.join(_CANDIDATES)} (chown -R)."
            ) from None
        return Account(entry.pw_uid, entry.pw_gid, entry.pw_name, switched=True)
    for name in _CANDIDATES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        if entry.pw_uid != 0:
            return Account(entry.pw_uid, entry.pw_gid, entry.pw_name, switched=True)
    raise StoreError(
        "PostgreSQL does not run as root, and there is no unprivileged account to run it as. Create one "
        "(useradd --system fairturn), run Fairturn as an ordinary user, or set database_url."
    )
