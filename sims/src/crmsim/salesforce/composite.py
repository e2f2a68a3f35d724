"""Several requests in one: Composite, with references between them, and Composite Batch (SF-docs composite resources).

Each subrequest takes its own time and, unless allOrNone makes one transaction of all, is a transaction of its own.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote, unquote

import orjson

from crmsim.salesforce import limits
from crmsim.salesforce.answers import ApiError
from crmsim.salesforce.exchange import Exchange
from crmsim.salesforce.transaction import Transaction
from crmsim.wire import Answer, Call

MOST_PARTS = 25
INHERITED = ("accept", "authorization", "content-type")  # the only headers that a Composite hands on (SF-docs)
METHODS = ("POST", "PUT", "PATCH", "GET", "DELETE")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_]*")
REFERENCE = re.compile(r"@\{([^{}]*)\}")
STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")
ROLLED_BACK = "The transaction was rolled back since another operation in the same transaction failed."
MISSING = object()


@dataclass(frozen=True, slots=True)
class Part:
    """One subrequest as sent; `url` and `body` may hold references to earlier ones."""

    reference: str
    method: str
    url: str
    headers: Mapping[str, str]
    body: Any


class NoValue(Exception):
    """A reference that leads nowhere: the subrequest is not executed."""


def lines(call: Call) -> Iterator[Call]:
    """The subrequests' lines, as far as they can be read: whether a request writes is asked before it is checked."""
    try:
        body = orjson.loads(call.body)
        groups = [body, *body.get("graphs", [])]
        parts = [
            part for group in groups for name in ("compositeRequest", "batchRequests") for part in group.get(name, [])
        ]
        found = [(part["method"], part["url"]) for part in parts]
        calls = [_call(call, method, url, {}, None) for method, url in found]
    except (ValueError, TypeError, KeyError, AttributeError):
        return iter(())
    return iter(calls)


async def composite(exchange: Exchange) -> Answer:
    """`POST /composite`: 200 whatever becomes of the subrequests; one call toward the limit."""
    exchange.since(38)
    body = exchange.json_body()
    parts = parsed(exchange, body)
    if len(parts) > MOST_PARTS:
        raise ApiError(400, "INVALID_INPUT", f"Composite has {len(parts)} subrequests; the limit is {MOST_PARTS}")
    heavy, most = sum(map(_is_heavy, parts)), exchange.sim.switches.composite_heavy_parts
    if heavy > most:
        raise ApiError(400, "INVALID_INPUT", f"Composite has {heavy} queries and Collections; the limit is {most}")
    results, _ = await run(exchange, parts, all_or_none=flag(body, "allOrNone"))
    return Answer(200, {"compositeResponse": results})


def parsed(exchange: Exchange, body: Mapping[str, Any]) -> list[Part]:
    """The subrequests. Raises ApiError: one that cannot be read fails the whole request."""
    flag(body, "collateSubrequests")
    raw = body.get("compositeRequest")
    if not isinstance(raw, list) or not raw or not all(isinstance(item, dict) for item in raw):
        raise _unreadable("compositeRequest must be a list of subrequests")
    parts = [_part(exchange, item) for item in raw]
    names = [part.reference for part in parts]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise _unreadable(f"Duplicate referenceId: {twice}")
    return parts


def _part(exchange: Exchange, item: Mapping[str, Any]) -> Part:
    name, method, url = item.get("referenceId"), item.get("method"), item.get("url")
    if not isinstance(name, str) or not name:
        raise _unreadable("referenceId is required in each subrequest")
    if not NAME.fullmatch(name) and float(exchange.version) >= 52:
        raise _unreadable(
            f"Provided referenceId ('{name}') must start with a letter or a number, and it can contain only letters, "
            "numbers and underscores ('_')."
        )
    if method not in METHODS:
        raise _unreadable(f"method must be one of {', '.join(METHODS)}, not {method}")
    if not isinstance(url, str) or not url.startswith("/services/data/v"):
        raise _unreadable(f"url must start with /services/data/vXX.X/, not {url}")
    headers = item.get("httpHeaders") or {}
    if not isinstance(headers, dict) or any(header.lower() in INHERITED for header in headers):
        raise _unreadable(
            "httpHeaders cannot name Accept, Authorization or Content-Type: those of the request are used"
        )
    return Part(name, method, url, {header.lower(): str(value) for header, value in headers.items()}, item.get("body"))


def flag(body: Mapping[str, Any], name: str) -> bool:
    value = body.get(name, False)
    if not isinstance(value, bool):
        raise _unreadable(f"{name} must be a boolean")
    return value


def _unreadable(message: str) -> ApiError:
    return ApiError(400, "JSON_PARSER_ERROR", message)


def _is_heavy(part: Part) -> bool:
    """Of 25 subrequests 5 may be queries or sObject Collections."""
    resource = part.url.partition("?")[0].strip("/").split("/")[3:5]
    return resource[:1] in (["query"], ["queryAll"]) or resource[:2] == ["composite", "sobjects"]


async def run(exchange: Exchange, parts: Sequence[Part], *, all_or_none: bool) -> tuple[list[dict[str, Any]], bool]:
    """One result per part, in order, and whether all succeeded. With all_or_none the first failure ends and undoes."""
    sim = exchange.sim
    transaction = Transaction(sim.org, sim.locks, sim.evidence, exchange.entry) if all_or_none else None
    first = len(exchange.entry.parts)
    told: dict[str, Any] = {}
    results: list[dict[str, Any]] = []
    whole = True
    try:
        for part in parts:
            answer = await _one(exchange, part, told, transaction)
            results.append(_result(part, answer))
            told[part.reference] = results[-1]["body"]
            failed = _failed(answer)
            whole = whole and not failed
            if failed and transaction is not None:
                break
        if transaction is not None and whole:
            transaction.commit()
    finally:
        if transaction is not None:
            transaction.roll_back("PROCESSING_HALTED")  # of what is not committed, by then nothing
    if transaction is not None and not whole:
        results = _halted(parts, results)
        for note in exchange.entry.parts[first:-1]:
            note["status"] = 400
    return results, whole


async def _one(exchange: Exchange, part: Part, told: Mapping[str, Any], transaction: Transaction | None) -> Answer:
    if exchange.subrequest is None or exchange.part:
        raise ApiError(404, "NOT_FOUND", "The requested resource does not exist")
    try:
        nulls = float(exchange.version) >= 52
        url = _filled(part.url, told, nulls=nulls)
        body = _resolved(part.body, told, nulls=nulls)
    except NoValue as trouble:
        note = {"method": part.method, "path": part.url, "object": "", "status": 400, "rows": 0, "fault": None}
        exchange.entry.parts.append(note)
        return ApiError(400, "PROCESSING_HALTED", str(trouble)).answer()
    switches, given = exchange.sim.switches, exchange.call.headers
    passed = (
        given if switches.composite_inherits_headers else {name: given[name] for name in INHERITED if name in given}
    )
    return await exchange.subrequest(
        exchange, _call(exchange.call, part.method, url, {**passed, **part.headers}, body), transaction
    )


def _call(outer: Call, method: str, url: str, headers: Mapping[str, str], body: Any) -> Call:
    path, _, query = url.partition("?")
    return Call(
        method=method,
        path=path,
        segments=tuple(unquote(segment) for segment in path.strip("/").split("/")),
        query=dict(parse_qsl(query, keep_blank_values=True)),
        headers={**headers, "content-type": "application/json"},
        body=b"" if body is None else orjson.dumps(body),
        base_url=outer.base_url,
        uri_bytes=len(url),
    )


def _failed(answer: Answer) -> bool:
    """Collections answer 200: each of their rows counts."""
    rows = answer.body if isinstance(answer.body, list) else []
    return answer.status >= 300 or any(isinstance(row, dict) and row.get("success") is False for row in rows)


def _result(part: Part, answer: Answer) -> dict[str, Any]:
    headers = {name: value for name, value in answer.headers.items() if name == "Location"}
    return {
        "body": plain(answer), "httpHeaders": headers, "httpStatusCode": answer.status, "referenceId": part.reference,
    }  # fmt: skip


def plain(answer: Answer) -> Any:
    if not isinstance(answer.body, bytes):
        return answer.body
    return answer.body.decode("utf-8", "replace") or None


def _halted(parts: Sequence[Part], results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """All but the last, which failed, are halted: those before it are undone, those after it never began."""
    halted = [halted_result(part) for part in parts]
    halted[len(results) - 1] = results[-1]
    return halted


def halted_result(part: Part) -> dict[str, Any]:
    return _result(part, ApiError(400, "PROCESSING_HALTED", ROLLED_BACK).answer())


def _resolved(value: Any, told: Mapping[str, Any], *, nulls: bool) -> Any:
    """The body with its references filled in; one that is a whole text keeps its type."""
    if isinstance(value, dict):
        return {name: _resolved(item, told, nulls=nulls) for name, item in value.items()}
    if isinstance(value, list):
        return [_resolved(item, told, nulls=nulls) for item in value]
    if not isinstance(value, str):
        return value
    alone = REFERENCE.fullmatch(value)
    if alone:
        return _look_up(alone[1], told, nulls=nulls)
    return REFERENCE.sub(lambda match: _text(_look_up(match[1], told, nulls=nulls)), value)


def _filled(url: str, told: Mapping[str, Any], *, nulls: bool) -> str:
    return REFERENCE.sub(lambda match: quote(_text(_look_up(match[1], told, nulls=nulls)), safe=""), url)


def _text(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else orjson.dumps(value).decode()


def _look_up(path: str, told: Mapping[str, Any], *, nulls: bool) -> Any:
    """`refAccount.id`, `found.records[0].Id`; names as they are written, case counts."""
    name = re.split(r"[.\[]", path, maxsplit=1)[0]
    value: Any = told.get(name, MISSING)
    for key, index in STEP.findall(path[len(name) :]):
        if isinstance(value, dict) and key:
            value = value.get(key, MISSING)
        elif isinstance(value, list) and index and int(index) < len(value):
            value = value[int(index)]
        else:
            value = MISSING
    if value is MISSING or (value is None and not nulls):
        raise NoValue(f"Invalid reference specified. No value for {path} found in {name}.")
    return value


async def batch(exchange: Exchange) -> Answer:
    """`POST /composite/batch`: independent subrequests, each of which counts toward the limit."""
    exchange.since(34)
    body = exchange.json_body()
    raw, halt = body.get("batchRequests"), flag(body, "haltOnError")
    if not isinstance(raw, list) or not raw or not all(isinstance(item, dict) for item in raw):
        raise _unreadable("batchRequests must be a list of subrequests")
    if len(raw) > MOST_PARTS:
        raise ApiError(400, "INVALID_INPUT", f"Batch has {len(raw)} subrequests; the limit is {MOST_PARTS}")
    calls = [_batched(exchange, item) for item in raw]
    results: list[dict[str, Any]] = []
    for call in calls:
        if halt and results and results[-1]["statusCode"] >= 400:
            answer = ApiError(412, "BATCH_PROCESSING_HALTED", "Batch processing halted per request").answer()
        else:
            answer = await _counted(exchange, call)
        results.append({"statusCode": answer.status, "result": plain(answer)})
    return Answer(200, {"hasErrors": any(item["statusCode"] >= 400 for item in results), "results": results})


def _batched(exchange: Exchange, item: Mapping[str, Any]) -> Call:
    """Its url may begin at the version; it has no headers of its own, those of the request are its."""
    method, url = item.get("method"), item.get("url")
    if method not in METHODS or not isinstance(url, str):
        raise _unreadable("each subrequest needs a method and a url")
    path = url if url.startswith("/services/data/") else "/services/data/" + url.lstrip("/")
    return _call(exchange.call, str(method), path, exchange.call.headers, item.get("richInput"))


async def _counted(exchange: Exchange, call: Call) -> Answer:
    try:
        limits.take(exchange.sim, exchange.entry)
    except ApiError as trouble:
        return trouble.answer()
    if exchange.subrequest is None or exchange.part:
        return ApiError(404, "NOT_FOUND", "The requested resource does not exist").answer()
    return await exchange.subrequest(exchange, call, None)
