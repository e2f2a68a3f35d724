"""What the org does by itself when a record is written: assignment, duplicate and validation rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from fairturn.destinations.salesforce.decode import Problem, problems_of
from fairturn.destinations.salesforce.soql import among, select
from fairturn.destinations.salesforce.wire import Part, Run, Wire, parsed
from fairturn.destinations.surveying import Notes

VALIDATION: Final = ("ValidationName", "ErrorMessage", "ErrorDisplayField")
EXEMPT: Final = (
    "Let the integration user pass (a custom permission in the rule's condition), or give what it asks for a value "
    "in the map"
)
PASSED: Final = "where it only alerts, Fairturn's writes pass; where it blocks, a record that it finds alike is refused"
STOPPED: Final = 'with existing = "ignore" nobody looked before, so a record that it finds alike is refused'


async def judge_automation(notes: Notes, wire: Wire, run: Run, objects: Sequence[str], *, asked: bool) -> None:
    """asked: who is there already is looked up, so writes say that alike is meant. Raises DestinationError."""
    where = among("SobjectType", objects)
    assignment, duplicates = await wire.ask(
        run,
        [
            select(("Name", "SobjectType"), "AssignmentRule", f"Active = true AND {where}"),
            select(("MasterLabel", "SobjectType"), "DuplicateRule", f"IsActive = true AND {where}"),
        ],
    )
    for row in _rows(notes, "assignment rules", assignment):
        notes.warning(
            f"assignment rule {row.get('Name')}",
            f"is active on {row.get('SobjectType')}: Fairturn's writes go past it (Sforce-Auto-Assign: FALSE), and it "
            "still gives away what others write",
        )
    for row in _rows(notes, "duplicate rules", duplicates):
        notes.warning(
            f"duplicate rule {row.get('MasterLabel')}",
            f"is active on {row.get('SobjectType')}: {PASSED if asked else STOPPED}, and is in `fairturn failed list`",
            "Setup, Duplicate Rules: let it report rather than block, at least for the integration user",
        )
    for name in objects:
        for row in _rows(notes, f"validation rules of {name}", await _validation(wire, run, name)):
            field = f" (at {row['ErrorDisplayField']})" if row.get("ErrorDisplayField") else ""
            sentence = f'is active on {name} and refuses what breaks it: "{row.get("ErrorMessage")}"{field}'
            notes.warning(f"validation rule {row.get('ValidationName')}", sentence, EXEMPT)


async def _validation(wire: Wire, run: Run, sobject: str) -> list[dict[str, Any]] | Problem:
    """By the Tooling API: the data API does not know them."""
    where = f"Active = true AND {among('EntityDefinition.QualifiedApiName', [sobject])}"
    path = wire.path(f"tooling/query?q={quote(select(VALIDATION, 'ValidationRule', where), safe='')}")
    reply = await wire.send(run, Part("GET", path))
    body = parsed(reply.body)
    if reply.status == 200 and isinstance(body, dict) and isinstance(body.get("records"), list):
        return [row for row in body["records"] if isinstance(row, dict)]
    problems = problems_of(body)
    return problems[0] if problems else Problem(f"HTTP_{reply.status}", f"HTTP {reply.status}")


def _rows(notes: Notes, what: str, answer: list[dict[str, Any]] | Problem) -> Sequence[Mapping[str, Any]]:
    if isinstance(answer, Problem):
        sentence = f"could not be asked for: {answer.code}: {answer.words}"
        notes.warning(what, sentence, "Give the integration user View Setup and Configuration to have them listed")
        return ()
    return answer
