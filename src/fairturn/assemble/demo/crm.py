"""What the demo needs to know of a CRM: the people who are there before the burst, the settings, and how the simulator
shows a record. One module for each: salesforce, hubspot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from fairturn.assemble.demo.scenario import Company
    from fairturn.assemble.demo.there import Known


@dataclass(frozen=True, slots=True)
class Held:
    """A person's record, as the simulated CRM has it. emails: lower case."""

    id: str
    emails: tuple[str, ...]
    title: str | None
    score: float | None
    owner: str | None


@dataclass(frozen=True, slots=True)
class Crm:
    name: str  # of the destination, and of the key in `api_calls`
    label: str
    objects: tuple[str, ...]  # that people are, as the simulator lists them
    org: str  # the simulator's word for what a destination pins
    locks: str  # what is locked during a write, as a sentence; "" = nothing
    kinds: Mapping[str, str]  # of those who are there -> how they are, after a number
    texts: Mapping[str, str]  # files beside the settings -> what they hold
    secrets: Mapping[str, str]  # the same -> the variable by which the simulator is told the secret
    option: str  # how the simulator's options that are about it begin
    controls: str  # where the simulator says that its control endpoints are
    held: Callable[[Mapping[str, Any]], Held | None]  # a row of the simulator; None: it is deleted
    seed: Callable[[Sequence[Company], Sequence[Known]], dict[str, object]]
    queue: str | None  # that shows held leads
    settings: Callable[[Path, str, str], str]  # (folder, url, org) -> the destination's part of the file


def number(value: object) -> float | None:
    """HubSpot answers in texts."""
    return float(value) if isinstance(value, int | float | str) and value != "" else None
