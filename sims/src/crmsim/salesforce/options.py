"""How a simulated Salesforce org is set up."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crmsim.salesforce.sessions import App


@dataclass(frozen=True, slots=True)
class SalesforceOptions:
    """What the org is at its start. Seconds are simulated; `seed`, `plan`, `switches` are JSON documents."""

    latency: float = 0.5
    latency_per_record: float = 0.01
    latency_read: float | None = None  # None: `latency`
    latency_token: float = 0.1
    rng_seed: int = 1
    app: App = field(default_factory=App)
    api_limit: int = 100_000
    evidence_file: Path | None = None
    evidence_requests: int = 20_000
    seed: Mapping[str, Any] = field(default_factory=dict)
    plan: Mapping[str, Any] = field(default_factory=dict)
    switches: Mapping[str, Any] = field(default_factory=dict)
