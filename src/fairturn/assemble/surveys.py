"""The CRMs of the settings, each ready to be asked whether the settings would work there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from fairturn.assemble.crms import hubspot_secrets
from fairturn.config import Settings
from fairturn.desk import Finding, Furnish, Severity, Survey
from fairturn.destinations.hubspot import credentials
from fairturn.destinations.hubspot.furnish import HubSpotFurnish
from fairturn.destinations.hubspot.survey import HubSpotSurvey
from fairturn.destinations.salesforce.survey import open_survey as open_salesforce_survey
from fairturn.errors import ConfigError, DestinationError, Fault
from fairturn.operate.secrets import secret


@asynccontextmanager
async def surveys(
    settings: Settings, env: Mapping[str, str]
) -> AsyncIterator[tuple[Mapping[str, Survey], tuple[Finding, ...]]]:
    """Those that can be asked, also in shadow mode; and a finding for each of the others."""
    able: dict[str, Survey] = {}
    silent: list[Finding] = []
    async with AsyncExitStack() as stack:
        for name, mine in settings.destinations.items():
            if mine.type == "console":
                silent.append(Finding("ok", name, "console", "keeps nothing, so there is nothing to ask"))
                continue
            try:
                able[name] = crm = open_survey(name, settings, env)
            except (ConfigError, DestinationError) as error:
                # In shadow no secret is needed to run, and nobody can be asked without one.
                why = error.faults[0].message if isinstance(error, ConfigError) else str(error)
                remedy = error.faults[0].remedy if isinstance(error, ConfigError) else "Correct url"
                severity: Severity = "warning" if mine.mode == "shadow" else "error"
                silent.append(Finding(severity, name, "login", f"it cannot be asked: {why}", remedy))
                continue
            stack.push_async_callback(crm.close)
        yield able, tuple(silent)


def open_survey(name: str, settings: Settings, env: Mapping[str, str]) -> Survey:
    """Raises ConfigError for a secret that is missing, DestinationError for a URL that will not do."""
    mine = settings.destinations[name]
    if mine.type == "hubspot":
        return HubSpotSurvey(name, settings, credentials(name, mine, hubspot_secrets(name, mine, env)))
    if mine.client_id is None or mine.client_secret is None:
        lacking = "client_id" if mine.client_id is None else "client_secret"
        remedy = f'Write {lacking} = "env:SALESFORCE_{lacking.upper()}", from the app'
        raise ConfigError((Fault(f"the settings name no {lacking}", remedy, key=f"destinations.{name}.{lacking}"),))
    return open_salesforce_survey(
        name, settings, client_id=secret(mine.client_id, env), client_secret=secret(mine.client_secret, env)
    )


@asynccontextmanager
async def furnish(settings: Settings, env: Mapping[str, str], name: str) -> AsyncIterator[Furnish]:
    """A HubSpot destination that can be furnished. Raises what `open_survey` does."""
    mine = settings.destinations[name]
    crm = HubSpotFurnish(name, settings, credentials(name, mine, hubspot_secrets(name, mine, env)))
    try:
        yield crm
    finally:
        await crm.close()
