"""How true the simulators are: each behaviour with its source, and the switch that changes it.

The rows stand beside the code that they speak of; this module puts them in order, for the reference page.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from crmsim.hubspot import fidelity as hubspot
from crmsim.salesforce import fidelity as salesforce
from crmsim.salesforce import fidelity_doors as doors

CONFIDENCES = {
    "recorded": "an answer of the real service, in public test fixtures",
    "documented": "the vendor's own pages",
    "reported": "clients' code and words of people who met it",
    "unverified": "nothing public settles it: the simulator chose",
}


@dataclass(frozen=True, slots=True)
class Behaviour:
    """`switch` names the one that changes it; None: it is as it is."""

    name: str
    source: str
    confidence: str
    switch: str | None


def _behaviours(rows: tuple[tuple[str, str, str, str | None], ...]) -> tuple[Behaviour, ...]:
    return tuple(Behaviour(*row) for row in rows)


SALESFORCE: Mapping[str, tuple[Behaviour, ...]] = {
    "Tokens": _behaviours(doors.TOKENS),
    "Versions, headers, errors": _behaviours(doors.VERSIONS),
    "Single records": _behaviours(doors.RECORDS),
    "Collections": _behaviours(doors.COLLECTIONS),
    "Composite, Batch, Graph": _behaviours(doors.COMPOSITE),
    "Describe": _behaviours(doors.DESCRIBE),
    "Field rules": _behaviours(salesforce.RULES),
    "Owners, assignment, duplicates, sharing": _behaviours(salesforce.OWNERS),
    "Locks, limits, automation": _behaviours(salesforce.LIMITS),
    "Queries": _behaviours(salesforce.QUERIES),
}
HUBSPOT: Mapping[str, tuple[Behaviour, ...]] = {"Behaviours": _behaviours(hubspot.RULES)}
