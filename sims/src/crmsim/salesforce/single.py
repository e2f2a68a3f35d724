"""Single records: create, read, update, delete, upsert by external id (SF-docs dome_sobject_*, dome_upsert)."""

from crmsim.clock import stamp
from crmsim.evidence import RowNote
from crmsim.salesforce import answers
from crmsim.salesforce.answers import ApiError
from crmsim.salesforce.commit import RowResult
from crmsim.salesforce.composite import job
from crmsim.salesforce.exchange import Exchange
from crmsim.salesforce.intents import Row
from crmsim.salesforce.org import Author, Record
from crmsim.salesforce.query import shown
from crmsim.salesforce.schema import Field, Sobject
from crmsim.salesforce.work import write
from crmsim.wire import Answer


async def create(exchange: Exchange, object: str) -> Answer:
    """`POST /sobjects/{Object}` → 201."""
    sobject = exchange.sobject(object)
    done = await write(exchange, job(exchange, "create", None, all_or_none=False), [Row(sobject, exchange.json_body())])
    result = _taken(exchange, done.results[0])
    return Answer(
        201,
        {"id": result.id, "success": True, "errors": []},
        {"Location": exchange.record_path(sobject, result.id or "")},
    )


async def update(exchange: Exchange, object: str, id: str) -> Answer:
    """`PATCH /sobjects/{Object}/{id}` → 204."""
    sobject, body = exchange.sobject(object), exchange.json_body()
    if any(name.lower() == "id" for name in body):
        raise ApiError(400, "INVALID_FIELD", "The Id field should not be specified in the sobject data.")
    _by_id(exchange, sobject, id)
    done = await write(exchange, job(exchange, "update", None, all_or_none=False), [Row(sobject, body | {"Id": id})])
    _taken(exchange, done.results[0])
    return Answer(204)


async def upsert(exchange: Exchange, object: str, field: str, value: str) -> Answer:
    """`PATCH /sobjects/{Object}/{ExtIdField}/{value}` → 201 or 200; 300 with the URLs of several matches."""
    sobject, body = exchange.sobject(object), exchange.json_body()
    key = _key(sobject, field)
    if key.name == "Id":
        return await update(exchange, object, value)
    exchange.entry.key_field = key.name
    for name in body:
        if name.lower() in ("id", key.name.lower()):
            spelled = "Id" if name.lower() == "id" else key.name
            raise ApiError(400, "INVALID_FIELD", f"The {spelled} field should not be specified in the sobject data.")
    several = exchange.sim.org.match(sobject, key, value)
    if len(several) > 1:
        return Answer(300, [exchange.record_path(sobject, record.id18) for record in several])
    row = Row(sobject, body | {key.name: value})
    done = await write(exchange, job(exchange, "upsert", key, all_or_none=False), [row])
    result = _taken(exchange, done.results[0])
    body = {"id": result.id, "success": True, "errors": [], "created": result.created}
    return Answer(201 if result.created else 200, body)


async def read(exchange: Exchange, object: str, id: str) -> Answer:
    """`GET /sobjects/{Object}/{id}?fields=…`."""
    sobject = exchange.sobject(object)
    record = _by_id(exchange, sobject, id)
    return await _shown(exchange, sobject, record)


async def read_by_key(exchange: Exchange, object: str, field: str, value: str) -> Answer:
    """`GET /sobjects/{Object}/{ExtIdField}/{value}`; 300 with the URLs of several matches."""
    sobject = exchange.sobject(object)
    found = exchange.sim.org.match(sobject, _key(sobject, field), value)
    if not found:
        raise ApiError(404, "NOT_FOUND", "The requested resource does not exist")
    if len(found) > 1:
        return Answer(300, [exchange.record_path(sobject, record.id18) for record in found])
    return await _shown(exchange, sobject, found[0])


async def delete(exchange: Exchange, object: str, id: str) -> Answer:
    """`DELETE /sobjects/{Object}/{id}` → 204; the record stays in the bin and its keys are free."""
    sim, sobject = exchange.sim, exchange.sobject(object)
    record = _by_id(exchange, sobject, id)
    exchange.entry.records = 1
    held = exchange.entry.n
    if not await sim.locks.take(record.id, held, sim.clock.real(sim.switches.lock_timeout)):
        message = f"unable to obtain exclusive access to this record or 1 records: {record.id18}"
        raise ApiError(sim.switches.single_lock_status, "UNABLE_TO_LOCK_ROW", message, [])
    try:
        await sim.clock.sleep(sim.latency.fixed + sim.latency.per_record)
        version = sim.org.log(sim.org.update(record, {"IsDeleted": True}, Author(exchange.user, "api", held, stamp())))
        note = RowNote(None, record.id18, "deleted", None, "")
        sim.evidence.wrote(exchange.entry, [note], [version.json()], committed=True)
    finally:
        sim.locks.release(record.id, held)
    return Answer(204)


def _by_id(exchange: Exchange, sobject: Sobject, text: str) -> Record:
    record = exchange.sim.org.get(text)
    if record is None or record.sobject is not sobject:
        raise ApiError(404, "NOT_FOUND", "The requested resource does not exist")
    if record.deleted:
        raise ApiError(404, "ENTITY_IS_DELETED", "entity is deleted", [])
    return record


def _key(sobject: Sobject, name: str) -> Field:
    item = sobject.fields.get(name.lower())
    if item is None or not (item.is_key or item.name == "Id"):
        message = f"Provided external ID field does not exist or is not accessible: {name}"
        raise ApiError(404, "NOT_FOUND", message)
    return item


async def _shown(exchange: Exchange, sobject: Sobject, record: Record) -> Answer:
    wanted = exchange.call.query.get("fields")
    names = wanted.split(",") if wanted else [item.name for item in sobject.fields.values()]
    exchange.entry.records = 1
    await exchange.sim.clock.sleep(exchange.sim.latency.fixed)
    return Answer(200, shown(exchange, record, names))


def _taken(exchange: Exchange, result: RowResult) -> RowResult:
    """The row's success. Raises ApiError with the status that its refusal has on single calls."""
    refusal, switches = result.error, exchange.sim.switches
    if refusal is None:
        return result
    status = answers.status_of(refusal, lock_status=switches.single_lock_status, storage_status=switches.storage_status)
    bare = refusal.code == "INVALID_FIELD"
    raise ApiError(status, refusal.code, refusal.message, None if bare else list(refusal.fields))
