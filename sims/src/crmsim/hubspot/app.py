"""The ASGI application of one simulated HubSpot account: `/__sim__` is the simulator's, everything else HubSpot's."""

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from crmsim.clock import Clock
from crmsim.hubspot.options import HubspotOptions

CONTROL = "/__sim__"


async def _health(_: Request) -> JSONResponse:
    return JSONResponse({"ok": True})


def application(options: HubspotOptions, clock: Clock) -> ASGIApp:
    """Raises ValueError with the fault of a seed, a plan or a switch."""
    del options, clock
    return Starlette(routes=[Mount(CONTROL, routes=[Route("/health", _health)])])
