"""How a simulated HubSpot account is set up."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Professional, private app (HS-docs usage guidelines): 190 requests in ten seconds per app, 625,000 a day per account.
BURST, OAUTH_BURST, DAILY, SEARCH = 190, 110, 625_000, 5


@dataclass(frozen=True, slots=True)
class HubspotOptions:
    """What the account is at its start. Seconds are simulated; `seed`, `plan`, `switches` are JSON documents.

    `token` is the private app's; the OAuth app has `client_id`, `client_secret` and `refresh_token`. Limits are
    requests: `burst_limit` (private app) and `oauth_burst_limit` in ten seconds, `search_limit` in one, `daily_limit`
    in a day of `time_zone`. `account_type`: STANDARD, SANDBOX, DEVELOPER_TEST or APP_DEVELOPER.
    """

    latency: float = 0.3
    latency_per_record: float = 0.005
    latency_search: float = 0.3
    latency_token: float = 0.1
    rng_seed: int = 1
    token: str = field(default="pat-na1-crmsim", repr=False)
    client_id: str = "crmsim-client"
    client_secret: str = field(default="crmsim-secret", repr=False)
    refresh_token: str = field(default="crmsim-refresh", repr=False)
    portal: int = 62515
    account_type: str = "DEVELOPER_TEST"
    time_zone: str = "UTC"
    burst_limit: int = BURST
    oauth_burst_limit: int = OAUTH_BURST
    daily_limit: int = DAILY
    search_limit: int = SEARCH
    evidence_file: Path | None = None
    evidence_requests: int = 20_000
    seed: Mapping[str, Any] = field(default_factory=dict)
    plan: Mapping[str, Any] = field(default_factory=dict)
    switches: Mapping[str, Any] = field(default_factory=dict)
