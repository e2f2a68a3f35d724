"""Vendors' webhook formats, one small module each: how they prove themselves, and what they hide."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Final

from fairturn.errors import ConfigError, Fault
from fairturn.sources import form, hubspot_workflow, plain, typeform
from fairturn.sources.format import Flatten, Format

FORMATS: Final[Mapping[str, Format]] = MappingProxyType(
    {known.name: known for known in (plain.FORMAT, form.FORMAT, typeform.FORMAT, hubspot_workflow.FORMAT)}
)


def flattener(name: str, key: str | None = None) -> Flatten:
    """The function that lays a vendor's payload open. Raises ConfigError, at `key`, for an unknown format."""
    if known := FORMATS.get(name):
        return known.flatten
    close = get_close_matches(name, FORMATS, n=1)
    hint = f'Did you mean "{close[0]}"? ' if close else ""
    remedy = f'{hint}The formats are {", ".join(FORMATS)}; "plain" takes any JSON object.'
    raise ConfigError((Fault(f"there is no format {name!r}", remedy, key=key),))
