"""One ASGI application: `/__sim__` for whoever runs the simulator, everything else is Salesforce's."""

from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.types import ASGIApp

from crmsim.control import Control
from crmsim.options import Options, build, start
from crmsim.salesforce.door import Door

CONTROL = "/__sim__"


def application(options: Options) -> ASGIApp:
    """Raises ValueError with the fault of a seed, a plan or a switch."""
    sim = build(options)
    control = Control(sim, fresh=lambda used: start(used, options))
    return Starlette(routes=[Mount(CONTROL, routes=control.routes()), Mount("/", app=Door(sim))])
