"""The stations of a worker that speak to CRMs: one that writes per destination, and one that asks whom it has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial

from fairturn.assemble.crms import hubspot_secrets
from fairturn.assemble.questions import questions
from fairturn.config import Settings
from fairturn.decide.asking import asked
from fairturn.decide.outgoing import owner_rule, untold, values_rule
from fairturn.decide.users import owners_named
from fairturn.destinations import hubspot
from fairturn.destinations.console import Console
from fairturn.destinations.salesforce import open_salesforce, open_shadow
from fairturn.errors import ConfigError, Fault
from fairturn.flow.account import Account
from fairturn.flow.ask import Ask
from fairturn.flow.deliver import Deliver
from fairturn.flow.engine import Station
from fairturn.flow.station import RouteStation
from fairturn.operate.secrets import secret
from fairturn.ports import Destination
from fairturn.stores.postgres.database import Database
from fairturn.stores.postgres.ledger import PostgresLedger
from fairturn.stores.postgres.wake import Listener


def destination(name: str, settings: Settings, env: Mapping[str, str]) -> Destination:
    """Raises ConfigError for a secret that is missing, DestinationError for a URL that will not do."""
    mine = settings.destinations[name]
    if mine.type == "console":
        return Console(name, mine.map)
    if mine.type == "hubspot":
        if mine.mode == "shadow":
            return hubspot.open_shadow(name, mine, settings.reps)
        return hubspot.open_hubspot(name, mine, settings.reps, **hubspot_secrets(name, mine, env))
    if mine.mode == "shadow":
        return open_shadow(name, mine, settings.reps)
    if mine.client_id is None or mine.client_secret is None:
        fault = Fault(
            "a Salesforce destination needs client_id and client_secret",
            'Name them: client_id = "env:SF_CLIENT_ID"',
            key=f"destinations.{name}",
        )
        raise ConfigError((fault,))
    return open_salesforce(
        name,
        mine,
        settings.reps,
        client_id=secret(mine.client_id, env),
        client_secret=secret(mine.client_secret, env),
        owners=owners_named(settings, name),
    )


async def deliveries(
    stack: AsyncExitStack,
    database: Database,
    settings: Settings,
    env: Mapping[str, str],
    listener: Listener,
    router: RouteStation,
) -> list[tuple[str, Station, Callable[[], Awaitable[None]]]]:
    """Stations to run; what they hold open is closed with `stack`. `router` takes leads whose owner a CRM refuses."""
    owners = owner_rule({name: pool.hold_owner for name, pool in settings.pools.items()}, untold(settings))
    ledger = PostgresLedger(database, owners, values_rule(settings))
    open_questions, crms_asked = questions(database, settings), asked(settings)

    async def refused(crm: str, rep: str, lead: int, message: str) -> None:
        # "invalid cross reference id" alone does not say which id of which CRM is to be looked at.
        user = settings.reps[rep].ids.get(crm) if rep in settings.reps else None
        await router.owner_refused(rep, lead, f"{message} ({crm}, user {user})" if user else message)

    stations: list[tuple[str, Station, Callable[[], Awaitable[None]]]] = []
    for name, mine in settings.destinations.items():
        crm = destination(name, settings, env)
        stack.push_async_callback(crm.close)
        at_fault = partial(refused, name)
        lease = settings.server.takeover
        account = Account(ledger, crm, name=name, settings=mine, lease=lease)
        ask = Ask(account, open_questions) if name in crms_asked else None
        station = Deliver(account, on_owner_fault=at_fault, before=ask.once_more if ask else None)
        stations.append((f"deliver-{name}", station, partial(station.run, listener.bell("fairturn_change"))))
        if ask is not None:
            stations.append((f"ask-{name}", ask, partial(ask.run, listener.bell("fairturn_question"))))
    return stations
