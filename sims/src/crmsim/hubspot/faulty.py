"""The faults that HubSpot knows: what is answered before the work, and what after it."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from crmsim.evidence import Entry
from crmsim.faults import Fault
from crmsim.hubspot import answers, limits
from crmsim.hubspot.exchange import Exchange
from crmsim.wire import Answer

KINDS = {
    "unavailable": "503 before any work",
    "bad_gateway": "502 with an HTML page; before any work, or after it with commit = true",
    "gateway_timeout": "504 with an HTML page; before any work, or after it with commit = true",
    "server_error": "500 before any work, or after it with commit = true",
    "edge": "the edge's own `status` of 520 to 530 with an HTML page (524 unless told); before any work, or after it",
    "locked": "423: somebody else holds the record for two seconds",
    "migration": "477 with Retry-After `seconds`: the account moves to another data centre",
    "burst_limit": "429 TEN_SECONDLY_ROLLING",
    "daily_limit": "429 DAILY",
    "search_limit": "429 as search words it, without policyName",
    "expired_token": "401 EXPIRED_AUTHENTICATION; an OAuth token stays dead",
    "missing_scopes": "403 MISSING_SCOPES",
    "hang": "answers nothing for `seconds`, before the work (or after it with commit = true), then `then`",
    "reset_before": "connection reset before any work",
    "reset_after": "connection reset after the commit",
    "silent": "2xx whose results hold only the first `rows` inputs (none by default) and no error; nothing is written "
    "unless commit = true",
    "broken": "the answer cut in the middle of its JSON, after the commit",
    "slow": "the work takes `seconds` more",
    "status": "the HTTP `status`, `body` and `headers` of the plan; before any work, or after it with commit = true",
}
EDGE = {520: "Web server returned an unknown error", 521: "Web server is down", 522: "Connection timed out",
        523: "Origin is unreachable", 524: "A timeout occurred"}  # fmt: skip


class Cut(Exception):
    """The connection is to be reset instead of answered."""


async def before(exchange: Exchange, fault: Fault | None) -> Answer | None:
    """The answer of a fault that comes before any work. Raises Cut, ApiError."""
    if fault is None or fault.commit:
        return None
    if fault.kind == "reset_before":
        raise Cut
    if fault.kind == "hang":
        await _hang(exchange, fault)
    if fault.kind == "silent":
        verb = exchange.call.segments[-1]
        creates = exchange.call.method == "POST" and verb not in ("update", "upsert", "read", "search", "default")
        return Answer(201 if creates else 200, _silent(exchange, {}, fault.rows or 0))
    made = _plain(exchange, fault) or _limited(exchange, fault)
    if made is None and fault.kind == "missing_scopes":
        raise answers.missing_scopes(["crm.objects.contacts.write"], exchange.sim.switches.scope_error)
    return made


async def after(exchange: Exchange, fault: Fault | None, answer: Answer) -> Answer:
    """What becomes of an answer whose work is done: what was committed stays. Raises Cut."""
    if fault is None:
        return answer
    if fault.kind == "reset_after":
        raise Cut
    if fault.kind == "broken":
        payload, exchange.entry.told = answer.payload(), 0
        return replace(answer, body=payload[: max(1, len(payload) // 2)])
    if not fault.commit:
        return answer
    if fault.kind == "hang":
        await _hang(exchange, fault)
    if fault.kind == "silent" and isinstance(answer.body, dict):
        return replace(answer, body=_silent(exchange, answer.body, fault.rows or 0))
    return _plain(exchange, fault) or answer


async def _hang(exchange: Exchange, fault: Fault) -> None:
    await exchange.rest(fault.seconds)
    if fault.then == "reset":
        raise Cut


def _plain(exchange: Exchange, fault: Fault) -> Answer | None:
    """Answers that know nothing of the request."""
    del exchange
    status = fault.status or 524
    table: Mapping[str, Callable[[], Answer]] = {
        "unavailable": lambda: answers.error(503, "Service Unavailable"),
        "server_error": lambda: answers.error(500, "internal error"),
        "bad_gateway": lambda: answers.html(502, "Bad Gateway"),
        "gateway_timeout": lambda: answers.html(504, "Gateway Timeout"),
        "edge": lambda: answers.html(status, EDGE.get(status, "Error")),
        "locked": lambda: answers.error(423, "Locked"),
        "migration": lambda: answers.error(
            477, "Migration in progress", headers={"Retry-After": str(int(fault.seconds) or 60)}
        ),
        "status": lambda: Answer(
            fault.status or 500,
            fault.body.encode() if isinstance(fault.body, str) else fault.body if fault.body is not None else b"",
            dict(fault.headers),
            "text/html" if isinstance(fault.body, str) else "application/json;charset=utf-8",
        ),
    }
    return table[fault.kind]() if fault.kind in table else None


def _limited(exchange: Exchange, fault: Fault) -> Answer | None:
    sim = exchange.sim
    which = {"burst_limit": "burst", "daily_limit": "daily", "search_limit": "search"}.get(fault.kind)
    if which is None:
        return None
    left = sim.limits.midnight(sim.wall()).timestamp() - sim.wall()
    return limits.refusal(which, sim.options.portal, exchange.app, sim.switches, left)


def _silent(exchange: Exchange, body: Mapping[str, Any], rows: int) -> dict[str, Any]:
    """A batch that says nothing of most of its inputs, and of no error (seen with HubSpot's batch verbs)."""
    exchange.entry.told = rows
    known = _first(exchange.entry, rows)
    left = [item for item in body.get("results", ()) if item.get("id") in known]
    return (
        {"status": "COMPLETE"}
        | {name: value for name, value in body.items() if name not in ("errors", "numErrors")}
        | {"results": left}
    )


def _first(entry: Entry, rows: int) -> set[str]:
    return {row.id for row in entry.rows[:rows] if row.id is not None}
