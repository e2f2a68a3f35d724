"""Which PostgreSQL the settings mean, and how a command gets at it.

A command attaches to the embedded server when one runs. When none does, it starts it and stops it afterwards: an audit
must not need `fairturn serve`.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import tomllib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from fairturn.assemble import places
from fairturn.config import Settings
from fairturn.errors import ConfigError, DataInUse, StoreUnavailable
from fairturn.operate.secrets import beside
from fairturn.operate.settings import Loaded, load, read
from fairturn.stores.postgres import embedded

NAMED = "fairturn.toml"
PATIENCE = 60.0  # seconds for a server that somebody else starts, or that recovers


@dataclass(frozen=True, slots=True)
class Place:
    """A database: at `url`, or embedded in `data`. `shown` names it without a secret."""

    url: str | None
    data: Path
    shown: str

    def __repr__(self) -> str:
        return f"Place({self.shown})"


@dataclass(frozen=True, slots=True)
class Found:
    """The settings' file, as far as a command needs it."""

    place: Place
    path: Path | None
    loaded: Loaded | None  # None: there is no file, or it does not stand
    complaint: ConfigError | None  # why it does not stand


def find(named: Path | None, env: Mapping[str, str], *, here: Path | None = None) -> Found:
    """The file named, or ./fairturn.toml. Raises ConfigError where no database can be told from it.

    A file with faults still says where its database is: whoever pauses a rep at night must not mend a rule first.
    """
    path = named or (here or Path()) / NAMED
    if named is None and not path.exists():
        return Found(place_of(Settings(), env), None, None, None)
    env = beside(path, env)
    try:
        loaded = load(path, env, secrets=False)
    except ConfigError as complaint:
        return Found(place_of(_bare(path, complaint), env), path, None, complaint)
    return Found(place_of(loaded.settings, env), path, loaded, None)


def place_of(settings: Settings, env: Mapping[str, str]) -> Place:
    """Raises ConfigError when `database_url` names a secret that is not there."""
    url, data = places.named(settings, env), places.data_dir(settings, env)
    if url is None:
        return Place(None, data, f"the embedded PostgreSQL in {data}")
    return Place(url, data, "the PostgreSQL that database_url names")


def _bare(path: Path, complaint: ConfigError) -> Settings:
    """What a file that does not stand says of its database, and nothing else."""
    try:
        raw = tomllib.loads(read(path))
        return Settings.model_validate({key: raw[key] for key in ("database_url", "data") if key in raw})
    except (tomllib.TOMLDecodeError, ValidationError):
        raise complaint from None


@asynccontextmanager
async def reached(place: Place, *, create: bool = False) -> AsyncIterator[str]:
    """The DSN of a database that answers, for as long as the block lasts.

    Raises:
        StoreUnavailable: there is no database yet (and `create` is not set), or it does not come up.
    """
    if place.url is not None:
        yield place.url
        return
    server = await _server(place.data, create=create)
    try:
        yield server.dsn
    finally:
        if server.owns:
            # "smart" waits for a second command that attached meanwhile, instead of cutting it off.
            with contextlib.suppress(StoreUnavailable):
                await server.stop("smart", timeout=20)


async def _server(data: Path, *, create: bool) -> embedded.Embedded:
    deadline = time.monotonic() + PATIENCE
    while True:
        status = await embedded.status(data)
        try:
            if status.state == "running":
                return await embedded.attach(data)
            if status.state == "absent" and not create and status.holder is None:
                raise StoreUnavailable(
                    f"There is no database in {data} yet. `fairturn serve` makes one; or name your settings with "
                    "--config, where database_url or data say where it is."
                )
            return await embedded.start(data)
        except (DataInUse, StoreUnavailable):
            # Another Fairturn is starting it, or a command that had started it is stopping it.
            if time.monotonic() > deadline or (status.state == "absent" and not create and status.holder is None):
                raise
            await asyncio.sleep(0.25)
