"""A bad field costs the field: which of a record's fields a refusal means, and the record without them.

Never the address, the owner, our key, and what Salesforce requires of a person: without these it would be another lead.
A record type may go: the record gets the user's default one, and is listed as written without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fairturn.destinations.salesforce.decode import OWNER_CODES, Problem
from fairturn.destinations.salesforce.encode import UNCUT, Record, cut
from fairturn.destinations.salesforce.soql import NO_COLUMN

KEPT: Final = frozenset({"id", "email", "ownerid", "lastname", "company", "name"})
UNFIT: Final = ("INVALID_FIELD", "INVALID_FIELD_FOR_INSERT_UPDATE")  # of the field, whatever its value
NO_RIGHT: Final = re.compile(r"Unable to create/update fields: ([\w, ]+)")
TWICE: Final = re.compile(r"duplicate value found: (\w+)")
BAD_VALUE: Final = re.compile(
    r"(?:bad value for restricted picklist field|invalid email address|not of required type|of incorrect type): (.*)"
    r"|VALUE_\w+ value (.*?) or request may"
    r"|Numeric value \((\S+)\) out of range",
    re.DOTALL,
)
MOST: Final = re.compile(r"\(max length=(\d{1,6})\)")
PLACES: Final = ("State", "StateCode")
COUNTRIES: Final = ("Country", "CountryCode")


@dataclass(frozen=True, slots=True)
class Mended:
    """The record as it may go, and what it goes without: field -> the CRM's words."""

    record: Record
    without: Mapping[str, str]
    unfit: frozenset[str]  # of `without`, those that no record of the org takes
    lengths: Mapping[str, int]  # fields that were cut -> the characters that they hold


def mend(record: Record, problems: Sequence[Problem], external_id: str) -> Mended | None:
    """None: the refusal is about something else, or about a field that the record cannot be without."""
    without: dict[str, str] = {}
    unfit: set[str] = set()
    lengths: dict[str, int] = {}
    for problem in problems:
        names = named(problem, record)
        if not names or (problem.code in OWNER_CODES and "OwnerId" in names):
            return None
        if (limit := _most(problem)) is not None and not any(name in UNCUT for name in names):
            lengths |= dict.fromkeys(names, limit)
        elif any(name.lower() in KEPT or name.lower() == external_id.lower() for name in names):
            return None
        else:
            without |= dict.fromkeys(names, f"{problem.code}: {problem.words}")
            unfit |= set(names) if problem.code in UNFIT else set()
    if not (without or lengths):
        return None
    kept = {name: value for name, value in record.items() if name not in without}
    shorter = {name: cut(str(kept[name]), limit) for name, limit in lengths.items() if name in kept}
    if not without and all(kept[name] == value for name, value in shorter.items()):
        return None  # short enough already: something else counts the characters
    return Mended(kept | shorter, without, frozenset(unfit), lengths)


def named(problem: Problem, record: Record) -> tuple[str, ...]:
    """Those of the record's fields that the refusal means: by its list of fields, else by its words."""
    found = _own(problem.fields, record) or _own(_in_words(problem.message), record)
    if not found:
        found = _by_label(problem.message, record) or _by_value(problem.message, record)
    if problem.code == "FIELD_INTEGRITY_EXCEPTION":
        found = _with_places(found or _place_meant(problem.message, record), record)
    return tuple(dict.fromkeys(found))


def _own(names: Iterable[str], record: Record) -> list[str]:
    wanted = {name.lower() for name in names}
    return [name for name in record if name.lower() in wanted]


def _in_words(message: str) -> list[str]:
    names = [found[1] for pattern in (NO_COLUMN, TWICE) if (found := pattern.search(message))]
    if rights := NO_RIGHT.search(message):
        names += [name.strip() for name in rights[1].split(",")]
    return names


def _by_label(message: str, record: Record) -> list[str]:
    """`Lead Source: bad value ...`: a label is mostly the name with blanks."""
    label, colon, _ = message.partition(": ")
    wanted = _plain(label)
    return [name for name in record if _plain(name) == wanted] if colon and wanted else []


def _plain(text: str) -> str:
    return re.sub(r"[\W_]", "", text.removesuffix("__c")).casefold()


def _by_value(message: str, record: Record) -> list[str]:
    match = BAD_VALUE.search(message)
    value = next((text for text in match.groups() if text is not None), "") if match else ""
    return [name for name, one in record.items() if value and str(one).casefold() == value.casefold()]


def _place_meant(message: str, record: Record) -> list[str]:
    text = message.lower()
    kinds = (*(COUNTRIES if "country" in text else ()), *(PLACES if "state" in text else ()))
    return [name for name in record if name.removeprefix("Mailing") in kinds]


def _with_places(names: Sequence[str], record: Record) -> list[str]:
    """A state stands and falls with its country."""
    lost = [name.removesuffix("Code").removesuffix("Country") for name in names if name.endswith(COUNTRIES)]
    states = [f"{prefix}{place}" for prefix in lost for place in PLACES]
    return [*names, *(name for name in states if name in record)]


def _most(problem: Problem) -> int | None:
    found = MOST.search(problem.message) if problem.code == "STRING_TOO_LONG" else None
    return int(found[1]) if found else None
