"""Reads: SOQL with paging, limits, one record (SF-docs dome_query, resources_limits)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from crmsim.clock import stamp
from crmsim.salesforce import selection
from crmsim.salesforce.answers import ApiError
from crmsim.salesforce.exchange import Exchange
from crmsim.salesforce.limits import report
from crmsim.salesforce.org import Record
from crmsim.salesforce.rules import Look
from crmsim.salesforce.schema import Field
from crmsim.wire import Answer

LONGEST_URI = 16_384  # bytes; SF-docs errorcodes, 414


@dataclass(frozen=True, slots=True)
class Cursor:
    """A query's result, kept for its further pages."""

    total: int
    records: list[dict[str, Any]]


CURSORS_KEPT = 50


async def query(exchange: Exchange) -> Answer:
    """`GET /query?q=SELECT …`; pages follow `nextRecordsUrl`."""
    return await _query(exchange)


async def query_all(exchange: Exchange) -> Answer:
    """`GET /queryAll?q=`: records in the bin too."""
    return await _query(exchange, deleted=True)


async def tooling_query(exchange: Exchange) -> Answer:
    """`GET /tooling/query?q=`: ValidationRule and EntityDefinition."""
    return await _query(exchange, tooling=True)


async def _query(exchange: Exchange, *, tooling: bool = False, deleted: bool = False) -> Answer:
    sim, call = exchange.sim, exchange.call
    sight = selection.Sight(Look(sim.switches, exchange.user), stamp().wall, tooling, deleted)
    parsed, found = selection.find(sim.org, call.query.get("q", ""), sight)
    exchange.entry.object = parsed.object
    await sim.clock.sleep(sim.latency.reading)
    if parsed.count:
        return Answer(200, {"totalSize": len(found), "done": True, "records": []})
    records = [shown(exchange, record, parsed.fields) for record in found]
    cursor = f"01g{sim.org.take_number():012d}AAA"
    return _page(exchange, Cursor(len(records), records), cursor, 0)


async def more(exchange: Exchange, locator: str) -> Answer:
    """The next page: the locator is `{cursor}-{offset}`."""
    name, _, offset = locator.rpartition("-")
    cursor = exchange.sim.org.cursors.get(name)
    await exchange.sim.clock.sleep(exchange.sim.latency.reading)
    if not isinstance(cursor, Cursor) or not offset.isdigit():
        raise ApiError(400, "INVALID_QUERY_LOCATOR", "invalid query locator")
    return _page(exchange, cursor, name, int(offset))


def _page(exchange: Exchange, cursor: Cursor, name: str, start: int) -> Answer:
    sim = exchange.sim
    end = start + _page_size(exchange)
    body: dict[str, Any] = {"totalSize": cursor.total, "done": end >= cursor.total}
    if end < cursor.total:
        sim.org.cursors[name] = cursor
        while len(sim.org.cursors) > CURSORS_KEPT:
            sim.org.cursors.pop(next(iter(sim.org.cursors)))
        body["nextRecordsUrl"] = f"/services/data/v{exchange.version}/query/{name}-{end}"
    body["records"] = cursor.records[start:end]
    exchange.entry.records = len(body["records"])
    return Answer(200, body)


def _page_size(exchange: Exchange) -> int:
    """`Sforce-Query-Options: batchSize=200` (200 to 2000), else the switch `query_page`."""
    option = (exchange.call.header("sforce-query-options") or "").replace(" ", "").lower()
    if option.startswith("batchsize=") and option[10:].isdigit():
        return min(max(int(option[10:]), 200), 2000)
    return exchange.sim.switches.query_page


def shown(exchange: Exchange, record: Record, names: Iterable[str]) -> dict[str, Any]:
    """The selected fields of a record under the schema's spelling, `Account__r.Name` nested."""
    out: dict[str, Any] = {
        "attributes": {"type": record.sobject.name, "url": exchange.record_path(record.sobject, record.id18)}
    }
    for name in names:
        relation, dot, rest = name.strip().partition(".")
        if not dot:
            item = record.sobject.fields.get(relation.lower())
            if item is None:
                raise selection.column_missing(relation, record.sobject)
            out[item.name] = record.values.get(item.name)
            continue
        link = record.sobject.relationships[relation.lower()]
        target = exchange.sim.org.get(record.values.get(link.name) or "")
        inner = _inner(exchange, link, target, rest) if target else None
        previous = out.get(link.relationship)
        out[link.relationship] = previous | inner if previous and inner else inner
    return out


def _inner(exchange: Exchange, link: Field, target: Record, rest: str) -> dict[str, Any]:
    """What a relationship leads to; to users and queues alike it leads to a Name."""
    if len(link.targets) == 1:
        return shown(exchange, target, [rest])
    attributes = {"type": "Name", "url": exchange.record_path(target.sobject, target.id18)}
    return {"attributes": attributes, selection.NAME[rest.lower()].name: selection.named(target, rest)}


async def limits(exchange: Exchange) -> Answer:
    """`GET /limits`."""
    sim = exchange.sim
    await sim.clock.sleep(sim.latency.reading)
    return Answer(200, report(sim))
