"""The ASGI application of one simulated Salesforce org."""

from starlette.types import ASGIApp

from crmsim import faults
from crmsim.clock import Clock
from crmsim.evidence import Evidence
from crmsim.panel import mounted
from crmsim.salesforce import seeding
from crmsim.salesforce.control import Control
from crmsim.salesforce.door import Door
from crmsim.salesforce.locks import LockTable
from crmsim.salesforce.options import SalesforceOptions
from crmsim.salesforce.org import Org
from crmsim.salesforce.sessions import Sessions
from crmsim.salesforce.state import Latency, Salesforce, Usage
from crmsim.salesforce.switches import Switches
from crmsim.second_writer import Writers


def application(options: SalesforceOptions, clock: Clock) -> ASGIApp:
    """Raises ValueError with the fault of a seed, a plan or a switch."""
    evidence = Evidence(options.evidence_requests, options.evidence_file)
    sim = Salesforce(clock, Org(), Sessions(options.app), evidence)
    start(sim, options)
    return mounted(Control(sim, fresh=lambda used: start(used, options)), Door(sim))


def start(sim: Salesforce, options: SalesforceOptions) -> None:
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
    sim.latency = Latency(options.latency, options.latency_per_record, options.latency_read, options.latency_token)
    sim.usage = Usage(options.api_limit)
    seed, planned = faults.parse(options.plan)
    sim.plan.install(seed, planned, sim.clock.now())
