"""Single records: create, read, update, delete, upsert by external id (SF-docs dome_sobject_*, dome_upsert)."""

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from crmsim.salesforce import answers, ids, rules, sharing
from crmsim.salesforce.answers import ApiError
from crmsim.salesforce.collections import job
from crmsim.salesforce.commit import RowResult
from crmsim.salesforce.exchange import Exchange
from crmsim.salesforce.intents import Row
from crmsim.salesforce.org import Record
from crmsim.salesforce.query import shown
from crmsim.salesforce.schema import Field, Sobject
from crmsim.salesforce.work import write
from crmsim.wire import Answer


async def create(exchange: Exchange, object: str) -> Answer:
    """`POST /sobjects/{Object}` → 201."""
    sobject, body = exchange.sobject(object), exchange.json_body()
    done = await write(exchange, job(exchange, "create", None, all_or_none=False), [Row(sobject, body)])
    [result] = done.results
    location = {"Location": exchange.record_path(sobject, result.id or "")}
    born = Answer(201, {"id": result.id, "success": True, "errors": []}, location)
    return _refusal(exchange, sobject, result, body) or born


async def create_by_id(exchange: Exchange, object: str, id: str) -> Answer:
    """`POST /sobjects/{Object}/Id`: a create by the upsert resource (SF-docs dome_upsert)."""
    if id.lower() != "id":
        raise ApiError(405, "METHOD_NOT_ALLOWED", "HTTP Method 'POST' not allowed. Allowed are DELETE,GET,HEAD,PATCH")
    return await create(exchange, object)


async def update(exchange: Exchange, object: str, id: str) -> Answer:
    """`PATCH /sobjects/{Object}/{id}` → 204."""
    sobject, body = exchange.sobject(object), exchange.json_body()
    if any(name.lower() == "id" for name in body):
        raise ApiError(400, "INVALID_FIELD", "The Id field should not be specified in the sobject data.")
    if ids.to15(id) is None and id.lower() in sobject.fields:  # an upsert whose key value is empty
        raise ApiError(405, "METHOD_NOT_ALLOWED", "HTTP Method 'PATCH' not allowed. Allowed are HEAD,GET,POST")
    _by_id(exchange, sobject, id)
    done = await write(exchange, job(exchange, "update", None, all_or_none=False), [Row(sobject, body | {"Id": id})])
    return _refusal(exchange, sobject, done.results[0], body) or Answer(204)


async def upsert(exchange: Exchange, object: str, field: str, value: str) -> Answer:
    """`PATCH /sobjects/{Object}/{ExtIdField}/{value}` → 201 or 200; 300 with the URLs of several matches.

    Before v46 an update answers 204 without a body; `updateOnly=true` (v61) inserts nothing.
    """
    sobject, body = exchange.sobject(object), exchange.json_body()
    key = _key(sobject, field)
    if key.name == "Id":
        return await update(exchange, object, value)
    exchange.entry.key_field = key.name
    for name in body:
        if name.lower() in ("id", key.name.lower()):
            spelled = "Id" if name.lower() == "id" else key.name
            raise ApiError(400, "INVALID_FIELD", f"The {spelled} field should not be specified in the sobject data.")
    several = _matches(exchange, sobject, key, value)
    if len(several) > 1:
        return Answer(300, [exchange.record_path(sobject, record.id18) for record in several])
    if not several and exchange.call.query.get("updateOnly", "").lower() == "true" and float(exchange.version) >= 61:
        raise ApiError(404, "NOT_FOUND", "The requested resource does not exist")
    row = Row(sobject, body | {key.name: value})
    done = await write(exchange, job(exchange, "upsert", key, all_or_none=False), [row])
    [result] = done.results
    return _refusal(exchange, sobject, result, body) or _upserted(exchange, sobject, result)


def _upserted(exchange: Exchange, sobject: Sobject, result: RowResult) -> Answer:
    told: dict[str, Any] = {"id": result.id, "success": True, "errors": []}
    if float(exchange.version) >= exchange.sim.switches.upsert_body_since:
        told["created"] = result.created
    elif not result.created:
        return Answer(204)
    location = {"Location": exchange.record_path(sobject, result.id or "")} if result.created else {}
    return Answer(201 if result.created else 200, told, location)


async def read(exchange: Exchange, object: str, id: str) -> Answer:
    """`GET /sobjects/{Object}/{id}?fields=…`."""
    sobject = exchange.sobject(object)
    record = _by_id(exchange, sobject, id)
    if not sharing.sees(exchange.sim.switches, record, exchange.user):
        raise ApiError(404, "NOT_FOUND", "The requested resource does not exist")
    return await _shown(exchange, sobject, record)


async def read_by_key(exchange: Exchange, object: str, field: str, value: str) -> Answer:
    """`GET /sobjects/{Object}/{ExtIdField}/{value}`; 300 with the URLs of several matches."""
    sobject = exchange.sobject(object)
    found = _matches(exchange, sobject, _key(sobject, field), value)
    if not found:
        raise ApiError(404, "NOT_FOUND", "The requested resource does not exist")
    if len(found) > 1:
        return Answer(300, [exchange.record_path(sobject, record.id18) for record in found])
    return await _shown(exchange, sobject, found[0])


async def delete_by_key(exchange: Exchange, object: str, field: str, value: str) -> Answer:
    """`DELETE /sobjects/{Object}/{ExtIdField}/{value}` → 204."""
    sobject = exchange.sobject(object)
    found = _matches(exchange, sobject, _key(sobject, field), value)
    if not found:
        raise ApiError(404, "NOT_FOUND", "The requested resource does not exist")
    if len(found) > 1:
        return Answer(300, [exchange.record_path(sobject, record.id18) for record in found])
    return await delete(exchange, object, found[0].id18)


async def delete(exchange: Exchange, object: str, id: str) -> Answer:
    """`DELETE /sobjects/{Object}/{id}` → 204; the record stays in the bin and its keys are free."""
    sobject = exchange.sobject(object)
    record = _by_id(exchange, sobject, id)
    row = Row(sobject, {"Id": record.id18})
    done = await write(exchange, job(exchange, "delete", None, all_or_none=False), [row])
    return _refusal(exchange, sobject, done.results[0], row.raw) or Answer(204)


def _by_id(exchange: Exchange, sobject: Sobject, text: str) -> Record:
    record = exchange.sim.org.get(text)
    if record is None or record.sobject is not sobject:
        raise ApiError(404, "NOT_FOUND", "The requested resource does not exist")
    if record.deleted:
        raise ApiError(404, "ENTITY_IS_DELETED", "entity is deleted", [])
    return record


def _matches(exchange: Exchange, sobject: Sobject, key: Field, value: str) -> list[Record]:
    """The records of this key that the API user sees."""
    found = exchange.sim.org.match(sobject, key, value)
    return [record for record in found if sharing.sees(exchange.sim.switches, record, exchange.user)]


def _key(sobject: Sobject, name: str) -> Field:
    item = sobject.fields.get(name.lower())
    if item is None or not (item.is_key or item.name == "Id"):
        message = f"Provided external ID field does not exist or is not accessible: {name}"
        raise ApiError(404, "NOT_FOUND", message)
    return item


async def _shown(exchange: Exchange, sobject: Sobject, record: Record) -> Answer:
    wanted = exchange.call.query.get("fields")
    names = wanted.split(",") if wanted else [item.name for item in sobject.fields.values()]
    exchange.entry.records += 1
    await exchange.sim.clock.sleep(exchange.sim.latency.reading)
    return Answer(200, shown(exchange, record, names))


def _refusal(exchange: Exchange, sobject: Sobject, result: RowResult, body: Mapping[str, Any]) -> Answer | None:
    """What a refused row is on a single call: its code under `errorCode`, with a status of its own."""
    refusal, switches = result.error, exchange.sim.switches
    if refusal is None:
        return None
    if refusal.code == "DUPLICATES_DETECTED":
        return Answer(400, [_duplicates(exchange, sobject, body, refusal.message)])
    status = answers.status_of(refusal, lock_status=switches.single_lock_status, storage_status=switches.storage_status)
    bare = refusal.code == "INVALID_FIELD"
    return answers.error(status, refusal.code, refusal.message, None if bare else list(refusal.fields))


def _duplicates(exchange: Exchange, sobject: Sobject, body: Mapping[str, Any], message: str) -> dict[str, Any]:
    """`duplicateResut` is how Salesforce spells it. One matchResult for each object that has matches."""
    org, switches = exchange.sim.org, exchange.sim.switches
    email = next((value for name, value in body.items() if name.lower() == "email"), None)
    results = []
    for kind, found in groupby(rules.duplicates(org, sobject, email), key=lambda record: record.sobject):
        matches = [
            {
                "additionalInformation": [], "fieldDiffs": [], "matchConfidence": 100.0,
                "record": {
                    "attributes": {"type": kind.name, "url": exchange.record_path(kind, record.id18)},
                    "Id": record.id18,
                },
            }
            for record in found
        ]  # fmt: skip
        results.append({
            "entityType": kind.name, "errors": [], "matchEngine": "FuzzyMatchEngine", "matchRecords": matches,
            "rule": f"Standard_{kind.name}_Match_Rule_v1_0", "size": len(matches), "success": True,
        })  # fmt: skip
    rule = {
        "allowSave": switches.duplicate_rule == "alert", "duplicateRule": f"Standard_{sobject.name}_Duplicate_Rule",
        "duplicateRuleEntityType": sobject.name, "errorMessage": message, "matchResults": results,
    }  # fmt: skip
    return {"duplicateResut": rule, "errorCode": "DUPLICATES_DETECTED", "message": message}
