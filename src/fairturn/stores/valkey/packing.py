"""Requests as bytes of a stream's entry, and back.

An entry holds all requests that were committed together, up to a size: one entry each would cost the door 17 us a
request where this costs 2, and Valkey three times as much.

    h  JSON: [[delivery, source, content type, lane, bytes, [[event, place, bytes | null, marks, problem], ...]], ...]
    b  the bodies, one behind the other, each request's own first
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import orjson

from fairturn.errors import Unstorable
from fairturn.model import Arrival, Item

ENTRY: Final = 256 * 1024  # bytes of an entry beyond which the next begins; a longer request has one of its own


class Damaged(Exception):
    """Bytes that are no entry of ours."""


def grouped(arrivals: Sequence[Arrival]) -> Iterator[Sequence[Arrival]]:
    """In their order, each group as large as an entry may be."""
    group: list[Arrival] = []
    size = 0
    for arrival in arrivals:
        more = len(arrival.body) + sum(len(item.body) + 100 for item in arrival.items if item.body is not None)
        if group and size + more > ENTRY:
            yield group
            group, size = [], 0
        group.append(arrival)
        size += more
    if group:
        yield group


def pack(arrivals: Sequence[Arrival]) -> tuple[bytes, bytes]:
    """Header and bodies. Raises Unstorable for a text that no UTF-8 can write."""
    bodies: list[bytes] = []
    head = [_packed(arrival, bodies) for arrival in arrivals]
    try:
        return orjson.dumps(head), b"".join(bodies)
    except orjson.JSONEncodeError:
        raise Unstorable("a text of this request cannot be written as UTF-8") from None


def _packed(arrival: Arrival, bodies: list[bytes]) -> tuple[object, ...]:
    bodies.append(arrival.body)
    items = []
    for item in arrival.items:
        if item.body is not None:
            bodies.append(item.body)
        size = None if item.body is None else len(item.body)
        items.append((item.id.hex(), item.index, size, item.marks, item.problem))
    return arrival.delivery.hex(), arrival.source, arrival.content_type, arrival.lane, len(arrival.body), items


def unpack(header: bytes, bodies: bytes) -> list[Arrival]:
    """Raises Damaged."""
    place = 0

    def cut(size: int) -> bytes:
        nonlocal place
        start, place = place, place + size
        return bodies[start:place]

    try:
        found = [_unpacked(row, cut) for row in orjson.loads(header)]
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise Damaged(type(error).__name__) from None
    if place != len(bodies):
        raise Damaged("its bodies are not as long as its header says")
    return found


def _unpacked(row: Any, cut: Any) -> Arrival:
    delivery, source, content_type, lane, size, rows = row
    body = cut(size)
    items = tuple(
        Item(bytes.fromhex(event), index, None if length is None else cut(length), tuple(marks), problem)
        for event, index, length, marks, problem in rows
    )
    return Arrival(bytes.fromhex(delivery), source, content_type, body, items, lane)
