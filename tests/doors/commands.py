"""The command line on a real database: a World to fill it, and the console script's own app to ask it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from fairturn.cli import app
from fairturn.stores.postgres.database import Database
from tests.flow.world import World, config


@dataclass
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class Shell:
    """Runs commands as a person in the folder of `config` would."""

    world: World
    config: Path

    async def __call__(self, *words: str, code: int | None = 0) -> Said:
        env = {"FAIRTURN_CONFIG": str(self.config), "COLUMNS": "160", "FAIRTURN_DSN": ""}
        # A loop of its own in a thread of its own, as a process has.
        done = await asyncio.to_thread(CliRunner().invoke, app, list(words), env=env, catch_exceptions=False)
        said = Said(done.exit_code, done.stdout, done.stderr)
        assert code is None or said.code == code, (said.code, said.out, said.err)
        return said


Open = Callable[..., Awaitable[Shell]]


@asynccontextmanager
async def shells(dsn: str, folder: Path) -> AsyncIterator[Open]:
    """Opens a world with these settings, its station, and a shell to go with it."""
    async with Database(dsn, size=3) as connections:

        async def start(text: str | None = None) -> Shell:
            text = config() if text is None else text
            world = World(dsn, connections, text)
            await world.apply(text)
            await world.add_station()
            file = folder / "fairturn.toml"
            file.write_text(f'database_url = "{dsn}"\n{text}')
            return Shell(world, file)

        yield start


def lead(number: int, **more: object) -> dict[str, object]:
    """An event of a person of their own company."""
    return {"visitor": f"v{number}", "email": f"p{number}@c{number}.com", "name": f"Pat {number}", **more}
