"""Where a lead's record is now: read anew before a write that builds on old knowledge, and looked for when it is gone.

A record that people deleted is not made again. One that was merged away lives on in another, which bears our key or the
lead's address; a converted Lead lives on in its Contact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from fairturn.decide.existing import Policy, free
from fairturn.decide.users import same_id
from fairturn.destinations.salesforce.directory import Directory, full
from fairturn.destinations.salesforce.encode import Encoder
from fairturn.destinations.salesforce.ids import answered_id
from fairturn.destinations.salesforce.lookup import Question, Reader, moment, value_of
from fairturn.destinations.salesforce.lookup import Row as Record
from fairturn.destinations.salesforce.objects import CONTACT, LEAD
from fairturn.destinations.salesforce.soql import chunks
from fairturn.destinations.salesforce.wire import Run
from fairturn.model import Outgoing

LAST: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class There:
    """A record as it was read just now. `kept`: its owner stays, whoever it is. `free`: nobody's who keeps leads."""

    record_id: str
    sobject: str
    values: Mapping[str, object]
    owner: str | None
    same: bool  # the record that we knew
    kept: bool = False
    free: bool = False


class Finder:
    """Each of its questions is one call, or two. They raise DestinationError."""

    def __init__(self, reader: Reader, encoder: Encoder, directory: Directory, policy: Policy) -> None:
        self._reader = reader
        self._encoder = encoder
        self._directory = directory
        self._policy = policy

    async def again(self, run: Run, records: Sequence[Outgoing]) -> dict[str, There]:
        """Key -> what is there of records that we wrote before, or may have written. Absent: nothing, or converted."""
        rows = await self._reader.read(run, [*self._by_id(records), *self._by_key(records)])
        found: dict[str, Record] = {}
        for out in records:
            row = next((row for row in rows if self._is(row, out)), None)
            if row is not None and row.get("IsConverted") is not True:
                found[out.key] = row
        named = [found[out.key] for out in records if out.key in found and is_named(out)]
        loose = await self._loose(run, named)
        return {
            key: replace(self._there(row, same=True), free=full(row.get("Id")) in loose) for key, row in found.items()
        }

    async def _loose(self, run: Run, rows: Sequence[Record]) -> frozenset[str]:
        """Ids of those that would be assigned if they had been looked up."""
        ids = dict.fromkeys(str(row["OwnerId"]) for row in rows if answered_id(row.get("OwnerId")))
        owners = await self._directory.owners(run, ids) if ids else {}
        people = [self._reader.person(row, "", owners) for row in rows]
        return frozenset(person.record_id for person in people if free(person, self._policy) is not None)

    async def moved(self, run: Run, records: Sequence[tuple[Outgoing, str]]) -> dict[str, There]:
        """Key -> the record in which one that is gone lives on. records: each with its object; one without an id is
        looked for by our key alone.
        """
        questions: list[Question] = []
        for sobject in {sobject for _, sobject in records}:
            mine = [out for out, one in records if one == sobject]
            questions += _questions(sobject, self._encoder.external_id, (out.key for out in mine))
            questions += _questions(sobject, "Id", (out.record_id for out in mine if out.record_id))
            if sobject in (LEAD, CONTACT):
                questions += _questions(
                    sobject, "Email", (mail for out in mine if out.record_id and (mail := address(out)))
                )
        rows = await self._reader.read(run, questions)
        found: dict[str, There] = {}
        for out, sobject in records:
            able = [row for row in rows if row["type"] == sobject and row.get("IsConverted") is not True]
            if best := self._heir(out, able):
                found[out.key] = self._there(best, same=_has_id(best, out.record_id))
        return found

    async def contacts(self, run: Run, records: Sequence[Outgoing]) -> dict[str, There]:
        """Key -> the Contact of a Lead that was converted. Its owner stays, but for an assignment made since."""
        leads = [replace(out, object_type=LEAD) for out in records]
        rows = await self._reader.read(run, [*self._by_id(leads), *self._by_key(leads)])
        mine = {out.key: row for out in leads for row in rows if self._is(row, out) and row.get("ConvertedContactId")}
        wanted = {full(row["ConvertedContactId"]) for row in mine.values()}
        there = await self._reader.read(run, _questions(CONTACT, "Id", wanted)) if wanted else []
        contacts = {full(row.get("Id")): row for row in there}
        return {
            out.key: replace(self._there(contacts[contact], same=False), kept=not assigned_after(out, mine[out.key]))
            for out in leads
            if out.key in mine and (contact := full(mine[out.key]["ConvertedContactId"])) in contacts
        }

    def _by_id(self, records: Sequence[Outgoing]) -> list[Question]:
        known: dict[str, list[str]] = {}
        for out in records:
            if out.record_id is not None:
                known.setdefault(self._encoder.object_of(out), []).append(out.record_id)
        return [question for sobject, ids in known.items() for question in _questions(sobject, "Id", ids)]

    def _by_key(self, records: Sequence[Outgoing]) -> list[Question]:
        new: dict[str, list[str]] = {}
        for out in records:
            if out.record_id is None:
                new.setdefault(self._encoder.object_of(out), []).append(out.key)
        key = self._encoder.external_id
        return [question for sobject, keys in new.items() for question in _questions(sobject, key, keys)]

    def _is(self, row: Record, out: Outgoing) -> bool:
        if row["type"] != self._encoder.object_of(out):
            return False
        return _has_id(row, out.record_id) if out.record_id is not None else self._bears(row, out)

    def _bears(self, row: Record, out: Outgoing) -> bool:
        return str(value_of(row, self._encoder.external_id) or "").casefold() == out.key.casefold()

    def _heir(self, out: Outgoing, rows: Sequence[Record]) -> Record | None:
        """The very record, if it is there after all; else the one with our key; else the oldest with the address."""
        mail = address(out) if out.record_id else None
        for alike in (
            [row for row in rows if _has_id(row, out.record_id)],
            [row for row in rows if self._bears(row, out)],
            [row for row in rows if mail and str(row.get("Email") or "").casefold() == mail],
        ):
            if alike:
                return min(alike, key=lambda row: (moment(row.get("CreatedDate")) or LAST, str(row.get("Id"))))
        return None

    def _there(self, row: Record, *, same: bool) -> There:
        owner = full(row["OwnerId"]) if row.get("OwnerId") else None
        return There(full(row.get("Id")), str(row["type"]), self._reader.values(row), owner, same)


def is_named(out: Outgoing) -> bool:
    """The event named the record: nobody has asked who has it, and we have written nothing there."""
    return out.record_id is not None and out.owner is not None and out.owner_known is None and out.confirmed is None


def address(out: Outgoing) -> str | None:
    found = out.fields.get("email")
    return found.strip().casefold() or None if isinstance(found, str) else None


def assigned_after(out: Outgoing, lead: Record) -> bool:
    """Whether the assignment that this write carries was made on a later day than the conversion, which has no time."""
    made, converted = moment(out.assignment.get("assigned_at")), str(lead.get("ConvertedDate") or "")
    return out.owner is not None and made is not None and bool(converted) and made.date().isoformat() > converted


def _has_id(row: Record, record_id: str | None) -> bool:
    return record_id is not None and same_id(str(row.get("Id")), record_id)


def _questions(sobject: str, field: str, values: Iterable[str]) -> list[Question]:
    return [Question(sobject, field, tuple(part)) for part in chunks(values)]
