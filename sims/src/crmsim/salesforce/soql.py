"""A subset of SOQL, read: SELECT fields or COUNT() FROM object [WHERE …] [ORDER BY …] [LIMIT n] [OFFSET n].

Conditions: = != < <= > >= LIKE, IN and NOT IN with a list or a query, AND, OR, NOT, brackets, dates and date words.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any

from crmsim.salesforce.answers import ApiError

TOKEN = re.compile(
    r"\s*(?:(?P<span>(?:LAST_N_DAYS|NEXT_N_DAYS|N_DAYS_AGO):\d+)|(?P<text>'(?:[^'\\]|\\.)*')|(?P<moment>\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:?\d\d))?)"
    r"|(?P<number>-?\d+(?:\.\d+)?)|(?P<word>[A-Za-z_][\w.]*)|(?P<sign><=|>=|!=|<>|[=<>(),]))",
    re.DOTALL | re.IGNORECASE,
)
ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


OPERATORS = ("=", "!=", "<", "<=", ">", ">=", "LIKE")
DAYS = ("TODAY", "YESTERDAY", "TOMORROW")


@dataclass(frozen=True, slots=True)
class Moment:
    """A date or dateTime as written, without quotes."""

    text: str


@dataclass(frozen=True, slots=True)
class Span:
    """A date word: whole days relative to today, from the first to the last."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Condition:
    """`field operator value`; value is a list, or a Query, for IN and NOT IN. `at`: where the field stands."""

    field: str
    operator: str
    value: Any
    at: int = 0


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
    text: str = ""
    at: Mapping[str, int] = dataclass_field(default_factory=dict)  # where each selected name, and the object's, stands


class Trouble(Exception):
    """A query that Salesforce refuses; `at` is the place in its text."""

    def __init__(self, code: str, message: str, at: int) -> None:
        super().__init__(message)
        self.code, self.at = code, at

    def error(self, text: str) -> ApiError:
        """The answer as recorded: a piece of the query, a caret, the place, the reason (SF-docs, queries' errors)."""
        start = max(0, self.at - 30)
        piece = text[start : self.at + 30].replace("\n", " ")
        place = f"ERROR at Row:1:Column:{self.at + 1}"
        return ApiError(400, self.code, f"\n{piece}\n{' ' * (self.at - start)}^\n{place}\n{self}")


def malformed(message: str, position: int) -> Trouble:
    return Trouble("MALFORMED_QUERY", message, position)


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

    def place(self) -> int:
        return self.tokens[self.next][2]

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
    """The query as a value. Raises Trouble MALFORMED_QUERY."""
    reader = _Reader(text)
    query = _query(reader, text)
    kind, rest, position = reader.take()
    if kind != "end":
        raise malformed(f"unexpected token: '{rest}'", position)
    return query


def condition(text: str) -> Condition | Junction:
    """What could stand after WHERE. Raises Trouble."""
    reader = _Reader(text)
    found = _either(reader)
    kind, rest, position = reader.take()
    if kind != "end":
        raise malformed(f"unexpected token: '{rest}'", position)
    return found


def _query(reader: _Reader, text: str) -> Query:
    reader.expect("SELECT")
    at: dict[str, int] = {}
    count = reader.accept("COUNT", "(", ")")
    fields = [] if count else [_selected(reader, at)]
    while not count and reader.accept(","):
        fields.append(_selected(reader, at))
    reader.expect("FROM")
    name = _selected(reader, at)
    where = _either(reader) if reader.accept("WHERE") else None
    order = []
    if reader.accept("ORDER", "BY"):
        order.append(_order(reader))
        while reader.accept(","):
            order.append(_order(reader))
    limit = reader.whole() if reader.accept("LIMIT") else None
    offset = reader.whole() if reader.accept("OFFSET") else 0
    return Query(tuple(fields), name, count, where, tuple(order), limit, offset, text, at)


def _selected(reader: _Reader, at: dict[str, int]) -> str:
    place = reader.place()
    name = reader.name()
    at[name] = place
    return name


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
    at = reader.place()
    field = reader.name()
    if reader.accept("NOT", "IN"):
        return Condition(field, "NOT IN", _values(reader), at)
    if reader.accept("IN"):
        return Condition(field, "IN", _values(reader), at)
    _, operator, position = reader.take()
    operator = "!=" if operator == "<>" else operator.upper()
    if operator not in OPERATORS:
        raise malformed(f"unexpected token: '{operator}'", position)
    return Condition(field, operator, _value(reader), at)


def _values(reader: _Reader) -> list[Any] | Query:
    reader.expect("(")
    if reader.peek() == "SELECT":
        inner = _query(reader, "")
        reader.expect(")")
        return inner
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
        return Moment(text)
    if kind == "span":
        return _span(text)
    if kind == "word" and text.upper() in DAYS:
        day = {"TODAY": 0, "YESTERDAY": -1, "TOMORROW": 1}[text.upper()]
        return Span(day, day)
    words = {"TRUE": True, "FALSE": False, "NULL": None}
    if kind == "word" and text.upper() in words:
        return words[text.upper()]
    raise malformed(f"unexpected token: '{text}'", position)


def _span(text: str) -> Span:
    """`LAST_N_DAYS:7` is the last seven days and today, `N_DAYS_AGO:7` one whole day (SF-docs: date literals)."""
    word, _, number = text.upper().partition(":")
    days = int(number)
    return {"LAST_N_DAYS": Span(-days, 0), "NEXT_N_DAYS": Span(1, days)}.get(word, Span(-days, -days))
