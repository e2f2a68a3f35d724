"""A subset of SOQL: SELECT fields or COUNT() FROM object [WHERE …] [ORDER BY …] [LIMIT n] [OFFSET n].

Conditions: = != < <= > >= LIKE IN NOT IN, AND, OR, NOT, brackets; texts compare without regard to case, as in SOQL.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from crmsim.salesforce import ids
from crmsim.salesforce.answers import ApiError
from crmsim.salesforce.org import Org, Record
from crmsim.salesforce.schema import Sobject

TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^'\\]|\\.)*')|(?P<moment>\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:?\d\d))?)"
    r"|(?P<number>-?\d+(?:\.\d+)?)|(?P<word>[A-Za-z_][\w.]*)|(?P<sign><=|>=|!=|<>|[=<>(),]))",
    re.DOTALL,
)
ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


@dataclass(frozen=True, slots=True)
class Condition:
    """`field operator value`; value is a list for IN and NOT IN."""

    field: str
    operator: str
    value: Any


@dataclass(frozen=True, slots=True)
class Junction:
    """AND, OR or NOT of its parts."""

    word: str
    parts: tuple["Condition | Junction", ...]


@dataclass(frozen=True, slots=True)
class Query:
    fields: tuple[str, ...]
    object: str
    count: bool
    where: Condition | Junction | None
    order: tuple[tuple[str, bool], ...]  # field, descending
    limit: int | None
    offset: int


def malformed(message: str, position: int) -> ApiError:
    return ApiError(400, "MALFORMED_QUERY", f"\n{message}\nERROR at Row:1:Column:{position + 1}")


def no_column(name: str, sobject: Sobject) -> ApiError:
    return ApiError(
        400,
        "INVALID_FIELD",
        f"No such column '{name}' on entity '{sobject.name}'. If you are attempting to use a custom field, be sure to "
        "append the '__c' after the custom field name. Please reference your WSDL or the describe call for the "
        "appropriate names.",
    )


class _Reader:
    """The words of a query, one at a time."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str, int]] = []
        position, end = 0, len(text.rstrip())
        while position < end:
            match = TOKEN.match(text, position)
            if match is None or match.lastgroup is None:
                raise malformed(f"unexpected token: '{text[position : position + 10].strip()}'", position)
            self.tokens.append((match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)))
            position = match.end()
        self.tokens.append(("end", "<EOF>", end))
        self.next = 0

    def peek(self, ahead: int = 0) -> str:
        """The coming word in capitals."""
        return self.tokens[min(self.next + ahead, len(self.tokens) - 1)][1].upper()

    def take(self) -> tuple[str, str, int]:
        token = self.tokens[self.next]
        self.next = min(self.next + 1, len(self.tokens) - 1)
        return token

    def accept(self, *words: str) -> bool:
        if all(self.peek(n) == word for n, word in enumerate(words)):
            self.next += len(words)
            return True
        return False

    def expect(self, word: str) -> None:
        if not self.accept(word):
            kind, text, position = self.take()
            found = "unexpected end of query" if kind == "end" else f"unexpected token: '{text}'"
            raise malformed(f"{found}, expecting {word}", position)

    def name(self) -> str:
        kind, text, position = self.take()
        if kind != "word":
            raise malformed(f"unexpected token: '{text}'", position)
        return text

    def whole(self) -> int:
        kind, text, position = self.take()
        if kind != "number" or not text.isdigit():
            raise malformed(f"unexpected token: '{text}'", position)
        return int(text)


def parse(text: str) -> Query:
    """The query as a value. Raises ApiError MALFORMED_QUERY."""
    reader = _Reader(text)
    reader.expect("SELECT")
    count = reader.accept("COUNT", "(", ")")
    fields = [] if count else [reader.name()]
    while not count and reader.accept(","):
        fields.append(reader.name())
    reader.expect("FROM")
    name = reader.name()
    where = _either(reader) if reader.accept("WHERE") else None
    order = []
    if reader.accept("ORDER", "BY"):
        order.append(_order(reader))
        while reader.accept(","):
            order.append(_order(reader))
    limit = reader.whole() if reader.accept("LIMIT") else None
    offset = reader.whole() if reader.accept("OFFSET") else 0
    kind, rest, position = reader.take()
    if kind != "end":
        raise malformed(f"unexpected token: '{rest}'", position)
    return Query(tuple(fields), name, count, where, tuple(order), limit, offset)


def _order(reader: _Reader) -> tuple[str, bool]:
    name = reader.name()
    descending = reader.accept("DESC")
    if not descending:
        reader.accept("ASC")
    if reader.accept("NULLS"):
        reader.take()
    return name, descending


def _either(reader: _Reader) -> Condition | Junction:
    """Conditions joined by one word: SOQL wants brackets where AND and OR meet."""
    parts = [_one(reader)]
    word = reader.peek()
    if word not in ("AND", "OR"):
        return parts[0]
    while reader.accept(word):
        parts.append(_one(reader))
    if reader.peek() in ("AND", "OR"):
        _, text, position = reader.take()
        raise malformed(f"unexpected token: '{text}'", position)
    return Junction(word, tuple(parts))


def _one(reader: _Reader) -> Condition | Junction:
    if reader.accept("NOT"):
        return Junction("NOT", (_one(reader),))
    if reader.accept("("):
        inner = _either(reader)
        reader.expect(")")
        return inner
    field = reader.name()
    if reader.accept("NOT", "IN"):
        return Condition(field, "NOT IN", _values(reader))
    if reader.accept("IN"):
        return Condition(field, "IN", _values(reader))
    _, operator, position = reader.take()
    operator = "!=" if operator == "<>" else operator.upper()
    if operator not in OPERATORS:
        raise malformed(f"unexpected token: '{operator}'", position)
    return Condition(field, operator, _value(reader))


def _values(reader: _Reader) -> list[Any]:
    reader.expect("(")
    values = [_value(reader)]
    while reader.accept(","):
        values.append(_value(reader))
    reader.expect(")")
    return values


def _value(reader: _Reader) -> Any:
    kind, text, position = reader.take()
    if kind == "text":
        return re.sub(r"\\(.)", lambda match: ESCAPES.get(match[1].lower(), match[1]), text[1:-1], flags=re.DOTALL)
    if kind == "number":
        return float(text) if "." in text else int(text)
    if kind == "moment":
        return text
    words = {"TRUE": True, "FALSE": False, "NULL": None}
    if kind == "word" and text.upper() in words:
        return words[text.upper()]
    raise malformed(f"unexpected token: '{text}'", position)


def _folded(value: Any) -> Any:
    return value.casefold() if isinstance(value, str) else value


def _like(value: Any, pattern: Any) -> bool:
    shape = re.escape(str(pattern)).replace("%", ".*").replace("_", ".")
    return value is not None and re.fullmatch(shape, str(value), re.IGNORECASE | re.DOTALL) is not None


def _compare(value: Any, other: Any, wanted: Callable[[int], bool]) -> bool:
    if value is None or other is None or isinstance(value, str) != isinstance(other, str):
        return False
    return wanted((_folded(value) > _folded(other)) - (_folded(value) < _folded(other)))


OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda value, other: bool(_folded(value) == _folded(other)),
    "!=": lambda value, other: bool(_folded(value) != _folded(other)),
    "<": lambda value, other: _compare(value, other, lambda sign: sign < 0),
    "<=": lambda value, other: _compare(value, other, lambda sign: sign <= 0),
    ">": lambda value, other: _compare(value, other, lambda sign: sign > 0),
    ">=": lambda value, other: _compare(value, other, lambda sign: sign >= 0),
    "LIKE": _like,
}


def run(org: Org, query: Query) -> list[Record]:
    """The live records that match, in order of creation unless the query orders. Raises ApiError for unknown names."""
    sobject = org.sobject(query.object)
    if sobject is None:
        raise ApiError(
            400,
            "INVALID_TYPE",
            f"\nSELECT {', '.join(query.fields)} FROM {query.object}\n       ^\nERROR at Row:1:Column:1\n"
            f"sObject type '{query.object}' is not supported.",
        )
    for name in query.fields:
        _check(org, sobject, name)
    test = _test(org, sobject, query.where) if query.where else None
    candidates = _candidates(org, sobject, query.where)
    found = [record for record in candidates if not record.deleted and (test is None or test(record))]
    for name, descending in reversed(query.order):
        _check(org, sobject, name)
        found = _sorted(org, found, name, descending=descending)
    return found[query.offset :][: query.limit]


def _candidates(org: Org, sobject: Sobject, where: Condition | Junction | None) -> list[Record]:
    """All records, or those of an index where one IN or = on a key field (or Id) bounds the result."""
    parts = where.parts if isinstance(where, Junction) and where.word == "AND" else (where,)
    for part in parts:
        if isinstance(part, Condition) and part.operator in ("=", "IN") and part.value is not None:
            item = sobject.fields.get(part.field.lower())
            if item and (item.name == "Id" or (item.is_key and not item.case_sensitive)):
                values = part.value if part.operator == "IN" else [part.value]
                if None not in values:
                    hits = {record.id: record for value in values for record in org.match(sobject, item, value)}
                    return sorted(hits.values(), key=lambda record: record.id)
    return org.live(sobject.name)


def _sorted(org: Org, records: list[Record], path: str, *, descending: bool) -> list[Record]:
    return sorted(records, key=lambda record: _sortable(read(org, record, path)), reverse=descending)


def _sortable(value: Any) -> tuple[bool, Any]:
    """Nulls first, as SOQL has it."""
    return (value is not None, _folded(value) if value is not None else 0)


def _check(org: Org, sobject: Sobject, path: str) -> None:
    name, dot, rest = path.partition(".")
    if not dot:
        if name.lower() not in sobject.fields:
            raise no_column(name, sobject)
        return
    link = sobject.relationships.get(name.lower())
    if link is None:
        raise ApiError(
            400, "INVALID_FIELD", f"Didn't understand relationship '{name}' in field path for entity {sobject.name}"
        )
    for target in link.targets:
        parent = org.sobject(target)
        if parent is not None:
            _check(org, parent, rest)


def read(org: Org, record: Record, path: str) -> Any:
    """A field of a record, or of the record that its reference names."""
    name, dot, rest = path.partition(".")
    if not dot:
        return record.values.get(record.sobject.fields[name.lower()].name)
    target = org.get(record.values.get(record.sobject.relationships[name.lower()].name) or "")
    return read(org, target, rest) if target else None


def _test(org: Org, sobject: Sobject, where: Condition | Junction) -> Callable[[Record], bool]:
    if isinstance(where, Junction):
        parts = [_test(org, sobject, part) for part in where.parts]
        if where.word == "NOT":
            return lambda record: not parts[0](record)
        join = all if where.word == "AND" else any
        return lambda record: join(part(record) for part in parts)
    _check(org, sobject, where.field)
    field, operator, value = where.field, where.operator, where.value
    item = sobject.fields.get(field.lower())
    if item is not None and item.kind in ("id", "reference"):
        value = _ids(value)
    if operator in ("IN", "NOT IN"):
        wanted = {_folded(one) for one in value}
        return lambda record: (_folded(read(org, record, field)) in wanted) == (operator == "IN")
    compare = OPERATORS[operator]
    return lambda record: compare(read(org, record, field), value)


def _ids(value: Any) -> Any:
    if isinstance(value, list):
        return [_ids(one) for one in value]
    id15 = ids.to15(value) if isinstance(value, str) else None
    return ids.to18(id15) if id15 else value
