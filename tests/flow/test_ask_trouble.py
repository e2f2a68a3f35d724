"""One person or one answer that spoils it for nobody else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from fairturn.errors import DestinationError
from fairturn.flow.ask import Ask
from fairturn.model import LookUp
from tests.flow.asking import Asked, there
from tests.flow.whole import people


def spoiled(ask: Ask, monkeypatch: pytest.MonkeyPatch, address: str) -> list[list[str]]:
    """The org breaks on every question that names this address. Gives the questions, as they come."""
    asked: list[list[str]] = []
    destination = ask._account.destination
    honest = destination.look_up

    async def look_up(emails: Sequence[str], seconds: float) -> LookUp:
        asked.append(list(emails))
        if address in emails:
            raise DestinationError("the org breaks on it")
        return await honest(emails, seconds)

    monkeypatch.setattr(destination, "look_up", look_up)
    monkeypatch.setattr(ask._account, "dice", lambda: 0.99)  # pauses as short as they may be
    return asked


async def test_an_address_that_the_org_breaks_on_keeps_no_others_from_their_answer(
    open_asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the oldest, and first of every look-up, until it has failed more often than the others."""
    a: Asked = await open_asked()
    await a.world.route({"email": "poison@gmail.com"})
    await a.world.route(*people(210))
    _, ask = await a.stations()
    asked = spoiled(ask, monkeypatch, "poison@gmail.com")
    async with a.running(ask):
        await a.until("select count(*) >= 11 from existing where state = 'answered'")  # those of the second look-up
        assert [len(one) for one in asked[:2]] == [200, 11]  # and by now perhaps a third
    assert await a.world.value("select state from existing where email = 'poison@gmail.com'") == "due"


async def test_an_address_that_the_org_breaks_on_is_found_among_a_few(
    open_asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    a: Asked = await open_asked()
    await a.world.route({"email": "poison@gmail.com"})
    await a.world.route(*people(3))
    _, ask = await a.stations()
    asked = spoiled(ask, monkeypatch, "poison@gmail.com")
    async with a.running(ask):
        await a.until("select count(*) = 3 from existing where state = 'answered'")
    assert len(asked) <= 12


async def test_a_person_whom_the_store_cannot_hold_goes_on_alone(open_asked: Any) -> None:
    a: Asked = await open_asked()
    await a.world.value("alter table existing add check (people::text not like '%Ulm%')")
    a.seed(leads=[there("p1", "Held", City="Ulm"), there("p2", "Held", City="Bonn")])
    await a.world.route(*people(4))
    await a.answered()
    rows = await a.world.fetch("select email, state, jsonb_array_length(people) as people, why from existing")
    found = {row["email"]: (row["state"], row["people"]) for row in rows}
    assert found.pop("p1@gmail.com") == ("unknown", 0)
    assert found == {"p0@gmail.com": ("answered", 0), "p2@gmail.com": ("answered", 1), "p3@gmail.com": ("answered", 0)}
    assert "its answer could not be kept: Unstorable" in next(row["why"] for row in rows if row["state"] == "unknown")


async def test_one_lost_answer_before_the_write_makes_nobody_twice(open_asked: Any) -> None:
    """The question stayed unanswered, and the last one before the write is lost once: it is asked again."""
    a: Asked = await open_asked()
    a.seed(leads=[there("p0", "Held")])
    await a.world.route(*people(1))
    a.org.faults({"kind": "status", "status": 500, "on": "read", "times": 1000})
    async with a.asking(on_unknown="create"):
        await a.until("select exists (select from existing where state = 'unknown')")
    await a.go_on()
    a.org.faults({"kind": "reset_before", "on": "read", "path": "/composite", "nth": [1]})
    deliver, ask = await a.stations()
    deliver._before = ask.once_more
    async with a.running(deliver):
        await a.whole.quiet()
    assert len(a.org.leads()) == 1
    assert [row["_deleted"] for row in a.org.get("/records/Lead")["records"]] == [False]


async def test_a_held_lead_stays_with_whom_a_late_answer_names(open_asked: Any) -> None:
    """Nobody was free, and nobody knew yet that the person is Olga's. When a rep is free it is not given to him."""
    a: Asked = await open_asked()
    users = a.seed(users=[{"name": "Olga Else", "email": "olga@crm.test"}])["users"]
    a.seed(leads=[there("p0", "olga@crm.test"), there("p1", "Held")])
    await a.world.pause("ann", "bob")
    await a.world.route(*people(3))
    a.org.faults({"kind": "status", "status": 500, "on": "read", "times": 1000})
    async with a.asking(on_unknown="create"):
        await a.until("select count(*) = 3 from existing where state = 'unknown'")
    await a.go_on()
    assert {status for status, _ in (await a.statuses()).values()} == {"held"}
    a.org.faults()
    deliver, ask = await a.stations()
    deliver._before = ask.once_more
    async with a.running(deliver):
        await a.whole.quiet()
    await a.world.resume("ann", "bob")
    async with a.working():
        await a.until("select not exists (select from lead where status in ('held', 'waiting'))")
        await a.whole.quiet()
    found = await a.statuses()
    assert found["p0@gmail.com"] == ("owned", None)
    assert {found[f"p{n}@gmail.com"][0] for n in (1, 2)} == {"assigned"}
    rows = {row["Email"]: row["OwnerId"] for row in a.org.get("/records/Lead")["records"]}
    assert rows.pop("p0@gmail.com") == users[0]["id"]
    assert set(rows.values()) <= {a.org.users["ann"], a.org.users["bob"]}
    assert len(rows) == 2


async def test_words_of_the_crm_that_postgresql_cannot_hold_keep_nobody_waiting(open_asked: Any) -> None:
    """An error message may carry a NUL or half of a surrogate pair."""
    a: Asked = await open_asked()
    await a.world.route(*people(1))
    questions = await a.questions()
    await questions.give_up("crm", await questions.due("crm", 10), "INVALID_TYPE: \0 \ud83d")
    assert (await a.world.fetch("select state, why from existing"))[0]["why"] == "INVALID_TYPE: \ufffd ?"
    await a.go_on()
    assert [status for status, _ in (await a.statuses()).values()] == ["assigned"]
