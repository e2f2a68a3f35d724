"""POST /in/{source}: raw bytes, then the proof, then the parse; durable before the answer.

A status is a command to most senders, so there are few: 2xx taken (also when it came before), 400, 413, 415 what cannot
be read, 401 for an unknown source and a wrong proof alike, 503 with Retry-After when the event could not be stored.
"""

from __future__ import annotations

import asyncio
import secrets as dice
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import structlog

from fairturn.config import Hmac, Settings, Source
from fairturn.decide import paths, signatures
from fairturn.decide.signatures import Request, Verifier
from fairturn.decide.splitting import Limits, split
from fairturn.errors import BadSignature, ConfigError, FairturnError, Fault, Overloaded, RefusedRequest, StoreError
from fairturn.flow.accept import Accept
from fairturn.flow.sync import SyncLane
from fairturn.intake import answers
from fairturn.intake.caller import Caller
from fairturn.intake.health import ALIVE, Readiness
from fairturn.intake.wire import (
    ASGIApp,
    Bodies,
    Gone,
    Header,
    Receive,
    Reply,
    Scope,
    Send,
    overload,
    refusal,
    reply,
    respond,
)
from fairturn.model import Arrival, Assigned

log = structlog.get_logger(__name__)

# Event ids and seconds to wait -> what became of them; those not decided by then are left out.
Owners = Callable[[Sequence[bytes], float], Awaitable[Mapping[bytes, Assigned]]]

ALLOW = (b"allow", b"POST, HEAD")
PROBE = reply(200, {"status": "ok"})
NOT_HERE = reply(404, {"error": "There is nothing here. Webhooks go to POST /in/<source>."})
NOT_POST = reply(405, {"error": "This is a webhook's address: send a POST."}, ALLOW)
NOT_GET = reply(405, {"error": "Ask for an event with GET."}, (b"allow", b"GET"))
NO_EVENT = reply(404, {"error": "An event's id has 32 hexadecimal digits."})
BROKEN = reply(500, {"error": "Fairturn made a mistake; its log has it."})


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A source, made ready for requests."""

    id: str
    source: Source
    verify: Verifier
    dedupe: paths.Path | None
    signs_url: bool


def endpoints(settings: Settings, secrets: Mapping[str, tuple[bytes, ...]]) -> dict[str, Endpoint]:
    """Raises ConfigError with every fault found, each under its source's key."""
    found: dict[str, Endpoint] = {}
    faults: list[Fault] = []
    for name, source in settings.sources.items():
        try:
            found[name] = _endpoint(name, source, secrets.get(name, ()), settings)
        except ConfigError as error:
            for fault in error.faults:
                key = f"sources.{name}.{fault.key}" if fault.key else f"sources.{name}"
                faults.append(Fault(fault.message, fault.remedy, key=key))
    if faults:
        raise ConfigError(tuple(faults))
    return found


def _endpoint(name: str, source: Source, secrets: tuple[bytes, ...], settings: Settings) -> Endpoint:
    signs_url = signatures.signs_url(source.verify)
    if signs_url and settings.server.public_url is None:
        fault = Fault(
            "the sender signs the URL that it calls, and behind a proxy we do not see it",
            'Set server.public_url, e.g. "https://leads.example.com".',
            key="verify.signed",
        )
        raise ConfigError((fault,))
    verify = signatures.compile_verifier(source.verify, secrets, limits_of(settings))
    dedupe = paths.path(source.dedupe, "dedupe") if source.dedupe else None
    return Endpoint(name, source, verify, dedupe, signs_url)


def limits_of(settings: Settings) -> Limits:
    server = settings.server
    return Limits(body=server.max_body, depth=server.max_depth, items=server.max_items)


class Way:
    """A source's own address: its plain POST requests need no task of their own (intake/express.py)."""

    __slots__ = ("_door", "_endpoint", "most")

    def __init__(self, door: Door, endpoint: Endpoint, most: int) -> None:
        self._door = door
        self._endpoint = endpoint
        self.most = most

    def take(self, headers: Sequence[Header], body: bytes, tell: Callable[[Reply], None]) -> None:
        self._door.take(self._endpoint, Request("POST", "", dict(headers), b"", body), tell)


class Door:
    """The ASGI application. `load` puts other settings in force between two requests."""

    def __init__(
        self,
        accept: Accept,
        owners: Owners | None,
        clock: Callable[[], datetime],
        ready: Readiness,
        rest: ASGIApp | None,
        lane: SyncLane | None,
    ) -> None:
        self._accept = accept
        self._owners = owners
        self._lane = lane
        self._tasks: set[asyncio.Task[None]] = set()  # of callers whose owner takes longer than one step
        self._clock = clock
        self._ready = ready
        self._rest = rest
        # Verified against where there is no such source, so that time does not tell which sources exist.
        nobody = Hmac(header="x-signature", secrets=("none",))
        self._nobody = signatures.compile_verifier(nobody, (dice.token_bytes(32),))
        self._bodies = Bodies()
        self._settings = Settings()
        self._limits = Limits()
        self._endpoints: Mapping[str, Endpoint] = {}
        self._ways: Mapping[bytes, Way] = {}

    def load(self, settings: Settings, secrets: Mapping[str, tuple[bytes, ...]]) -> None:
        """Raises ConfigError; the settings before stay in force then."""
        self._endpoints = endpoints(settings, secrets)
        self._settings = settings
        self._limits = limits_of(settings)
        self._ways = {
            f"/in/{endpoint.id}".encode(): Way(self, endpoint, self._limits.body)
            for endpoint in self._endpoints.values()
            if (endpoint.source.lane == "batch" or self._lane is not None) and not endpoint.signs_url
        }

    def way(self, target: bytes) -> Way | None:
        return self._ways.get(target)

    def take(self, endpoint: Endpoint, request: Request, tell: Callable[[Reply], None]) -> None:
        """What `_post` does, without waiting: `tell` is called once with the answer."""
        try:
            endpoint.verify(request, self._clock())
            arrival = self._arrival(endpoint, request)
            if not arrival.items:
                tell(answers.accepted(arrival))
            elif endpoint.source.lane == "sync" and self._owners is not None:
                self._wait(endpoint.source.deadline, arrival, tell)
            else:
                self._accept.enter(
                    arrival, lambda error: tell(answers.accepted(arrival) if error is None else overload(error))
                )
        except RefusedRequest as error:
            tell(refusal(error))
        except Overloaded as error:
            tell(overload(error))
        except Exception:
            log.exception("intake.failed", path=f"/in/{endpoint.id}")
            tell(BROKEN)

    def _wait(self, deadline: float, arrival: Arrival, tell: Callable[[Reply], None]) -> None:
        """Its caller gets the owner. Raises Overloaded."""

        async def owned(left: float) -> None:
            if self._owners is not None:
                tell(await self._owned(self._owners, arrival, left))

        def longer(left: float) -> None:
            task = asyncio.create_task(owned(left), name="intake: a caller waits longer")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        [first, *more] = arrival.items
        if self._lane is None or more or first.problem is not None:
            self._accept.enter(arrival, lambda error: longer(deadline) if error is None else tell(overload(error)))
            return

        def decided(became: Assigned | Overloaded) -> None:
            if isinstance(became, Overloaded):
                tell(overload(became))
            else:
                tell(answers.answered(arrival, {first.id: became}, self._settings.reps))

        self._accept.admits(arrival.lane)
        caller = Caller(arrival, decided, longer, self._lane.secure)
        self._lane.enter(arrival, caller.told)
        caller.wait(deadline)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._other(scope, receive, send)
        path: str = scope["path"]
        if path.startswith("/in/"):
            return await self._webhook(scope, receive, send)
        if path == "/healthz":
            return await respond(send, ALIVE, head=scope["method"] == "HEAD")
        if path == "/readyz":
            return await respond(send, await self._ready(), head=scope["method"] == "HEAD")
        return await self._other(scope, receive, send)

    async def _other(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._rest is not None:
            await self._rest(scope, receive, send)
        elif scope["type"] == "http":
            await respond(send, NOT_HERE, head=scope["method"] == "HEAD")
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1000})
        else:
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})

    async def _webhook(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            answer = await self._answer(scope, receive)
        except RefusedRequest as error:
            answer = refusal(error)
        except Overloaded as error:
            answer = overload(error)
        except Gone:
            return
        except Exception:
            log.exception("intake.failed", path=scope["path"][:100])
            answer = BROKEN
        await respond(send, answer, head=scope["method"] == "HEAD")

    async def _answer(self, scope: Scope, receive: Receive) -> Reply:
        name, _, event = scope["path"][4:].partition("/")
        method = scope["method"]
        if event:
            return await self._became(name, event, scope, receive) if method == "GET" else NOT_GET
        if method == "POST":
            return await self._post(name, scope, receive)
        return PROBE if method == "HEAD" else NOT_POST

    async def _post(self, name: str, scope: Scope, receive: Receive) -> Reply:
        endpoint, request = await self._verified(name, scope, receive)
        arrival = self._arrival(endpoint, request)
        await self._accept.put(arrival)
        if endpoint.source.lane == "sync" and self._owners is not None and arrival.items:
            return await self._owned(self._owners, arrival, endpoint.source.deadline)
        return answers.accepted(arrival)

    def _arrival(self, endpoint: Endpoint, request: Request) -> Arrival:
        if (coding := request.headers.get(b"content-encoding", b"identity")) not in {b"identity", b""}:
            shown = coding[:40].decode("ascii", "replace")
            raise RefusedRequest(415, f"Content-Encoding {shown!r} is not taken here. Send the body as it is.")
        content_type = request.headers.get(b"content-type", b"")[:200].decode("latin-1")
        source = endpoint.source
        return split(endpoint.id, source.lane, content_type, request.body, self._limits, endpoint.dedupe)

    async def _verified(self, name: str, scope: Scope, receive: Receive) -> tuple[Endpoint, Request]:
        headers = dict(scope["headers"])
        server = self._settings.server
        endpoint = self._endpoints.get(name)
        body = await self._bodies.read(receive, headers, server.max_body, server.body_timeout)
        url = ""
        if endpoint is not None and endpoint.signs_url:
            query = b"?" + scope["query_string"] if scope["query_string"] else b""
            path: bytes = scope.get("raw_path") or scope["path"].encode()
            url = (server.public_url or "").rstrip("/") + (path + query).decode("latin-1")
        request = Request(scope["method"], url, headers, scope["query_string"], body)
        if endpoint is None:
            self._nobody(request, self._clock())
            raise BadSignature
        endpoint.verify(request, self._clock())
        return endpoint, request

    async def _owned(self, owners: Owners, arrival: Arrival, deadline: float) -> Reply:
        """The events are durable by now: whatever happens here, the answer is a 2xx."""
        waiting = [item.id for item in arrival.items if item.problem is None]
        results: Mapping[bytes, Assigned] = {}
        try:
            # The lane keeps the deadline itself; a little more, and the caller is let go all the same.
            async with asyncio.timeout(deadline + 0.5):
                results = await owners(waiting, deadline)
        except TimeoutError:
            log.warning("intake.deadline", source=arrival.source, seconds=deadline)
        except FairturnError as error:
            log.warning("intake.owners", source=arrival.source, error=str(error))
        except Exception:
            log.exception("intake.owners", source=arrival.source)
        return answers.answered(arrival, results, self._settings.reps)

    async def _became(self, name: str, event: str, scope: Scope, receive: Receive) -> Reply:
        await self._verified(name, scope, receive)
        if len(event) != 32 or not set(event) <= set("0123456789abcdef"):
            return NO_EVENT
        try:
            results = await self._accept.journal.results([bytes.fromhex(event)], name)
        except StoreError:
            raise Overloaded("The database is not available.") from None
        found = results.get(bytes.fromhex(event))
        if found is None or not answers.decided(found):
            return reply(202, {"event": event, "status": "waiting"}, (b"retry-after", b"1"))
        if found.lead is None:
            return reply(200, {"event": event, "status": found.status, "problem": answers.problem(found)})
        return reply(200, answers.owner(found, self._settings.reps))


def build(
    settings: Settings,
    secrets: Mapping[str, tuple[bytes, ...]],
    accept: Accept,
    owners: Owners | None = None,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    *,
    ready: Callable[[], Awaitable[object]] | None = None,
    rest: ASGIApp | None = None,
    lane: SyncLane | None = None,
) -> Door:
    """The door for `settings`. `ready` raises when no event can be stored now; `rest` gets every other request;
    `lane` spares the callers of `owners` a task each.
    """

    async def look() -> None:
        await accept.journal.backlog(1)

    door = Door(accept, owners, clock, Readiness(ready or look), rest, lane)
    door.load(settings, secrets)
    return door
