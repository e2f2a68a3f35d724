"""Salesforce: theirs, at the back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairturn.config import Destination as Settings
from fairturn.config import Rep
from fairturn.decide.existing import policy_of
from fairturn.destinations.http import base_of
from fairturn.destinations.salesforce.auth import Credentials, org_of
from fairturn.destinations.salesforce.client import Salesforce
from fairturn.destinations.salesforce.directory import Named, is_id
from fairturn.destinations.salesforce.encode import Encoder, name_of, sources
from fairturn.destinations.shadow import Shadow

__all__ = ["Credentials", "Encoder", "Salesforce", "open_salesforce", "open_shadow", "org_of", "sources"]


def open_salesforce(
    name: str,
    settings: Settings,
    reps: Mapping[str, Rep],
    *,
    client_id: str,
    client_secret: str,
    owners: Iterable[str] = (),
) -> Salesforce:
    """client_id, client_secret: the secrets themselves. owners: queues and users that pools and rules name.

    Raises DestinationError when `url` will not do.
    """
    url = base_of(settings.url, f"destinations.{name}.url", allow_private=settings.allow_private)
    encoder = encoder_of(name, settings, reps)
    return Salesforce(
        Credentials(url, client_id, client_secret, settings.org, settings.allow_private),
        encoder,
        name=name,
        version=settings.api_version,
        timeout=settings.request_timeout,
        policy=policy_of(settings),
        slots=settings.max_slots,
        wanted=wanted(encoder, reps, owners),
        asked=settings.existing == "ask",
    )


def open_shadow(name: str, settings: Settings, reps: Mapping[str, Rep]) -> Shadow:
    """For `mode = "shadow"`: no address and no secret is needed where nothing is sent."""
    return Shadow(encoder_of(name, settings, reps).draft, name=name)


def encoder_of(name: str, settings: Settings, reps: Mapping[str, Rep]) -> Encoder:
    return Encoder(
        name,
        settings.object,
        settings.external_id,
        sources(settings.map),
        reps,
        settings.account_lookup,
        sources(settings.contact_map),
        settings.status_field,
    )


def wanted(encoder: Encoder, reps: Mapping[str, Rep], owners: Iterable[str]) -> list[Named]:
    """Who has to be found in the org before the first write."""
    people = [named for rep in reps.values() if (named := name_of(rep, encoder.destination)) is not None]
    queues = [Named("owner", owner) for owner in owners if not is_id(owner, "005", "00G")]
    types = [
        Named("record_type", way.record_type, sobject)
        for sobject in {encoder.sobject, *(("Contact",) if encoder.contact_fields else ())}
        for way in encoder.mapping(sobject).values()
        if way.record_type is not None
    ]
    return [*people, *queues, *types]
