"""Whether the CRMs would take what the settings say: each is asked, none can spoil the answer of another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from fairturn.desk import Finding, Survey

ORDER: Final = ("error", "warning", "ok")


async def survey(crms: Mapping[str, Survey], silent: Sequence[Finding], *, probe: bool) -> list[Finding]:
    """Findings by destination, what must be mended first."""
    found = list(silent)
    for crm in crms.values():
        found += await crm.survey(probe=probe)
    names = list(dict.fromkeys(one.destination for one in found))
    return sorted(found, key=lambda one: (names.index(one.destination), ORDER.index(one.severity)))
