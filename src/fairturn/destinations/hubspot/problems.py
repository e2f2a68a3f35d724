"""HubSpot's error object. Every field of it is optional, and what matters may be JSON inside its message.

https://developers.hubspot.com/docs/api-reference/error-handling
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import orjson

WORDS = 1000  # characters of HubSpot's own that are kept
CONFLICT: Final = "CONFLICT"
GONE: Final = "OBJECT_NOT_FOUND"
TAKEN: Final = "CONFLICTING_UNIQUE_VALUE"
NO_PROPERTY: Final = "PROPERTY_DOESNT_EXIST"

EXISTING: Final = re.compile(r"Existing ID:\s*(\d+)")
# Cannot set PropertyValueCoordinates{…, propertyName=x, value=y} on 123. 456 already has that value.
ALREADY: Final = re.compile(r"propertyName=([^,}\s]+).*?(\d+) already has that value", re.DOTALL)
HELD: Final = re.compile(r"with ([a-z0-9_]+) already has that value")
# Foo was not one of the allowed options: [label: "Computer Software"\nvalue: "COMPUTER_SOFTWARE"\n…, …]
OPTION: Final = re.compile(r'label: "([^"\n]*)"\s+value: "([^"\n]*)"')
READ_ONLY: Final = ("READ_ONLY", "CALCULATED")


@dataclass(frozen=True, slots=True)
class Problem:
    """One error: of an input, of a property of one, or of the request."""

    code: str  # of the property's error, else HubSpot's category
    message: str
    name: str | None = None  # the property
    category: str = ""
    traces: tuple[str, ...] = ()  # objectWriteTraceId of the inputs that it is about
    ids: tuple[str, ...] = ()  # ids of them
    existing: str | None = None  # the record that is there already
    options: Mapping[str, str] = field(default_factory=dict)  # that the property takes: label or value, casefolded

    @property
    def lasting(self) -> bool:
        """True of the account whatever the value is."""
        return self.code == NO_PROPERTY or any(mark in self.code for mark in READ_ONLY)

    @property
    def words(self) -> str:
        return f"{self.message} [{self.name}]" if self.name and self.name not in self.message else self.message


def problems_of(error: Mapping[str, Any]) -> tuple[Problem, ...]:
    """Those of one entry of `errors`, or of a refused request. At least one."""
    whole = _problem(error, str(error.get("category") or error.get("code") or error.get("subCategory") or ""))
    found: dict[tuple[str, str, str], Problem] = {}
    for entry in (*_inside(whole.message), *_list(error.get("errors"))):
        one = _problem(entry, str(entry.get("error") or entry.get("code") or whole.code))
        if one.name is not None or one.existing is not None:
            own = replace(one, traces=one.traces or whole.traces, ids=one.ids or whole.ids, category=whole.code)
            found.setdefault((own.code, own.name or "", own.message), own)
    return tuple(found.values()) or (whole,)


def _problem(entry: Mapping[str, Any], code: str) -> Problem:
    message = str(entry.get("message") or code or "no reason given")
    context = entry.get("context")
    context = context if isinstance(context, dict) else {}
    if not code and message.startswith("Invalid input JSON"):
        code = "INVALID_JSON"
    name = next(iter(_texts(context.get("propertyName"))), None) or _text(entry.get("name"))
    existing = next(iter(_texts(context.get("existingId"))), None)
    if existing is None and (match := EXISTING.search(message)):
        existing = match[1]
    if name is None and (match := ALREADY.search(message)):
        name, code, existing = match[1], TAKEN, match[2]
    if name is None and (match := HELD.search(message)):
        name, code = match[1], TAKEN
    return Problem(
        code[:100] or "ERROR",
        message[:WORDS] if not _inside(message) else message,
        name,
        str(entry.get("category") or "")[:100],
        _texts(context.get("objectWriteTraceId")),
        _texts(context.get("ids")),
        existing,
        _options(message),
    )


def _options(message: str) -> dict[str, str]:
    """Label and value, casefolded, to the value. Only the refusal of an option tells them."""
    pairs = OPTION.findall(message) if "was not one of the allowed options" in message else []
    return {label.casefold(): value for label, value in pairs} | {value.casefold(): value for _, value in pairs}


def _inside(message: str) -> list[dict[str, Any]]:
    """Property values were not valid: [{"isValid":false,"message":…,"error":…,"name":…}]"""
    _, found, rest = message.partition("Property values were not valid: ")
    if not found:
        return []
    try:
        entries = orjson.loads(rest)
    except orjson.JSONDecodeError:
        return []
    return _list(entries)


def _list(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _texts(value: Any) -> tuple[str, ...]:
    entries = value if isinstance(value, list) else [value]
    return tuple(str(entry) for entry in entries if isinstance(entry, str | int) and not isinstance(entry, bool))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
