"""Bytes of any origin as clean text and clean JSON: what PostgreSQL can hold and every later reader reads alike.

Marks say what was changed in the parsed copy: "charset" (bytes that do not decode), "nul", "surrogate" (half a pair),
"control" (a bare line break or tab inside a string), "big number" (became text, digit for digit, because a double or
64 bits would change it). The bytes as they came are kept beside it.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import accumulate
from typing import Final

import orjson


class Malformed(Exception):
    """The text is no JSON; the sentence says where, and repeats nothing of it."""


@dataclass(frozen=True, slots=True)
class Cleaned:
    value: object  # no NUL, no lone surrogate, no number that a double or 64 bits cannot hold
    marks: tuple[str, ...]


# Encodings of text that senders declare. Not every codec of Python: some inflate (zlib), some are quadratic (punycode).
CHARSETS: Final = frozenset(
    {"utf-8", "utf-8-sig", "ascii", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"}
    | {f"iso8859-{part}" for part in range(1, 17)}
    | {f"cp{page}" for page in (437, 850, 852, 866, 874, 932, 949, 950, *range(1250, 1259))}
    | {"koi8-r", "koi8-u", "mac-roman", "shift_jis", "euc_jp", "iso2022_jp", "gb2312", "gbk", "gb18030", "big5"}
    | {"euc_kr"}
)
UNICODE: Final = frozenset({"utf-8", "utf-8-sig", "ascii"})

# Always matches to the closing quote or, without one, to the end: a quote is never tried twice, so the scan is O(n).
STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.?)*+(?:"|\Z)', re.DOTALL)
NOT_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))
STEP: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}

SUSPECT: Final = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
ESCAPE: Final = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<nul>u0000)|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)

# Digits and points become "0", so that a run of them is found by a plain search.
RUNS: Final = bytes.maketrans(b"123456789.E", b"0000000000e")
BACKSLASH: Final = ord("\\")
LONG: Final = b"0" * 16  # 15 digits always survive a double
TINY: Final = b"e-000"  # may fall to zero


def charset_named(name: str | None) -> str | None:
    """Python's name of a declared charset; None for none, for one that we do not decode, and for plain UTF-8."""
    if name is None:
        return None
    try:
        found = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    return found if found in CHARSETS and found not in UNICODE else None


def decode(body: bytes, charset: str | None) -> tuple[str, tuple[str, ...]]:
    """Text and marks. A byte order mark wins over the declared charset, that over UTF-8 or UTF-16 by their pattern."""
    by_pattern = json.detect_encoding(body)
    marked = body.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE))
    encoding = by_pattern if marked or charset is None else charset
    try:
        return body.decode(encoding), ()
    except UnicodeDecodeError:
        return body.decode(encoding, "replace"), ("charset",)


def without_nul(text: str) -> tuple[str, tuple[str, ...]]:
    """U+0000 as U+FFFD; trailing ones, of senders that count the end of a C string, go."""
    if "\0" not in text:
        return text, ()
    return text.rstrip("\0").replace("\0", "\ufffd"), ("nul",)


def depth(data: bytes) -> int:
    """How deep the brackets outside strings nest, in one pass and without recursion."""
    brackets = STRING.sub(b"", data).translate(None, delete=NOT_BRACKETS)
    return max(accumulate(map(STEP.__getitem__, brackets)), default=0)


def deeper_than(data: bytes, limit: int) -> bool:
    return data.count(b"[") + data.count(b"{") > limit and depth(data) > limit


def quick(body: bytes) -> object:
    """The value of a body that needs no cleaning, its depth checked before. Raises Malformed for every other."""
    if BACKSLASH in body and b"\\u0000" in body:
        raise Malformed
    runs = body.translate(RUNS)
    if LONG in runs or TINY in runs:
        raise Malformed
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        raise Malformed from None


class Numbers:
    """Reads numbers exactly: those that a double or 64 bits would change stay text."""

    def __init__(self, digits: int) -> None:
        self.digits = digits
        self.big = False

    def whole(self, text: str) -> int | str:
        if len(text) <= 20:
            value = int(text)
            if -(2**63) <= value < 2**64:
                return value
        return self.kept(text)

    def broken(self, text: str) -> float | str:
        value = float(text)
        if math.isfinite(value):
            try:
                if Decimal(repr(value)) == Decimal(text):
                    return value
            except InvalidOperation:  # an exponent beyond Decimal's own
                pass
        return self.kept(text)

    def kept(self, text: str) -> str:
        if len(text) > self.digits:
            raise Malformed(f"a number has more than {self.digits} digits")
        self.big = True
        return text

    def constant(self, name: str) -> float:
        raise Malformed(f"{name} is not a JSON number; send null or leave the field out")


def parse(text: str, digits: int) -> Cleaned:
    """Clean value of a JSON text whose depth was checked before. Raises Malformed."""
    text, marks = without_nul(text)
    if SUSPECT.search(text):
        text, more = without_odd_escapes(text)
        marks += more
    numbers = Numbers(digits)
    try:
        value, more = read(text, numbers)
    except json.JSONDecodeError as error:
        raise Malformed(f"{error.msg.lower()} at line {error.lineno} column {error.colno}") from None
    except RecursionError:
        raise Malformed("it is nested too deep") from None
    marks += more
    if numbers.big:
        marks += ("big number",)
    return Cleaned(value, tuple(dict.fromkeys(marks)))


def read(text: str, numbers: Numbers) -> tuple[object, tuple[str, ...]]:
    """The standard parser; templates that paste a text field into JSON leave bare line breaks in strings."""
    for strict, marks in ((True, ()), (False, ("control",))):
        decoder = json.JSONDecoder(
            parse_float=numbers.broken, parse_int=numbers.whole, parse_constant=numbers.constant, strict=strict
        )
        try:
            return decoder.decode(text), marks
        except json.JSONDecodeError as error:
            if not (strict and error.msg.startswith("Invalid control character")):
                raise
    raise AssertionError("the second reading returns or raises")


def without_odd_escapes(text: str) -> tuple[str, tuple[str, ...]]:
    """JSON text with escaped NULs and halves of surrogate pairs replaced by the escape of U+FFFD."""
    marks: list[str] = []

    def mend(match: re.Match[str]) -> str:
        if match["nul"]:
            marks.append("nul")
        elif match["half"]:
            marks.append("surrogate")
        else:
            return match[0]
        return "\\ufffd"

    return ESCAPE.sub(mend, text), tuple(dict.fromkeys(marks))


def dumps(value: object) -> bytes:
    """Compact UTF-8 JSON of a clean value; the same value always gives the same bytes."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:  # orjson nests 254 deep
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
