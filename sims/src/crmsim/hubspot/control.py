"""`/__sim__` of a HubSpot account: the verbs that every simulator here has. They need no token and take no time."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from crmsim import faults
from crmsim.hubspot import faulty, hands, planting, seeding, views
from crmsim.hubspot.searching import remember
from crmsim.hubspot.state import Hubspot
from crmsim.hubspot.values import Malformed

Endpoint = Callable[[Request], Awaitable[Response]]
MOST = 10_000  # entries in one page


def answer(body: Any, status: int = 200) -> Response:
    return Response(orjson.dumps(body, option=orjson.OPT_NON_STR_KEYS), status, media_type="application/json")


def _guarded(endpoint: Endpoint) -> Endpoint:
    """A wrong request is 400 with a sentence."""

    async def guarded(request: Request) -> Response:
        try:
            return await endpoint(request)
        except (ValueError, TypeError, KeyError, LookupError, Malformed) as trouble:
            return answer({"error": str(trouble)}, 400)

    return guarded


async def _body(request: Request) -> dict[str, Any]:
    raw = await request.body()
    body = orjson.loads(raw) if raw else {}
    if not isinstance(body, dict):
        raise ValueError("the body must be a JSON object")
    return body


def _limit(request: Request) -> int:
    return min(int(request.query_params.get("limit", "1000")), MOST)


@dataclass(slots=True)
class Control:
    """The endpoints; `fresh` rebuilds the simulator's parts for `reset`."""

    sim: Hubspot
    fresh: Callable[[Hubspot], None]

    def routes(self) -> list[Route]:
        table: list[tuple[str, str, Endpoint]] = [
            ("GET", "/health", self.health), ("GET", "/summary", self.summary),
            ("GET", "/requests", self.requests), ("GET", "/versions", self.versions),
            ("GET", "/records/{object}", self.records), ("GET", "/people", self.people),
            ("GET", "/repeats", self.repeats), ("GET", "/overlaps", self.overlaps), ("GET", "/owners", self.owners),
            ("GET", "/faults", self.faults), ("POST", "/faults", self.install), ("DELETE", "/faults", self.clear),
            ("POST", "/seed", self.seed), ("POST", "/owner", self.owner), ("POST", "/edit", self.edit),
            ("POST", "/archive", self.archive), ("POST", "/merge", self.merge),
            ("POST", "/person", self.person), ("GET", "/second-writer", self.second_writer),
            ("POST", "/second-writer", self.begin_writer), ("DELETE", "/second-writer", self.stop_writers),
            ("GET", "/latency", self.latency), ("POST", "/latency", self.latency),
            ("GET", "/switches", self.switches), ("POST", "/switches", self.switches),
            ("GET", "/limits", self.limits), ("POST", "/limits", self.limits),
            ("GET", "/wait", self.wait), ("POST", "/release", self.release),
            ("POST", "/revoke", self.revoke), ("POST", "/reset", self.reset),
        ]  # fmt: skip
        return [Route(path, _guarded(endpoint), methods=[method]) for method, path, endpoint in table]

    async def health(self, _: Request) -> Response:
        return answer({"ok": True})

    async def summary(self, _: Request) -> Response:
        return answer(views.summary(self.sim))

    async def requests(self, request: Request) -> Response:
        """`?after=&limit=&kind=`; `?format=jsonl` streams all of them."""
        after, limit = int(request.query_params.get("after", "0")), _limit(request)
        kind, evidence = request.query_params.get("kind"), self.sim.evidence
        if request.query_params.get("format") == "jsonl":
            lines = (orjson.dumps(entry.json()) + b"\n" for entry in evidence.page(after, evidence.limit, kind))
            return StreamingResponse(_stream(lines), media_type="application/x-ndjson")
        page = evidence.page(after, limit, kind)
        upto = page[-1].n if page else after
        return answer({"requests": [entry.json() for entry in page], "next": upto, "dropped": evidence.dropped})

    async def versions(self, request: Request) -> Response:
        """`?after=&limit=&object=&id=`; `next` is the `after` of the next page, and starts at -1."""
        query, kept = request.query_params, self.sim.portal.versions
        after = int(query.get("after", "-1"))
        page = views.versions(self.sim.portal, after, _limit(request), query.get("object"), query.get("id"))
        upto = page[-1].seq if page else after
        return answer({"versions": [item.json() for item in page], "next": upto, "dropped": kept[0].seq if kept else 0})

    async def records(self, request: Request) -> Response:
        """Every record of an object (or `owners`) as it is now, in order of creation."""
        after = int(request.query_params.get("after", "0"))
        found = views.records(self.sim.portal, request.path_params["object"])
        page = found[after : after + _limit(request)]
        return answer({"records": page, "next": after + len(page), "total": len(found)})

    async def people(self, _: Request) -> Response:
        return answer(views.people(self.sim.portal))

    async def owners(self, request: Request) -> Response:
        """Owners in time and what became of the people of the seed; `?email=` for one of them."""
        return answer(views.owners(self.sim.portal, request.query_params.get("email")))

    async def repeats(self, _: Request) -> Response:
        evidence = self.sim.evidence
        return answer({"count": evidence.totals["repeats"], "repeats": list(evidence.repeats)})

    async def overlaps(self, _: Request) -> Response:
        evidence = self.sim.evidence
        return answer({"count": evidence.totals["overlaps"], "overlaps": list(evidence.overlaps)})

    async def faults(self, _: Request) -> Response:
        plan = self.sim.plan
        return answer({"seed": plan.seed, "age": self.sim.clock.now() - plan.installed, "faults": plan.report()})

    async def install(self, request: Request) -> Response:
        document = await _body(request)
        seed, planned = faults.parse(document, faulty.KINDS)
        self.sim.plan.install(seed, planned, self.sim.clock.now(), add=bool(document.get("add")))
        return await self.faults(request)

    async def clear(self, request: Request) -> Response:
        self.sim.plan.install(0, [], self.sim.clock.now())
        return await self.faults(request)

    async def seed(self, request: Request) -> Response:
        sim = self.sim
        first = sim.portal.version_count
        made = seeding.seed(sim.portal, sim.tokens, await _body(request))
        hands.told(sim, sim.portal.since(first))
        return answer(made)

    async def owner(self, request: Request) -> Response:
        """A person changes a record's owner: `{"object", "email"|"id"|"key", "owner": …|null, "by"}`."""
        body = await _body(request)
        portal, wanted = self.sim.portal, body["owner"]
        owner = "" if wanted is None else planting.named_owner(portal, str(wanted))
        found, by = hands.record(portal, body), hands.author(portal, body)
        return answer(hands.edit(self.sim, found, {"hubspot_owner_id": owner}, by).json())

    async def edit(self, request: Request) -> Response:
        """A person changes any properties: `fields` instead of `owner`."""
        body, portal = await _body(request), self.sim.portal
        found, by = hands.record(portal, body), hands.author(portal, body)
        return answer(hands.edit(self.sim, found, dict(body["fields"]), by).json())

    async def archive(self, request: Request) -> Response:
        """A person deletes a record, or takes it back with `"restore": true`."""
        body, portal = await _body(request), self.sim.portal
        found, by = hands.record(portal, body), hands.author(portal, body)
        version = portal.restore(found, by) if body.get("restore") else portal.archive(found, by)
        remember(self.sim, found)
        hands.told(self.sim, [version])
        return answer(version.json())

    async def merge(self, request: Request) -> Response:
        """A person merges two records: `{"primary": {"email"…}, "other": {"email"…}, "by"}`."""
        body, sim = await _body(request), self.sim
        first = sim.portal.version_count
        both = [hands.record(sim.portal, {"object": body.get("object", "contacts"), **body[name]})
                for name in ("primary", "other")]  # fmt: skip
        by = hands.author(sim.portal, body)
        stays = sim.portal.merge(both[0], both[1], by, new_id=sim.switches.merge_new_id)
        remember(sim, stays)
        hands.told(sim, sim.portal.since(first))
        return answer({"id": stays.id, "email": stays.email})

    async def person(self, request: Request) -> Response:
        """An owner leaves or comes back: `{"owner": …, "archived": true}`."""
        body, portal = await _body(request), self.sim.portal
        found = portal.owners[planting.named_owner(portal, str(body["owner"]))]
        found.archived = bool(body["archived"])
        return answer(asdict(found))

    async def second_writer(self, _: Request) -> Response:
        return answer(self.sim.writers.report())

    async def begin_writer(self, request: Request) -> Response:
        """`{"every": 5, "records": 3, "to": ["Ann"], "times": 10, "seed": 7}`; `fields` instead of owners edits."""
        sim = self.sim
        wanted = hands.habit(sim.portal, await _body(request))
        sim.writers.begin(sim.clock, wanted, lambda habit, dice: hands.turn(sim, habit, dice))
        return await self.second_writer(request)

    async def stop_writers(self, request: Request) -> Response:
        self.sim.writers.stop()
        return await self.second_writer(request)

    async def latency(self, request: Request) -> Response:
        """Simulated seconds: `{"fixed", "per_record", "search", "token"}`, any of them."""
        latency = self.sim.latency
        given = await _body(request) if request.method == "POST" else {}
        for name, value in given.items():
            if name not in asdict(latency) or not isinstance(value, (int, float)) or value < 0:
                raise ValueError(
                    f"latency has {', '.join(asdict(latency))}, in seconds of 0 or more; not {name}={value!r}"
                )
        for name, value in given.items():
            setattr(latency, name, float(value))
        return answer(asdict(latency))

    async def switches(self, request: Request) -> Response:
        if request.method == "POST":
            self.sim.switches.change(await _body(request))
        return answer(asdict(self.sim.switches))

    async def limits(self, request: Request) -> Response:
        """`{"burst", "oauth_burst", "search", "daily", "used"}`; a new `burst` forgets the last ten seconds."""
        limits = self.sim.limits
        if request.method == "POST":
            limits.roll(self.sim.wall())
            limits.change(await _body(request))
            limits.calls.clear()
            limits.searches.clear()
        return answer(limits.report())

    async def wait(self, request: Request) -> Response:
        """Answers once every number named is at least so large; 408 when `timeout` real seconds pass."""
        wanted = {name: int(value) for name, value in request.query_params.items() if name != "timeout"}
        known = views.numbers(self.sim)
        if set(wanted) - set(known):
            raise ValueError(f"no number {sorted(set(wanted) - set(known))}; there are {sorted(known)}")

        def holds() -> bool:
            now = views.numbers(self.sim)
            return all(now[name] >= least for name, least in wanted.items())

        reached = await self.sim.evidence.bell.until(holds, float(request.query_params.get("timeout", "10")))
        return answer(views.numbers(self.sim), 200 if reached else 408)

    async def release(self, _: Request) -> Response:
        """Let every request that rests in a `hang` or `slow` go on."""
        return answer({"released": self.sim.gate.open()})

    async def revoke(self, request: Request) -> Response:
        """Kill all OAuth access tokens, or the `token` named (private, access or refresh)."""
        return answer({"revoked": self.sim.tokens.revoke((await _body(request)).get("token"))})

    async def reset(self, _: Request) -> Response:
        """The account as at its start, empty evidence; latency, switches, limits and faults as at the start too."""
        self.fresh(self.sim)
        return answer({"ok": True})


async def _stream(lines: Iterator[bytes]) -> Any:
    for line in lines:
        yield line
