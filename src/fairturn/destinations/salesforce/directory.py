"""Who is who in the org: users, queues and record types that the settings name, and owners that records have.

Names are asked for when they are first needed and remembered: for ten minutes, or a minute where nobody was found. An
id needs no question.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from fairturn.decide.record_ids import is_record_id, long_form
from fairturn.decide.users import SANDBOX, User, bare, named
from fairturn.destinations.salesforce.decode import Problem
from fairturn.destinations.salesforce.soql import among, any_of, chunks, select
from fairturn.destinations.salesforce.wire import Run, Wire
from fairturn.errors import DestinationError
from fairturn.model import Owner

FRESH: Final = 600.0  # seconds
MISSED: Final = 60.0  # seconds until somebody whom the org did not have is asked for again
USER: Final = ("Id", "Name", "Email", "Username", "IsActive")
QUEUE: Final = ("Id", "Name", "DeveloperName")
QUEUES: Final = "00G"
LONGEST: Final = 2_500  # characters of names in one question, which asks for each in up to four fields


@dataclass(frozen=True, slots=True)
class Named:
    """Somebody or something that the settings name."""

    kind: Literal["user", "owner", "record_type"]  # owner: a user or a queue
    text: str
    sobject: str = ""  # of a record type


@dataclass(frozen=True, slots=True)
class Known:
    until: float  # monotonic
    users: tuple[User, ...] = ()
    ids: tuple[str, ...] = ()  # of record types


class Directory:
    """What this process knows of one org's people."""

    def __init__(self, wire: Wire, name: str, wanted: Iterable[Named] = ()) -> None:
        self._wire = wire
        self._name = name
        self._wanted = tuple(dict.fromkeys(wanted))  # by the settings, from the start
        self._known: dict[Named, Known] = {}
        self._owners: dict[str, tuple[float, Owner]] = {}  # first 15 characters of an id -> until when, who

    def known(self, one: Named) -> Known | None:
        """What was found, which may be nobody; None = to be asked. Asks nobody."""
        found = self._known.get(one)
        now = asyncio.get_running_loop().time()
        return found if found is not None and found.until > now else None

    async def load(self, run: Run, wanted: Iterable[Named] | None = None) -> None:
        """Ask for those who are not known (None: for all whom the settings name). Raises DestinationError."""
        asked = [one for one in dict.fromkeys(self._wanted if wanted is None else wanted) if self.known(one) is None]
        if not asked:
            return
        users, groups, types = (  # of one Composite where they fit
            list(_users({one.text for one in asked if one.kind != "record_type"})),
            list(_groups({one.text for one in asked if one.kind == "owner"})),
            list(_types([one for one in asked if one.kind == "record_type"])),
        )
        answers = [self._rows(rows) for rows in await self._wire.ask(run, [*users, *groups, *types])]
        found = [user_of(row) for rows in answers[: len(users)] for row in rows]
        found += [queue_of(row) for rows in answers[len(users) : len(users) + len(groups)] for row in rows]
        kinds = [row for rows in answers[len(users) + len(groups) :] for row in rows]
        for one in asked:
            self._note(one, found, kinds)
        until = asyncio.get_running_loop().time() + FRESH
        self._owners |= {user.id[:15]: (until, owner_of(user)) for user in found}

    async def owners(self, run: Run, ids: Iterable[str]) -> Mapping[str, Owner]:
        """By the id as given; one whom the org does not show counts as active. Raises DestinationError."""
        now = asyncio.get_running_loop().time()
        wanted = dict.fromkeys(ids)
        unknown = [one for one in wanted if self._owners.get(one[:15], (0.0,))[0] <= now]
        await self.meet(run, unknown)
        return {one: self._owners[one[:15]][1] if one[:15] in self._owners else stranger(one) for one in wanted}

    async def meet(self, run: Run, ids: Sequence[str]) -> None:
        questions = [
            *(select(USER, "User", among("Id", part)) for part in chunks(one for one in ids if one[:3] != QUEUES)),
            *(select(QUEUE, "Group", among("Id", part)) for part in chunks(one for one in ids if one[:3] == QUEUES)),
        ]
        until = asyncio.get_running_loop().time() + FRESH
        for rows in await self._wire.ask(run, questions) if questions else ():
            for row in self._rows(rows):
                owner = owner_of(queue_of(row) if str(row.get("Id", ""))[:3] == QUEUES else user_of(row))
                self._owners[owner.id[:15]] = (until, owner)
        for one in ids:
            if self._owners.get(one[:15], (0.0,))[0] < until:
                self._owners[one[:15]] = (until, stranger(one))

    def _note(self, one: Named, users: Sequence[User], types: Sequence[dict[str, Any]]) -> None:
        now = asyncio.get_running_loop().time()
        if one.kind == "record_type":
            ids = tuple(type_ids(one, types))
            self._known[one] = Known(now + (FRESH if ids else MISSED), ids=ids)
            return
        kind: Literal["user"] | None = "user" if one.kind == "user" else None
        found = named(one.text, users, kind)
        self._known[one] = Known(now + (FRESH if found else MISSED), found)

    def _rows(self, answer: list[dict[str, Any]] | Problem) -> list[dict[str, Any]]:
        if isinstance(answer, Problem):
            raise DestinationError(
                f"Destination {self._name} does not show its users, queues and record types: {answer.code}: "
                f"{answer.words}. Give the integration user the right to see them, or write their ids into the settings"
            )
        return answer


def is_id(text: str, *prefixes: str) -> bool:
    return is_record_id(text) and text.startswith(prefixes)


def _users(texts: Iterable[str]) -> Iterable[str]:
    """A sandbox's users have other addresses than the settings, which are those of production, and the reverse."""
    for part in chunks(sorted(texts), LONGEST):
        mails = [address for one in part if "@" in one for address in (str(bare(one)), f"{bare(one)}{SANDBOX}")]
        names = [one.strip() for one in part if "@" not in one and not is_id(one, "005")]
        ids = [one for one in part if is_id(one, "005")]
        where = {"Email": mails, "Username": mails, "Name": names, "Id": ids}
        if any(where.values()):
            yield select(USER, "User", any_of(where))


def _groups(texts: Iterable[str]) -> Iterable[str]:
    for part in chunks(sorted(texts), LONGEST):
        names = [one.strip() for one in part if "@" not in one and not is_id(one, "005", QUEUES)]
        ids = [one for one in part if is_id(one, QUEUES)]
        if names or ids:
            where = any_of({"Name": names, "DeveloperName": names, "Id": ids})
            yield select(QUEUE, "Group", f"Type = 'Queue' AND {where}")


def _types(wanted: Sequence[Named]) -> Iterable[str]:
    for part in chunks(sorted({one.text.strip() for one in wanted}), LONGEST):
        objects = among("SobjectType", sorted({one.sobject for one in wanted}))
        where = f"IsActive = true AND {objects} AND {any_of({'Name': part, 'DeveloperName': part})}"
        yield select(("Id", "Name", "DeveloperName", "SobjectType"), "RecordType", where)


def type_ids(one: Named, rows: Sequence[dict[str, Any]]) -> list[str]:
    """By the name that people gave it in the settings: its developer name if it is one, else its label."""
    text = one.text.strip().casefold()
    mine = [row for row in rows if row.get("SobjectType") == one.sobject and isinstance(row.get("Id"), str)]
    for key in ("DeveloperName", "Name"):
        if found := [str(row["Id"]) for row in mine if str(row.get(key, "")).casefold() == text]:
            return found
    return []


def user_of(row: dict[str, Any]) -> User:
    return User(
        full(row.get("Id")),
        "user",
        str(row.get("Name") or ""),
        row.get("Email") or None,
        row.get("Username") or None,
        row.get("IsActive") is not False,
    )


def queue_of(row: dict[str, Any]) -> User:
    return User(full(row.get("Id")), "queue", str(row.get("Name") or ""), None, row.get("DeveloperName") or None)


def owner_of(user: User) -> Owner:
    return Owner(user.id, user.kind, user.active, user.name or None, user.email)


def stranger(owner: str) -> Owner:
    return Owner(full(owner), "queue" if owner[:3] == QUEUES else "user", active=True)


def full(found: object) -> str:
    text = str(found or "")
    return long_form(text) if is_record_id(text) else text
