"""`/crm/v4/associations` and `/crm/v4/objects/…/associations`."""

import itertools
from typing import Any

from crmsim.clock import stamp
from crmsim.hubspot import answers, links, objects
from crmsim.hubspot.exchange import Exchange, batch
from crmsim.hubspot.portal import Author, Record
from crmsim.hubspot.properties import ObjectType
from crmsim.hubspot.searching import remember
from crmsim.hubspot.values import instant
from crmsim.wire import Answer

Trouble = dict[str, Any]
MOST = 2_000  # inputs of an association batch (HS-docs); 1,000 of a read
MOST_READ = 1_000


async def create(exchange: Exchange, start: str, end: str) -> Answer:
    """With the types of each input."""
    began, first, last = instant(stamp().wall), exchange.kind(start), exchange.kind(end)
    inputs = exchange.inputs(MOST)
    results, errors = [], []
    wanted = [[objects.type_of(exchange, first, kind) for kind in answers.parts(item, "types")] for item in inputs]
    await _time(exchange, inputs, last)
    author = exchange.author()
    for item, types in zip(inputs, wanted, strict=True):
        one, two, trouble = _pair(exchange, first, last, item)
        if trouble is not None or one is None or two is None:
            errors.append(trouble)
            continue
        for kind in types:
            _join(exchange, one, two, kind, author)
        results.append(_labels(exchange, one, two))
    return _answer(exchange, 201, began, results, errors, author)


async def default(exchange: Exchange, start: str, end: str) -> Answer:
    """The unlabelled type of the two objects."""
    began, first, last = instant(stamp().wall), exchange.kind(start), exchange.kind(end)
    inputs = exchange.inputs(MOST)
    await _time(exchange, inputs, last)
    author = exchange.author()
    results, errors = [], []
    for item in inputs:
        one, two, trouble = _pair(exchange, first, last, item)
        if trouble is not None or one is None or two is None:
            errors.append(trouble)
        else:
            results.append(_default(exchange, one, two, author))
    return _answer(exchange, 200, began, results, errors, author)


async def put_default(exchange: Exchange, start: str, id: str, end: str, to: str) -> Answer:
    began, first, last = instant(stamp().wall), exchange.kind(start), exchange.kind(end)
    item = {"from": {"id": id}, "to": {"id": to}}
    await _time(exchange, [item], last)
    author = exchange.author()
    one, two, trouble = _pair(exchange, first, last, item)
    if trouble is not None or one is None or two is None:
        raise answers.not_found()
    return _answer(exchange, 200, began, [_default(exchange, one, two, author)], [], author)


async def archive(exchange: Exchange, start: str, end: str) -> Answer:
    """`inputs` name one record and a list of those that it is no longer associated with."""
    exchange.kind(start)
    exchange.kind(end)
    inputs = exchange.inputs(MOST)
    await exchange.spend(len(inputs))
    portal, author = exchange.portal, exchange.author()
    for item in inputs:
        for to in answers.parts(item, "to"):
            links.disconnect(portal, str(answers.part(item, "from").get("id")), str(to.get("id")), author)
    _evidence(exchange, len(inputs), author)
    return Answer(204)


async def read(exchange: Exchange, start: str, end: str) -> Answer:
    began, first, last = instant(stamp().wall), exchange.kind(start), exchange.kind(end)
    inputs = exchange.inputs(MOST_READ)
    await exchange.spend(len(inputs))
    results, errors = [], []
    for item in inputs:
        ends = links.ends(exchange.portal, str(item.get("id", "")), last.name)
        if ends:
            rows = [_end(exchange, to, kinds) for to, kinds in ends.items()]
            results.append({"from": {"id": str(item.get("id"))}, "to": rows})
        else:
            errors.append(_none(first, last, str(item.get("id", ""))))
    return Answer(207 if errors else 200, batch(results, began, instant(stamp().wall), errors))


async def of_record(exchange: Exchange, start: str, id: str, end: str) -> Answer:
    first, last = exchange.kind(start), exchange.kind(end)
    await exchange.spend(1)
    if exchange.portal.find(first, None, id) is None:
        raise answers.not_found()
    rows = [_end(exchange, to, kinds) for to, kinds in links.ends(exchange.portal, id, last.name).items()]
    return Answer(200, {"results": rows})


async def _time(exchange: Exchange, inputs: list[dict[str, Any]], last: ObjectType) -> None:
    if last.name == "companies":
        exchange.sim.evidence.touch(exchange.entry, [str(answers.part(item, "to").get("id", "")) for item in inputs])
    exchange.entry.records = len(inputs)
    await exchange.spend(len(inputs))


def _pair(
    exchange: Exchange, first: ObjectType, last: ObjectType, item: dict[str, Any]
) -> tuple[Record | None, Record | None, Trouble | None]:
    """Both records, or the trouble with one of them."""
    found: list[Record] = []
    for side, kind in (("from", first), ("to", last)):
        value = str(answers.part(item, side).get("id", ""))
        record = exchange.portal.find(kind, None, value)
        if not value.isdigit():
            return None, None, {
                "status": "error", "category": "VALIDATION_ERROR", "message": f"{value} is not a valid ID",
                "subCategory": "crm.associations.INVALID_IDENTIFIER", "context": {f"{side}ObjectId": [value]},
            }  # fmt: skip
        if record is None:
            return None, None, {
                "status": "error", "category": "OBJECT_NOT_FOUND",
                "message": f"No {kind.singular.lower()} with ID {value} exists",
                "subCategory": f"crm.associations.{side.upper()}_OBJECT_NOT_FOUND",
                "context": {f"{side}ObjectId": [value]},
            }  # fmt: skip
        found.append(record)
    one, two = found
    if one is two:
        return None, None, {
            "status": "error", "category": "VALIDATION_ERROR",
            "message": f"Object {one.id} cannot be associated to itself ({one.id})",
        }  # fmt: skip
    return one, two, None


def _none(first: ObjectType, last: ObjectType, value: str) -> Trouble:
    names = first.singular.lower(), last.singular.lower()
    return {
        "status": "error", "category": "OBJECT_NOT_FOUND",
        "message": f"No {names[1]} is associated with {names[0]} {value}.",
        "subCategory": "crm.associations.NO_ASSOCIATIONS_FOUND",
        "context": {"fromObjectId": [value], "fromObjectType": [names[0]], "toObjectType": [names[1]]},
    }  # fmt: skip


def _join(exchange: Exchange, one: Record, two: Record, type_id: int, author: Author) -> None:
    links.connect(exchange.portal, one.id, two.id, type_id, author)
    for record in (one, two):
        remember(exchange.sim, record)


def _default(exchange: Exchange, one: Record, two: Record, author: Author) -> dict[str, Any]:
    type_id = links.DEFAULTS.get((one.kind.name, two.kind.name), 449)
    _join(exchange, one, two, type_id, author)
    return {
        "associationSpec": {"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": type_id},
        "from": {"id": one.id}, "to": {"id": two.id},
    }  # fmt: skip


def _id(exchange: Exchange, value: str) -> int | str:
    return int(value) if exchange.sim.switches.association_ids == "number" else value


def _labels(exchange: Exchange, one: Record, two: Record) -> dict[str, Any]:
    return {
        "fromObjectTypeId": one.kind.type_id, "fromObjectId": _id(exchange, one.id),
        "toObjectTypeId": two.kind.type_id, "toObjectId": _id(exchange, two.id), "labels": [],
    }  # fmt: skip


def _end(exchange: Exchange, to: str, kinds: list[int]) -> dict[str, Any]:
    return {"toObjectId": _id(exchange, to), "associationTypes": [links.labelled(kind) for kind in kinds]}


def _answer(
    exchange: Exchange, status: int, began: str, results: list[Any], errors: list[Any], author: Author
) -> Answer:
    _evidence(exchange, len(results), author)
    return Answer(207 if errors else status, batch(results, began, instant(stamp().wall), errors))


def _evidence(exchange: Exchange, count: int, author: Author) -> None:
    newest = itertools.takewhile(lambda item: item.author is author, reversed(exchange.portal.versions))
    made = [item.json() for item in newest][::-1]
    exchange.sim.evidence.wrote(exchange.entry, [], made, committed=bool(count))
