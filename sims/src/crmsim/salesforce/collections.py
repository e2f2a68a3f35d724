"""sObject Collections: up to 200 records in one request, answered row by row (SF-docs sobjects_collections)."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from crmsim.salesforce import answers, sharing
from crmsim.salesforce.answers import ApiError
from crmsim.salesforce.exchange import Exchange
from crmsim.salesforce.intents import Job, Row
from crmsim.salesforce.query import shown
from crmsim.salesforce.schema import Field, Sobject
from crmsim.salesforce.work import write
from crmsim.wire import Answer

MOST_RECORDS = 200
MOST_CHUNKS = 10
MOST_READ = 2000


async def upsert(exchange: Exchange, object: str, field: str) -> Answer:
    """`PATCH /composite/sobjects/{Object}/{ExtIdField}`: one type, the key inside each record."""
    exchange.since(46)
    sobject = exchange.sobject(object)
    key = key_field(sobject, field)
    exchange.entry.key_field = key.name
    raw, all_or_none = _records(exchange)
    for record in raw:
        kind = _type(record)
        if kind.lower() != sobject.name.lower():
            raise ApiError(400, "INVALID_INPUT", f"attributes.type {kind} does not match the resource {sobject.name}")
    rows = [Row(sobject, record) for record in raw]
    done = await write(exchange, job(exchange, "upsert", key, all_or_none=all_or_none), rows)
    return Answer(200, [answers.row(result, upsert=True) for result in done.results])


async def create(exchange: Exchange) -> Answer:
    """`POST /composite/sobjects`: mixed types, at most 10 runs of one type."""
    return await _mixed(exchange, "create")


async def update(exchange: Exchange) -> Answer:
    """`PATCH /composite/sobjects`: by the `id` of each record."""
    return await _mixed(exchange, "update")


async def delete(exchange: Exchange) -> Answer:
    """`DELETE /composite/sobjects?ids=a,b&allOrNone=false`: the one verb whose allOrNone is in the query."""
    exchange.since(42)
    query = exchange.call.query
    named = [text.strip() for text in query.get("ids", "").split(",") if text.strip()]
    if not named:
        raise ApiError(400, "REQUIRED_FIELD_MISSING", "At least 1 record is required")
    if len(named) > MOST_RECORDS:
        raise _too_many()
    all_or_none = query.get("allOrNone", "false").lower() == "true"
    rows = [Row(_of_prefix(exchange, text), {"Id": text}) for text in named]
    _chunked(rows)
    done = await write(exchange, job(exchange, "delete", None, all_or_none=all_or_none), rows)
    return Answer(200, [answers.row(result, upsert=False) for result in done.results])


def _of_prefix(exchange: Exchange, text: str) -> Sobject:
    """The object that an id belongs to; an id of none is refused as a Lead's would be."""
    found = (item for item in exchange.sim.org.objects.values() if item.prefix == text[:3])
    return next(found, exchange.sim.org.objects["lead"])


async def _mixed(exchange: Exchange, verb: str) -> Answer:
    exchange.since(42)
    raw, all_or_none = _records(exchange)
    rows = [Row(_kind(exchange, record), record) for record in raw]
    _chunked(rows)
    done = await write(exchange, job(exchange, verb, None, all_or_none=all_or_none), rows)
    return Answer(200, [answers.row(result, upsert=False) for result in done.results])


def _chunked(rows: Sequence[Row]) -> None:
    if len(list(groupby(row.sobject.name for row in rows))) > MOST_CHUNKS:
        raise ApiError(
            400,
            "INVALID_INPUT",
            "Cannot have more than 10 chunks in a single operation. Please rearrange the data to reduce chunking.",
        )


async def read(exchange: Exchange, object: str) -> Answer:
    """`POST /composite/sobjects/{Object}` with ids and fields, or GET with both in the query; null: not there."""
    sobject = exchange.sobject(object)
    if exchange.call.method == "GET":
        wanted = exchange.call.query.get("ids", "").split(",")
        names = exchange.call.query.get("fields", "Id").split(",")
    else:
        body = exchange.json_body()
        wanted, names = _texts(body, "ids"), _texts(body, "fields")
    if len(wanted) > MOST_READ:
        raise ApiError(400, "EXCEEDED_ID_LIMIT", f"record limit reached. cannot submit more than {MOST_READ} records")
    exchange.entry.records += len(wanted)
    found: list[Any] = []
    for text in wanted:
        record = exchange.sim.org.get(text.strip())
        there = record is not None and record.sobject is sobject and not record.deleted
        seen = record is not None and there and sharing.sees(exchange.sim.switches, record, exchange.user)
        found.append(shown(exchange, record, names) if record is not None and seen else None)
    await exchange.sim.clock.sleep(exchange.sim.latency.reading)
    return Answer(200, found)


def _texts(body: Mapping[str, Any], name: str) -> list[str]:
    value = body.get(name)
    if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
        raise ApiError(400, "JSON_PARSER_ERROR", f"{name} must be a list of texts")
    return value


def key_field(sobject: Sobject, name: str) -> Field:
    item = sobject.fields.get(name.lower())
    if item is None or not (item.is_key or item.name == "Id"):
        raise ApiError(
            400,
            "INVALID_FIELD",
            f"Field name provided, {name} does not match an External ID, Salesforce Id, or indexed field for "
            f"{sobject.name}",
        )
    return item


def job(exchange: Exchange, verb: str, key: Field | None, *, all_or_none: bool) -> Job:
    """The headers' say: assignment rules run unless Sforce-Auto-Assign is FALSE (SF-docs headers_autoassign)."""
    call, sim = exchange.call, exchange.sim
    assign = (call.header("sforce-auto-assign") or "TRUE").strip()
    known = assign.upper() in ("TRUE", "FALSE") or assign in (sim.org.rule_id, sim.org.rule_id[:15])
    if not known:
        raise ApiError(400, "INVALID_FIELD", f"Sforce-Auto-Assign: no assignment rule {assign}")
    duplicates = (call.header("sforce-duplicate-rule-header") or "").replace(" ", "").lower()
    return Job(
        verb=verb,
        key=key,
        all_or_none=all_or_none,
        assign_rule=sim.switches.assignment_rule and assign.upper() != "FALSE",
        allow_duplicates="allowsave=true" in duplicates,
        user=exchange.user,
        request=exchange.entry.n,
    )


def _records(exchange: Exchange) -> tuple[Sequence[dict[str, Any]], bool]:
    body = exchange.json_body()
    records, all_or_none = body.get("records"), body.get("allOrNone", False)
    if not records:
        raise ApiError(400, "REQUIRED_FIELD_MISSING", "At least 1 record is required")
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise ApiError(400, "JSON_PARSER_ERROR", "records must be a list of objects")
    if not isinstance(all_or_none, bool):
        raise ApiError(400, "JSON_PARSER_ERROR", "allOrNone must be a boolean")
    if len(records) > MOST_RECORDS:
        raise _too_many()
    return records, all_or_none


def _too_many() -> ApiError:
    message = f"record limit reached. cannot submit more than {MOST_RECORDS} records into this call"
    return ApiError(400, "EXCEEDED_ID_LIMIT", message)


def _kind(exchange: Exchange, record: dict[str, Any]) -> Sobject:
    name = _type(record)
    if exchange.sim.org.sobject(name) is None:
        raise ApiError(400, "INVALID_TYPE", f"sObject type '{name}' is not supported.")
    return exchange.sobject(name)


def _type(record: dict[str, Any]) -> str:
    attributes = record.get("attributes")
    kind = attributes.get("type") if isinstance(attributes, dict) else None
    if not isinstance(kind, str) or not kind:
        raise ApiError(400, "REQUIRED_FIELD_MISSING", "attributes.type is required in each record", ["attributes"])
    return kind
