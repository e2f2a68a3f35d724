"""Records on their way, and the requests that carry them: by id what is known there, by our key what is new.

Each request, and each part of a Composite, is a transaction of the org's, with its triggers and the time that they
take. So what is known and what is new travel in one, by an upsert on the record id: without an id a record is made.
That is no upsert of ours (a second one would be refused as a duplicate of our key, where the field is unique), so it is
for the first attempt alone; what may be there already goes by our key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from fairturn.destinations.salesforce.decode import Problem
from fairturn.destinations.salesforce.encode import Record, payload
from fairturn.destinations.salesforce.wire import Part, Run
from fairturn.model import Load, Outcome, Outgoing

MAX_RECORDS = 200  # of one sObject Collections request


@dataclass(frozen=True, slots=True)
class Row:
    """`out.record_id`: by which it is written; None: by our key."""

    out: Outgoing
    sobject: str
    record: Record  # fields to be sent, the owner among them
    stamp: bool = False  # by id: the record does not bear our key yet
    stands: str | None = None  # an owner whom we leave
    without: Mapping[str, str] = field(default_factory=dict)  # field -> why it is not sent
    refused: Mapping[str, object] = field(default_factory=dict)  # field -> the value that is not sent
    moved: bool = False  # the record was looked for already
    bare: bool = False  # goes without its account

    @property
    def key(self) -> str:
        return self.out.key


@dataclass(slots=True)
class Writing(Run):
    """One `write`: its time and cost, and what each record came to, by key."""

    splits: int = 0  # further requests that may be spent on finding records that spoil one
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    problems: dict[str, tuple[Problem, ...]] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)  # as last sent
    found: dict[str, Mapping[str, object]] = field(default_factory=dict)  # the CRM's own values, where read
    owners: dict[str, str] = field(default_factory=dict)  # the CRM's, where read or written
    loads: list[Load] = field(default_factory=list)


def parts(rows: Sequence[Row], *, join: bool = True) -> list[list[Row]]:
    """Each is one Collections request: an update takes several objects in runs, an upsert one object.

    join: known and new ones of an object may share one.
    """
    shared = _shared(rows) if join else frozenset()
    known: list[Row] = []
    others: dict[tuple[str, bool], list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row.sobject, row.out.record_id is None)):
        together = row.sobject in shared and (row.out.record_id is not None or _is_first(row))
        if row.out.record_id is not None and not together:
            known.append(row)
        else:
            others.setdefault((row.sobject, together), []).append(row)
    return [part for part in (known, *others.values()) if part]


def _shared(rows: Sequence[Row]) -> frozenset[str]:
    """Objects of which some are known and some are made for the first time."""
    known = {row.sobject for row in rows if row.out.record_id is not None}
    return frozenset(known & {row.sobject for row in rows if _is_first(row)})


def _is_first(row: Row) -> bool:
    """Whether no request that may have arrived carried this new record."""
    out = row.out
    return out.record_id is None and out.attempt == 1 and out.confirmed is None and not out.reread


def is_joined(part: Sequence[Row]) -> bool:
    return len({row.out.record_id is None for row in part}) == 2


def request(rows: Sequence[Row], external_id: str, root: str, headers: Mapping[str, str]) -> Part:
    """Of one part. root: /services/data/vXX.X/composite/sobjects"""
    if is_joined(rows):
        marked = [(r, {external_id: r.key} if r.stamp or r.out.record_id is None else {}) for r in rows]
        body = payload([(r.sobject, {"Id": r.out.record_id, **r.record, **key}) for r, key in marked])
        return Part("PATCH", f"{root}/{rows[0].sobject}/Id", body, headers)
    if rows[0].out.record_id is None:
        path = f"{root}/{rows[0].sobject}/{external_id}"
        return Part("PATCH", path, payload([(r.sobject, {external_id: r.key, **r.record}) for r in rows]), headers)
    records = [
        (r.sobject, {"id": r.out.record_id, **r.record, **({external_id: r.key} if r.stamp else {})}) for r in rows
    ]
    return Part("PATCH", root, payload(records), headers)


def evenly(rows: Sequence[Row], most: int) -> list[list[Row]]:
    """In order, in as few pieces as there must be, of nearly the same size."""
    pieces = -(-len(rows) // most)
    ends = [len(rows) * place // pieces for place in range(pieces + 1)]
    return [list(rows[start:end]) for start, end in pairwise(ends)]


def objects(rows: Iterable[Row]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.sobject] = counts.get(row.sobject, 0) + 1
    return counts
