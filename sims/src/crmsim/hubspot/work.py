"""A write from its inputs to its fates: all rows are decided against the account as it is, then all are applied.

Nothing is locked: the whole decision is made at the moment of the commit, after the request's time has passed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crmsim.evidence import RowNote, digest
from crmsim.hubspot import answers, links, values
from crmsim.hubspot.answers import ApiError
from crmsim.hubspot.exchange import Exchange
from crmsim.hubspot.portal import Portal, Record, Version
from crmsim.hubspot.properties import ObjectType
from crmsim.hubspot.searching import remember
from crmsim.hubspot.switches import Switches
from crmsim.hubspot.values import Invalid

NAMED = ("email", "firstname", "lastname")


@dataclass(frozen=True, slots=True)
class Input:
    """One record of a request. `by`: the unique property that `id` is a value of; None: a record id."""

    id: str | None
    by: str | None
    given: Mapping[str, Any]
    trace: str | None = None
    wishes: tuple[links.Wish, ...] = ()

    @property
    def address(self) -> str | None:
        return None if self.id is None else f"{self.by or 'id'}={self.id}"


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a record was refused."""

    status: int
    category: str
    message: str
    wrong: tuple[Invalid, ...] = ()
    context: Mapping[str, list[str]] = field(default_factory=dict)

    @property
    def code(self) -> str:
        return self.wrong[0].error if self.wrong else self.category


@dataclass(frozen=True, slots=True)
class Step:
    """What will be done for an input. `skipped`: nothing, and nobody is told (a merged id)."""

    record: Record | None
    values: dict[str, str]
    problem: Problem | None = None
    skipped: bool = False


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of an input; `written` names the properties that it set."""

    record: Record | None
    created: bool
    written: tuple[str, ...] = ()
    problem: Problem | None = None


def plan(exchange: Exchange, kind: ObjectType, verb: str, inputs: Sequence[Input]) -> list[Step]:
    """A step for each input. Raises ApiError for what spoils the whole request (a value that is no text)."""
    sim = exchange.sim
    claimed: dict[tuple[str, str], str] = {}
    steps = []
    for place, item in enumerate(inputs):
        try:
            step = _step(exchange.portal, sim.switches, kind, verb, item)
        except values.Malformed as trouble:
            raise answers.malformed(str(trouble)) from None
        if step.problem is None and not step.skipped:
            step = _claim(sim.switches, kind, step, claimed, f"new {place}")
        steps.append(step)
    return steps


def _step(portal: Portal, switches: Switches, kind: ObjectType, verb: str, item: Input) -> Step:
    record = portal.find(kind, item.by, item.id) if item.id is not None and verb != "create" else None
    if verb == "update" and switches.merged_write == "left_out" and item.by is None and item.id in portal.merged:
        return Step(None, {}, skipped=True)
    given = dict(item.given)
    if verb == "upsert" and item.by and item.by != "hs_object_id":
        given = {item.by: item.id} | given
    clean, wrong = values.check(kind, given, portal, switches)
    if record is not None:
        wrong += _stage(kind, record, clean, switches)
    if wrong:
        return Step(record, clean, Problem(400, "VALIDATION_ERROR", answers.values_text(wrong), tuple(wrong)))
    if record is None and (verb == "update" or (verb == "upsert" and item.by in (None, "hs_object_id"))):
        return Step(None, clean, _missing(kind, [item.id or ""]))
    if record is None and kind.name == "contacts" and not any(clean.get(name) for name in NAMED):
        return Step(None, clean, Problem(400, "VALIDATION_ERROR", f"At least one of {', '.join(NAMED)} is required"))
    if record is not None and kind.name == "contacts":
        clean = _second_mail(record, clean, switches)
    if verb == "upsert" and record is not None:
        clean = _upserted(kind, record, clean, item, switches)
    conflict = _conflict(portal, switches, kind, record, clean)
    return Step(record, clean, conflict)


def _upserted(
    kind: ObjectType, record: Record, clean: dict[str, str], item: Input, switches: Switches
) -> dict[str, str]:
    """Upsert by e-mail may clear what it does not name."""
    by_email = item.by is not None and kind.is_email(item.by)
    if by_email and switches.partial_upsert == "clear":
        own = {name for name in record.values if not kind.properties[name].read_only} - {"email"}
        own -= {"hs_additional_emails"}
        clean = dict.fromkeys(own, "") | clean
    return clean


def _second_mail(record: Record, clean: dict[str, str], switches: Switches) -> dict[str, str]:
    """A contact's additional e-mail stays one, or changes places with the first."""
    second = record.values.get("hs_additional_emails", "").split(";")
    wanted = clean.get("email")
    if not wanted or wanted not in second or "hs_additional_emails" in clean:
        return clean
    if switches.secondary_email == "keep":
        return {name: value for name, value in clean.items() if name != "email"}
    others = [record.email or "", *(mail for mail in second if mail != wanted)]
    return clean | {"hs_additional_emails": ";".join(mail for mail in others if mail)}


def _stage(kind: ObjectType, record: Record, clean: dict[str, str], switches: Switches) -> list[Invalid]:
    """`lifecyclestage` goes forward only; to go back it must be cleared first (HS-docs)."""
    item, wanted = kind.properties["lifecyclestage"], clean.get("lifecyclestage")
    if not wanted or not values.is_backward(item, record.values.get("lifecyclestage"), wanted):
        return []
    if switches.lifecycle_backward == "ignore":
        del clean["lifecyclestage"]
        return []
    return [Invalid(f"{wanted} is before the current lifecycle stage", "INVALID_LIFECYCLE_STAGE", "lifecyclestage")]


def _missing(kind: ObjectType, ids: list[str]) -> Problem:
    gone = f"Could not get some {kind.singular.upper()} objects, they may be deleted or not exist."
    message = f"{gone} Check that ids are valid."
    return Problem(404, "OBJECT_NOT_FOUND", message, context={"ids": ids})


def missing(kind: ObjectType, ids: list[str]) -> dict[str, Any]:
    """The one entry that names all ids a batch did not find."""
    return row_error(_missing(kind, ids), None)


def _conflict(
    portal: Portal, switches: Switches, kind: ObjectType, record: Record | None, clean: dict[str, str]
) -> Problem | None:
    held = portal.holder(kind, clean, record)
    return None if held is None else _exists(kind, held[0], held[1].id, switches)


def _exists(kind: ObjectType, name: str, known: str, switches: Switches) -> Problem:
    if kind.is_email(name):
        message = f"{kind.singular} already exists"
    else:
        message = f"A {kind.singular.lower()} with {name} already has that value"
    suffix = f". Existing ID: {known}" if switches.conflict_id and known else ""
    context = {"existingId": [known]} if known else {}
    return Problem(409, "CONFLICT", message + suffix, context=context)


def _claim(switches: Switches, kind: ObjectType, step: Step, claimed: dict[tuple[str, str], str], place: str) -> Step:
    """The unique values that a row will set; another row of the same batch that wants one of them comes too late."""
    mine = step.record.id if step.record is not None else place
    for name in kind.unique:
        value = step.values.get(name)
        if not value:
            continue
        key = (name, values.fold(kind, name, value))
        if claimed.setdefault(key, mine) != mine:
            return Step(step.record, step.values, _exists(kind, name, "", switches))
    return step


def apply(exchange: Exchange, kind: ObjectType, inputs: Sequence[Input], steps: Sequence[Step]) -> list[Fate]:
    """Do what may be done, and leave the evidence."""
    sim, author = exchange.sim, exchange.author()
    first = exchange.portal.version_count
    fates = []
    for item, step in zip(inputs, steps, strict=True):
        if step.problem is not None or step.skipped:
            fates.append(Fate(None, created=False, problem=step.problem))
            continue
        record, created = step.record, step.record is None
        born = dict(step.values)
        if record is None:
            if kind.name == "contacts" and sim.switches.default_lifecycle:
                born = {"lifecyclestage": sim.switches.default_lifecycle} | born
            record = exchange.portal.insert(kind, born, author)
        else:
            exchange.portal.apply(record, born, author)
        for wish in item.wishes:
            links.connect(exchange.portal, record.id, wish.to, wish.type_id, author)
        remember(sim, record)
        fates.append(Fate(record, created, tuple(step.values)))
    note(exchange, kind, inputs, fates, exchange.portal.since(first))
    return fates


def note(
    exchange: Exchange, kind: ObjectType, inputs: Sequence[Input], fates: Sequence[Fate], made: Sequence[Version]
) -> None:
    """A record's key in the evidence is its id, however it was addressed: a repeat is one whichever way it came."""
    rows = []
    for item, fate in zip(inputs, fates, strict=True):
        record, problem = fate.record, fate.problem
        outcome = "created" if fate.created else "updated" if record is not None else "SKIPPED"
        account = record.values.get("associatedcompanyid") if record is not None else None
        rows.append(
            RowNote(
                record.id if record is not None else item.address,
                record.id if record is not None else None,
                problem.code if problem is not None else outcome,
                account,
                digest(dict(item.given)),
                kind.name,
            )
        )
    versions = [version.json() for version in made]
    exchange.sim.evidence.wrote(exchange.entry, rows, versions, committed=bool(made))


def refuse_all(exchange: Exchange, kind: ObjectType, inputs: Sequence[Input], problem: Problem) -> ApiError:
    """Nothing is written: the whole request ends with this problem."""
    fates = [Fate(None, created=False, problem=problem) for _ in inputs]
    note(exchange, kind, inputs, fates, [])
    return whole_error(problem)


def whole_error(problem: Problem) -> ApiError:
    more: dict[str, Any] = {}
    if problem.wrong:
        more["errors"] = [item.outside() for item in problem.wrong]
    if problem.context and problem.category != "CONFLICT":
        more["context"] = dict(problem.context)
    return answers.refuse(problem.status, problem.message, problem.category, **more)


def row_error(problem: Problem, trace: str | None) -> dict[str, Any]:
    """An entry of `errors` in a 207: no correlationId, and the trace id in its context."""
    context = dict(problem.context)
    if trace is not None:
        context = {"objectWriteTraceId": [trace]} | context
    body: dict[str, Any] = {"status": "error", "category": problem.category, "message": problem.message}
    if problem.wrong:
        body["errors"] = [item.outside() for item in problem.wrong]
    if context:
        body["context"] = context
    return body


def touch(exchange: Exchange, kind: ObjectType, inputs: Sequence[Input]) -> None:
    """The companies that the write concerns, as far as they are known before it."""
    portal, found = exchange.portal, dict[str, None]()
    for item in inputs:
        record = portal.find(kind, item.by, item.id) if item.id is not None else None
        if record is not None:
            company = record.id if kind.name == "companies" else record.values.get("associatedcompanyid")
            found |= {company: None} if company else {}
        found |= {wish.to: None for wish in item.wishes}
    exchange.sim.evidence.touch(exchange.entry, list(found))


def note_archived(exchange: Exchange, kind: ObjectType, records: Sequence[Record], made: Sequence[Version]) -> None:
    rows = [
        RowNote(item.id, item.id, "deleted", item.values.get("associatedcompanyid"), digest({}), kind.name)
        for item in records
    ]
    exchange.sim.evidence.wrote(exchange.entry, rows, [version.json() for version in made], committed=bool(made))
