"""The ASGI application of one simulated Salesforce: evidence around every request, faults, session, limit, dispatch."""

import asyncio
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass

from starlette.types import Receive, Scope, Send

from crmsim.faults import Fault, Subject
from crmsim.salesforce import answers
from crmsim.salesforce.answers import ApiError
from crmsim.salesforce.exchange import Exchange
from crmsim.salesforce.query import LONGEST_URI
from crmsim.salesforce.routes import DATA, OAUTH, Found, find
from crmsim.salesforce.state import Salesforce
from crmsim.wire import Answer, Call, deliver, read_call, reset

log = logging.getLogger("crmsim")

VERSION = re.compile(r"v(\d+)\.0")
OLDEST, OLDEST_LIVING, NEWEST = 20, 31, 67  # v21 to v30 answer 410 since Summer '25 (SF-docs api versions)


class Cut(Exception):
    """The connection is to be reset instead of answered."""


@dataclass(slots=True)
class Door:
    """Takes every path that the control endpoints do not."""

    sim: Salesforce

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        call = await read_call(scope, receive)
        if call is None:
            return
        sim = self.sim
        version, kind, found = _classify(call)
        names = found.names if isinstance(found, Found) else {}
        entry = sim.evidence.arrive(kind, call.method, call.path, dict(call.headers))
        subject = Subject(kind, call.method, call.path, names.get("object", ""))
        fault = sim.plan.draw(subject, sim.clock.now())
        entry.fault = fault.kind if fault else None
        exchange = Exchange(sim, call, entry, fault, version)
        status, delivered = None, False
        try:
            answer = await _answer(exchange, kind, found)
            status = answer.status
            whole = fault is None or fault.kind != "broken"
            delivered = await deliver(scope, send, answer) and whole
        except (Cut, asyncio.CancelledError):  # cancelled: the process ends, as if it had been killed
            reset(scope)
            await asyncio.sleep(0)  # lets the server see the connection go before this call returns
        finally:
            sim.evidence.answer(entry, status, delivered=delivered)


def _classify(call: Call) -> tuple[str, str, Found | list[str]]:
    """Version, kind and handler. A kind is known even where the handler will refuse."""
    segments = call.segments
    if segments[:2] == ("services", "data") and len(segments) > 2:
        found = find(DATA, call.method, segments[3:])
        match = VERSION.fullmatch(segments[2])
        default = "read" if call.method in ("GET", "HEAD") else "write"
        return f"{match[1]}.0" if match else "", found.route.kind if isinstance(found, Found) else default, found
    found = find(OAUTH, call.method, segments)
    return "", found.route.kind if isinstance(found, Found) else "other", found


async def _answer(exchange: Exchange, kind: str, found: Found | list[str]) -> Answer:
    fault = exchange.fault
    try:
        early = await _before(exchange, fault)
        if early is None:
            answer = await (_data(exchange, found) if kind in ("read", "write") else _plain(exchange, found))
        else:
            answer = early
    except ApiError as trouble:
        answer = trouble.answer()
    except (Cut, asyncio.CancelledError):
        raise
    except Exception:
        log.exception("the simulator itself failed: %s %s", exchange.call.method, exchange.call.path)
        answer = answers.error(500, "UNKNOWN_EXCEPTION", "An unexpected error occurred in the simulator; see its log")
    if kind in ("read", "write") and answer.status not in (401, 410) and answer.media.startswith("application/json"):
        answer = Answer(answer.status, answer.body, {**answer.headers, **exchange.sim.usage.header()}, answer.media)
    return await _after(exchange, fault, answer)


async def _data(exchange: Exchange, found: Found | list[str]) -> Answer:
    """A request of the data API: version, session, limit, then its handler."""
    sim, call = exchange.sim, exchange.call
    number = int(float(exchange.version or "0"))
    if OLDEST < number < OLDEST_LIVING:
        return answers.error(410, "UNSUPPORTED_API_VERSION", f"API version v{exchange.version} has been retired")
    if not OLDEST_LIVING <= number <= NEWEST:
        raise ApiError(404, "NOT_FOUND", "The requested resource does not exist")
    refusal = _session(exchange)
    if refusal is not None:
        return refusal
    if sim.usage.used >= sim.usage.maximum:
        raise ApiError(403, "REQUEST_LIMIT_EXCEEDED", "TotalRequests Limit exceeded.")
    sim.usage.used += 1
    if call.uri_bytes > LONGEST_URI:
        raise ApiError(414, "URI_TOO_LONG", "URI Too Long")
    return await _dispatch(exchange, found)


def _session(exchange: Exchange) -> Answer | None:
    sim = exchange.sim
    header = exchange.call.header("authorization")
    scheme, _, token = (header or "").partition(" ")
    if header and scheme.lower() not in ("bearer", "oauth"):
        return answers.error(401, "INVALID_AUTH_HEADER", "INVALID_HEADER_TYPE")
    if exchange.fault is not None and exchange.fault.kind == "expired_session":
        sim.sessions.revoke(token)
    session = sim.sessions.check(token, sim.clock.now(), sim.switches.session_seconds)
    if session is None:
        return answers.unauthorized()
    exchange.user = session.user
    return None


async def _plain(exchange: Exchange, found: Found | list[str]) -> Answer:
    """What needs no session and counts against no limit: tokens, and the list of versions."""
    segments = exchange.call.segments
    if segments == ("services", "data") and exchange.call.method == "GET":
        numbers = range(OLDEST_LIVING, NEWEST + 1)
        return Answer(
            200, [{"label": f"API {n}", "url": f"/services/data/v{n}.0", "version": f"{n}.0"} for n in numbers]
        )
    return await _dispatch(exchange, found)


async def _dispatch(exchange: Exchange, found: Found | list[str]) -> Answer:
    if isinstance(found, Found):
        return await found.route.handler(exchange, **found.names)
    if found:
        message = f"HTTP Method '{exchange.call.method}' not allowed. Allowed are {','.join(found)}"
        raise ApiError(405, "METHOD_NOT_ALLOWED", message)
    raise ApiError(404, "NOT_FOUND", "The requested resource does not exist")


async def _before(exchange: Exchange, fault: Fault | None) -> Answer | None:
    """The faults that come before any work."""
    if fault is None or fault.commit:
        return None
    early: dict[str, Callable[[], Answer]] = {
        "unavailable": lambda: answers.error(503, "SERVER_UNAVAILABLE", "Server Unavailable"),
        "bad_gateway": lambda: answers.html(502, "Bad Gateway"),
        "gateway_timeout": lambda: answers.html(504, "Gateway Timeout"),
        "server_error": _server_error,
        "daily_limit": lambda: answers.error(403, "REQUEST_LIMIT_EXCEEDED", "TotalRequests Limit exceeded."),
        "concurrent_limit": lambda: answers.error(
            403, "REQUEST_LIMIT_EXCEEDED", "ConcurrentRequests (Concurrent API Requests) Limit exceeded."
        ),
        "silent": lambda: Answer(200, []),
        "status": lambda: _said(exchange, fault),
    }
    if fault.kind in early:
        return early[fault.kind]()
    if fault.kind == "reset_before":
        raise Cut
    if fault.kind == "hang":
        await exchange.rest(fault.seconds)
        if fault.then == "reset":
            raise Cut
    return None


async def _after(exchange: Exchange, fault: Fault | None, answer: Answer) -> Answer:
    """The faults that come after the work: what was committed stays."""
    if fault is None:
        return answer
    if fault.kind == "reset_after":
        raise Cut
    if fault.kind == "broken":
        exchange.entry.told = 0
        payload = answer.payload()
        return Answer(answer.status, payload[: max(1, len(payload) // 2)], answer.headers, answer.media)
    if not fault.commit:
        return answer
    if fault.kind == "hang":
        await exchange.rest(fault.seconds)
        if fault.then == "reset":
            raise Cut
    exchange.entry.told = (fault.rows or 0) if fault.kind == "silent" else None
    late: dict[str, Callable[[], Answer]] = {
        "bad_gateway": lambda: answers.html(502, "Bad Gateway"),
        "gateway_timeout": lambda: answers.html(504, "Gateway Timeout"),
        "server_error": _server_error,
        "silent": lambda: Answer(200, answer.body[: fault.rows or 0] if isinstance(answer.body, list) else []),
        "status": lambda: _said(exchange, fault),
    }
    return late[fault.kind]() if fault.kind in late else answer


def _said(exchange: Exchange, fault: Fault) -> Answer:
    """The plan's own answer. It tells the client nothing of the rows."""
    exchange.entry.told = 0
    if isinstance(fault.body, str):
        return Answer(fault.status or 500, fault.body.encode(), fault.headers, "text/html")
    return Answer(fault.status or 500, b"" if fault.body is None else fault.body, fault.headers)


def _server_error() -> Answer:
    message = "An unexpected error occurred. Please include this ErrorId if you contact support: 1234567890-12345"
    return answers.error(500, "UNKNOWN_EXCEPTION", message)
