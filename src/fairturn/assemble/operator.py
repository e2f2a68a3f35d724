"""What an operator's command works with: the database, opened; the settings; the CRMs, if they must be asked."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from fairturn.assemble.crms import hubspot_secrets, names_secrets
from fairturn.assemble.database import Found, find, reached
from fairturn.config import Settings
from fairturn.desk import Acts, Inspect, Proofs, Reads
from fairturn.destinations import hubspot
from fairturn.destinations.salesforce.inspect import open_inspect
from fairturn.errors import ConfigError, NotAllowed
from fairturn.flow.plan import Plan, compile_plan
from fairturn.operate.events import Asides
from fairturn.operate.secrets import beside, secret
from fairturn.operate.settings import Loaded, parse
from fairturn.sources import flattener
from fairturn.stores.postgres import migrate
from fairturn.stores.postgres.acts import PostgresActs
from fairturn.stores.postgres.asides import PostgresAsides
from fairturn.stores.postgres.configs import SQL as CONFIGS
from fairturn.stores.postgres.configs import PostgresConfigs
from fairturn.stores.postgres.database import Database
from fairturn.stores.postgres.proofs import PostgresProofs
from fairturn.stores.postgres.reads import PostgresReads


@dataclass(frozen=True, slots=True)
class InForce:
    """The settings that the stations work with now; the file may have moved on."""

    version: int
    loaded: Loaded


@dataclass(frozen=True, slots=True)
class Operator:
    found: Found
    in_force: InForce | None  # None: nothing was served from this database yet
    reads: Reads
    acts: Acts
    proofs: Proofs
    asides: Asides
    version: Callable[[int], Awaitable[InForce | None]]  # settings as they once were
    env: Mapping[str, str] = field(repr=False)  # where secrets are, and where relative paths of the settings begin

    @property
    def settings(self) -> Loaded | None:
        """For names and explanations: those in force, else the file's."""
        return self.in_force.loaded if self.in_force else self.found.loaded

    def plan(self) -> Plan:
        """Of the settings in force. Raises NotAllowed when none are: nothing was ever routed here."""
        if self.in_force is None:
            raise NotAllowed("No settings are in force in this database. Start `fairturn serve` with yours once.")
        return plan_of(self.in_force.loaded, self.in_force.version)

    async def plan_then(self, version: int | None) -> Plan | None:
        """Of the settings of then, of now where those cannot be read any more, of the file where there are none."""
        then = await self.version(version) if version is not None else None
        found = then or self.in_force
        if found is not None:
            return plan_of(found.loaded, found.version)
        return plan_of(self.found.loaded) if self.found.loaded else None


def plan_of(loaded: Loaded, version: int = 0) -> Plan:
    """Settings made ready to map, judge and assign, without a database."""
    return compile_plan(version, loaded.settings, flattener)


@asynccontextmanager
async def operator(config: Path | None = None, env: Mapping[str, str] | None = None) -> AsyncIterator[Operator]:
    """Open what a command needs, and close it again.

    Raises:
        ConfigError: the settings do not say which database.
        StoreUnavailable: it does not answer, or there is none yet.
        SchemaMissing, SchemaTooNew: it is not one for this release.
    """
    env = os.environ if env is None else env
    found = find(config, env)
    env = env if found.path is None else beside(found.path, env)
    async with reached(found.place) as dsn:
        await migrate.require(dsn)
        async with Database(dsn, size=2) as database:
            yield Operator(
                found=found,
                in_force=await _in_force(database, env),
                reads=PostgresReads(database),
                acts=PostgresActs(database),
                proofs=PostgresProofs(database),
                asides=PostgresAsides(database),
                version=lambda version: _version(database, version, env),
                env=env,
            )


async def _in_force(database: Database, env: Mapping[str, str]) -> InForce | None:
    version = await PostgresConfigs(database).current()
    return None if version is None else _parsed(version.id, version.body, env)


async def _version(database: Database, version: int, env: Mapping[str, str]) -> InForce | None:
    async with database.connection() as c:
        body = await c.fetchval(CONFIGS.version, version)
    return None if body is None else _parsed(version, body, env)


def _parsed(version: int, body: str, env: Mapping[str, str]) -> InForce | None:
    try:
        return InForce(version, parse(body, Path(f"settings version {version}"), env, secrets=False))
    except ConfigError:
        return None  # written by another release; what a command reads does not depend on it


@asynccontextmanager
async def inspects(
    settings: Settings, env: Mapping[str, str]
) -> AsyncIterator[tuple[Mapping[str, Inspect], Mapping[str, str]]]:
    """The CRMs that can be asked, and why each of the others cannot. Raises ConfigError for a missing secret."""
    crms: dict[str, Inspect] = {}
    silent: dict[str, str] = {}
    async with AsyncExitStack() as stack:
        for name, mine in settings.destinations.items():
            if mine.type == "console":
                silent[name] = "a console keeps nothing"
            elif mine.mode == "shadow":
                silent[name] = "it runs in shadow mode: nothing is sent there"
            elif mine.type == "hubspot" and not names_secrets(mine):
                silent[name] = "the settings name neither token nor refresh_token, client_id and client_secret for it"
            elif mine.type == "hubspot":
                crms[name] = asked = hubspot.open_inspect(name, mine, **hubspot_secrets(name, mine, env))
                stack.push_async_callback(asked.close)
            elif mine.client_id is None or mine.client_secret is None:
                silent[name] = "the settings name no client_id and client_secret for it"
            else:
                pair = {"client_id": secret(mine.client_id, env), "client_secret": secret(mine.client_secret, env)}
                crms[name] = crm = open_inspect(name, mine, **pair)
                stack.push_async_callback(crm.close)
        yield crms, silent
