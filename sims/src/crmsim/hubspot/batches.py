"""The five batch verbs, with the statuses of HubSpot's specification and the fates of a batch with a bad record."""

from collections.abc import Sequence
from typing import Any

from crmsim.clock import stamp
from crmsim.hubspot import answers, objects, shown, work
from crmsim.hubspot.exchange import Exchange, batch
from crmsim.hubspot.properties import ObjectType
from crmsim.hubspot.values import fold, instant
from crmsim.hubspot.work import Fate, Input, Step
from crmsim.wire import Answer


async def create(exchange: Exchange, object: str) -> Answer:
    return await _write(exchange, exchange.kind(object), "create", 201)


async def update(exchange: Exchange, object: str) -> Answer:
    return await _write(exchange, exchange.kind(object), "update", 200)


async def upsert(exchange: Exchange, object: str) -> Answer:
    return await _write(exchange, exchange.kind(object), "upsert", 200)


async def _write(exchange: Exchange, kind: ObjectType, verb: str, status: int) -> Answer:
    began = instant(stamp().wall)
    inputs = [_input(exchange, kind, verb, item) for item in exchange.inputs()]
    exchange.entry.key_field = next((item.by for item in inputs if item.by), "")
    _no_duplicates(exchange, kind, verb, inputs)
    work.touch(exchange, kind, inputs)
    await exchange.spend(len(inputs))
    steps = work.plan(exchange, kind, verb, inputs)
    traced = _traced(inputs)
    spoiled = _spoiled(exchange, verb, steps, traced=traced)
    if spoiled is not None:
        raise work.refuse_all(exchange, kind, inputs, spoiled)
    fates = work.apply(exchange, kind, inputs, steps)
    errors = _errors(kind, inputs, fates, traced=traced)
    results = [
        _result(exchange, kind, verb, item, fate)
        for item, fate in zip(inputs, fates, strict=True)
        if fate.record is not None
    ]
    exchange.sim.dice(exchange.entry.n).shuffle(results)
    return Answer(207 if errors else status, batch(results, began, instant(stamp().wall), errors))


def _input(exchange: Exchange, kind: ObjectType, verb: str, body: dict[str, Any]) -> Input:
    trace = body.get("objectWriteTraceId")
    trace = None if trace is None else str(trace)
    given = objects.properties_of(body)
    if verb == "create":
        return Input(None, None, given, trace, objects.wishes(exchange, kind, body))
    if body.get("id") in (None, ""):
        raise answers.refuse(
            400, "Invalid input JSON on line 1, column 12. Some required fields were not set: [id]", "VALIDATION_ERROR"
        )
    by = objects.id_property(kind, body.get("idProperty"))
    if verb == "update" and by is not None and kind.is_email(by) and not exchange.sim.switches.update_by_email:
        raise answers.refuse(
            400, f"Unable to perform update/upsert by non-unique {kind.type_id} property {by}", "VALIDATION_ERROR"
        )
    return Input(str(body["id"]), by, given, trace)


def _no_duplicates(exchange: Exchange, kind: ObjectType, verb: str, inputs: Sequence[Input]) -> None:
    """The same id twice refuses the lot, with trace ids or without."""
    switches, twice = exchange.sim.switches, dict[str, None]()
    known: set[tuple[str | None, str]] = set()
    for item in inputs:
        by, value = (item.by, item.id) if verb != "create" else ("email", str(item.given.get("email") or ""))
        if not value or (verb == "create" and (switches.create_twins != "reject" or kind.name != "contacts")):
            continue
        folded = fold(kind, by, value) if by is not None and switches.fold_duplicates else value
        if (by, folded) in known:
            twice[value] = None
        known.add((by, folded))
    if twice:
        raise work.refuse_all(exchange, kind, inputs, _duplicate(list(twice)))


def _duplicate(ids: list[str]) -> work.Problem:
    message = f"Duplicate IDs found in batch input: [{', '.join(ids)}]. IDs must be unique"
    return work.Problem(400, "VALIDATION_ERROR", message, context={"ids": ids})


def _traced(inputs: Sequence[Input]) -> bool:
    """Whether each input has a trace id of its own."""
    traces = [item.trace for item in inputs if item.trace]
    return len(traces) == len(inputs) == len(set(traces))


def _spoiled(exchange: Exchange, verb: str, steps: Sequence[Step], *, traced: bool) -> work.Problem | None:
    """What the whole batch is refused for, if it is: bad values first, all of them in one text; else the first 409."""
    problems = [step.problem for step in steps if step.problem is not None]
    if verb == "update":
        traced = traced and exchange.sim.switches.update_trace
    if not problems or traced:
        return None
    wrong = tuple(item for problem in problems for item in problem.wrong)
    if wrong:
        return work.Problem(400, "VALIDATION_ERROR", answers.values_text(wrong), wrong)
    return next((problem for problem in problems if problem.category != "OBJECT_NOT_FOUND"), None)


def _errors(kind: ObjectType, inputs: Sequence[Input], fates: Sequence[Fate], *, traced: bool) -> list[dict[str, Any]]:
    """`errors` of a 207: one for each bad row; ids that were not found share one where no trace id parts them."""
    found, lost = [], []
    for item, fate in zip(inputs, fates, strict=True):
        problem = fate.problem
        if problem is None:
            continue
        if problem.category == "OBJECT_NOT_FOUND" and not traced:
            lost.append(item.id or "")
        else:
            found.append(work.row_error(problem, item.trace))
    return [*([work.missing(kind, lost)] if lost else []), *found]


def _result(exchange: Exchange, kind: ObjectType, verb: str, item: Input, fate: Fate) -> dict[str, Any]:
    """A new record with all that is set; an updated one with what was written and the system's own."""
    record = fate.record
    if record is None:
        raise AssertionError("a result without a record")
    if fate.created:
        body = shown.whole(record)
    else:
        more = [item.by] if item.by else []
        body = shown.record(record, [*fate.written, *more, "createdate", "hs_object_id", kind.modified])
    if verb == "upsert":
        body["new"] = fate.created
    if item.trace is not None and exchange.sim.switches.result_trace:
        body["objectWriteTraceId"] = item.trace
    return body


async def read(exchange: Exchange, object: str) -> Answer:
    kind, began = exchange.kind(object), instant(stamp().wall)
    ids = [str(item.get("id", "")) for item in exchange.inputs()]
    body = exchange.body()
    by = objects.id_property(kind, body.get("idProperty"))
    exchange.entry.key_field = by or ""
    twice = [value for place, value in enumerate(ids) if value in ids[:place]]
    if twice:
        raise work.whole_error(_duplicate(list(dict.fromkeys(twice))))
    await exchange.spend(len(ids))
    portal, names = exchange.portal, answers.names(body, "properties")
    archived = exchange.flag("archived")
    results, lost = [], []
    for value in ids:
        record = portal.get(kind, value) if archived else portal.find(kind, by, value)
        if record is None or record.archived is not archived:
            lost.append(value)
        else:
            results.append(shown.record(record, shown.asked(record, names)))
    exchange.sim.dice(exchange.entry.n).shuffle(results)
    errors = [work.missing(kind, lost)] if lost else []
    return Answer(207 if lost else 200, batch(results, began, instant(stamp().wall), errors))


async def archive(exchange: Exchange, object: str) -> Answer:
    """Ids that are not there are nobody's business."""
    kind = exchange.kind(object)
    ids = [str(item.get("id", "")) for item in exchange.inputs()]
    await exchange.spend(len(ids))
    found = [exchange.portal.find(kind, None, value) for value in dict.fromkeys(ids)]
    objects.away(exchange, kind, [record for record in found if record is not None])
    return Answer(204)
