"""`/__sim__`: what a test, a demonstration or a person asks the simulator itself. It needs no session and no time."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from crmsim import faults
from crmsim.clock import stamp
from crmsim.salesforce import evidence_views, hands, ownership, planting, seeding
from crmsim.salesforce.org import Author, Record
from crmsim.salesforce.state import Salesforce

Endpoint = Callable[[Request], Awaitable[Response]]
MOST = 10_000  # entries in one page


def answer(body: Any, status: int = 200) -> Response:
    return Response(orjson.dumps(body, option=orjson.OPT_NON_STR_KEYS), status, media_type="application/json")


def _guarded(endpoint: Endpoint) -> Endpoint:
    """A wrong request is 400 with a sentence."""

    async def guarded(request: Request) -> Response:
        try:
            return await endpoint(request)
        except (ValueError, TypeError, KeyError, LookupError) as trouble:
            return answer({"error": str(trouble)}, 400)

    return guarded


async def _body(request: Request) -> dict[str, Any]:
    raw = await request.body()
    body = orjson.loads(raw) if raw else {}
    if not isinstance(body, dict):
        raise ValueError("the body must be a JSON object")
    return body


def _window(request: Request) -> tuple[int, int]:
    """`after` (exclusive) and `limit` of a page."""
    return int(request.query_params.get("after", "0")), min(int(request.query_params.get("limit", "1000")), MOST)


@dataclass(slots=True)
class Control:
    """The endpoints; `fresh` rebuilds the simulator's parts for `reset`."""

    sim: Salesforce
    fresh: Callable[[Salesforce], None]

    def routes(self) -> list[Route]:
        table: list[tuple[str, str, Endpoint]] = [
            ("GET", "/health", self.health), ("GET", "/summary", self.summary),
            ("GET", "/requests", self.requests), ("GET", "/versions", self.versions),
            ("GET", "/records/{object}", self.records), ("GET", "/people", self.people),
            ("GET", "/repeats", self.repeats), ("GET", "/overlaps", self.overlaps), ("GET", "/locks", self.locks),
            ("GET", "/faults", self.faults), ("POST", "/faults", self.install), ("DELETE", "/faults", self.clear),
            ("POST", "/seed", self.seed), ("POST", "/owner", self.owner), ("POST", "/edit", self.edit),
            ("GET", "/owners", self.owners), ("GET", "/second-writer", self.second_writer),
            ("POST", "/second-writer", self.begin_writer), ("DELETE", "/second-writer", self.stop_writers),
            ("POST", "/convert", self.convert),
            ("GET", "/latency", self.latency), ("POST", "/latency", self.latency),
            ("GET", "/switches", self.switches), ("POST", "/switches", self.switches),
            ("GET", "/limits", self.limits), ("POST", "/limits", self.limits),
            ("GET", "/wait", self.wait), ("POST", "/release", self.release),
            ("POST", "/app", self.app), ("POST", "/revoke", self.revoke), ("POST", "/reset", self.reset),
        ]  # fmt: skip
        return [Route(path, _guarded(endpoint), methods=[method]) for method, path, endpoint in table]

    async def health(self, _: Request) -> Response:
        return answer({"ok": True})

    async def summary(self, _: Request) -> Response:
        return answer(evidence_views.summary(self.sim))

    async def requests(self, request: Request) -> Response:
        """`?after=&limit=&kind=`; `?format=jsonl` streams all of them."""
        after, limit = _window(request)
        kind, evidence = request.query_params.get("kind"), self.sim.evidence
        if request.query_params.get("format") == "jsonl":
            lines = (orjson.dumps(entry.json()) + b"\n" for entry in evidence.page(after, evidence.limit, kind))
            return StreamingResponse(_stream(lines), media_type="application/x-ndjson")
        page = evidence.page(after, limit, kind)
        upto = page[-1].n if page else after
        return answer({"requests": [entry.json() for entry in page], "next": upto, "dropped": evidence.dropped})

    async def versions(self, request: Request) -> Response:
        """`?after=&limit=&object=&id=`; `next` is the `after` of the next page, and starts at -1."""
        after, limit = int(request.query_params.get("after", "-1")), _window(request)[1]
        query = request.query_params
        page = evidence_views.versions(self.sim.org, after, limit, query.get("object"), query.get("id"))
        upto = page[-1].seq if page else after
        kept = self.sim.org.versions
        return answer({"versions": [item.json() for item in page], "next": upto, "dropped": kept[0].seq if kept else 0})

    async def records(self, request: Request) -> Response:
        """Every record of an object as it is now, in order of creation: `?after=&limit=` count records."""
        after, limit = _window(request)
        found = evidence_views.records(self.sim.org, request.path_params["object"])
        page = found[after : after + limit]
        return answer({"records": page, "next": after + len(page), "total": len(found)})

    async def people(self, _: Request) -> Response:
        return answer(evidence_views.people(self.sim.org))

    async def repeats(self, _: Request) -> Response:
        evidence = self.sim.evidence
        return answer({"count": evidence.totals["repeats"], "repeats": list(evidence.repeats)})

    async def overlaps(self, _: Request) -> Response:
        evidence = self.sim.evidence
        return answer({"count": evidence.totals["overlaps"], "overlaps": list(evidence.overlaps)})

    async def locks(self, _: Request) -> Response:
        return answer(evidence_views.locks(self.sim))

    async def faults(self, _: Request) -> Response:
        plan = self.sim.plan
        return answer({"seed": plan.seed, "age": self.sim.clock.now() - plan.installed, "faults": plan.report()})

    async def install(self, request: Request) -> Response:
        document = await _body(request)
        seed, planned = faults.parse(document)
        self.sim.plan.install(seed, planned, self.sim.clock.now(), add=bool(document.get("add")))
        return await self.faults(request)

    async def clear(self, request: Request) -> Response:
        self.sim.plan.install(0, [], self.sim.clock.now())
        return await self.faults(request)

    async def seed(self, request: Request) -> Response:
        org = self.sim.org
        first = org.version_count
        made = seeding.seed(org, await _body(request))
        born = [version.json() for version in org.versions if version.seq >= first]
        self.sim.evidence.write_line({"commit": None, "versions": born})
        return answer(made)

    async def owner(self, request: Request) -> Response:
        """A person changes a record's owner: `{"object": "Lead", "email"|"id"|"key": …, "owner": …, "by": …}`."""
        body = await _body(request)
        values = {"OwnerId": planting.owner(self.sim.org, str(body["owner"]))}
        return self._by_hand(body, values)

    async def edit(self, request: Request) -> Response:
        """A person changes any fields, `IsConverted` and `IsDeleted` included: `fields` instead of `owner`."""
        body = await _body(request)
        return self._by_hand(body, dict(body["fields"]))

    def _by_hand(self, body: dict[str, Any], values: dict[str, Any]) -> Response:
        org, record = self.sim.org, self._record(body)
        known = {item.name for item in record.sobject.fields.values()}
        if set(values) - known:
            raise ValueError(f"{record.sobject.name} has no fields {sorted(set(values) - known)}")
        author = Author(planting.user_or_words(org, str(body.get("by", "a person"))), "hand", None, stamp())
        version = org.log(org.update(record, values, author))
        self.sim.evidence.write_line({"commit": None, "versions": [version.json()]})
        return answer(version.json())

    async def owners(self, request: Request) -> Response:
        """Owners in time and what became of the people of the seed; `?email=` for one of them."""
        return answer(ownership.report(self.sim.org, request.query_params.get("email")))

    async def convert(self, request: Request) -> Response:
        """Somebody converts a Lead: `{"email": …}` or id or key."""
        lead = self._record(await _body(request))
        if lead.sobject.name != "Lead" or lead.values.get("IsConverted"):
            raise ValueError("only an open Lead can be converted")
        contact = planting.convert(self.sim.org, lead)
        return answer({"lead": lead.id18, "contact": contact.id18, "account": contact.values["AccountId"]})

    async def second_writer(self, _: Request) -> Response:
        working = self.sim.hands
        return answer({"at_work": len(working.tasks), "turns": working.turns, "changes": working.changes})

    async def begin_writer(self, request: Request) -> Response:
        """`{"every": 5, "records": 3, "to": ["Ann"], "times": 10, "seed": 7}`; `fields` instead of owners edits."""
        sim = self.sim
        wanted = hands.habit(sim.org, await _body(request), sim.hands.begun + 1)
        place = hands.Place(sim.org, sim.locks, sim.clock, sim.evidence, sim.switches.lock_timeout)
        sim.hands.begin(place, wanted)
        return await self.second_writer(request)

    async def stop_writers(self, request: Request) -> Response:
        self.sim.hands.stop()
        return await self.second_writer(request)

    def _record(self, body: dict[str, Any]) -> Record:
        """The one record that `id`, `email` or `key` (`{"field": …, "value": …}`) names."""
        org, sobject = self.sim.org, self.sim.org.sobject(str(body.get("object", "Lead")))
        if sobject is None:
            raise ValueError(f"no object {body.get('object')!r}")
        if "id" in body:
            record = org.get(str(body["id"]))
            matches = [record] if record and record.sobject is sobject else []
        else:
            key = body.get("key") or {"field": "Email", "value": body.get("email")}
            field = sobject.fields[str(key["field"]).lower()]
            matches = [row for row in org.live(sobject.name) if row.values.get(field.name) is not None
                       and field.fold(row.values[field.name]) == field.fold(key["value"])]  # fmt: skip
        if len(matches) != 1:
            raise ValueError(f"{len(matches)} records of {sobject.name} match; name one by id, email or key")
        return matches[0]

    async def latency(self, request: Request) -> Response:
        """Simulated seconds: `{"fixed": 0.5, "per_record": 0.01, "token": 0.1}`, any of them."""
        latency = self.sim.latency
        for name, value in (await _body(request) if request.method == "POST" else {}).items():
            if name not in ("fixed", "per_record", "token") or not isinstance(value, (int, float)) or value < 0:
                raise ValueError(
                    f"latency has fixed, per_record and token, in seconds of 0 or more; not {name}={value!r}"
                )
            setattr(latency, name, float(value))
        return answer({"fixed": latency.fixed, "per_record": latency.per_record, "token": latency.token})

    async def switches(self, request: Request) -> Response:
        sim = self.sim
        if request.method == "POST":
            changed = replace(sim.switches)
            changed.change(await _body(request))
            sim.org.shape(changed)
            sim.switches = changed
        return answer(evidence_views.switches(sim))

    async def limits(self, request: Request) -> Response:
        """The daily API requests: `{"max": 100, "used": 99}`."""
        usage = self.sim.usage
        if request.method == "POST":
            body = await _body(request)
            usage.maximum = int(body.get("max", usage.maximum))
            usage.used = int(body.get("used", usage.used))
        return answer({"max": usage.maximum, "used": usage.used})

    async def wait(self, request: Request) -> Response:
        """Answers once every number named is at least so large.

        `/wait?write_requests=3&lock_waiting=1&timeout=10`: the time-out is in real seconds; 408 when it passes.
        """
        wanted = {name: int(value) for name, value in request.query_params.items() if name != "timeout"}
        numbers = evidence_views.numbers(self.sim)
        if set(wanted) - set(numbers):
            raise ValueError(f"no number {sorted(set(wanted) - set(numbers))}; there are {sorted(numbers)}")

        def holds() -> bool:
            now = evidence_views.numbers(self.sim)
            return all(now[name] >= least for name, least in wanted.items())

        reached = await self.sim.evidence.bell.until(holds, float(request.query_params.get("timeout", "10")))
        return answer(evidence_views.numbers(self.sim), 200 if reached else 408)

    async def release(self, _: Request) -> Response:
        """Let every request that rests in a `hang` or `slow` go on."""
        return answer({"released": self.sim.gate.open()})

    async def app(self, request: Request) -> Response:
        """Change what the connected app is known by: `{"jwt_key": PEM, "client_secret": …}`. Tokens live on."""
        sessions = self.sim.sessions
        sessions.app = sessions.app.changed(await _body(request))
        return answer({"client_id": sessions.app.client_id})

    async def revoke(self, request: Request) -> Response:
        """Kill all tokens, or the one named."""
        return answer({"revoked": self.sim.sessions.revoke((await _body(request)).get("token"))})

    async def reset(self, _: Request) -> Response:
        """A bare org and empty evidence; latency, switches, limits and faults go back to those of the start."""
        self.fresh(self.sim)
        return answer({"ok": True})


async def _stream(lines: Iterator[bytes]) -> Any:
    for line in lines:
        yield line
