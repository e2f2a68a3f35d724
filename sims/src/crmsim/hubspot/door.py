"""The ASGI application of one simulated HubSpot: evidence around every request, faults, token, limits, dispatch."""

import asyncio
import logging
import uuid
from dataclasses import dataclass, replace

from starlette.types import Receive, Scope, Send

from crmsim.faults import Fault, Subject
from crmsim.hubspot import answers, faulty, limits
from crmsim.hubspot.answers import CORRELATION, ApiError
from crmsim.hubspot.exchange import NOBODY, Exchange
from crmsim.hubspot.routes import ROUTES, classic
from crmsim.hubspot.state import Hubspot
from crmsim.routing import Found, find
from crmsim.wire import Answer, deliver, read_call, reset

log = logging.getLogger("crmsim")
MEDIA = "application/json;charset=utf-8"


@dataclass(slots=True)
class Door:
    """Takes every path that the control endpoints do not."""

    sim: Hubspot

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        call = await read_call(scope, receive)
        if call is None:
            return
        sim, found = self.sim, find(ROUTES, call.method, classic(call.segments))
        kind = found.route.kind if isinstance(found, Found) else "other"
        entry = sim.evidence.arrive(kind, call.method, call.path, dict(call.headers))
        names = found.names if isinstance(found, Found) else {}
        named = sim.portal.kind(names.get("object", names.get("start", "")))
        subject = Subject(kind, call.method, call.path, named.name if named is not None else "")
        fault = sim.plan.draw(subject, sim.clock.now())
        entry.fault = fault.kind if fault else None
        exchange = Exchange(sim, call, entry, fault, sim.portal)
        status, delivered = None, False
        try:
            answer = await _answer(exchange, kind, found)
            status = answer.status
            delivered = await deliver(scope, send, answer)
        except (faulty.Cut, asyncio.CancelledError):  # cancelled: the process ends, as if it had been killed
            reset(scope)
            await asyncio.sleep(0)  # lets the server see the connection go before this call returns
        finally:
            sim.evidence.answer(entry, status, delivered=delivered)


async def _answer(exchange: Exchange, kind: str, found: Found | list[str]) -> Answer:
    fault = exchange.fault
    try:
        answer = await _work(exchange, kind, found, fault)
    except ApiError as trouble:
        answer = trouble.answer
    except (faulty.Cut, asyncio.CancelledError):
        raise
    except Exception:
        log.exception("the simulator itself failed: %s %s", exchange.call.method, exchange.call.path)
        answer = answers.error(500, "internal error in the simulator; see its log")
    return await faulty.after(exchange, fault, _finished(exchange, answer))


async def _work(exchange: Exchange, kind: str, found: Found | list[str], fault: Fault | None) -> Answer:
    """Token, limits, the faults that come before, the scopes, the handler: in this order."""
    sim, call = exchange.sim, exchange.call
    if kind in ("read", "write"):
        if fault is not None and fault.kind == "expired_token":
            sim.tokens.expire(call.header("authorization"), sim.clock.now())
        exchange.app = sim.tokens.check(call.header("authorization"), sim.clock.now())
        if fault is not None and fault.kind == "expired_token":
            raise answers.expired(0, "1970-01-01T00:00:00Z")
        refused = _limit(exchange)
        if refused is not None:
            return refused
    early = await faulty.before(exchange, fault)
    if early is not None:
        return early
    if not isinstance(found, Found):
        status, words = (405, "HTTP 405 Method Not Allowed") if found else (404, "resource not found")
        raise answers.refuse(status, words)
    _scopes(exchange, found)
    return await found.route.handler(exchange, **found.names)


def _is_search(exchange: Exchange) -> bool:
    return exchange.call.segments[-1:] == ("search",)


def _limit(exchange: Exchange) -> Answer | None:
    """The 429 of a call that is one too many; else it is counted."""
    sim, search = exchange.sim, _is_search(exchange)
    which = sim.limits.take(exchange.app, sim.clock.now(), sim.wall(), search=search)
    if search:
        sim.evidence.totals["search_requests"] += 1
    if which is None:
        exchange.entry.calls = 1
        return None
    sim.evidence.totals[f"{which}_refusals"] += 1
    left = sim.limits.midnight(sim.wall()).timestamp() - sim.wall()
    return limits.refusal(which, sim.options.portal, exchange.app, sim.switches, left)


def _scopes(exchange: Exchange, found: Found) -> None:
    """Raises ApiError 403 for a scope that the app was not granted."""
    switches, scope, granted = exchange.sim.switches, found.route.scope, exchange.app.scopes
    if not scope:
        return
    names = {name: exchange.kind(value).name for name, value in found.names.items() if name in ("object", "start")}
    needed = scope.format(**names)
    if needed in switches.missing_scopes.split() or (granted is not None and needed not in granted):
        raise answers.missing_scopes([needed], switches.scope_error)


def _finished(exchange: Exchange, answer: Answer) -> Answer:
    """The headers that every answer has, and those of the limits."""
    sim, headers = exchange.sim, dict(answer.headers)
    headers.setdefault(CORRELATION, str(uuid.uuid4()))
    if exchange.app is not NOBODY:
        limits_now = sim.limits.headers(exchange.app, sim.clock.now(), sim.switches, search=_is_search(exchange))
        headers = limits_now | headers
    media = MEDIA if answer.media.startswith("application/json") else answer.media
    return replace(answer, headers=headers, media=media)
