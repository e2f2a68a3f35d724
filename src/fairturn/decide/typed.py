"""From a JSON value to a lead field's value. Digits stay exact, nothing becomes infinite, blank is not a value.

| field | taken | not taken (missing, with a mark) |
| --- | --- | --- |
| text | text, trimmed; numbers by their digits; true, false; a list of these, joined by "; " | objects |
| integer | 250, 250.0, "250", "1,200", "1 200", "1'200", "1.200.000" | "1.200" (1.2 or 1200?), 2.5, "many", "51-200" |
| number | as integer, and 7.5, "7.5", "7,5", "1,234.56", "1.234,56" | 1e400, NaN, "many" |
| boolean | true, 1, "yes", "on", "ja", ... and their opposites | "maybe", 2 |
| time | see decide/times | 02/03/2026 |

"1,200" is twelve hundred wherever it stands: three digits after a single comma are thousands.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import tzinfo
from decimal import Decimal, InvalidOperation
from typing import Final

from fairturn.config import FieldType
from fairturn.decide.times import Unreadable, instant, iso
from fairturn.model import FieldValue

LONGEST: Final = 32_000  # characters of a text; a CRM's long text area holds 32,768
EXACT: Final = 2**53  # the largest run of whole numbers that a double keeps
WIDEST: Final = 2**63  # integers are stored and compared in 64 bits
BLANK: Final = "\u200b\u200c\u200d\u2060\ufeff \t\r\n\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u2028\u2029\u202f\u3000"

Taken = tuple[FieldValue, str | None]  # the value (None = blank) and a mark, if there is something to say
Reader = Callable[[object], Taken]


class NotTaken(Exception):
    """Not a value of this type; the text says why, for the event's marks."""


def reader(kind: FieldType, zone: tzinfo) -> Reader:
    """How fields of this type are read. The reader returns (None, ...) for blank, and raises NotTaken."""

    def time(value: object) -> Taken:
        value = single(value)
        if value is None or (isinstance(value, str) and not value.strip(BLANK)):
            return None, None
        try:
            return iso(instant(value, zone)), None
        except Unreadable as error:
            raise NotTaken(str(error)) from None

    readers: dict[FieldType, Reader] = {
        "text": text,
        "integer": integer,
        "number": number,
        "boolean": boolean,
        "time": time,
    }
    return readers[kind]


def text(value: object) -> Taken:
    if isinstance(value, list):
        parts = [part for part in (exact(item) for item in value) if part]
        return cut("; ".join(parts))
    return cut(exact(value))


def exact(value: object) -> str | None:
    """The text of one JSON value, no digit lost; None when blank. Raises NotTaken for a list or an object."""
    if isinstance(value, str):
        return clean(value) or None
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float | Decimal):
        return digits(value)
    raise NotTaken("a list or an object where one value is expected")


def clean(value: str) -> str:
    """Trimmed (of no-break and zero-width blanks too), without NUL; lone surrogates, which UTF-8 lacks, replaced."""
    if value.isascii():
        return value.replace("\0", "").strip(BLANK) if "\0" in value else value.strip()
    try:
        value.encode()
    except UnicodeEncodeError:
        value = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value.replace("\0", "").strip(BLANK)


def digits(value: float | Decimal) -> str:
    """Of a whole number no point and no exponent: 9007199254740993.0 and 9007199254740993 are the same id."""
    try:
        if isinstance(value, int):
            return str(value)
        if isinstance(value, float):
            whole = value.is_integer() and abs(value) < 1e16
            return str(int(value)) if whole else shown(value)
        if value.is_finite() and value == value.to_integral_value() and value.adjusted() < 400:
            return str(int(value))
        if value.is_finite():
            return str(value)
    except (ValueError, ArithmeticError):  # more digits than Python turns to text
        pass
    raise NotTaken("not a finite number")


def shown(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    raise NotTaken("not a finite number")


def cut(value: str | None) -> Taken:
    if value is not None and len(value) > LONGEST:
        return value[:LONGEST], f"cut to {LONGEST:,} characters"
    return value or None, None


def single(value: object) -> object:
    """Form decoders and some vendors wrap every value in a list."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def integer(value: object) -> Taken:
    if type(value) is int and -WIDEST < value < WIDEST:  # as most are; true and false have a type of their own
        return value, None
    found = decimal(single(value), whole=True)
    if found is None:
        return None, None
    if not -WIDEST < found < WIDEST:
        raise NotTaken("larger than a 64-bit whole number")
    if found != found.to_integral_value():
        raise NotTaken("not a whole number")
    return int(found), None


def number(value: object) -> Taken:
    found = decimal(single(value), whole=False)
    if found is None:
        return None, None
    as_float = float(found)
    if not math.isfinite(as_float):
        raise NotTaken("not a finite number")
    return as_float, "rounded" if abs(as_float) >= EXACT and Decimal(as_float) != found else None


# Groups of three by one and the same mark, then perhaps a fraction by the other.
ENGLISH: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", re.ASCII)
SPACED: Final = re.compile(r"\d{1,3}(?:([ '’\u00a0\u202f\u2009])\d{3})(?:\1\d{3})*(?:[.,]\d+)?", re.ASCII)
DOTTED: Final = re.compile(r"\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}", re.ASCII)
PLAIN: Final = re.compile(r"\d+|\d*\.\d+|\d+\.|\d+(?:\.\d+)?[eE][+-]?\d{1,4}", re.ASCII)
COMMA: Final = re.compile(r"\d*,\d+", re.ASCII)
TWO_WAYS: Final = re.compile(r"\d{1,3}\.\d{3}", re.ASCII)


def decimal(value: object, *, whole: bool) -> Decimal | None:
    if isinstance(value, bool):
        raise NotTaken("true or false where a number is expected")
    try:
        if isinstance(value, int):
            return Decimal(value)
        if isinstance(value, float | Decimal):
            return finite(Decimal(value) if isinstance(value, Decimal) else Decimal(repr(value)))
        if value is None:
            return None
        if isinstance(value, str):
            bare = clean(value)
            return read(bare, whole=whole) if bare else None
    except (InvalidOperation, OverflowError):
        pass
    raise NotTaken("not a number")


def finite(value: Decimal) -> Decimal:
    """Digits beyond any number of people or points are refused before arithmetic on them costs anything."""
    if not value.is_finite() or abs(value.adjusted()) > 400:
        raise NotTaken("not a finite number")
    return value


def read(bare: str, *, whole: bool) -> Decimal:
    sign, rest = ("-", bare[1:]) if bare[0] in "-−" else ("", bare.removeprefix("+"))
    if len(rest) > 400:
        raise NotTaken("not a number")
    if whole and TWO_WAYS.fullmatch(rest):
        raise NotTaken("can be read two ways (1.2 or 1200?)")
    if ENGLISH.fullmatch(rest):
        rest = rest.replace(",", "")
    elif DOTTED.fullmatch(rest):
        rest = rest.replace(".", "").replace(",", ".")
    elif SPACED.fullmatch(rest):
        rest = re.sub(r"[^\d.,]", "", rest).replace(",", ".")
    elif COMMA.fullmatch(rest):
        rest = rest.replace(",", ".")
    elif not PLAIN.fullmatch(rest):
        raise NotTaken("not a number")
    return finite(Decimal(sign + rest))


YES: Final = frozenset(["true", "yes", "y", "on", "1", "checked", "ja", "oui", "si", "sí", "sim", "x"])
NO: Final = frozenset(["false", "no", "n", "off", "0", "unchecked", "nein", "non", "não", "nao"])


def boolean(value: object) -> Taken:
    value = single(value)
    if isinstance(value, bool):
        return value, None
    word = (exact(value) or "").casefold()
    if not word:
        return None, None
    if word in YES:
        return True, None
    if word in NO:
        return False, None
    raise NotTaken("neither yes nor no")
