"""A contact's company, where the lead knows HubSpot's id of it: an association, made after the contact was written.

POST /crm/v4/associations/contacts/companies/batch/associate/default: the first company, if there is none yet.
https://developers.hubspot.com/docs/api-reference/crm-associations-v4/guide
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fairturn.destinations.hubspot.decode import body_of
from fairturn.destinations.hubspot.door import Door, Tally
from fairturn.destinations.hubspot.problems import Problem, problems_of
from fairturn.destinations.hubspot.reading import Unread, asked

PATH: Final = "/crm/v4/associations/contacts/companies/batch/associate/default"

Pair = tuple[str, str]  # contact, company


async def associate(door: Door, run: Tally, pairs: Sequence[Pair]) -> dict[Pair, str]:
    """Those that HubSpot did not make, with its words. Never raises for what it says: the contact is written already.

    An id that is none spoils the request for all: what is named is left out, once.
    """
    failed: dict[Pair, str] = {}
    left = list(dict.fromkeys(pairs))
    for last in (False, True):
        made, problems = await _attempt(door, run, left)
        rest = [pair for pair in left if pair not in made]
        refused = {pair: words for pair in rest if (words := _words(pair, problems)) is not None}
        failed |= refused
        left = [pair for pair in rest if pair not in refused]
        if last or made or not refused or not left:
            words = problems[0].words if problems else "HubSpot does not mention it"
            failed |= dict.fromkeys(left, words)
            break
    return failed


async def _attempt(door: Door, run: Tally, pairs: Sequence[Pair]) -> tuple[frozenset[Pair], Sequence[Problem]]:
    inputs = [{"from": {"id": contact}, "to": {"id": company}} for contact, company in pairs]
    try:
        reply = await asked(door, run, "POST", PATH, {"inputs": inputs})
    except Unread as error:
        return frozenset(), (Problem(error.later.code, error.later.message),)
    body = body_of(reply) or {}
    if reply.status >= 300:
        return frozenset(), problems_of(body)
    problems = [one for entry in _entries(body.get("errors")) for one in problems_of(entry)]
    return frozenset(pair for entry in _entries(body.get("results")) if (pair := _pair(entry)) in set(pairs)), problems


def _pair(entry: Mapping[str, Any]) -> Pair:
    """Two shapes: ids beside each other (numbers in recordings, text in the specification), or in from and to."""
    return (_id(entry, "from"), _id(entry, "to"))


def _id(entry: Mapping[str, Any], end: str) -> str:
    inner = entry.get(end)
    found = inner.get("id") if isinstance(inner, dict) else entry.get(f"{end}ObjectId")
    return str(found or "")


def _words(pair: Pair, problems: Sequence[Problem]) -> str | None:
    contact, company = pair
    for problem in problems:
        said = {*problem.ids, *problem.message.replace(",", " ").replace(".", " ").split()}
        if company in said or contact in said:
            return problem.words
    return None


def _entries(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
