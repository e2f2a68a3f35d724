"""The ASGI application of one simulated HubSpot account."""

from starlette.types import ASGIApp

from crmsim import faults
from crmsim.clock import Clock
from crmsim.evidence import Evidence
from crmsim.hubspot import faulty, seeding
from crmsim.hubspot.control import Control
from crmsim.hubspot.door import Door
from crmsim.hubspot.limits import Limits
from crmsim.hubspot.options import HubspotOptions
from crmsim.hubspot.portal import Portal
from crmsim.hubspot.state import Hubspot, Latency
from crmsim.hubspot.switches import Switches
from crmsim.hubspot.tokens import Tokens
from crmsim.panel import mounted
from crmsim.second_writer import Writers


def application(options: HubspotOptions, clock: Clock) -> ASGIApp:
    """Raises ValueError with the fault of a seed, a plan or a switch."""
    evidence = Evidence(options.evidence_requests, options.evidence_file)
    sim = Hubspot(options, clock, evidence, Portal(), _tokens(options), Limits.of(options))
    start(sim)
    return mounted(Control(sim, fresh=start), Door(sim))


def _tokens(options: HubspotOptions) -> Tokens:
    tokens = Tokens(options.client_id, options.client_secret, {options.refresh_token})
    tokens.add_private(options.token, "private app")
    return tokens


def start(sim: Hubspot) -> None:
    """Bring a simulator to the state of its start. Requests in flight end in the account they began in."""
    options = sim.options
    portal, tokens, switches = Portal(options.rng_seed), _tokens(options), Switches()
    switches.change(options.switches)
    seeding.seed(portal, tokens, options.seed)
    seed, planned = faults.parse(options.plan, faulty.KINDS)
    sim.writers.stop()
    sim.writers = Writers()
    sim.portal, sim.tokens, sim.switches, sim.limits = portal, tokens, switches, Limits.of(options)
    sim.evidence.forget_all()
    sim.gate.open()
    sim.latency = Latency(options.latency, options.latency_per_record, options.latency_search, options.latency_token)
    sim.plan.install(seed, planned, sim.clock.now())
