"""Simulated CRMs, true to the wire: nothing is shared with the router under test but HTTP."""

__version__ = "0.1.0"
