"""Answers that PostgreSQL cannot hold, or that claim too much: settled all the same, and the next request leaves."""

from collections.abc import Callable
from typing import Any

import pytest

from fairturn.errors import Unstorable
from fairturn.model import Answer, Later, Outcome, Refused, Written
from tests.destinations.test_salesforce_hostile import http, server, token
from tests.flow.whole import Wholes, people, reps


@pytest.mark.parametrize("word", ["a\0b", "x" * 5000, "\U0001f600\u202e"])
@pytest.mark.parametrize("key", ["message", "statusCode"])
async def test_a_refusal_in_words_that_no_table_holds(open_whole: Wholes, word: str, key: str) -> None:
    w = await open_whole(reps(["ann", "bob"]))
    await w.world.route(*people(3))
    said = {"statusCode": "BAD", "message": "refused", "fields": [word]} | {key: word}

    def answer(line: str, head: str, body: bytes) -> bytes:
        host = next(x[6:] for x in head.split("\r\n") if x.lower().startswith("host:"))
        if "oauth2" in line:
            return token(f"http://{host}")
        return http(200, [{"success": False, "errors": [said]}] * body.count(b"attributes"))

    async with server(answer) as (url, _):
        await w.deliver(url=url)
    assert await w.states() == {"failed": 3}


LIES: dict[str, Callable[[str], Outcome]] = {
    "an id with a NUL": lambda key: Written(key, "00Q\0", True),
    "an id with half a pair": lambda key: Written(key, "00Q\ud800", True),
    "words with half a pair": lambda key: Refused(key, "BAD\udfff", "no\ud800"),
    "later, in a thousand years": lambda key: Later(key, 3e10, "record", "LATER", "in a thousand years"),
    "later, never": lambda key: Later(key, float("inf"), "record", "LATER", "never"),
    "later, not a number": lambda key: Later(key, float("nan"), "record", "LATER", "nan"),
    "everybody, never": lambda key: Later(key, float("inf"), "destination", "LATER", "never"),
}


@pytest.mark.parametrize("lie", LIES)
async def test_a_destination_that_says_what_cannot_be_stored(
    open_whole: Wholes, lie: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever destination it is: an answer that cannot be stored must not keep its rows, or the others', for ever."""
    w = await open_whole(reps(["ann", "bob"]))
    await w.world.route(*people(1))
    station = await w.station()

    async def write(batch: Any) -> Answer:
        keys = [record.key for record in batch.records]
        return Answer(tuple(map(LIES[lie], keys)), {key: {"Email": "x"} for key in keys})

    monkeypatch.setattr(station._destination, "write", write)
    async with w.desk.running(station):
        await w.until_value("select count(*) from batch where settled_at is not null", 1)
        await w.until_value("select count(*) from change where state = 'in_flight'", 0)
    assert await w.world.value("select bool_and(due_at < now() + interval '2 days') from change")
    assert await w.world.value("select coalesce(blocked_until < now() + interval '2 days', true) from destination")


async def test_an_answer_that_the_ledger_refuses_for_a_reason_we_do_not_know(
    open_whole: Wholes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A constraint, say. The writes are in the list of failed ones, and the others go on."""
    w = await open_whole(reps(["ann", "bob"]))
    await w.world.route(*people(2))
    station = await w.station()
    real = station._ledger.settle
    refused: list[int] = []

    async def settle(batch: Any, answer: Any, *rest: Any) -> int:
        if not refused:
            refused.append(batch.id)
            raise Unstorable("PostgreSQL refused: new row violates check constraint (23514)")
        return await real(batch, answer, *rest)

    monkeypatch.setattr(station._ledger, "settle", settle)
    async with w.desk.running(station):
        await w.until_value("select count(*) from change where state = 'failed' and code = 'UNSTORABLE'", 2)
        await w.world.route(*people(1, 2))
        await w.until_value("select count(*) from change where state = 'done'", 1)
