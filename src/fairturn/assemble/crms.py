"""The secrets with which each kind of CRM is opened."""

from __future__ import annotations

from collections.abc import Mapping

from fairturn.config import Destination
from fairturn.destinations.hubspot import Secrets
from fairturn.errors import ConfigError, Fault
from fairturn.operate.secrets import secret


def names_secrets(mine: Destination) -> bool:
    """Whether the settings say with what a HubSpot account is opened."""
    return mine.token is not None or None not in (mine.refresh_token, mine.client_id, mine.client_secret)


def hubspot_secrets(name: str, mine: Destination, env: Mapping[str, str]) -> Secrets:
    """Of a private app, or of an OAuth app. Raises ConfigError for what is missing."""
    if mine.token is not None:
        return {"token": secret(mine.token, env)}
    if mine.refresh_token is None or mine.client_id is None or mine.client_secret is None:
        fault = Fault(
            "a HubSpot destination needs token, or refresh_token, client_id and client_secret",
            'Name a private app\'s token: token = "env:HUBSPOT_TOKEN"',
            key=f"destinations.{name}",
        )
        raise ConfigError((fault,))
    return {
        "refresh_token": secret(mine.refresh_token, env),
        "client_id": secret(mine.client_id, env),
        "client_secret": secret(mine.client_secret, env),
    }
