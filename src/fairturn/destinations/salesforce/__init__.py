"""Salesforce: theirs, at the back."""

from __future__ import annotations

from collections.abc import Mapping

from fairturn.config import Destination as Settings
from fairturn.config import Rep
from fairturn.destinations.http import base_of
from fairturn.destinations.salesforce.auth import Credentials, org_of
from fairturn.destinations.salesforce.client import Salesforce
from fairturn.destinations.salesforce.encode import Encoder, sources
from fairturn.destinations.salesforce.shadow import Shadow

__all__ = ["Credentials", "Encoder", "Salesforce", "open_salesforce", "open_shadow", "org_of", "sources"]


def open_salesforce(
    name: str, settings: Settings, reps: Mapping[str, Rep], *, client_id: str, client_secret: str
) -> Salesforce:
    """client_id, client_secret: the secrets themselves. Raises DestinationError when `url` will not do."""
    url = base_of(settings.url, f"destinations.{name}.url", allow_private=settings.allow_private)
    return Salesforce(
        Credentials(url, client_id, client_secret, settings.org, settings.allow_private),
        encoder(name, settings, reps),
        name=name,
        version=settings.api_version,
        timeout=settings.request_timeout,
        slots=settings.max_slots,
    )


def open_shadow(name: str, settings: Settings, reps: Mapping[str, Rep]) -> Shadow:
    """For `mode = "shadow"`: no address and no secret is needed where nothing is sent."""
    return Shadow(encoder(name, settings, reps), name=name)


def encoder(name: str, settings: Settings, reps: Mapping[str, Rep]) -> Encoder:
    users = {rep: row.ids[name] for rep, row in reps.items() if name in row.ids}
    return Encoder(
        name,
        settings.object,
        settings.external_id,
        sources(settings.map),
        users,
        settings.account_lookup,
        frozenset(reps),
    )
