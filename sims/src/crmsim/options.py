"""How a simulator is set up, and the simulator that a set-up makes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crmsim import faults
from crmsim.clock import Clock
from crmsim.evidence import Evidence
from crmsim.hubspot.options import HubspotOptions
from crmsim.salesforce import seeding
from crmsim.salesforce.locks import LockTable
from crmsim.salesforce.org import Org
from crmsim.salesforce.sessions import App, Sessions
from crmsim.salesforce.state import Latency, Salesforce, Usage
from crmsim.salesforce.switches import Switches
from crmsim.second_writer import Writers


@dataclass(frozen=True, slots=True)
class Options:
    """What `crmsim serve` was told."""

    time_scale: float = 1.0
    latency: float = 0.5
    latency_per_record: float = 0.01
    latency_token: float = 0.1
    rng_seed: int = 1
    app: App = field(default_factory=App)
    api_limit: int = 100_000
    evidence_file: Path | None = None
    evidence_requests: int = 20_000
    seed: Mapping[str, Any] = field(default_factory=dict)
    plan: Mapping[str, Any] = field(default_factory=dict)
    switches: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Setup:
    """The CRMs of one process; they share its clock. `hubspot` None: Salesforce alone."""

    salesforce: Options
    hubspot: HubspotOptions | None = None


@dataclass(frozen=True, slots=True)
class Doors:
    """Where the process listens; port 0 is any free one. `certificate`: the folder that keeps it, None a temporary."""

    host: str = "127.0.0.1"
    port: int = 0
    hubspot_port: int = 0
    https: bool = False
    https_port: int = 0
    hubspot_https_port: int = 0
    certificate: Path | None = None

    def ports(self, crm: str) -> tuple[int, int]:
        """A CRM's ports of http and https."""
        if crm == "hubspot":
            return self.hubspot_port, self.hubspot_https_port
        return self.port, self.https_port


def build(options: Options, clock: Clock) -> Salesforce:
    """Raises ValueError with the fault of a seed, a plan or a switch."""
    sim = Salesforce(
        clock=clock,
        org=Org(),
        sessions=Sessions(options.app),
        evidence=Evidence(options.evidence_requests, options.evidence_file),
    )
    start(sim, options)
    return sim


def start(sim: Salesforce, options: Options) -> None:
    """Bring a simulator to the state of its start. Requests in flight end in the org they began in."""
    org = Org(options.rng_seed)
    user = seeding.found(org)
    switches = Switches()
    switches.change(options.switches)
    if options.seed:
        seeding.seed(org, options.seed)
    org.shape(switches)
    sim.org, sim.switches, sim.locks = org, switches, LockTable()
    sim.sessions = Sessions(options.app, user, org.id18)
    sim.evidence.forget_all()
    sim.gate.open()
    sim.writers.stop()
    sim.writers = Writers()
    sim.latency = Latency(options.latency, options.latency_per_record, options.latency_token)
    sim.usage = Usage(options.api_limit)
    seed, planned = faults.parse(options.plan)
    sim.plan.install(seed, planned, sim.clock.now())
