"""Questions to a CRM whether a lead's person is there: taken by the holder of the lease, answered, or given up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from fairturn.decide.existing import Choice
from fairturn.decide.merging import load
from fairturn.model import Fields, LookUp, Person, Question
from fairturn.stores.postgres.answers import clean, storable
from fairturn.stores.postgres.database import Connection, Database, statements
from fairturn.stores.postgres.people import person_json
from fairturn.stores.postgres.router import SQL as ROUTER

SQL = statements("questions")
MOST = 50  # records of one person that are kept
LONGEST = 500  # characters of the CRM's words

# (destination, id of the rule that decided, the records there) -> which is written, and who keeps the lead
ByRule = Callable[[str, str | None, Sequence[Person]], Choice]
AddressOf = Callable[[Fields], str | None]
Few = Callable[[str, Sequence[Person], int], Sequence[Person]]


class PostgresQuestions:
    """Implements ports.Questions. `choice_of` judges answers that come when their lead has gone on without them; `few`
    picks of many records those that matter; `address_of` says which address a CRM can be asked for.
    """

    def __init__(self, database: Database, choice_of: ByRule, few: Few, address_of: AddressOf) -> None:
        self._database = database
        self._address_of = address_of
        self._choice_of = choice_of
        self._few = few

    async def due(self, destination: str, limit: int) -> Sequence[Question]:
        """Oldest first."""
        async with self._database.connection() as c:
            rows = await c.fetch(SQL.due, destination, limit)
        return [Question(row["lead_id"], row["email"], row["since"]) for row in rows]

    async def answer(self, destination: str, asked: Sequence[Question], said: LookUp) -> None:
        """Leads that waited for nothing else go on. One that has gone on without it takes the record over, if nothing
        of its own was written yet, and leaves the owner there alone.
        """
        there: dict[str, list[Person]] = {}
        for person in said.people:
            there.setdefault(person.email, []).append(person)
        people = {one.lead: self._few(destination, there.get(one.email, ()), MOST) for one in asked}
        # As text: an array of arrays would have to be rectangular.
        rows = [orjson.dumps([person_json(person) for person in people[one.lead]]).decode() for one in asked]
        leads = [one.lead for one in asked]
        async with self._database.transaction() as c:
            locked = {row["id"]: row for row in await c.fetch(SQL.lock, leads)}
            heard = await c.fetch(SQL.answer, destination, leads, [one.email for one in asked], rows)
            answered = sorted(row["lead_id"] for row in heard)
            await c.fetch(SQL.go_on, answered)
            late = [locked[lead] for lead in answered if lead in locked and locked[lead]["status"] != "waiting"]
            if late:
                await self._late(c, destination, {row["id"]: row for row in late}, people)
            if said.calls:
                addresses = {one.email for one in asked}
                await c.execute(SQL.asked, destination, len(addresses), len(said.people), said.calls)
            await c.execute(SQL.notify)

    async def give_up(self, destination: str, asked: Sequence[Question], why: str) -> None:
        leads = [one.lead for one in asked]
        async with self._database.transaction() as c:
            await c.fetch(SQL.lock, leads)
            rows = await c.fetch(SQL.give_up, destination, leads, clean(why[:LONGEST]))
            await c.fetch(SQL.go_on, sorted(row["lead_id"] for row in rows))
            await c.execute(SQL.notify)

    async def unanswered(self, destination: str, leads: Sequence[int]) -> Sequence[Question]:
        """Of these, the ones that went on without an answer, or were never asked about, and of whom the CRM has nothing
        of ours yet.
        """
        async with self._database.connection() as c:
            fields = {row["lead_id"]: load(row["fields"]) for row in await c.fetch(SQL.unasked, destination, leads)}
            late = {lead: email for lead, known in fields.items() if (email := self._address_of(known)) is not None}
            if late:
                await c.execute(SQL.ask_late, destination, list(late), list(late.values()))
            rows = await c.fetch(SQL.unanswered, destination, leads)
        return [Question(row["lead_id"], row["email"], row["since"]) for row in rows]

    async def _late(
        self, c: Connection, destination: str, late: Mapping[int, Any], people: Mapping[int, Sequence[Person]]
    ) -> None:
        choices = {lead: self._choice_of(destination, row["rule_id"], people[lead]) for lead, row in late.items()}
        found = {lead: choice.record for lead, choice in choices.items() if choice.record is not None}
        if found:
            await c.execute(
                ROUTER.take_over,
                list(found),
                [destination] * len(found),
                [person.record_id for person in found.values()],
                [person.object_type for person in found.values()],
                [storable(person.values) for person in found.values()],
                [storable(person.owner.id) if person.owner else None for person in found.values()],
                True,
            )
            kept = [lead for lead in found if choices[lead].keeps is not None]
            records = [found[lead].record_id for lead in kept]
            await c.execute(SQL.leave_owners, destination, kept, records)
            await c.execute(SQL.judge_anew, destination, kept, records)
        words = [
            clean(f"{destination} answered when the lead had gone on without: {choices[lead].why}") for lead in late
        ]
        await c.execute(ROUTER.settled, list(late), [destination] * len(late), words)
