"""Bodies as they come off the wire, as far as the record in the org."""

import json
import random

from fairturn.decide.splitting import Limits, split
from fairturn.stores.postgres.journal import PostgresJournal
from tests.destinations.simulated import MAP
from tests.flow.whole import Whole, Wholes, reps

FORM = "application/x-www-form-urlencoded"


async def receive(w: Whole, *bodies: tuple[bytes, str], source: str = "web") -> None:
    """Split and stored as the door does, then routed; each body a request of its own."""
    arrivals = [split(source, "batch", kind, body, Limits()) for body, kind in bodies]
    await PostgresJournal(w.world.database).append(arrivals)
    while await w.world.station.route():
        pass


async def test_cases_41_43_47_48_odd_bodies_reach_the_crm(open_whole: Wholes) -> None:
    w = await open_whole(reps(["ann", "bob"]))
    await receive(
        w,
        (b'{"email":"a@gmail.com","company":"Ac\\u0000me","ci\\u0000ty":"Kiel"}', "application/json"),
        (b"email=b%40gmail.com&company=Ac%00me&city=K%C3%B6ln", FORM + "; charset=utf-8"),
        (b'{"email":"c@gmail.com","name":"H\xebllo W\xf6rld"}', "application/json; charset=iso-8859-1"),
        (b'{"email":"d@gmail.com","name":"H\xebllo"}', "application/json"),
        (b"\xef\xbb\xbf" + b'{"email":"e@gmail.com","city":"Kiel"}', "application/json"),
        ('{"email":"f@gmail.com","city":"Kiel"}'.encode("utf-16"), "application/json"),
        (b'{"email":"g@gmail.com","company":"x\\ud800y","city":"Kiel"}', "application/json"),
        (b'{"email":"h@gmail.com","score":1e400,"city":"Kiel"}', "text/plain"),
        (b"email=i%40gmail.com&company=A%26B&city=one&city=two", FORM.upper()),
    )
    await w.deliver(map=MAP | {"Score__c": "score"})
    records = w.records()
    assert sorted(records) == [f"{letter}@gmail.com" for letter in "abcdefghi"]
    assert await w.states() == {"done": 9}
    for letter in "ab":
        company = records[f"{letter}@gmail.com"]["Company"]
        assert company.startswith("Ac")
        assert company.endswith("me")
        assert "\x00" not in company
    assert records["b@gmail.com"]["City"] == "Köln"
    assert records["c@gmail.com"]["LastName"] == "Wörld"
    assert records["e@gmail.com"]["City"] == records["f@gmail.com"]["City"] == "Kiel"
    assert records["h@gmail.com"].get("Score__c") is None
    assert records["i@gmail.com"]["Company"] == "A&B"
    assert len(await w.world.owners()) == 9


async def test_case_49_of_an_array_the_good_ones(open_whole: Wholes) -> None:
    """Three in one body, the second broken; then the same again with one new element."""
    w = await open_whole(reps(["ann", "bob"]))
    first = b'[{"email":"a@gmail.com"},{"email":},{"email":"c@gmail.com"}]'
    await receive(w, (first, "application/json"))
    again = b'[{"email":"a@gmail.com"},{"email":"c@gmail.com"},{"email":"d@gmail.com"}]'
    await receive(w, (again, "application/json"))
    await w.deliver()
    assert sorted(w.records()) == ["a@gmail.com", "c@gmail.com", "d@gmail.com"]
    assert await w.world.owners() == ["ann", "bob", "ann"]
    assert await w.world.value("select count(*) from event where state = 'quarantined'") == 1


NASTY: list[object] = [
    None, "", " ", 0, -1, 7, 2**63, 2**64 + 1, 10**30, -(10**30), 1.5, 1e300, True, False, [], {}, [1, "x"], {"a": {}},
    "x" * 300, "Ä" * 5000, "🦊" * 200, "a\u0000b", "\ud800", "line\nbreak\r\n", "\x1b[31mred", "' or 1=1 --", "=1+1",
    "<script>alert(1)</script>", "nan", "inf", "-0", "1,200", "1.200,50", "٣", "\u202egnp.exe", "%s %d {0}", "null",
    "a@b", "@", "a@", "a@@b.com", "a b@c.com", "x@" + "y" * 300 + ".com", "ünï@cödé.de", "A@GMAIL.COM", "<a@gmail.com>",
    "2026-03-02", "2026-03-02T10:00:00Z", "9999-12-31T23:59:59Z", "0", "001000000000001", "001", "US", "Norway",
    "9" * 400, 7615917337495251231,
]  # fmt: skip
FIELDS = ["email", "company", "country", "employees", "language", "account", "score", "name", "city", "title",
          "visitor", "at"]  # fmt: skip


async def test_whatever_is_in_a_body_ends_in_the_crm_or_in_a_list(open_whole: Wholes) -> None:
    """Three hundred bodies of nasty values: each event is routed or set aside with a reason, each change done or failed
    with the CRM's words, and people with ordinary bodies between them are all there.
    """
    w = await open_whole(reps(["ann", "bob"]))
    dice = random.Random(41)
    bodies = []
    for number in range(300):
        body = {name: dice.choice(NASTY) for name in dice.sample(FIELDS, dice.randint(1, len(FIELDS)))}
        if number % 10 == 0:
            body = {"email": f"good{number}@gmail.com", "city": "Kiel"}
        bodies.append((json.dumps(body).encode(), "application/json"))
    await receive(w, *bodies)
    extra = {"Score__c": "score", "Country": "country", "NumberOfEmployees": "employees"}
    await w.deliver(map=MAP | extra, account_lookup="Account__r.Fairturn_Key__c")
    states = await w.world.fetch("select state, count(*), count(problem) as told from event group by state")
    assert {row["state"] for row in states} <= {"routed", "quarantined"}
    assert all(row["told"] == row["count"] for row in states if row["state"] == "quarantined")
    assert {f"good{number}@gmail.com" for number in range(0, 300, 10)} <= set(w.records())
    failed = await w.failed()
    assert all(row["message"] for row in failed)
    assert {row["code"] for row in failed} <= {"INVALID_EMAIL_ADDRESS", "STRING_TOO_LONG"}
    summary = w.org.get("/summary")
    assert (summary["repeats"], summary["overlaps"]) == (0, 0)
