"""Single records: create, read, update, archive, list, merge."""

from typing import Any

from crmsim.hubspot import answers, links, shown, work
from crmsim.hubspot.exchange import Exchange, paging
from crmsim.hubspot.portal import Record
from crmsim.hubspot.properties import ObjectType
from crmsim.hubspot.searching import remember
from crmsim.hubspot.work import Input
from crmsim.wire import Answer

PAGE = 100


def properties_of(body: dict[str, Any]) -> dict[str, Any]:
    """The `properties` of an input. Raises ApiError."""
    found = body.get("properties")
    if not isinstance(found, dict):
        raise answers.refuse(
            400,
            "Invalid input JSON on line 1, column 2. Some required fields were not set: [properties]",
            "VALIDATION_ERROR",
        )
    return found


def wishes(exchange: Exchange, kind: ObjectType, body: dict[str, Any]) -> tuple[links.Wish, ...]:
    """The `associations` of a new record. Raises ApiError for records that are not there."""
    found = []
    for item in answers.parts(body, "associations"):
        to = str(answers.part(item, "to").get("id", ""))
        if exchange.portal.survivor(to) not in exchange.portal.records:
            context = {"objectId": [to], "INVALID_OBJECT_IDS": [to]}
            raise answers.refuse(400, "One or more associations are invalid", "VALIDATION_ERROR", context=context)
        found += [links.Wish(to, type_of(exchange, kind, wanted)) for wanted in answers.parts(item, "types")]
    return tuple(found)


def type_of(exchange: Exchange, start: ObjectType, body: dict[str, Any]) -> int:
    """The type of an association that starts from this object. Raises ApiError for one that cannot."""
    type_id = answers.number(body, "associationTypeId")
    wrong = links.astray(exchange.portal, start, type_id)
    if wrong is not None:
        raise answers.refuse(400, wrong, "VALIDATION_ERROR")
    return type_id


def id_property(kind: ObjectType, name: str | None) -> str | None:
    """The property that identifies. Raises ApiError for one that is not unique."""
    if name in (None, "", "hs_object_id"):
        return None
    if name not in kind.unique:
        raise answers.refuse(
            400, f"Unable to perform update/upsert by non-unique {kind.type_id} property {name}", "VALIDATION_ERROR"
        )
    return name


async def create(exchange: Exchange, object: str) -> Answer:
    kind, body = exchange.kind(object), exchange.body()
    item = Input(None, None, properties_of(body), None, wishes(exchange, kind, body))
    exchange.entry.records = 1
    work.touch(exchange, kind, [item])
    await exchange.spend(1)
    [fate] = _write(exchange, kind, "create", item)
    if fate.record is None:
        raise answers.not_found()
    location = f"{exchange.call.base_url}/crm/v3/objects/{kind.name}/{fate.record.id}"
    return Answer(201, shown.whole(fate.record), {"Location": location})


async def update(exchange: Exchange, object: str, id: str) -> Answer:
    kind, body = exchange.kind(object), exchange.body()
    by = id_property(kind, exchange.call.query.get("idProperty"))
    exchange.entry.key_field, exchange.entry.records = by or "", 1
    item = Input(id, by, properties_of(body))
    work.touch(exchange, kind, [item])
    await exchange.spend(1)
    find(exchange, kind, by, id)
    [fate] = _write(exchange, kind, "update", item)
    if fate.record is None:
        raise answers.not_found()
    names = [*fate.written, "createdate", "hs_object_id", kind.modified]
    return Answer(200, shown.record(fate.record, names))


def _write(exchange: Exchange, kind: ObjectType, verb: str, item: Input) -> list[work.Fate]:
    steps = work.plan(exchange, kind, verb, [item])
    problem = steps[0].problem
    if problem is not None:
        raise work.refuse_all(exchange, kind, [item], problem)
    return work.apply(exchange, kind, [item], steps)


def find(exchange: Exchange, kind: ObjectType, by: str | None, value: str) -> Record:
    """Raises ApiError 404 in the words that were recorded."""
    record = exchange.portal.find(kind, by, value)
    if record is None and by is None and not value.isdigit():
        raise answers.refuse(
            404, "Object not found.  objectId are usually numeric.", "OBJECT_NOT_FOUND", context={"id": [value]}
        )
    if record is None:
        raise answers.not_found()
    return record


async def read(exchange: Exchange, object: str, id: str) -> Answer:
    kind = exchange.kind(object)
    by = id_property(kind, exchange.call.query.get("idProperty"))
    await exchange.spend(1)
    if exchange.flag("archived"):
        record = exchange.portal.get(kind, id)
        if record is None or not record.archived:
            raise answers.not_found()
    else:
        record = find(exchange, kind, by, id)
    body = shown.record(record, shown.asked(record, exchange.asked("properties")))
    return Answer(200, shown.with_links(exchange.portal, body, record, exchange.asked("associations")))


async def page(exchange: Exchange, object: str) -> Answer:
    """In order of ids. `after` is the id that the page begins with."""
    kind, query = exchange.kind(object), exchange.call.query
    limit = max(1, min(_number(query.get("limit"), 10), PAGE))
    await exchange.spend(limit)
    archived = exchange.flag("archived")
    after = _number(query.get("after"), 0)
    records = sorted(
        (item for item in exchange.portal.by_kind[kind.name].values() if item.archived is archived),
        key=lambda item: int(item.id),
    )
    rest = [item for item in records if int(item.id) >= after]
    rows = [
        shown.with_links(
            exchange.portal,
            shown.record(item, shown.asked(item, exchange.asked("properties"))),
            item,
            exchange.asked("associations"),
        )
        for item in rest[:limit]
    ]
    after_text = rest[limit].id if len(rest) > limit else None
    return Answer(200, {"results": rows, **paging(exchange.call, after_text)})


def _number(text: str | None, default: int) -> int:
    if not text:
        return default
    if not text.isdigit():
        raise answers.refuse(400, f"{text} was not a valid long.", "VALIDATION_ERROR")
    return int(text)


async def archive(exchange: Exchange, object: str, id: str) -> Answer:
    kind, portal = exchange.kind(object), exchange.portal
    exchange.entry.records = 1
    await exchange.spend(1)
    record = portal.find(kind, None, id)
    if record is None:
        return Answer(204) if exchange.sim.switches.delete_unknown == 204 else answers.not_found().answer
    away(exchange, kind, [record])
    return Answer(204)


def away(exchange: Exchange, kind: ObjectType, records: list[Record]) -> None:
    """Archive records, with evidence."""
    author, portal = exchange.author(), exchange.portal
    first = portal.version_count
    for record in records:
        portal.archive(record, author)
        remember(exchange.sim, record)
    work.note_archived(exchange, kind, records, portal.since(first))


async def merge(exchange: Exchange, object: str) -> Answer:
    kind, body, sim = exchange.kind(object), exchange.body(), exchange.sim
    exchange.entry.records = 2
    await exchange.spend(2)
    both = [find(exchange, kind, None, str(body.get(name, ""))) for name in ("primaryObjectId", "objectIdToMerge")]
    if both[0] is both[1]:
        raise answers.refuse(400, "Cannot merge an object with itself", "VALIDATION_ERROR")
    first = exchange.portal.version_count
    stays = exchange.portal.merge(both[0], both[1], exchange.author(), new_id=sim.switches.merge_new_id)
    remember(sim, stays)
    item = Input(stays.id, None, {"objectIdToMerge": both[1].id})
    work.note(exchange, kind, [item], [work.Fate(stays, created=False)], exchange.portal.since(first))
    return Answer(200, shown.record(stays, shown.asked(stays, [])))
