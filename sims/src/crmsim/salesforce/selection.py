"""Queries answered: which records of the org a parsed SOQL query means, for whom.

Texts compare without regard to case; an empty text is null; null differs from everything but null, so that `!=` and
NOT IN find records without a value, as in SOQL and unlike in SQL.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from crmsim.salesforce import ids, sharing
from crmsim.salesforce.answers import ApiError
from crmsim.salesforce.org import Org, Record
from crmsim.salesforce.rules import Look
from crmsim.salesforce.schema import Field, Sobject
from crmsim.salesforce.soql import Condition, Junction, Moment, Query, Span, Trouble, condition, parse
from crmsim.salesforce.switches import Switches

# The fields of Name, the object that a reference to users and queues leads to (SF-docs: polymorphic relationships).
NAME = {item.name.lower(): item for item in (
    Field("Id", "id", 18), Field("Name", length=121), Field("Type", "picklist"), Field("IsActive", "boolean"),
    Field("Email", "email", 128), Field("Username", length=80), Field("Alias", length=8), Field("FirstName", length=40),
    Field("LastName", length=80), Field("ProfileId", "reference"), Field("UserRoleId", "reference"),
)}  # fmt: skip
TYPES = {"datetime": "dateTime", "date": "date", "boolean": "boolean", "int": "int", "double": "double"}
HINT = (
    " If you are attempting to use a custom {what}, be sure to append the '__c' after the {where} name. Please "
    "reference your WSDL or the describe call for the appropriate names."
)
Test = Callable[[Record], bool]


@dataclass(frozen=True, slots=True)
class Sight:
    """For whom a query runs, when (Unix seconds), over which API, and whether the bin is looked into."""

    look: Look
    now: float
    tooling: bool = False
    deleted: bool = False


def find(org: Org, text: str, sight: Sight) -> tuple[Query, list[Record]]:
    """The query and its records, in order of creation unless it orders. Raises ApiError as Salesforce words it."""
    try:
        query = parse(text)
        return query, run(org, query, sight)
    except Trouble as trouble:
        raise trouble.error(text) from None


def predicate(org: Org, sobject: Sobject, text: str) -> Test:
    """A condition of a validation rule. Raises ValueError."""
    try:
        return _test(org, sobject, condition(text), Sight(Look(Switches(), ""), 0.0))
    except Trouble as trouble:
        raise ValueError(f"{text!r}: {trouble}") from None


def run(org: Org, query: Query, sight: Sight) -> list[Record]:
    """Raises Trouble."""
    sobject = org.sobject(query.object)
    hidden = query.object.lower() in map(str.lower, sight.look.switches.hidden_objects)
    if sobject is None or hidden or sobject.tooling != sight.tooling:
        message = f"sObject type '{query.object}' is not supported." + HINT.format(what="object", where="entity")
        raise Trouble("INVALID_TYPE", message, query.at.get(query.object, 0))
    for name in query.fields:
        resolve(org, sobject, name, query.at.get(name, 0))
    test = _test(org, sobject, query.where, sight) if query.where else None
    found = [
        record
        for record in _candidates(org, sobject, query.where, sight)
        if (sight.deleted or not record.deleted)
        and sharing.sees(sight.look.switches, record, sight.look.user)
        and (test is None or test(record))
    ]
    for name, descending in reversed(query.order):
        resolve(org, sobject, name, 0)
        found = _sorted(org, found, name, descending=descending)
    return found[query.offset :][: query.limit]


def _candidates(org: Org, sobject: Sobject, where: Condition | Junction | None, sight: Sight) -> list[Record]:
    """All records, or those of an index where one IN or = on a key field (or Id) bounds the result."""
    parts = where.parts if isinstance(where, Junction) and where.word == "AND" else (where,)
    for part in parts if not sight.deleted else ():
        if isinstance(part, Condition) and part.operator in ("=", "IN") and not isinstance(part.value, Query):
            item = sobject.fields.get(part.field.lower())
            values = part.value if part.operator == "IN" else [part.value]
            texts = all(isinstance(value, str) and value for value in values)
            if texts and item and (item.name == "Id" or (item.is_key and not item.case_sensitive)):
                hits = {record.id: record for value in values for record in org.match(sobject, item, value)}
                return sorted(hits.values(), key=lambda record: record.id)
    return list(org.by_object[sobject.name].values())


def _sorted(org: Org, records: list[Record], path: str, *, descending: bool) -> list[Record]:
    return sorted(records, key=lambda record: _sortable(read(org, record, path)), reverse=descending)


def _sortable(value: Any) -> tuple[bool, Any]:
    """Nulls first, as SOQL has it."""
    return (value is not None, value.casefold() if isinstance(value, str) else (0 if value is None else value))


def no_column(name: str, sobject: Sobject | str) -> str:
    entity = sobject if isinstance(sobject, str) else sobject.name
    return f"No such column '{name}' on entity '{entity}'." + HINT.format(what="field", where="custom field")


def resolve(org: Org, sobject: Sobject, path: str, at: int) -> Field:
    """The field that a path names, through relationships. Raises Trouble INVALID_FIELD."""
    name, dot, rest = path.partition(".")
    if not dot:
        found = sobject.fields.get(name.lower())
        if found is None:
            raise Trouble("INVALID_FIELD", no_column(name, sobject), at)
        return found
    link = sobject.relationships.get(name.lower())
    if link is None:
        message = f"Didn't understand relationship '{name}' in field path."
        raise Trouble("INVALID_FIELD", message + HINT.format(what="relationship", where="custom relationship"), at)
    if len(link.targets) > 1:
        if rest.lower() not in NAME:
            raise Trouble("INVALID_FIELD", no_column(rest, "Name"), at)
        return NAME[rest.lower()]
    parent = org.sobject(link.targets[0])
    if parent is None:
        raise Trouble("INVALID_FIELD", no_column(rest, link.targets[0]), at)
    return resolve(org, parent, rest, at)


def read(org: Org, record: Record, path: str) -> Any:
    """A field of a record, or of the record that its reference names."""
    name, dot, rest = path.partition(".")
    if not dot:
        return record.values.get(record.sobject.fields[name.lower()].name)
    link = record.sobject.relationships[name.lower()]
    target = org.get(record.values.get(link.name) or "")
    if target is None:
        return None
    return named(target, rest) if len(link.targets) > 1 else read(org, target, rest)


def named(owner: Record, name: str) -> Any:
    """A field of Name for a user or queue. A queue has no IsActive of its own and counts as active [unverified]."""
    queue = owner.sobject.name == "Group"
    special = {"type": "Queue" if queue else "User", "isactive": True if queue else owner.values.get("IsActive")}
    return special.get(name.lower(), owner.values.get(NAME[name.lower()].name))


def _test(org: Org, sobject: Sobject, where: Condition | Junction, sight: Sight) -> Test:
    if isinstance(where, Junction):
        parts = [_test(org, sobject, part, sight) for part in where.parts]
        if where.word == "NOT":
            return lambda record: not parts[0](record)
        join = all if where.word == "AND" else any
        return lambda record: join(part(record) for part in parts)
    path, operator = where.field, where.operator
    item = resolve(org, sobject, path, where.at)
    if not item.filterable:
        raise Trouble("INVALID_FIELD", f"field '{path}' can not be filtered in a query call", where.at)
    if operator in ("IN", "NOT IN"):
        wanted = _list(org, item, where, sight)
        return lambda record: (_comparable(item, read(org, record, path)) in wanted) == (operator == "IN")
    value = _wanted(item, path, where.value, where.at, sight)
    if operator == "LIKE":
        if item.kind in ("id", "reference"):
            raise Trouble("INVALID_QUERY_FILTER_OPERATOR", "invalid operator on id field", where.at)
        return lambda record: _like(read(org, record, path), where.value)
    compare = COMPARE[operator]
    return lambda record: compare(_comparable(item, read(org, record, path)), value)


def _list(org: Org, item: Field, where: Condition, sight: Sight) -> set[Any]:
    if isinstance(where.value, Query):
        inner = where.value
        if len(inner.fields) != 1:
            raise Trouble("MALFORMED_QUERY", "Only one column is allowed in a semi join", where.at)
        found = run(org, inner, sight)
        return {_comparable(item, read(org, record, inner.fields[0])) for record in found} - {None}
    return {_wanted(item, where.field, value, where.at, sight) for value in where.value}


def _wanted(item: Field, path: str, value: Any, at: int, sight: Sight) -> Any:
    """A value of the query as the field's values compare. Raises Trouble INVALID_FIELD where the types do not meet."""
    if value is None:
        return None
    if item.kind in ("datetime", "date"):
        if isinstance(value, Span):
            today = datetime.fromtimestamp(sight.now, UTC).date()
            return _days(item, today + timedelta(value.first), today + timedelta(value.last))
        right = isinstance(value, Moment) and (("T" in value.text) == (item.kind == "datetime"))
        value = value.text if isinstance(value, Moment) else value
    elif item.kind == "boolean":
        right = isinstance(value, bool)
    elif item.kind in ("int", "double"):
        right = isinstance(value, (int, float)) and not isinstance(value, bool)
    else:
        right = isinstance(value, str)
    if not right:
        quotes = "should not be" if item.kind in TYPES else "should be"
        kind = TYPES.get(item.kind, "string")
        message = f"value of filter criterion for field '{path}' must be of type {kind} and {quotes} enclosed in quotes"
        raise Trouble("INVALID_FIELD", message, at)
    if item.kind in ("id", "reference") and value and ids.to15(value) is None:
        raise Trouble("INVALID_QUERY_FILTER_OPERATOR", f"invalid ID field: {value}", at)
    return _comparable(item, value)


@dataclass(frozen=True, slots=True)
class Days:
    """From the beginning of a day to the end of another, as dates or as moments."""

    start: Any
    end: Any


def _days(item: Field, first: date, last: date) -> Days:
    if item.kind == "date":
        return Days(first, last)
    start = datetime(first.year, first.month, first.day, tzinfo=UTC)
    end = datetime(last.year, last.month, last.day, tzinfo=UTC) + timedelta(days=1, microseconds=-1)
    return Days(start, end)


def _comparable(item: Field, value: Any) -> Any:
    if value is None or value == "":
        return None
    if item.kind == "datetime":
        parsed = datetime.fromisoformat(value)
        return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    if item.kind == "date":
        return date.fromisoformat(value[:10])
    if item.kind in ("id", "reference"):
        id15 = ids.to15(value)
        return ids.to18(id15) if id15 else value
    return value.casefold() if isinstance(value, str) else value


def _sign(value: Any, other: Any) -> int | None:
    """-1, 0 or 1; None where one is null. Against days, a moment within them is equal."""
    if value is None or other is None:
        return None
    start, end = (other.start, other.end) if isinstance(other, Days) else (other, other)
    return -1 if value < start else 1 if value > end else 0


def _equal(value: Any, other: Any) -> bool:
    return _sign(value, other) == 0 if isinstance(other, Days) else bool(value == other)


COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": _equal,
    "!=": lambda value, other: not _equal(value, other),
    "<": lambda value, other: _sign(value, other) == -1,
    "<=": lambda value, other: _sign(value, other) in (-1, 0),
    ">": lambda value, other: _sign(value, other) == 1,
    ">=": lambda value, other: _sign(value, other) in (0, 1),
}


def _like(value: Any, pattern: Any) -> bool:
    shape = re.escape(str(pattern)).replace("%", ".*").replace("_", ".")
    return value is not None and re.fullmatch(shape, str(value), re.IGNORECASE | re.DOTALL) is not None


def column_missing(name: str, sobject: Sobject) -> ApiError:
    """A field asked for outside a query (`?fields=`)."""
    return ApiError(400, "INVALID_FIELD", no_column(name, sobject))
