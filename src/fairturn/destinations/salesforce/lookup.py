"""Whom the org has with these addresses: Leads, open and converted, and Contacts, in one call.

A person's further facts cost a second call only where they are new: owners whom we have not met, and the Contact of a
converted Lead where its address is another one. The same call asks which of their companies are accounts there, where
that is new too: a record that names an account which is none would be refused, and sent a second time without it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import NoneType
from typing import Any, Final

import structlog

from fairturn.decide.addresses import HOST, registrable
from fairturn.destinations.salesforce.decode import Problem
from fairturn.destinations.salesforce.describe import Shapes
from fairturn.destinations.salesforce.directory import Directory, full
from fairturn.destinations.salesforce.encode import Encoder
from fairturn.destinations.salesforce.ids import answered_id
from fairturn.destinations.salesforce.objects import CONTACT, LEAD
from fairturn.destinations.salesforce.soql import among, chunks, missing_column, select
from fairturn.destinations.salesforce.wire import Run, Wire
from fairturn.errors import DestinationError
from fairturn.model import Owner, Person

log = structlog.get_logger(__name__)

PEOPLE: Final = (LEAD, CONTACT)
ACCOUNT: Final = "Account"
BASE: Final[Mapping[str, tuple[str, ...]]] = {
    LEAD: ("Id", "Email", "OwnerId", "CreatedDate", "IsConverted", "ConvertedContactId", "ConvertedDate"),
    CONTACT: ("Id", "Email", "OwnerId", "CreatedDate"),
}
CLOSED: Final = 600.0  # seconds until an object that we may not see is asked for again
KNOWN: Final = 600.0  # seconds until it is asked again whether a company is an account there
MOST: Final = 10_000  # companies of which that is remembered
TRIES: Final = 4  # of one look-up, as it learns what the org does not have

SCALAR: Final = (str, int, float, NoneType)  # what a field that we write can hold; bool is an int

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    sobject: str
    field: str
    values: tuple[str, ...]


class Reader:
    """Reads people's records. What the org turns out not to have is not asked for again for a while."""

    def __init__(self, wire: Wire, directory: Directory, shapes: Shapes, encoder: Encoder, name: str) -> None:
        self._wire = wire
        self._directory = directory
        self._shapes = shapes
        self._encoder = encoder
        self._log = log.bind(destination=name)
        self._name = name
        self._hidden: dict[tuple[str, str], float] = {}  # object, field in lower case -> until when
        self._closed: dict[str, float] = {}  # object -> until when
        self._settled: dict[str, float] = {}  # company's key -> until when we know whether it is an account

    async def look_up(self, run: Run, emails: Sequence[str]) -> tuple[tuple[Person, ...], tuple[str, ...]]:
        """The people, and those of their companies' keys that no account has. Raises DestinationError."""
        asked = [one for one in dict.fromkeys(emails) if one.strip() and self._encoder.sobject in PEOPLE]
        questions = [
            Question(sobject, "Email", tuple(part))
            for part in chunks(asked)
            for sobject in PEOPLE
            if self._closed.get(sobject, 0.0) <= self._now()
        ]
        companies = self._companies(asked)
        rows = await self.read(run, [*questions, *companies])
        by_email = {one.casefold(): one for one in asked}
        found = [(row, str(row.get("Email") or "").casefold()) for row in rows]
        found = [(row, by_email[email]) for row, email in found if email in by_email]
        found += await self._converted(run, found)
        owned = [str(row["OwnerId"]) for row, _ in found if answered_id(row.get("OwnerId"))]
        owners = await self._directory.owners(run, owned)
        people = tuple(self.person(row, email, owners) for row, email in found)
        return people, self._absent(companies, rows)

    def _companies(self, emails: Sequence[str]) -> list[Question]:
        field = self._encoder.account_key()
        if field is None or self._closed.get(ACCOUNT, 0.0) > self._now():
            return []
        hosts = (email.rpartition("@")[2] for email in emails)
        domains = [domain for host in hosts if HOST.fullmatch(host) and (domain := registrable(host))]
        now = self._now()
        domains = [domain for domain in domains if self._settled.get(domain, 0.0) <= now]
        return [Question(ACCOUNT, field, tuple(part)) for part in chunks(domains)]

    def _absent(self, companies: Sequence[Question], rows: Sequence[Row]) -> tuple[str, ...]:
        """Nothing, where the org would not say."""
        if not companies or self._closed.get(ACCOUNT, 0.0) > self._now():
            return ()
        if len(self._settled) > MOST:
            self._settled.clear()
        self._settled |= {key: self._now() + KNOWN for one in companies for key in one.values}
        there = {str(value_of(row, companies[0].field)).casefold() for row in rows if row["type"] == ACCOUNT}
        return tuple(key for one in companies for key in one.values if key.casefold() not in there)

    async def read(self, run: Run, questions: Iterable[Question]) -> list[Row]:
        """The records, each with its own `type`. Raises DestinationError; an object that we may not see has none."""
        rows: list[Row] = []
        left = [one for one in questions if one.values]
        for _ in range(TRIES):
            if not left:
                return rows
            answers = await self._wire.ask(run, [self._soql(one) for one in left])
            again = []
            for question, answer in zip(left, answers, strict=True):
                if isinstance(answer, Problem):
                    if await self._learn(run, question, answer):
                        again.append(question)
                else:
                    rows += [row | {"type": question.sobject} for row in answer if answered_id(row.get("Id"))]
            left = again
        raise DestinationError(f"Destination {self._name} does not show the fields that its mapping writes")

    def person(self, row: Row, email: str, owners: Mapping[str, Owner]) -> Person:
        sobject = str(row["type"])
        status, owner = self._encoder.status(sobject), row.get("OwnerId")
        return Person(
            record_id=full(row.get("Id")),
            object_type=sobject,
            email=email,
            owner=owners.get(str(owner)) if owner else None,
            created_at=moment(row.get("CreatedDate")),
            status=str(found) if status and (found := value_of(row, status)) is not None else None,
            converted_to=full(row.get("ConvertedContactId")) or None,
            converted=row.get("IsConverted") is True,
            key=str(found) if (found := value_of(row, self._encoder.external_id)) else None,
            values=self.values(row),
        )

    def values(self, row: Row) -> dict[str, object]:
        """The record's own values of the fields that we write, under the names by which we write them."""
        names = (self._encoder.external_id, *self._columns(str(row["type"])))
        there = {name.lower(): value for name, value in row.items()}
        values = {name: there[name.lower()] for name in names if name.lower() in there}
        return {name: value for name, value in values.items() if isinstance(value, SCALAR)}

    async def _converted(self, run: Run, found: Sequence[tuple[Row, str]]) -> list[tuple[Row, str]]:
        """Contacts of converted Leads that have another address than their Lead."""
        seen = {full(row.get("Id")) for row, _ in found}
        wanted: dict[str, str] = {}
        for row, email in found:
            contact = full(row.get("ConvertedContactId"))
            if contact and contact not in seen:
                wanted.setdefault(contact, email)
        if not wanted or self._closed.get(CONTACT, 0.0) > self._now():
            return []
        rows = await self.read(run, [Question(CONTACT, "Id", tuple(part)) for part in chunks(wanted)])
        return [(row, wanted[full(row.get("Id"))]) for row in rows if full(row.get("Id")) in wanted]

    def _soql(self, question: Question) -> str:
        sobject, now = question.sobject, self._now()
        if sobject == ACCOUNT:
            return select([question.field], sobject, among(question.field, question.values))
        status = self._encoder.status(sobject)
        wanted = (self._encoder.external_id, *((status,) if status else ()), *self._columns(sobject))
        names = {name.lower(): name for name in (*BASE.get(sobject, ("Id", "OwnerId")), *wanted)}
        shown = [name for lower, name in names.items() if self._hidden.get((sobject, lower), 0.0) <= now]
        return select(shown, sobject, among(question.field, question.values))

    async def _learn(self, run: Run, question: Question, problem: Problem) -> bool:
        """Whether the question may be put again, with what we know now. Raises DestinationError."""
        sobject = question.sobject
        if sobject == ACCOUNT:
            self._closed[sobject] = self._now() + CLOSED  # only a help: the writes find it out by themselves
            return False
        column = missing_column(problem.message) if problem.code == "INVALID_FIELD" else None
        if column is not None and column.lower() not in {"id", "email", "ownerid", question.field.lower()}:
            shape = await self._shapes.of(run, sobject)
            wanted = (
                self._encoder.external_id,
                *((status,) if (status := self._encoder.status(sobject)) else ()),
                *self._columns(sobject),
            )
            absent = {name.lower() for name in (*BASE.get(sobject, ()), *wanted) if not shape.has(name)}
            until = self._now() + CLOSED
            self._hidden |= {(sobject, name): until for name in absent | {column.lower()}}
            return True
        if sobject == CONTACT and (problem.code == "INVALID_TYPE" or problem.code.startswith("INSUFFICIENT_")):
            self._log.warning("salesforce.no_contacts", error=f"{problem.code}: {problem.message}")
            self._closed[sobject] = self._now() + CLOSED
            return False
        raise DestinationError(
            f"Destination {self._name} does not answer whom it has as {sobject}: {problem.code}: {problem.words}"
        )

    def _columns(self, sobject: str) -> tuple[str, ...]:
        return self._encoder.columns(sobject, self._shapes.known(sobject))

    def _now(self) -> float:
        return asyncio.get_running_loop().time()


def value_of(row: Row, name: str) -> object:
    return next((value for key, value in row.items() if key.lower() == name.lower()), None)


def moment(text: object) -> datetime | None:
    """2026-03-02T10:00:00.000+0000"""
    try:
        found = datetime.fromisoformat(str(text)) if text else None
    except ValueError:
        return None
    return found if found is None or found.tzinfo else found.replace(tzinfo=UTC)
