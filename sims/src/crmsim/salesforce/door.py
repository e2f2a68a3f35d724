"""The ASGI application of one simulated Salesforce: evidence around every request, faults, session, limit, dispatch."""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from starlette.types import Receive, Scope, Send

from crmsim.evidence import Entry
from crmsim.faults import Fault, Subject
from crmsim.routing import Found, find
from crmsim.salesforce import answers, composite, limits, mishaps
from crmsim.salesforce.answers import ApiError
from crmsim.salesforce.describe import VERSIONS
from crmsim.salesforce.exchange import Exchange
from crmsim.salesforce.mishaps import Cut
from crmsim.salesforce.query import LONGEST_URI
from crmsim.salesforce.routes import DATA, PLAIN, SEVERAL
from crmsim.salesforce.state import Salesforce
from crmsim.salesforce.transaction import Transaction
from crmsim.wire import Answer, Call, deliver, read_call, reset

log = logging.getLogger("crmsim")

VERSION = re.compile(r"v(\d+)\.0")
CARRIED = ("lock", "storage_full")  # faults of a whole request that strike its subrequests


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
        fault = sim.plan.draw(Subject(kind, call.method, call.path, names.get("object", "")), sim.clock.now())
        entry.fault = fault.kind if fault else None
        exchange = Exchange(sim, call, entry, fault, version, subrequest=subrequest)
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
        kind = "read" if call.method in ("GET", "HEAD") else "write"
        if isinstance(found, Found):
            kind = found.route.kind if found.route.kind != SEVERAL else _kind_of_several(call)
        return f"{match[1]}.0" if match else "", kind, found
    found = find(PLAIN, call.method, segments)
    return "", found.route.kind if isinstance(found, Found) else "other", found


def _kind_of_several(call: Call) -> str:
    """A request that carries others writes if one of them does."""
    parts = composite.lines(call)
    return "write" if any(_classify(part)[1] == "write" for part in parts) else "read"


async def _answer(exchange: Exchange, kind: str, found: Found | list[str]) -> Answer:
    data = kind in ("read", "write")
    answer = await _worked(exchange, lambda: _data(exchange, found) if data else _dispatch(exchange, found))
    if data and answer.status not in (401, 410) and answer.media.startswith("application/json"):
        answer = replace(answer, headers={**answer.headers, **exchange.sim.usage.header()})
    return await mishaps.after(exchange, exchange.fault, answer)


async def _worked(exchange: Exchange, work: Callable[[], Awaitable[Answer]]) -> Answer:
    """The fault that comes first, or the work; what goes wrong in it is an answer too."""
    try:
        return await mishaps.before(exchange, exchange.fault) or await work()
    except ApiError as trouble:
        return trouble.answer()
    except (Cut, asyncio.CancelledError):
        raise
    except Exception:
        log.exception("the simulator itself failed: %s %s", exchange.call.method, exchange.call.path)
        return answers.error(500, "UNKNOWN_EXCEPTION", "An unexpected error occurred in the simulator; see its log")


async def subrequest(parent: Exchange, call: Call, transaction: Transaction | None) -> Answer:
    """One of several requests that travel in one: of its own version, faults and object, in the parent's session."""
    sim, entry = parent.sim, parent.entry
    version, _, found = _classify(call)
    names = found.names if isinstance(found, Found) else {}
    fault = sim.plan.draw(Subject("part", call.method, call.path, names.get("object", "")), sim.clock.now())
    child = replace(
        parent, call=call, version=version, fault=fault or _carried(parent), transaction=transaction, part=True
    )
    told, entry.told, entry.object = entry.told, None, ""
    rows = len(entry.rows) + (len(transaction.notes) if transaction else 0)
    answer = await _worked(child, lambda: _versioned(child, found))
    answer = await mishaps.after(child, fault, answer)
    now = len(entry.rows) + (len(transaction.notes) if transaction else 0)
    entry.told = _told(entry, rows, told)
    entry.parts.append(
        {
            "method": call.method, "path": call.path, "object": entry.object, "status": answer.status,
            "rows": now - rows, "fault": fault.kind if fault else None,
        }
    )  # fmt: skip
    entry.object = ""
    return answer


def _told(entry: Entry, rows: int, before: int | None) -> int | None:
    """How many rows of the whole request its answer speaks of: what a subrequest keeps silent of, and all after it."""
    if before is not None:
        return before
    return None if entry.told is None else rows + entry.told


def _carried(parent: Exchange) -> Fault | None:
    fault = parent.fault
    if fault is None or (fault.kind == "slow" and parent.entry.parts):
        return None
    return fault if fault.kind in (*CARRIED, "slow") else None


async def _data(exchange: Exchange, found: Found | list[str]) -> Answer:
    """A request of the data API: version, session, limit, then its handler."""
    sim, call = exchange.sim, exchange.call
    refusal = _outlived(exchange.version) or _session(exchange)
    if refusal is not None:
        return refusal
    calls = 0 if isinstance(found, Found) and found.route.handler is composite.batch else 1
    limits.take(sim, exchange.entry, calls)
    if call.uri_bytes > LONGEST_URI:
        raise ApiError(414, "URI_TOO_LONG", "URI Too Long")
    return await _dispatch(exchange, found)


async def _versioned(exchange: Exchange, found: Found | list[str]) -> Answer:
    return _outlived(exchange.version) or await _dispatch(exchange, found)


def _outlived(version: str) -> Answer | None:
    number = int(float(version or "0"))
    if VERSIONS[0] <= number < VERSIONS[1]:
        return answers.error(410, "UNSUPPORTED_API_VERSION", f"API version v{version} has been retired")
    if number not in VERSIONS:
        return answers.error(404, "NOT_FOUND", "The requested resource does not exist")
    return None


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


async def _dispatch(exchange: Exchange, found: Found | list[str]) -> Answer:
    if isinstance(found, Found):
        return await found.route.handler(exchange, **found.names)
    if found:
        message = f"HTTP Method '{exchange.call.method}' not allowed. Allowed are {','.join(found)}"
        raise ApiError(405, "METHOD_NOT_ALLOWED", message)
    raise ApiError(404, "NOT_FOUND", "The requested resource does not exist")
