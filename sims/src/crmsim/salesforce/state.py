"""Everything that one simulated Salesforce is: its org, its clock, its sessions, its faults, its evidence."""

from dataclasses import dataclass, field

from crmsim.clock import Clock
from crmsim.evidence import Evidence
from crmsim.faults import FaultPlan
from crmsim.salesforce.locks import LockTable
from crmsim.salesforce.org import Org
from crmsim.salesforce.sessions import Sessions
from crmsim.salesforce.switches import Switches
from crmsim.second_writer import Writers
from crmsim.signals import Gate


@dataclass(slots=True)
class Latency:
    """Simulated seconds of a write: `fixed` + `per_record` for each row. `read` is a query's, and of whatever else only
    reads (None: `fixed`), `token` the token endpoint's own.
    """

    fixed: float = 0.5
    per_record: float = 0.01
    read: float | None = None
    token: float = 0.1

    @property
    def reading(self) -> float:
        return self.fixed if self.read is None else self.read


@dataclass(slots=True)
class Usage:
    """The daily API requests of the org. Nothing resets them but the control endpoint: a run is shorter than a day."""

    maximum: int = 100_000
    used: int = 0

    def header(self) -> dict[str, str]:
        return {"Sforce-Limit-Info": f"api-usage={self.used}/{self.maximum}"}


@dataclass(slots=True)
class Salesforce:
    """The simulator's state. Handlers get it whole; `reset` of the control endpoint makes its parts anew."""

    clock: Clock
    org: Org
    sessions: Sessions
    evidence: Evidence
    latency: Latency = field(default_factory=Latency)
    usage: Usage = field(default_factory=Usage)
    switches: Switches = field(default_factory=Switches)
    locks: LockTable = field(default_factory=LockTable)
    plan: FaultPlan = field(default_factory=FaultPlan)
    gate: Gate = field(default_factory=Gate)
    writers: Writers = field(default_factory=Writers)
