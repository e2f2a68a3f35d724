"""The settings in force, read from the database and made ready."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fairturn.errors import FairturnError, StoreError
from fairturn.flow.plan import Plan, Plans, compile_plan, shapes
from fairturn.operate import settings as settings_file
from fairturn.operate.loaded import Loaded
from fairturn.ports import Wake
from fairturn.sources import FORMATS, flattener
from fairturn.stores.postgres.configs import PostgresConfigs, Version
from fairturn.stores.postgres.database import Database

LOOK = 15.0  # seconds between looks at which settings are in force, should no notification come


def load_file(path: Path, env: Mapping[str, str], *, secrets: bool = True) -> Loaded:
    """The settings file, judged with the formats of this release. Raises ConfigError with every fault."""
    return settings_file.load(path, env, secrets=secrets, formats=tuple(FORMATS))


async def put_in_force(database: Database, loaded: Loaded, actor: str) -> Version:
    """The file's text becomes the newest version, unless it is that already; reps join and leave with it."""
    settings = loaded.settings
    return await PostgresConfigs(database).apply(
        loaded.text, shapes(settings), tuple(settings.reps), tuple(settings.destinations), actor
    )


async def in_force(database: Database, env: Mapping[str, str]) -> tuple[Version, Loaded]:
    version = await PostgresConfigs(database).current()
    if version is None:
        msg = "No settings are in force yet. Start `fairturn serve` with a settings file once."
        raise FairturnError(msg)
    return version, settings_file.parse(version.body, Path(f"settings version {version.id}"), env, secrets=False)


async def until_newer(database: Database, version: int, wake: Wake) -> int:
    """The version in force, once it is another than `version`: some process was started with a new file."""
    while True:
        await wake.wait(LOOK)
        try:
            current = await PostgresConfigs(database).current()
        except StoreError:
            continue
        if current is not None and current.id != version:
            return current.id


async def plans(database: Database, env: Mapping[str, str]) -> Plans:
    async def load() -> Plan:
        version, loaded = await in_force(database, env)
        return compile_plan(version.id, loaded.settings, flattener)

    return Plans(await load(), load)
