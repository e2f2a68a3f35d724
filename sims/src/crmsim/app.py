"""The ASGI application of each CRM: `/__sim__` for whoever runs the simulator, everything else is the vendor's."""

from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.types import ASGIApp

from crmsim.clock import Clock
from crmsim.control import Control
from crmsim.hubspot.app import application as hubspot
from crmsim.options import Options, Setup, build, start
from crmsim.salesforce.door import Door

CONTROL = "/__sim__"


def application(options: Options, clock: Clock) -> ASGIApp:
    """Salesforce. Raises ValueError with the fault of a seed, a plan or a switch."""
    sim = build(options, clock)
    control = Control(sim, fresh=lambda used: start(used, options))
    return Starlette(routes=[Mount(CONTROL, routes=control.routes()), Mount("/", app=Door(sim))])


def applications(setup: Setup) -> dict[str, ASGIApp]:
    """Each CRM's name and application, one clock for all. Raises ValueError as the applications do."""
    clock = Clock(setup.salesforce.time_scale)
    found = {"salesforce": application(setup.salesforce, clock)}
    if setup.hubspot is not None:
        found["hubspot"] = hubspot(setup.hubspot, clock)
    return found
