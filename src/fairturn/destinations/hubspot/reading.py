"""Reading contacts: a hundred at a time, by record id or by a unique property. Never by search: its index lags.

POST /crm/v3/objects/contacts/batch/read
https://developers.hubspot.com/docs/api-reference/crm-contacts-v3/guide
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from fairturn.destinations.http import NoAnswer, NotSent, Reply
from fairturn.destinations.hubspot.decode import body_of, whole
from fairturn.destinations.hubspot.door import Door, Tally
from fairturn.destinations.hubspot.limits import MAX_RECORDS
from fairturn.destinations.hubspot.problems import GONE, Problem, problems_of
from fairturn.destinations.hubspot.rows import EMAIL, MERGED, MORE_EMAILS, Contact
from fairturn.errors import DestinationError, LoginRefused, WrongOrg
from fairturn.model import Later, Unknown

LIMITED: Final = (429, 477)
ID: Final = re.compile(r"[0-9]{1,19}", re.ASCII)
SPARE: Final = 28  # further requests to find addresses that HubSpot cannot read: 2 for each halving of a hundred


class Unread(DestinationError):
    """The question was not answered. `later`: what that means for records that depend on it."""

    def __init__(self, later: Later, after: float | None = None) -> None:
        super().__init__(later.message, after)
        self.later = later


class Reader:
    """`names`: the properties that are asked for."""

    def __init__(self, door: Door, object_type: str, names: Sequence[str]) -> None:
        self._door = door
        self._path = f"/crm/v3/objects/{object_type}/batch/read"
        self._names = list(dict.fromkeys([*names, EMAIL, MORE_EMAILS, MERGED]))

    async def by_id(self, run: Tally, ids: Iterable[str]) -> dict[str, Contact]:
        """By the id asked for, which is another than the contact's own where it was merged. Raises Unread."""
        wanted = list(dict.fromkeys(ids))
        found = await self._all(run, None, wanted)
        return {one: contact for one in wanted for contact in found if one in contact.ids}

    async def by_email(self, run: Tally, emails: Iterable[str]) -> dict[str, Contact]:
        """By the address asked for (casefolded), be it the contact's first or a further one. Raises Unread."""
        wanted = list(dict.fromkeys(email.strip().casefold() for email in emails))
        found = await self._all(run, EMAIL, wanted)
        return {one: contact for one in wanted for contact in found if one in contact.emails}

    async def by_key(self, run: Tally, name: str, keys: Iterable[str]) -> dict[str, Contact]:
        """By our key, the value of the unique property `name`. Raises Unread."""
        wanted = list(dict.fromkeys(keys))
        found = await self._all(run, name, wanted)
        return {one: contact for one in wanted for contact in found if contact.properties.get(name) == one}

    async def _all(self, run: Tally, by: str | None, values: Sequence[str]) -> list[Contact]:
        found: list[Contact] = []
        spare = SPARE
        parts = [list(values[start : start + MAX_RECORDS]) for start in range(0, len(values), MAX_RECORDS)]
        while parts:
            part = parts.pop(0)
            answer = await self._part(run, by, part)
            if not isinstance(answer, Problem):
                found += answer
            elif len(part) > 1 and spare > 0 and by == EMAIL:
                spare -= 2
                middle = len(part) // 2
                parts[:0] = [part[:middle], part[middle:]]
            elif len(part) > 1 or by != EMAIL:
                raise Unread(Later(None, None, "record", answer.code, answer.words))
            # An address that HubSpot cannot even read is no contact's.
        return found

    async def _part(self, run: Tally, by: str | None, values: Sequence[str]) -> list[Contact] | Problem:
        """A Problem: the request was refused for one of its values."""
        body: dict[str, object] = {"properties": self._names, "inputs": [{"id": value} for value in values]}
        if by is not None:
            body["idProperty"] = by
        reply = await asked(self._door, run, "POST", self._path, body)
        found = body_of(reply) or {}
        if reply.status >= 300:
            return problems_of(found)[0]
        errors = [problem for entry in _entries(found.get("errors")) for problem in problems_of(entry)]
        odd = next((one for one in errors if GONE not in (one.code, one.category)), None)
        results = _entries(found.get("results"))
        if odd is not None or not (results or errors or not values):
            words = odd.words if odd else "HubSpot answered with success, and mentions none of the records"
            raise Unread(Later(None, None, "record", odd.code if odd else "SILENT", words))
        return [contact for entry in results if (contact := contact_of(entry)) is not None]


async def asked(
    door: Door, run: Tally, method: str, path: str, body: object = None, query: Mapping[str, str] | None = None
) -> Reply:
    """The answer to a question that changes nothing: 2xx, 400 or 409 with a JSON object. Raises Unread."""
    try:
        reply = await door.call(run, method, path, body, query)
    except (NotSent, NoAnswer, LoginRefused, WrongOrg) as error:
        later = Later(None, error.after, "destination", type(error).__name__, str(error))
        raise Unread(later, error.after) from error
    said = whole(reply)
    if isinstance(said, Unknown):
        raise Unread(Later(None, None, "destination", f"HTTP_{reply.status}", said.message))
    if said is not None:
        raise Unread(replace(said, key=None), said.after if reply.status in LIMITED else None)
    return reply


def contact_of(entry: Mapping[str, Any]) -> Contact | None:
    found, properties = entry.get("id"), entry.get("properties")
    if not isinstance(properties, dict) or entry.get("archived") is True:
        return None
    if not isinstance(found, str | int) or not ID.fullmatch(str(found)):
        return None
    values = {name: value if value is None else str(value) for name, value in properties.items() if _is_text(value)}
    return Contact(str(found), values)


def _is_text(value: object) -> bool:
    return isinstance(value, str | int | float | None)


def _entries(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
