"""What the fault plan does to one request, or to one subrequest: before its work, and after it."""

from collections.abc import Callable
from typing import Any

from crmsim.faults import Fault
from crmsim.salesforce import answers
from crmsim.salesforce.exchange import Exchange
from crmsim.wire import Answer

LISTS = ("compositeResponse", "results", "graphs")  # of the answers that carry several


class Cut(Exception):
    """The connection is to be reset instead of answered."""


async def before(exchange: Exchange, fault: Fault | None) -> Answer | None:
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
        "silent": lambda: Answer(200, _named(exchange)),
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


async def after(exchange: Exchange, fault: Fault | None, answer: Answer) -> Answer:
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
    late: dict[str, Callable[[], Answer]] = {
        "bad_gateway": lambda: answers.html(502, "Bad Gateway"),
        "gateway_timeout": lambda: answers.html(504, "Gateway Timeout"),
        "server_error": _server_error,
        "silent": lambda: _silent(exchange, answer, fault.rows or 0),
        "status": lambda: _said(exchange, fault),
    }
    return late[fault.kind]() if fault.kind in late else answer


def _named(exchange: Exchange) -> Any:
    """A success that names no result, in the shape of the resource."""
    last = exchange.call.segments[-1]
    shapes: dict[str, dict[str, Any]] = {
        "composite": {"compositeResponse": []},
        "batch": {"hasErrors": False, "results": []},
        "graph": {"graphs": []},
    }
    return shapes.get(last, [])


def _silent(exchange: Exchange, answer: Answer, rows: int) -> Answer:
    """Only the first `rows` results are named: of the rows, or of the subrequests."""
    body, entry = answer.body, exchange.entry
    entry.told = rows
    if isinstance(body, list):
        return Answer(200, body[:rows])
    name = next((name for name in LISTS if isinstance(body, dict) and name in body), None)
    if name is None:
        return Answer(200, [])
    entry.told = sum(part["rows"] for part in entry.parts[:rows])
    return Answer(200, {**body, name: body[name][:rows]})


def _said(exchange: Exchange, fault: Fault) -> Answer:
    """The plan's own answer. It tells the client nothing of the rows."""
    exchange.entry.told = 0
    if isinstance(fault.body, str):
        return Answer(fault.status or 500, fault.body.encode(), fault.headers, "text/html")
    return Answer(fault.status or 500, b"" if fault.body is None else fault.body, fault.headers)


def _server_error() -> Answer:
    message = "An unexpected error occurred. Please include this ErrorId if you contact support: 1234567890-12345"
    return answers.error(500, "UNKNOWN_EXCEPTION", message)
