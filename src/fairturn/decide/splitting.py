"""A request's body as events: media type, limits, items, and the id of each.

Two deliveries of the same bytes are one delivery; two items with the same dedupe value are one event; without a value,
two items of a source that are equal as JSON (spacing and escapes aside) are one event, in one request or in two. The
place in an array is not part of the id, so that an array sent again with one new element adds only that one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Final, Literal
from urllib.parse import unquote_to_bytes

from fairturn.decide import cleaning
from fairturn.decide.cleaning import Cleaned, Malformed
from fairturn.decide.paths import MISSING, Broken, Path
from fairturn.errors import RefusedRequest
from fairturn.model import Arrival, Item, Lane


@dataclass(frozen=True, slots=True)
class Limits:
    body: int = 1_048_576  # bytes
    depth: int = 64  # of one event
    items: int = 5000  # events of an array, fields of a form
    digits: int = 1000  # of one number


@dataclass(frozen=True, slots=True)
class Media:
    kind: Literal["json", "form", "look", "other"]  # look = the type says nothing: see what the body is
    charset: str | None  # None: UTF-8, or by the body's own pattern
    shown: str  # printable, for the row and for messages
    unknown_charset: bool = False  # declared, but not one that we decode


JSON: Final = re.compile(r"(?:application|text)/(?:[\w.-]+\+)?(?:x-)?json|application/cloudevents-batch\+json")
CHARSET: Final = re.compile(r';\s*charset\s*=\s*"?([\w.:+-]{1,40})', re.IGNORECASE)
FORM: Final = "application/x-www-form-urlencoded"
# A token of JSON that decides where items end; strings match whole, closed or not, so the scan is O(n).
TOKEN: Final = re.compile(rb'"(?:[^"\\]++|\\.?)*+(?:"|\Z)|[\[\]{},]', re.DOTALL)
SPACE: Final = b" \t\r\n"
KINDS: Final = {str: "a text", bool: "true or false", type(None): "null", int: "a number", float: "a number"}
SUPPORTED: Final = f"Send application/json (an object, or an array of objects) or {FORM}."


@lru_cache(256)
def media(content_type: str) -> Media:
    shown = "".join(char if " " <= char <= "~" else "?" for char in content_type[:200])
    declared = CHARSET.search(shown)
    charset = cleaning.charset_named(declared[1] if declared else None)
    odd = declared is not None and charset is None and not re.fullmatch(r"(?i)utf-?8|(us-)?ascii", declared[1])
    kind = shown.partition(";")[0].strip().lower()
    if JSON.fullmatch(kind):
        return Media("json", charset, shown, odd)
    if kind == FORM:
        return Media("form", charset, shown, odd)
    return Media("look" if kind in {"", "text/plain"} else "other", charset, shown, odd)


def split(
    source: str, lane: Lane, content_type: str, body: bytes, limits: Limits, dedupe: Path | None = None
) -> Arrival:
    """The events of a request. Raises RefusedRequest 400, 413 or 415 with a sentence for the sender."""
    if len(body) > limits.body:
        raise RefusedRequest(413, f"The body has more than {limits.body} bytes. Send fewer events per request.")
    kind = media(content_type)
    items: tuple[Item, ...] | None = None
    if kind.kind == "json" and kind.charset is None and not kind.unknown_charset:
        items = _quick(source, body, limits, dedupe)
    if items is None:
        items = _slow(source, kind, body, limits, dedupe)
    delivery = _begun(source, b"\0").copy()
    delivery.update(body)
    return Arrival(delivery.digest(), source, kind.shown, body, items, lane)


def document(content_type: str, body: bytes, limits: Limits) -> object:
    """The whole body as one clean value, for a secret that lies in it. Raises RefusedRequest."""
    kind = media(content_type)
    text, _ = _text(kind, body)
    if _is_form(kind, text):
        return form(body, kind.charset, limits).value
    data = text.encode()
    if cleaning.deeper_than(data, limits.depth + 1):
        raise RefusedRequest(400, f"The JSON is nested deeper than {limits.depth} levels.")
    try:
        return cleaning.parse(text, limits.digits).value
    except Malformed as error:
        raise RefusedRequest(400, f"The body is not valid JSON: {error}.") from None


def _quick(source: str, body: bytes, limits: Limits, dedupe: Path | None) -> tuple[Item, ...] | None:
    """Nearly every request: UTF-8 JSON that needs no cleaning. None sends the others the long way."""
    if cleaning.deeper_than(body, limits.depth):
        return None
    try:
        value = cleaning.quick(body)
    except Malformed:
        return None
    if isinstance(value, dict):
        return (Item(event_id(source, value, None, dedupe), 0, None),)
    if isinstance(value, list):
        _count(len(value), limits)
        return _items(source, [Cleaned(item, ()) for item in value], dedupe)
    return None


def _slow(source: str, kind: Media, body: bytes, limits: Limits, dedupe: Path | None) -> tuple[Item, ...]:
    if kind.kind == "other":
        name = kind.shown.partition(";")[0].strip()
        raise RefusedRequest(415, f"Content-Type {name!r} is not taken here. {SUPPORTED}")
    text, marks = _text(kind, body)
    if not text.strip("\ufeff\0 \t\r\n"):
        raise RefusedRequest(400, f"The body is empty. {SUPPORTED}")
    if _is_form(kind, text):
        return _items(source, [form(body, kind.charset, limits)], dedupe)
    text, more = cleaning.without_nul(text)
    data = text.strip().encode()
    if data.startswith(b"["):
        return _items(source, _array(data, marks + more, limits), dedupe)
    cleaned = _one(data, marks + more, limits)
    if isinstance(cleaned, str):
        raise RefusedRequest(400, f"The body is not taken: {cleaned}.")
    return _items(source, [cleaned], dedupe)


def _text(kind: Media, body: bytes) -> tuple[str, tuple[str, ...]]:
    text, marks = cleaning.decode(body, kind.charset)
    return text, ("charset", *marks) if kind.unknown_charset and not marks else marks


def _is_form(kind: Media, text: str) -> bool:
    """Whether these are name=value pairs. JSON under the wrong name (curl -d calls everything a form) is JSON."""
    start = text.lstrip("\ufeff \t\r\n")[:1]
    if kind.kind == "json" or start in {"[", "{"}:
        return False
    if kind.kind == "form":
        return True
    if "=" in text and not re.search(r"[\s<>\"]", text.strip()):
        return True
    raise RefusedRequest(415, f"The body looks neither like JSON nor like a form. {SUPPORTED}")


def form(body: bytes, charset: str | None, limits: Limits) -> Cleaned:
    """name=value pairs as an object; a name that comes twice has the list of its values, in order."""
    pairs = body.strip(SPACE).split(b"&")
    if len(pairs) > limits.items:
        raise RefusedRequest(413, f"The form has more than {limits.items} fields.")
    fields: dict[str, str | list[str]] = {}
    marks: tuple[str, ...] = ()
    for pair in pairs:
        raw = [unquote_to_bytes(part.replace(b"+", b" ")) for part in pair.partition(b"=")[::2]]
        if b"=" not in pair and len(pairs) == 1:
            raise RefusedRequest(400, "The body is called a form but holds no name=value pair.")
        if not raw[0] and not raw[1]:
            continue
        texts = []
        for part in raw:
            try:
                text = part.decode(charset or "utf-8")
            except UnicodeDecodeError:
                text, marks = part.decode(charset or "utf-8", "replace"), (*marks, "charset")
            if "\0" in text:
                text, marks = text.replace("\0", "\ufffd"), (*marks, "nul")
            texts.append(text)
        name, value = texts
        before = fields.get(name)
        if before is None:
            fields[name] = value
        elif isinstance(before, list):
            before.append(value)
        else:
            fields[name] = [before, value]
    if not fields:
        raise RefusedRequest(400, "The form holds no field.")
    return Cleaned(fields, tuple(dict.fromkeys(marks)))


def _one(data: bytes, marks: tuple[str, ...], limits: Limits) -> Cleaned | str:
    """A single JSON text, or the sentence that says what is wrong with it."""
    if cleaning.deeper_than(data, limits.depth):
        return f"the JSON is nested deeper than {limits.depth} levels"
    try:
        cleaned = cleaning.parse(data.decode(), limits.digits)
    except Malformed as error:
        return f"it is not valid JSON: {error}"
    return Cleaned(cleaned.value, tuple(dict.fromkeys(marks + cleaned.marks)))


def _array(data: bytes, marks: tuple[str, ...], limits: Limits) -> list[Cleaned | tuple[bytes, str]]:
    """Each item by itself, so that a bad one costs the others nothing."""
    pieces = cut(data, limits)
    if pieces is None:
        whole = _one(data, marks, limits)
        why = whole if isinstance(whole, str) else "the array cannot be cut into its items"
        raise RefusedRequest(400, f"The body is not taken: {why}.")
    _count(len(pieces), limits)
    found = [(piece, _one(piece, marks, limits)) for piece in pieces]
    return [(piece, f"{one[0].upper()}{one[1:]}") if isinstance(one, str) else one for piece, one in found]


def cut(data: bytes, limits: Limits) -> list[bytes] | None:
    """The bytes of an array's items; None where its brackets do not match up. Raises RefusedRequest 400, 413."""
    pieces: list[bytes] = []
    level, start = 0, 1
    end = 0
    for match in TOKEN.finditer(data):
        token = match[0]
        if token in b"[{":
            level += 1
            if level > 10 * limits.depth:
                raise RefusedRequest(
                    400, f"The body is not taken: the JSON is nested deeper than {limits.depth} levels."
                )
        elif token in b"]}":
            level -= 1
            if level == 0:
                end = match.start()
                break
        elif token == b"," and level == 1:
            pieces.append(data[start : match.start()].strip(SPACE))
            start = match.end()
            _count(len(pieces), limits)
    if not end or data[end:] != b"]":
        return None
    last = data[start:end].strip(SPACE)
    return [*pieces, last] if pieces or last else []


def _count(items: int, limits: Limits) -> None:
    if items > limits.items:
        raise RefusedRequest(413, f"An array may hold at most {limits.items} items. Send several requests.")


def _items(
    source: str, found: list[Cleaned] | list[Cleaned | tuple[bytes, str]], dedupe: Path | None
) -> tuple[Item, ...]:
    """One item per event, each id once. Refused as a whole when not one of them is an event."""
    items: dict[bytes, Item] = {}
    for index, one in enumerate(found):
        if isinstance(one, tuple):
            body, problem = one
        elif isinstance(one.value, dict):
            body, problem = cleaning.dumps(one.value), None
        else:
            body = cleaning.dumps(one.value)
            problem = f"It is {KINDS.get(type(one.value), 'an array')}, not an object"
        if problem is None and isinstance(one, Cleaned):
            item = Item(event_id(source, one.value, body, dedupe), index, body, one.marks)
        else:
            item = Item(event_id(source, None, body, None), index, body, problem=problem)
        items.setdefault(item.id, item)
    if items and all(item.problem for item in items.values()):
        first = next(iter(items.values()))
        where = f"item {first.index} of the array" if len(found) > 1 else "the body"
        raise RefusedRequest(400, f"No event in it can be taken; {where}: {first.problem}.")
    return tuple(items.values())


def event_id(source: str, value: object, body: bytes | None, dedupe: Path | None) -> bytes:
    """16 bytes. `body` is the value as compact JSON, whatever way it came; None: it is still to be made, if needed."""
    kind, known = b"\0key\0", None if dedupe is None else dedupe_key(value, dedupe)
    if known is None:
        kind, known = b"\0item\0", cleaning.dumps(value) if body is None else body
    found = _begun(source, kind).copy()
    found.update(known)
    return found.digest()


@lru_cache(1024)
def _begun(source: str, kind: bytes) -> blake2b:
    """The hash of what all ids of a source begin with: to be copied."""
    return blake2b(source.encode() + kind, digest_size=16)


def dedupe_key(value: object, dedupe: Path) -> bytes | None:
    """The delivery's own id, or several parts of one ([portalId, eventId]); None where the payload has none."""
    try:
        found = dedupe(value)
    except Broken:
        return None
    if found is MISSING or found is None or isinstance(found, bool) or found in ("", [], {}):
        return None
    if isinstance(found, list) and all(part is None for part in found):
        return None
    return cleaning.dumps(found)
