"""Everything that one simulated HubSpot account is."""

import random
from dataclasses import dataclass, field

from crmsim.clock import Clock, stamp
from crmsim.evidence import Evidence
from crmsim.faults import FaultPlan
from crmsim.hubspot.limits import Limits
from crmsim.hubspot.options import HubspotOptions
from crmsim.hubspot.portal import Portal
from crmsim.hubspot.switches import Switches
from crmsim.hubspot.tokens import Tokens
from crmsim.second_writer import Writers
from crmsim.signals import Gate


@dataclass(slots=True)
class Latency:
    """Simulated seconds: `fixed` + `per_record` for each record; a search and a token take their own."""

    fixed: float = 0.3
    per_record: float = 0.005
    search: float = 0.3
    token: float = 0.1


@dataclass(slots=True)
class Hubspot:
    """The simulator's state. Handlers get it whole; `reset` of the control endpoint makes its parts anew."""

    options: HubspotOptions
    clock: Clock
    evidence: Evidence
    portal: Portal
    tokens: Tokens
    limits: Limits
    latency: Latency = field(default_factory=Latency)
    switches: Switches = field(default_factory=Switches)
    plan: FaultPlan = field(default_factory=FaultPlan)
    gate: Gate = field(default_factory=Gate)
    writers: Writers = field(default_factory=Writers)
    origin: float = field(default_factory=lambda: stamp().wall)

    def wall(self) -> float:
        """The simulated time of day, Unix seconds: the account's midnight comes sooner when time is scaled."""
        return self.origin + self.clock.now()

    def dice(self, salt: object) -> random.Random:
        """Seeded luck: the same run shuffles the same way."""
        return random.Random(f"{self.options.rng_seed}:{salt}")
