"""Reads: SOQL with paging, limits, one record, describe (SF-docs dome_query, resources_limits)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from crmsim.salesforce import soql
from crmsim.salesforce.answers import ApiError
from crmsim.salesforce.exchange import Exchange
from crmsim.salesforce.org import Record
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
    sim, call = exchange.sim, exchange.call
    parsed = soql.parse(call.query.get("q", ""))
    found = soql.run(sim.org, parsed)
    exchange.entry.object = parsed.object
    await sim.clock.sleep(sim.latency.fixed)
    if parsed.count:
        return Answer(200, {"totalSize": len(found), "done": True, "records": []})
    records = [shown(exchange, record, parsed.fields) for record in found]
    return _page(exchange, Cursor(len(records), records), f"01g{exchange.entry.n:012d}AAA", 0)


async def more(exchange: Exchange, locator: str) -> Answer:
    """The next page: the locator is `{cursor}-{offset}`."""
    name, _, offset = locator.rpartition("-")
    cursor = exchange.sim.org.cursors.get(name)
    await exchange.sim.clock.sleep(exchange.sim.latency.fixed)
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
                raise soql.no_column(relation, record.sobject)
            out[item.name] = record.values.get(item.name)
            continue
        link = record.sobject.relationships[relation.lower()]
        target = exchange.sim.org.get(record.values.get(link.name) or "")
        inner = shown(exchange, target, [rest]) if target else None
        previous = out.get(link.relationship)
        out[link.relationship] = previous | inner if previous and inner else inner
    return out


async def limits(exchange: Exchange) -> Answer:
    """`GET /limits`."""
    sim = exchange.sim
    await sim.clock.sleep(sim.latency.fixed)
    usage = sim.usage
    return Answer(
        200,
        {
            "DailyApiRequests": {"Max": usage.maximum, "Remaining": max(0, usage.maximum - usage.used)},
            "DataStorageMB": {"Max": 1024, "Remaining": 1024 - len(sim.org.records) * 2 // 1024},
        },
    )


async def describe(exchange: Exchange, object: str) -> Answer:
    """`GET /sobjects/{Object}/describe`, the part that a mapping needs."""
    sobject = exchange.sobject(object)
    await exchange.sim.clock.sleep(exchange.sim.latency.fixed)
    described = [
        {
            "name": item.name, "label": item.title, "type": item.kind, "length": item.length,
            "nillable": not item.required, "createable": item.writable, "updateable": item.writable,
            "externalId": item.external_id, "idLookup": item.id_lookup or item.name == "Id", "unique": item.unique,
            "caseSensitive": item.case_sensitive,
            "defaultedOnCreate": item.default is not None or item.name == "OwnerId",
            "referenceTo": list(item.targets), "relationshipName": item.relationship or None,
            "restrictedPicklist": item.restricted, "custom": item.name.endswith("__c"),
            "picklistValues": [{"value": value, "active": True} for value in item.values],
        }
        for item in sobject.fields.values()
    ]  # fmt: skip
    return Answer(200, {"name": sobject.name, "keyPrefix": sobject.prefix, "fields": described})
