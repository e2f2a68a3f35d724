"""Rows to outcomes: one call where one is enough, more where a record spoils it for others or the org gives way.

Salesforce answers 400 to the whole request if it cannot even read one record, and an org's automation that breaks under
too many records fails all of them. Both are halved until what is at fault stands alone.

PATCH /services/data/vXX.X/composite/sobjects[/{Object}/{ExternalIdField}]
https://developer.salesforce.com/docs/platform/api-rest/guide/resources-composite-sobjects-collections-upsert.html
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from fairturn.decide.sizing import SLOW
from fairturn.destinations.http import NoAnswer
from fairturn.destinations.salesforce.decode import Reading, overloaded, read
from fairturn.destinations.salesforce.rows import MAX_RECORDS, Row, Writing, evenly, is_joined, objects, parts, request
from fairturn.destinations.salesforce.wire import Part, Wire
from fairturn.errors import DestinationError
from fairturn.model import Later, Load, Outcome, Refused, Unknown, Written

ROOT: Final = "composite/sobjects"
MOST_CALLS: Final = 60  # of one write; what is left then waits for the next, which is smaller
LEAST: Final = 1.0  # seconds that must be left for one request more
APART: Final = 600.0  # seconds in which known and new ones go apart, after a request that had both was not read
TOO_MANY: Final = "the org's automation does not swallow so many records at once: "


class Sender:
    def __init__(self, wire: Wire, external_id: str, headers: Mapping[str, str]) -> None:
        self._wire = wire
        self._external_id = external_id
        self._headers = headers
        self._apart_until = 0.0  # monotonic

    async def send(self, run: Writing, rows: Sequence[Row]) -> None:
        """Whatever happens, every row gets an outcome."""
        run.splits = 2 * len(rows).bit_length() + 2
        waiting = deque(evenly(rows, MAX_RECORDS) if rows else [])
        most: dict[str, int] = {}  # records of an object at once, as learnt on the way
        while waiting:
            group = waiting.popleft()
            if (run.calls >= MOST_CALLS or run.left() < LEAST) and all(row.key in run.outcomes for row in group):
                _postpone(run, group)
                continue
            limit = min((most[name] for name in objects(group) if name in most), default=len(group))
            if limit < len(group):
                waiting.extendleft(reversed(evenly(group, limit)))
                continue
            for part, reading, seconds in await self._exchange(run, group):
                again = self._judge(run, part, reading, seconds, most)
                waiting.extendleft(reversed(again))

    def _judge(
        self, run: Writing, part: list[Row], reading: Reading, seconds: float, most: dict[str, int]
    ) -> list[list[Row]]:
        """Note what each row came to. Those that are to be sent again, in their groups."""
        problems = reading.problems or ((),) * len(part)
        for row, outcome, told in zip(part, reading.outcomes, problems, strict=True):
            run.outcomes[row.key], run.problems[row.key], run.rows[row.key] = outcome, told, row
        over = [row for row, told in zip(part, problems, strict=True) if overloaded(told)]
        run.loads += _loads(part, over, reading.outcomes, seconds)
        if len(part) == 1 or not (over or (reading.kind == "split" and run.splits > 0)):
            return []
        half = (len(part) + 1) // 2
        if over:
            most |= {name: min(most.get(name, half), half) for name in objects(over)}
            return evenly(over, half)
        run.splits -= 2
        return [part[:half], part[half:]]

    async def _exchange(self, run: Writing, rows: Sequence[Row]) -> list[tuple[list[Row], Reading, float]]:
        """Each part with its answer, and the seconds that its transaction may have taken."""
        clock = asyncio.get_running_loop().time
        groups = parts(rows, join=self._apart_until <= clock())
        requests = [request(part, self._external_id, self._wire.path(ROOT), self._headers) for part in groups]
        began = clock()
        together = len(groups) > 1 and not any(refers(row) for row in rows)
        readings = await self._together(run, groups, requests) if together else None
        if readings is None:
            readings = [await self._alone(run, *one) for one in zip(groups, requests, strict=True)]
        seconds = clock() - began
        found: list[tuple[list[Row], Reading, float]] = []
        for part, reading in zip(groups, readings, strict=True):
            if is_joined(part) and _not_read(reading):
                self._apart_until = clock() + APART
                found += await self._exchange(run, part)
            else:
                found.append((part, reading, seconds * len(part) / len(rows)))
        return found

    async def _together(
        self, run: Writing, groups: Sequence[list[Row]], requests: Sequence[Part]
    ) -> list[Reading] | None:
        """In one call. None: it cannot be read, and nothing says which part spoils it."""
        try:
            replies = await self._wire.composite(run, requests)
        except DestinationError as error:
            return [_unanswered(part, error) for part in groups]
        if replies[0] is replies[1] and replies[0].status == 400:
            return None
        return [read(reply, [row.out for row in part]) for part, reply in zip(groups, replies, strict=True)]

    async def _alone(self, run: Writing, part: list[Row], asked: Part) -> Reading:
        try:
            return read(await self._wire.send(run, asked), [row.out for row in part])
        except DestinationError as error:
            return _unanswered(part, error)


def _not_read(reading: Reading) -> bool:
    """Nothing was written: one of the records spoils the request, or the org knows no upsert by the record id."""
    unknown = all(isinstance(one, Later) and one.code == "NOT_FOUND" for one in reading.outcomes)
    return reading.kind == "split" or unknown


def refers(row: Row) -> bool:
    """Whether a Composite would read a part of a text as a reference to an answer of its own: `@{id.field}`.

    Texts come from strangers: the part that holds one would be halted, with all its records.
    """
    return any(isinstance(value, str) and "@{" in value for value in row.record.values())


def _postpone(run: Writing, rows: Sequence[Row]) -> None:
    """Sent before, with too many others; there is no time or call left to send them in smaller company."""
    for row in rows:
        problems = run.problems.get(row.key, ())
        if overloaded(problems):
            words = f"{TOO_MANY}{problems[0].words}"
            run.outcomes[row.key] = Later(row.key, None, "record", problems[0].code, words)


def _loads(part: Sequence[Row], over: Sequence[Row], outcomes: Sequence[Outcome], seconds: float) -> Iterator[Load]:
    """Of a request whose rows were judged, or that took so long that it says something of its size."""
    broken = objects(over)
    if broken or seconds > SLOW or any(isinstance(outcome, Written | Refused) for outcome in outcomes):
        for name, records in objects(part).items():
            yield Load(name, records, seconds, overloaded=name in broken)


def _unanswered(part: Sequence[Row], error: DestinationError) -> Reading:
    """Of a request that may have arrived nobody can tell; any other leaves the destination alone for a while."""
    if isinstance(error, NoAnswer):
        return Reading("rows", tuple(Unknown(row.key, str(error)) for row in part))
    kind = type(error).__name__
    return Reading("rows", tuple(Later(row.key, None, "destination", kind, str(error)) for row in part))
