"""One rule condition: CEL (https://cel.dev), checked against the types of the lead's fields as the settings load.

Names: `lead.<field>`, `known.<field>` (is there a value?), `event.source`, `org.own_domains`, `org.competitors`.

CEL's own has() cannot ask for a qualified name, hence `known.`. A field without a value (missing, null, blank) is not
bound: whatever needs it has no answer, and a rule without an answer does not match. So `lead.country != "US"` takes no
lead whose country nobody knows; who wants those too writes `!known.country || lead.country != "US"`.

Bounds: the C++ runtime stops a comprehension after 10,000 steps and nesting after 32 levels, its regular expressions
are RE2 (linear). What multiplies text (join, format, more than one replace) or switches the types off (dyn) is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from cel_expr_python import cel
from cel_expr_python.ext import ext_strings

from fairturn.config import DERIVED_FIELDS, STANDARD_FIELDS, FieldType, Settings
from fairturn.model import FieldValue

WORDS: Final[dict[FieldType, str]] = {
    "text": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "time": "a time",
}
FUNCTIONS: Final = (
    *("startsWith", "endsWith", "contains", "matches", "size", "lowerAscii", "upperAscii", "trim", "indexOf"),
    *("lastIndexOf", "substring", "charAt", "split", "replace", "all", "exists", "exists_one", "filter", "map"),
    *("int", "double", "string", "bool", "timestamp", "duration", "getFullYear", "getMonth", "getDate"),
    *("getDayOfWeek", "getHours", "getMinutes"),
)
CLOSED: Final[dict[str, tuple[str, ...]]] = {  # fields whose every value we make ourselves
    "lead.email_kind": ("work", "free", "disposable", "relay", "invalid", "none"),
    "lead.domain_kind": ("own", "competitor", "test", "other"),
}
RESERVED: Final = frozenset({  # words of CEL that no field can be called by
    *("as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop"),
    *("namespace", "null", "package", "return", "true", "var", "void", "while"),
})  # fmt: skip
MAX_TEXT: Final = 32_000  # characters of a value that a condition looks at
INT64: Final = 2**63

_STRING = (
    r"[rRbB]{0,2}(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''"
    r"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')"
)
QUOTED: Final = re.compile(rf"{_STRING}|//[^\n]*", re.DOTALL)
NAME: Final = re.compile(r"(?<![\w.])(?:lead|known|event|org)\.[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What conditions may say: the fields with their types, and the closed sets of values."""

    environment: Any  # cel.Env
    fields: Mapping[str, FieldType]  # lead fields, derived ones included
    names: tuple[str, ...]  # every qualified name
    closed: Mapping[str, tuple[str, ...]]  # name -> the only values it can have
    constants: Mapping[str, object]  # names that are the same for every lead


@dataclass(frozen=True, slots=True)
class Condition:
    """A compiled condition. `constant` is its value where it asks nothing of the lead, else None."""

    text: str
    program: Any  # cel.Expression
    names: tuple[str, ...]  # qualified names that it reads, in order of appearance
    constant: bool | None


def vocabulary(settings: Settings) -> Vocabulary:
    fields: dict[str, FieldType] = {**STANDARD_FIELDS, **settings.fields, **DERIVED_FIELDS}
    kinds = {
        "text": cel.Type.STRING,
        "integer": cel.Type.INT,
        "number": cel.Type.DOUBLE,
        "boolean": cel.Type.BOOL,
        "time": cel.Type.TIMESTAMP,
    }
    variables = {f"lead.{name}": kinds[kind] for name, kind in fields.items()}
    variables |= {f"known.{name}": cel.Type.BOOL for name in fields}
    constants: dict[str, object] = {
        "org.own_domains": [domain.lower() for domain in settings.organisation.own_domains],
        "org.competitors": [domain.lower() for domain in settings.organisation.competitors],
    }
    variables |= dict.fromkeys(constants, cel.Type.List(cel.Type.STRING)) | {"event.source": cel.Type.STRING}
    return Vocabulary(
        environment=cel.NewEnv(variables=variables, extensions=[ext_strings.ExtStrings()]),
        fields=fields,
        names=tuple(variables),
        closed={**CLOSED, "event.source": tuple(settings.sources)},
        constants=constants,
    )


def mask(text: str) -> str:
    """The text with its string literals and comments blanked out, every other character where it was."""
    return QUOTED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def names_in(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(match[0] for match in NAME.finditer(mask(text))))


def whole_literals(text: str, fields: Mapping[str, FieldType]) -> list[int]:
    """Where whole numbers end that are compared with a `number` field: CEL compares no double with an int."""
    numbers = "|".join(name for name, kind in fields.items() if kind == "number")
    if not numbers:
        return []
    sign = r"\s*(?:==|!=|<=|>=|<|>)\s*"
    whole = r"-?\d+(?![\w.])"
    pattern = re.compile(
        rf"(?<![\w.])lead\.(?:{numbers})(?!\w){sign}({whole})|(?<![\w.])({whole}){sign}lead\.(?:{numbers})(?!\w)"
    )
    return [max(match.end(1), match.end(2)) for match in pattern.finditer(mask(text))]


def widen(text: str, ends: Sequence[int]) -> str:
    """`lead.score > 50` as `lead.score > 50.0`."""
    for end in reversed(ends):
        text = f"{text[:end]}.0{text[end:]}"
    return text


def bind(field: FieldType, value: FieldValue) -> object | None:
    """The value as CEL takes it, or None where it is no value of that type; nothing is guessed across types."""
    match field, value:
        case "text", str():
            return text_of(value)
        case "boolean", bool():
            return value
        case _, bool():
            return None
        case "integer", int():
            return value if -INT64 <= value < INT64 else None
        case "integer", float():
            return int(value) if value.is_integer() and abs(value) < 2.0**53 else None
        case "number", int() | float():
            return number_of(value)
        case "time", str():
            return time_of(value)
        case _:
            return None


def text_of(value: str) -> str | None:
    """None for a blank. A lone surrogate cannot cross into C++ (it raises there), so it is replaced."""
    if not value or value.isspace():
        return None
    value = value[:MAX_TEXT]
    return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")


def number_of(value: float) -> float | None:
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if number - number == 0 else None  # neither infinite nor NaN


def time_of(value: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
