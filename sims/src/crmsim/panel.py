"""What every simulator's `/__sim__` has alike: evidence, faults, waiting. It needs no session and no time."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Generic, Protocol, TypeVar

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from crmsim import faults
from crmsim.clock import Clock
from crmsim.evidence import Evidence
from crmsim.faults import FaultPlan
from crmsim.second_writer import Writers
from crmsim.signals import Gate

Endpoint = Callable[[Request], Awaitable[Response]]
Table = list[tuple[str, str, Endpoint]]  # method, path, endpoint
CONTROL = "/__sim__"
MOST = 10_000  # entries in one page


class Simulator(Protocol):
    """What the panel needs of a simulator."""

    @property
    def clock(self) -> Clock: ...
    @property
    def evidence(self) -> Evidence: ...
    @property
    def plan(self) -> FaultPlan: ...
    @property
    def gate(self) -> Gate: ...
    @property
    def latency(self) -> Any: ...  # a dataclass of simulated seconds
    @property
    def writers(self) -> Writers: ...


class Change(Protocol):
    """What the panel needs of a version of a record."""

    @property
    def seq(self) -> int: ...
    @property
    def object(self) -> str: ...
    @property
    def id(self) -> str: ...
    def json(self) -> dict[str, Any]: ...


Sim = TypeVar("Sim", bound=Simulator)


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


async def read_body(request: Request) -> dict[str, Any]:
    raw = await request.body()
    body = orjson.loads(raw) if raw else {}
    if not isinstance(body, dict):
        raise ValueError("the body must be a JSON object")
    return body


def window(request: Request) -> tuple[int, int]:
    """`after` (exclusive) and `limit` of a page."""
    return int(request.query_params.get("after", "0")), min(int(request.query_params.get("limit", "1000")), MOST)


@dataclass(slots=True)
class Panel(ABC, Generic[Sim]):
    """The endpoints; `fresh` rebuilds the simulator's parts for `reset`."""

    sim: Sim
    fresh: Callable[[Sim], None]

    @abstractmethod
    def own(self) -> Table:
        """The endpoints that this CRM has besides the common ones."""

    @abstractmethod
    def kinds(self) -> Collection[str]:
        """The faults that this CRM knows."""

    @abstractmethod
    def numbers(self) -> dict[str, int]:
        """What `wait` can wait for."""

    @abstractmethod
    def history(self) -> Sequence[Change]:
        """The versions of all records that are kept, oldest first."""

    @abstractmethod
    def called(self, object: str, id: str) -> tuple[str, str]:
        """An object's name and a record's id as the history has them, however a person writes them; "" is any."""

    @abstractmethod
    def rows(self, object: str) -> list[dict[str, Any]]:
        """Every record of an object as it is now, in order of creation. Raises ValueError for an unknown object."""

    def routes(self) -> list[Route]:
        table: Table = [
            ("GET", "/health", self.health), ("GET", "/requests", self.requests),
            ("GET", "/repeats", self.repeats), ("GET", "/overlaps", self.overlaps),
            ("GET", "/faults", self.faults), ("POST", "/faults", self.install), ("DELETE", "/faults", self.clear),
            ("GET", "/wait", self.wait), ("POST", "/release", self.release), ("POST", "/reset", self.reset),
            ("GET", "/versions", self.versions), ("GET", "/records/{object}", self.records),
            ("GET", "/second-writer", self.second_writer), ("DELETE", "/second-writer", self.stop_writers),
            ("GET", "/latency", self.latency), ("POST", "/latency", self.latency),
        ]  # fmt: skip
        return [Route(path, _guarded(endpoint), methods=[method]) for method, path, endpoint in [*table, *self.own()]]

    async def health(self, _: Request) -> Response:
        return answer({"ok": True})

    async def requests(self, request: Request) -> Response:
        """`?after=&limit=&kind=`; `?format=jsonl` streams all of them."""
        after, limit = window(request)
        kind, evidence = request.query_params.get("kind"), self.sim.evidence
        if request.query_params.get("format") == "jsonl":
            lines = (orjson.dumps(entry.json()) + b"\n" for entry in evidence.page(after, evidence.limit, kind))
            return StreamingResponse(_stream(lines), media_type="application/x-ndjson")
        page = evidence.page(after, limit, kind)
        upto = page[-1].n if page else after
        return answer({"requests": [entry.json() for entry in page], "next": upto, "dropped": evidence.dropped})

    async def repeats(self, _: Request) -> Response:
        evidence = self.sim.evidence
        return answer({"count": evidence.totals["repeats"], "repeats": list(evidence.repeats)})

    async def overlaps(self, _: Request) -> Response:
        evidence = self.sim.evidence
        return answer({"count": evidence.totals["overlaps"], "overlaps": list(evidence.overlaps)})

    async def versions(self, request: Request) -> Response:
        """`?after=&limit=&object=&id=`; `next` is the `after` of the next page, and starts at -1."""
        query, kept = request.query_params, self.history()
        after, limit = int(query.get("after", "-1")), window(request)[1]
        name, own_id = self.called(query.get("object", ""), query.get("id", ""))
        page: list[Change] = []
        for version in list(kept):
            if version.seq > after and name in ("", version.object) and own_id in ("", version.id):
                page.append(version)
                if len(page) == limit:
                    break
        upto = page[-1].seq if page else after
        return answer({"versions": [item.json() for item in page], "next": upto, "dropped": kept[0].seq if kept else 0})

    async def records(self, request: Request) -> Response:
        """Every record of an object as it is now, in order of creation: `?after=&limit=` count records."""
        after, limit = window(request)
        found = self.rows(request.path_params["object"])
        page = found[after : after + limit]
        return answer({"records": page, "next": after + len(page), "total": len(found)})

    async def latency(self, request: Request) -> Response:
        """Simulated seconds: `{"fixed": 0.5, "per_record": 0.01}`, any of those that this CRM has."""
        latency = self.sim.latency
        given = await read_body(request) if request.method == "POST" else {}
        *names, last = asdict(latency)
        for name, value in given.items():
            if name not in (*names, last) or not isinstance(value, (int, float)) or value < 0:
                known = f"{', '.join(names)} and {last}"
                raise ValueError(f"latency has {known}, in seconds of 0 or more; not {name}={value!r}")
        for name, value in given.items():
            setattr(latency, name, float(value))
        return answer(asdict(latency))

    async def second_writer(self, _: Request) -> Response:
        return answer(self.sim.writers.report())

    async def stop_writers(self, request: Request) -> Response:
        self.sim.writers.stop()
        return await self.second_writer(request)

    async def faults(self, _: Request) -> Response:
        plan = self.sim.plan
        return answer({"seed": plan.seed, "age": self.sim.clock.now() - plan.installed, "faults": plan.report()})

    async def install(self, request: Request) -> Response:
        document = await read_body(request)
        seed, planned = faults.parse(document, self.kinds())
        self.sim.plan.install(seed, planned, self.sim.clock.now(), add=bool(document.get("add")))
        return await self.faults(request)

    async def clear(self, request: Request) -> Response:
        self.sim.plan.install(0, [], self.sim.clock.now())
        return await self.faults(request)

    async def wait(self, request: Request) -> Response:
        """Answers once every number named is at least so large.

        `/wait?write_requests=3&resting=1&timeout=10`: the time-out is in real seconds; 408 when it passes.
        """
        wanted = {name: int(value) for name, value in request.query_params.items() if name != "timeout"}
        known = self.numbers()
        if set(wanted) - set(known):
            raise ValueError(f"no number {sorted(set(wanted) - set(known))}; there are {sorted(known)}")

        def holds() -> bool:
            now = self.numbers()
            return all(now[name] >= least for name, least in wanted.items())

        reached = await self.sim.evidence.bell.until(holds, float(request.query_params.get("timeout", "10")))
        return answer(self.numbers(), 200 if reached else 408)

    async def release(self, _: Request) -> Response:
        """Let every request that rests in a `hang` or `slow` go on."""
        return answer({"released": self.sim.gate.open()})

    async def reset(self, _: Request) -> Response:
        """The CRM as it began, empty evidence; latency, switches, limits and faults go back to those of the start."""
        self.fresh(self.sim)
        return answer({"ok": True})


def mounted(panel: Panel[Any], door: ASGIApp) -> ASGIApp:
    """A CRM's application: `/__sim__` is for whoever runs the simulator, everything else is the vendor's."""
    return Starlette(routes=[Mount(CONTROL, routes=panel.routes()), Mount("/", app=door)])


async def _stream(lines: Iterator[bytes]) -> Any:
    for line in lines:
        yield line
