"""Fairturn: every lead to the right rep, fairly, and into the CRM in few, safe, batched calls."""

__version__ = "0.1.0"
