"""Questions in SOQL. It has no parameters: values go through `literal`, names come from the settings and from us.

https://developer.salesforce.com/docs/atlas.en-us.soql_sosl.meta/soql_sosl/sforce_api_calls_soql_select_quotedstringescapes.htm
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import quote

LONGEST: Final = (
    12_000  # characters of a query's values as they travel; 414 or 431 from 16,384 bytes of URI and headers
)
AT_ONCE: Final = 200  # values of one query
NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)
NO_COLUMN: Final = re.compile(r"No such column '([^']+)'")


def literal(text: str) -> str:
    """A SOQL string. Addresses come from strangers: nothing in one can end the string."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + "".join(char if char.isprintable() else " " for char in escaped) + "'"


def select(fields: Iterable[str], sobject: str, where: str) -> str:
    """Names that are none are left out: they would spoil the question for all."""
    names = [name for name in dict.fromkeys(fields) if NAME.fullmatch(name)]
    return f"SELECT {', '.join(names)} FROM {sobject} WHERE {where}"  # noqa: S608 - see above


def among(field: str, values: Iterable[str]) -> str:
    return f"{field} IN ({','.join(map(literal, values))})"


def any_of(choices: Mapping[str, Sequence[str]]) -> str:
    """field -> values: one of them is enough."""
    found = [among(field, values) for field, values in choices.items() if values]
    return found[0] if len(found) == 1 else f"({' OR '.join(found)})"


def chunks(values: Iterable[str], longest: int = LONGEST, at_once: int = AT_ONCE) -> Iterator[list[str]]:
    """In order, each few enough for one query's address."""
    part: list[str] = []
    length = 0
    for value in dict.fromkeys(values):
        size = len(quote(literal(value), safe="")) + 3
        if part and (length + size > longest or len(part) == at_once):
            yield part
            part, length = [], 0
        part.append(value)
        length += size
    if part:
        yield part


def missing_column(message: str) -> str | None:
    found = NO_COLUMN.search(message)
    return found[1] if found else None
