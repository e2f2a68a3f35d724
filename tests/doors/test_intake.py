"""The door, over real HTTP and into real PostgreSQL."""

import asyncio
import base64
import hashlib
import hmac
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairturn.config import Settings
from fairturn.errors import ConfigError, Overloaded
from fairturn.flow.accept import Bounds
from fairturn.intake.app import endpoints
from fairturn.intake.wire import Bodies

OPEN = {"verify": {"type": "unsigned"}}
GITHUB = {
    "verify": {
        "type": "hmac", "header": "X-Hub-Signature-256", "secrets": ["env:S"], "format": "prefix", "prefix": "sha256=",
    }
}  # fmt: skip
HUBSPOT = {
    "verify": {
        "type": "hmac", "header": "X-HubSpot-Signature-v3", "secrets": ["env:S"], "encoding": "base64",
        "signed": "{method}{url}{body}{timestamp}", "timestamp_header": "X-HubSpot-Request-Timestamp",
        "timestamp_unit": "ms",
    },
    "dedupe": "[portalId, subscriptionType, objectId, eventId, occurredAt]",
}  # fmt: skip


def signature(body: bytes, secret: bytes = b"key") -> str:
    return "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()


async def raw(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


# ---- what is taken ------------------------------------------------------------------------------------------------


async def test_an_object_is_one_event(serve):
    intake = await serve()
    answer = await intake.post(b'{"email":"a@x.test"}')
    assert answer.status_code == 202
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["accepted"] == 1
    row = await intake.stored(answer.json()["events"][0])
    assert (row["source_id"], row["lane"], row["state"], row["item"]) == ("open", "batch", "pending", 0)
    assert (row["body"], row["raw"]) == (None, b'{"email":"a@x.test"}')


async def test_case_49_an_array_with_one_bad_item(serve):
    intake = await serve()
    answer = await intake.post(b'[{"n":1},{"n":},{"n":3}]')
    assert answer.status_code == 202
    assert answer.json()["accepted"] == 2
    assert answer.json()["quarantined"] == [
        {"item": 1, "problem": "It is not valid JSON: expecting value at line 1 column 6"}
    ]
    assert await intake.sql.fetch("select item, state, body from event order by item") == [
        (0, "pending", b'{"n":1}'), (1, "quarantined", b'{"n":}'), (2, "pending", b'{"n":3}'),
    ]  # fmt: skip
    again = await intake.post(b'[{"n":0},{"n":1},{"n":3}]')
    assert again.json()["accepted"] == 3
    assert await intake.count() == 4
    empty = await intake.post(b"[]")
    assert (empty.status_code, empty.json()) == (202, {"accepted": 0, "events": []})
    assert (await intake.post(b"[1,2]")).status_code == 400


async def test_case_47_a_form_and_its_charset(serve):
    intake = await serve()
    body = b"email=a%40x.test&company=A%26B&tag=1&tag=2"
    types = ("application/x-www-form-urlencoded; charset=utf-8", "APPLICATION/X-WWW-FORM-URLENCODED", None)
    answers = [await intake.post(body, content_type) for content_type in types]
    assert [answer.status_code for answer in answers] == [202] * 3
    answer = answers[0]
    row = await intake.stored(answer.json()["events"][0])
    assert orjson.loads(row["seen"]) == {"email": "a@x.test", "company": "A&B", "tag": ["1", "2"]}
    assert row["raw"] == body
    assert await intake.count() == 1
    refused = await intake.post(b"<lead/>", "text/xml")
    assert refused.status_code == 415
    assert "application/json" in refused.json()["error"]


@pytest.mark.parametrize(
    ("body", "marks"),
    [
        (rb'{"email":"a@x.test","company":"Ac\u0000me"}', ["nul"]),
        (rb'{"email":"a@x.test","na\ud800me":"\udfff"}', ["surrogate"]),
        (b'{"name":"H\xebllo","n":1e400}', ["charset", "big number"]),
        (b'{"name":"%b"}' % (b"x" * 100_000), []),
    ],
)
async def test_cases_41_43_48_odd_bytes_are_kept_as_they_came(serve, body, marks):
    intake = await serve()
    answer = await intake.post(body)
    assert answer.status_code == 202
    row = await intake.stored(answer.json()["events"][0])
    assert row["raw"] == body
    assert row["marks"] == marks
    assert isinstance(orjson.loads(row["seen"]), dict)
    await intake.sql.fetchval("select convert_from($1::bytea, 'utf8')::jsonb", row["seen"])


async def test_case_55_one_delivery_46_times_and_across_a_restart(serve, database):
    first = await serve()
    for _ in range(23):
        assert (await first.post(b'{"id":"e1"}')).status_code == 202
    second = await serve({"open": OPEN})
    for _ in range(23):
        assert (await second.post(b'{"id":"e1"}')).status_code == 202
    assert await second.count() == await second.count("delivery") == 1


async def test_case_56_two_connections_at_once(serve):
    intake = await serve({"open": {**OPEN, "dedupe": "id"}})
    for number in range(20):
        pair = [intake.post(b'{"id":%d,"try":%d}' % (number, turn), **{"x-request-id": str(turn)}) for turn in range(2)]
        one, two = await asyncio.gather(*pair)
        assert one.status_code == two.status_code == 202
        assert one.json() == two.json()
    assert await intake.count() == 20


# ---- what is refused ----------------------------------------------------------------------------------------------


async def test_case_45_an_unsigned_body_is_refused_before_it_is_parsed(serve):
    intake = await serve({"github": GITHUB}, {"github": (b"key",)})
    deep = b"[" * 100_000 + b"]" * 100_000
    unsigned = await intake.post(deep, source="github")
    assert unsigned.status_code == 401
    signed = await intake.post(deep, source="github", **{"x-hub-signature-256": signature(deep)})
    assert signed.status_code == 400
    fine = b'{"a":' * 63 + b"{}" + b"}" * 63
    taken = await intake.post(fine, source="github", **{"x-hub-signature-256": signature(fine)})
    assert taken.status_code == 202


async def test_an_unknown_source_and_a_wrong_proof_look_the_same(serve):
    intake = await serve({"github": GITHUB}, {"github": (b"key",)})
    answers = [
        await intake.post(b"{}", source=source, **headers)
        for source in ("github", "nobody")
        for headers in ({}, {"x-hub-signature-256": "sha256=00"}, {"x-hub-signature-256": signature(b"{}", b"other")})
    ]
    seen = {(answer.status_code, answer.text, tuple(sorted(set(answer.headers) - {"date"}))) for answer in answers}
    assert len(seen) == 1
    assert answers[0].status_code == 401
    assert await intake.count("delivery") == 0


async def test_case_52_hubspot_signs_the_public_url(serve):
    now = datetime(2026, 3, 2, 10, tzinfo=UTC)
    clock = {"now": now}
    intake = await serve(
        {"hubspot": HUBSPOT}, {"hubspot": (b"key",)},
        server={"public_url": "https://leads.example.com/"}, clock=lambda: clock["now"],
    )  # fmt: skip
    body = b'[{"eventId":1,"portalId":3,"subscriptionType":"contact.creation","objectId":123,"occurredAt":1}]'
    stamp = str(int(now.timestamp() * 1000))
    url = "https://leads.example.com/in/hubspot?tenant=a%20b"
    digest = hmac.digest(b"key", b"POST" + url.encode() + body + stamp.encode(), "sha256")
    headers = {"x-hubspot-signature-v3": base64.b64encode(digest).decode(), "x-hubspot-request-timestamp": stamp}
    headers["content-type"] = "application/json"
    statuses = []
    for minutes in (0, 1, 4.98, 5.02, -5.02):
        clock["now"] = now + timedelta(minutes=minutes)
        answer = await intake.client.post("/in/hubspot?tenant=a%20b", content=body, headers=headers)
        statuses.append(answer.status_code)
    assert statuses == [202, 202, 202, 401, 401]
    assert await intake.count() == 1  # the replays had no second effect


def test_settings_that_cannot_verify_are_found_at_the_start():
    sources: Any = {"hubspot": HUBSPOT, "github": GITHUB, "odd": {**OPEN, "dedupe": "a["}}
    with pytest.raises(ConfigError) as caught:
        endpoints(Settings.model_validate({"sources": sources}), {"hubspot": (b"key",), "github": (b" ",)})
    keys = {fault.key for fault in caught.value.faults}
    assert keys == {"sources.hubspot.verify.signed", "sources.github.verify.secrets", "sources.odd.dedupe"}


async def test_sizes_declared_and_not(serve):
    intake = await serve(server={"max_body": 2000})
    assert (await intake.post(b'{"a":"%b"}' % (b"x" * 3000))).status_code == 413
    head = b"POST /in/open HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    chunk = b"400\r\n" + b"x" * 1024 + b"\r\n"
    answer = await raw(intake.port, head + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 4)
    assert answer.startswith(b"HTTP/1.1 413")
    answer = await raw(intake.port, head + b"Content-Length: 999999999999999999999\r\n\r\n")
    assert answer.split(b" ")[1] in {b"400", b"413"}
    huge = b"Content-Length: 999999999\r\n\r\n"
    assert (await raw(intake.port, head + huge)).startswith(b"HTTP/1.1 413")


async def test_bodies_that_are_still_coming_in_are_bounded_together():
    """Many slow senders at once, each within its own limit; when they are gone there is room again."""
    bodies = Bodies(most_held=1000)

    def sender(pieces: list[bytes], end: asyncio.Event | None = None):
        left = list(pieces)

        async def receive() -> dict[str, Any]:
            if left:
                return {"type": "http.request", "body": left.pop(0), "more_body": True}
            if end is not None:
                await end.wait()
            return {"type": "http.request", "body": b"", "more_body": False}

        return receive

    end = asyncio.Event()
    first = asyncio.create_task(bodies.read(sender([b"x" * 600], end), {}, 700, 10))
    await asyncio.sleep(0)
    with pytest.raises(Overloaded):
        await asyncio.create_task(bodies.read(sender([b"y" * 600]), {}, 700, 10))
    end.set()
    assert await first == b"x" * 600
    assert (
        await asyncio.create_task(bodies.read(sender([b"y" * 300, b"z" * 300]), {}, 700, 10)) == b"y" * 300 + b"z" * 300
    )


async def test_a_body_that_never_ends_is_given_up(serve):
    intake = await serve(server={"body_timeout": "100ms"})
    head = b"POST /in/open HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n"
    slow = [raw(intake.port, head), raw(intake.port, head + b'{"a"')]
    for answer in await asyncio.gather(*slow):
        assert answer.startswith(b"HTTP/1.1 408")
    assert (await intake.post(b"{}")).status_code == 202


async def test_other_methods_and_places(serve):
    intake = await serve({"open": OPEN, "github": GITHUB}, {"github": (b"key",)})
    for source in ("open", "github", "nobody"):
        assert (await intake.client.get(f"/in/{source}")).status_code == 405
        assert (await intake.client.get(f"/in/{source}")).headers["allow"] == "POST, HEAD"
        assert (await intake.client.head(f"/in/{source}")).status_code == 200
        assert (await intake.client.put(f"/in/{source}", content=b"{}")).status_code == 405
    assert (await intake.client.post("/in/open/abc", content=b"{}")).status_code == 405
    assert (await intake.client.get("/")).status_code == 404
    assert (await intake.post(b"{}", source="")).status_code == 401
    gzip = await intake.post(b"\x1f\x8b", **{"content-encoding": "gzip"})
    assert gzip.status_code == 415
    assert "gzip" in gzip.json()["error"]


# ---- the sync lane ------------------------------------------------------------------------------------------------


async def route(intake, *, status: str = "assigned", rep: str | None = "ann") -> None:
    """What the route station would do, in the least that the schema allows."""
    lead = await intake.sql.fetchval(
        "insert into lead (source_id, status, fields, rep_id, pool_id, reason) "
        "values ('chat', $1, '{}', $2, 'emea', 'nobody is on shift') returning id",
        status,
        rep,
    )
    await intake.sql.execute("update event set state = 'routed', lead_id = $1 where state = 'pending'", lead)


CHAT = {"form": OPEN, "chat": {**OPEN, "lane": "sync", "deadline": "200ms"}}
REPS = {"ann": {"name": "Ann Lee", "email": "ann@acme.test"}}


async def test_a_caller_who_waits_gets_the_owner(serve):
    async def owners(events, deadline):
        assert deadline == 0.2
        await route(intake)
        return await intake.accept.journal.results(events)

    intake = await serve(CHAT, owners=owners, reps=REPS)
    answer = await intake.post(b'{"n":1}', source="chat")
    assert answer.status_code == 200
    content = answer.json()
    assert content["rep"] == {"id": "ann", "name": "Ann Lee", "email": "ann@acme.test"}
    assert (content["pool"], content["status"], content["why"]) == ("emea", "assigned", "nobody is on shift")
    several = await intake.post(b'[{"n":2},{"n":3},5]', source="chat")
    assert several.status_code == 200
    assert set(several.json()["owners"]) == set(several.json()["events"])
    assert several.json()["quarantined"][0]["item"] == 2


async def test_a_held_lead_has_no_rep_and_says_why(serve):
    async def owners(events, deadline):
        await route(intake, status="held", rep=None)
        return await intake.accept.journal.results(events)

    intake = await serve(CHAT, owners=owners)
    content = (await intake.post(b'{"n":1}', source="chat")).json()
    assert (content["status"], content["rep"], content["why"]) == ("held", None, "nobody is on shift")


async def never(events, deadline):
    await asyncio.Event().wait()


async def broken(events, deadline):
    raise RuntimeError("no route today")


@pytest.mark.parametrize("owners", [never, broken, None])
async def test_at_the_deadline_the_caller_gets_an_address_instead(serve, owners):
    intake = await serve(CHAT, owners=owners, reps=REPS)
    answer = await intake.post(b'{"n":1}', source="chat")
    assert answer.status_code == 202
    (event,) = answer.json()["events"]
    if owners is not None:
        assert answer.json()["lead_url"] == answer.headers["location"] == f"/in/chat/{event}"
    waiting = await intake.client.get(f"/in/chat/{event}")
    assert (waiting.status_code, waiting.json()["status"]) == (202, "waiting")
    await route(intake)
    found = await intake.client.get(f"/in/chat/{event}")
    assert (found.status_code, found.json()["rep"]["name"]) == (200, "Ann Lee")
    assert (await intake.client.get("/in/chat/nonsense")).status_code == 404
    for unknown in (event, "0" * 32):  # of another source, or of nobody: the same answer
        elsewhere = await intake.client.get(f"/in/form/{unknown}")
        assert (elsewhere.status_code, elsewhere.json()["status"]) == (202, "waiting")
    assert (await intake.client.get(f"/in/nobody/{event}")).status_code == 401


# ---- when it cannot be stored -------------------------------------------------------------------------------------


async def test_case_57_no_2xx_before_it_is_durable(serve):
    """A database that answers too late: 503 in time, and the same delivery sent again is the same event."""
    intake = await serve(bounds=Bounds(patience=0.2))
    async with intake.sql.transaction():
        await intake.sql.execute("lock table event in access exclusive mode")
        answers = await asyncio.gather(*(intake.post(b'{"n":1}') for _ in range(3)))
        answers.append(await intake.post(b'{"n":2}'))
        assert [answer.status_code for answer in answers] == [503] * 4
        assert {answer.headers["retry-after"] for answer in answers} == {"5"}
    await intake.accept.settled()  # the commit that was left behind
    answer = await intake.post(b'{"n":1}')
    assert answer.status_code == 202
    assert await intake.count() == 1


async def test_503_while_too_much_waits_to_be_routed(serve):
    intake = await serve(bounds=Bounds(max_unrouted=2, look_every=3600))
    for number in range(3):
        assert (await intake.post(b'{"n":%d}' % number)).status_code == 202
    await intake.accept.look()
    answer = await intake.post(b'{"n":4}')
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "30")
    assert "2 events wait" in answer.json()["error"]
    await route(intake)
    await intake.accept.look()
    assert (await intake.post(b'{"n":4}')).status_code == 202


async def test_a_caller_that_hangs_up_fails_nobody_and_its_event_stays(serve):
    intake = await serve()
    heard = asyncio.Event()
    await intake.sql.add_listener("fairturn_event", lambda *_: heard.set())
    async with intake.sql.transaction():
        await intake.sql.execute("lock table event in access exclusive mode")
        body = b'{"n":1}'
        _, writer = await asyncio.open_connection("127.0.0.1", intake.port)
        writer.write(b"POST /in/open HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        other = asyncio.create_task(intake.post(b'{"n":2}'))
        while not await intake.sql.fetchval("select exists (select from pg_locks where not granted)"):  # noqa: ASYNC110  no signal tells of a waiting lock
            await asyncio.sleep(0.01)
        writer.transport.abort()
    assert (await other).status_code == 202
    await asyncio.wait_for(heard.wait(), 10)
    assert await intake.count() == 2


async def test_health(serve):
    intake = await serve()
    assert (await intake.client.get("/healthz")).json() == {"status": "ok"}
    assert (await intake.client.get("/readyz")).json() == {"status": "ready"}


async def test_not_ready_without_a_schema(serve):
    intake = await serve()
    await intake.sql.execute("alter table event rename to elsewhere")
    answer = await intake.client.get("/readyz")
    assert answer.status_code == 503
    assert "fairturn db status" in answer.json()["why"]
    assert (await intake.client.get("/healthz")).status_code == 200
    assert (await intake.post(b"{}")).status_code == 503


# ---- nothing is ever 5xx for what it is ---------------------------------------------------------------------------

HEADER = st.binary(max_size=60).map(lambda value: bytes(byte for byte in value if byte >= 32 and byte != 127))
TYPES = st.sampled_from([
    b"application/json", b"application/x-www-form-urlencoded", b"text/plain", b"", b"application/json; charset=utf-16",
    b"application/json; charset=\xff", b"text/html",
])  # fmt: skip
ODD = [b"e999", b"\\u0000", b"\\ud800", b"NaN", b"null", b"\x00", b'{"a":1}', b'{"\\u0000":"\\udfff"}', b'{"id":[1]}']
JSONISH = st.lists(
    st.sampled_from([*(bytes([byte]) for byte in b'{}[]"\\,:1a=&%\xff'), *ODD, b"9" * 400]), max_size=20
).map(b"".join)


@pytest.fixture
async def two_doors(serve):
    keyed = {"verify": {"type": "shared_secret", "name": "X-Key", "secrets": ["env:S"]}}
    intake = await serve({"open": {**OPEN, "dedupe": "id"}, "keyed": keyed}, {"keyed": (b"key",)})
    return intake, set()  # with the events that were answered so far


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.binary(max_size=200) | JSONISH, content_type=TYPES | HEADER, header=HEADER, query=HEADER)
async def test_whatever_arrives_is_never_a_5xx(two_doors, body, content_type, header, query):
    intake, known = two_doors
    kept = "select true from delivery where source_id = $1 and body = $2"
    source = b"keyed" if len(header) % 2 else b"open"
    target = b"".join(b"%%%02x" % byte if not 33 <= byte < 127 or byte in b"#" else bytes([byte]) for byte in query)
    answer = await raw(
        intake.port,
        b"POST /in/%b?%b HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: %b\r\nX-Key: %b\r\n"
        b"Content-Length: %d\r\n\r\n%b" % (source, target, content_type, header, len(body), body),
    )  # fmt: skip
    status = int(answer.split(b" ")[1])
    assert status in {202, 400, 401, 413, 415}
    if status == 202:
        content = orjson.loads(answer.partition(b"\r\n\r\n")[2])
        for event in content["events"]:
            # A body equal as JSON to one before it is that event, with the bytes that came first; all others are their
            # own. Either way these bytes are kept, under this source.
            row = await intake.stored(event)
            assert row["raw"] == body or event in known
            assert await intake.sql.fetchval(kept, source.decode(), body)
            known.add(event)
            await intake.sql.fetchval("select convert_from($1::bytea, 'utf8')::jsonb", row["seen"])
