"""What came of the burst. Lost and twice are read from the simulator's evidence, not from Fairturn's own word."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import httpx2

from fairturn.assemble.demo.scenario import Person
from fairturn.assemble.demo.settings import REPS

PAGE: Final = 2000
TITLE, SCORE = "Title", "Score__c"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the simulated CRM holds and saw."""

    people: Mapping[str, Sequence[str]]  # e-mail, lower case -> ids of the live people who have it
    leads: Mapping[str, Mapping[str, Any]]  # e-mail, lower case -> the record as it is now
    duplicated: int  # people beyond one per e-mail
    repeats: int  # versions sent again after their answer was received
    data_calls: int  # without those of the token endpoint
    failed_calls: int
    rows: int  # records created or updated
    peak: int  # requests at once
    overlaps: int  # pairs of requests at once that touched one account
    dropped: int  # requests whose evidence did not fit


@dataclass(frozen=True, slots=True)
class PoolSummary:
    counts: Mapping[str, int]  # rep -> leads that are theirs
    max_deviation: float
    credit: Mapping[str, int]
    kept: int = 0  # leads that went to the rep who has their company


@dataclass(frozen=True, slots=True)
class Summary:
    leads: int
    events: int
    assigned: int
    held: int
    parked: int
    in_crm: int
    failed: int
    lost: int  # leads that are not in the CRM, or whose record lacks what one of their events said
    duplicated: int
    seconds_to_crm: Mapping[str, float]  # p50, p95, p99
    api_calls: Mapping[str, int]
    writes_per_lead: float
    calls_one_per_event: int
    failed_calls: int
    pools: Mapping[str, PoolSummary]
    audited: bool  # every turn recomputed is the one that was made
    missing: tuple[str, ...] = field(default=())  # some of the lost: whom to ask `fairturn why` about

    @property
    def ok(self) -> bool:
        fair = self.audited and all(pool.max_deviation < 1 for pool in self.pools.values())
        return fair and not self.lost and not self.duplicated

    def as_json(self) -> dict[str, object]:
        return {
            "leads": self.leads,
            "events": self.events,
            "assigned": self.assigned,
            "held": self.held,
            "parked": self.parked,
            "in_crm": self.in_crm,
            "failed": self.failed,
            "lost": self.lost,
            "duplicated": self.duplicated,
            "seconds_to_crm": dict(self.seconds_to_crm),
            "api_calls": dict(self.api_calls),
            "writes_per_lead": self.writes_per_lead,
            "calls_one_per_event": self.calls_one_per_event,
            "failed_calls": self.failed_calls,
            "pools": {
                name: {
                    "counts": dict(pool.counts),
                    "max_deviation": pool.max_deviation,
                    "credit": dict(pool.credit),
                }
                for name, pool in self.pools.items()
            },
        }


async def org(control: str) -> str:
    """The org's id, for the settings to pin."""
    async with httpx2.AsyncClient(trust_env=False, timeout=10) as client:
        answer = await client.get(f"{control}/summary")
        answer.raise_for_status()
        return str(answer.json()["org"])


async def evidence(control: str) -> Evidence:
    """All of it, page by page."""
    async with httpx2.AsyncClient(trust_env=False, timeout=60) as client:

        async def get(path: str, **query: object) -> dict[str, Any]:
            answer = await client.get(f"{control}{path}", params={name: str(value) for name, value in query.items()})
            answer.raise_for_status()
            found: dict[str, Any] = answer.json()
            return found

        summary = await get("/summary")
        people = await get("/people")
        leads: dict[str, Mapping[str, Any]] = {}
        after, total = 0, 1
        while after < total:
            page = await get("/records/Lead", after=after, limit=PAGE)
            leads |= {str(row.get("Email")).casefold(): row for row in page["records"] if not row["_deleted"]}
            after, total = page["next"], page["total"]
        bad = 0
        seen = 0
        while found := (page := await get("/requests", after=seen, limit=PAGE))["requests"]:
            bad += sum(is_bad(call) for call in found if call["kind"] in {"read", "write"})
            seen = page["next"]
    return Evidence(
        people=people["people"],
        leads=leads,
        duplicated=summary["duplicated"],
        repeats=summary["repeats"],
        data_calls=summary["data_requests"],
        failed_calls=bad,
        rows=summary["rows"]["created"] + summary["rows"]["updated"],
        peak=summary["peak_concurrent"],
        overlaps=summary["overlaps"],
        dropped=summary["requests_dropped"],
    )


def is_bad(call: Mapping[str, Any]) -> bool:
    """A request without an answer, answered with an error, or with a record that was refused (a lock not to be had)."""
    status = call["status"]
    refused = any(row["outcome"] not in {"created", "updated"} for row in call["rows"])
    return status is None or status >= 400 or not call["delivered"] or refused


def lost(people: Iterable[Person], found: Evidence) -> tuple[str, ...]:
    """E-mails of those who are not in the CRM, or not with all that their events told."""
    return tuple(person.email for person in people if not complete(person, found.leads.get(person.email)))


def complete(person: Person, record: Mapping[str, Any] | None) -> bool:
    if record is None:
        return False
    title = person.title is None or record.get(TITLE) == person.title
    return title and (person.score is None or record.get(SCORE) == person.score)


def percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """Of the values as they are (nearest rank), in seconds to the millisecond; 0 where there is none."""
    ordered = sorted(seconds)
    found = {}
    for share in (50, 95, 99):
        place = math.ceil(share / 100 * len(ordered)) - 1
        found[f"p{share}"] = round(ordered[max(0, place)], 3) if ordered else 0.0
    return found


def pools(
    owners: Mapping[str, Mapping[str, int]], kept: Mapping[str, int], audit: Mapping[str, Any]
) -> dict[str, PoolSummary]:
    nobody = {pool: {rep.id: 0 for rep in REPS if rep.pool == pool} for pool in audit["pools"]}
    return {
        name: PoolSummary(
            nobody[name] | dict(owners.get(name, {})), entry["max_deviation"], entry["credit"], kept.get(name, 0)
        )
        for name, entry in sorted(audit["pools"].items())
    }
