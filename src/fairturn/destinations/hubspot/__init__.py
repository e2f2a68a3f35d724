"""HubSpot: theirs, at the back."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TypedDict, Unpack

from fairturn.config import Destination as Settings
from fairturn.config import Rep
from fairturn.destinations.http import base_of
from fairturn.destinations.hubspot.auth import Credentials
from fairturn.destinations.hubspot.client import HubSpot
from fairturn.destinations.hubspot.encode import Encoder, sources
from fairturn.destinations.hubspot.inspect import HubSpotInspect
from fairturn.destinations.shadow import Shadow

__all__ = [
    "Credentials", "Encoder", "HubSpot", "HubSpotInspect", "Secrets", "Shadow", "credentials", "open_hubspot",
    "open_inspect", "open_shadow", "sources",
]  # fmt: skip


class Secrets(TypedDict, total=False):
    """The secrets themselves: `token` of a private app, or the three of an OAuth app."""

    token: str
    client_id: str
    client_secret: str
    refresh_token: str


def open_hubspot(name: str, settings: Settings, reps: Mapping[str, Rep], **secrets: Unpack[Secrets]) -> HubSpot:
    """Raises DestinationError when `url` will not do."""
    return HubSpot(credentials(name, settings, secrets), encoder(name, settings, reps), settings, name=name)


def open_inspect(name: str, settings: Settings, **secrets: Unpack[Secrets]) -> HubSpotInspect:
    """Raises DestinationError when `url` will not do."""
    return HubSpotInspect(credentials(name, settings, secrets), settings, name=name)


def open_shadow(name: str, settings: Settings, reps: Mapping[str, Rep]) -> Shadow:
    """For `mode = "shadow"`: no address and no secret is needed where nothing is sent."""
    return Shadow(partial(encoder(name, settings, reps).draft, users=None, known=False), name=name)


def credentials(name: str, settings: Settings, secrets: Secrets) -> Credentials:
    url = base_of(settings.url, f"destinations.{name}.url", allow_private=settings.allow_private)
    return Credentials(
        url,
        **secrets,
        portal=settings.org,
        sandbox=settings.sandbox,
        allow_private=settings.allow_private,
    )


def encoder(name: str, settings: Settings, reps: Mapping[str, Rep]) -> Encoder:
    return Encoder(name, settings.external_id, sources(settings.map), reps)
