"""The ASGI application of each CRM."""

from starlette.types import ASGIApp

from crmsim.clock import Clock
from crmsim.hubspot.app import application as hubspot
from crmsim.options import Setup
from crmsim.salesforce.app import application as salesforce


def applications(setup: Setup) -> dict[str, ASGIApp]:
    """Each CRM's name and application, one clock for all. Raises ValueError as the applications do."""
    clock = Clock(setup.time_scale)
    found = {"salesforce": salesforce(setup.salesforce, clock)}
    if setup.hubspot is not None:
        found["hubspot"] = hubspot(setup.hubspot, clock)
    return found
