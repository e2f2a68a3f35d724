"""What came of the burst. Lost and twice are read from the simulator's evidence, not from Fairturn's own word."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import httpx2

from fairturn.assemble.demo.crm import Crm, Held
from fairturn.assemble.demo.scenario import Person
from fairturn.assemble.demo.staff import REPS
from fairturn.assemble.demo.there import There

PAGE: Final = 2000
Records = Mapping[str, Sequence[Held]]  # e-mail, lower case -> the records that have it


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the simulated CRM holds and saw."""

    people: Mapping[str, Sequence[str]]  # e-mail, lower case -> ids of the live people who have it
    records: Records  # as they are now
    duplicated: int  # people beyond one per e-mail
    repeats: int  # versions sent again after their answer was received
    taken: int  # owners changed who were active
    data_calls: int  # without those of the token endpoint
    reads: int  # of them: questions who is there, and what the org is
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
    company: int = 0  # leads that went to the rep who has their company
    known: int = 0  # leads that stayed with the rep who has them in the CRM


@dataclass(frozen=True, slots=True)
class Summary:
    leads: int
    events: int
    assigned: int
    held: int
    parked: int
    owned: int  # that stay with somebody who is no rep; with assigned, held and parked, these are all leads
    in_crm: int
    failed: int
    lost: int  # leads that are not in the CRM, or whose record lacks what one of their events said
    duplicated: int
    seconds_to_crm: Mapping[str, float]  # p50, p95, p99
    api_calls: Mapping[str, int]
    reads: int  # of the calls
    writes_per_lead: float
    calls_one_per_event: int
    failed_calls: int
    pools: Mapping[str, PoolSummary]
    there: There
    audited: bool  # every turn recomputed is the one that was made
    missing: tuple[str, ...] = field(default=())  # some of the lost: whom to ask `fairturn why` about

    @property
    def ok(self) -> bool:
        fair = self.audited and all(pool.max_deviation < 1 for pool in self.pools.values())
        return fair and self.there.ok and not self.lost and not self.duplicated

    def as_json(self) -> dict[str, object]:
        return {
            "leads": self.leads,
            "events": self.events,
            "assigned": self.assigned,
            "held": self.held,
            "parked": self.parked,
            "owned": self.owned,
            "in_crm": self.in_crm,
            "failed": self.failed,
            "lost": self.lost,
            "duplicated": self.duplicated,
            "seconds_to_crm": dict(self.seconds_to_crm),
            "api_calls": dict(self.api_calls),
            "reads": self.reads,
            "writes_per_lead": self.writes_per_lead,
            "calls_one_per_event": self.calls_one_per_event,
            "failed_calls": self.failed_calls,
            "pools": {
                name: {
                    "counts": dict(pool.counts),
                    "max_deviation": pool.max_deviation,
                    "credit": dict(pool.credit),
                    "kept": {"company": pool.company, "crm": pool.known},
                }
                for name, pool in self.pools.items()
            },
            "there": self.there.as_json(),
        }


class Simulated:
    """The simulator's control endpoints. Raises httpx2.HTTPError."""

    def __init__(self, crm: Crm, control: str) -> None:
        self._crm = crm
        self._control = control

    async def org(self) -> str:
        """Its id, for the settings to pin."""
        async with self._client() as client:
            return str((await _get(client, "/summary"))[self._crm.org])

    async def records(self) -> Records:
        """Everybody's, page by page."""
        found: dict[str, list[Held]] = {}
        async with self._client() as client:
            for name in self._crm.objects:
                after, total = 0, 1
                while after < total:
                    page = await _get(client, f"/records/{name}", after=after, limit=PAGE)
                    for held in (one for row in page["records"] if (one := self._crm.held(row)) is not None):
                        for email in held.emails:
                            found.setdefault(email, []).append(held)
                    after, total = page["next"], page["total"]
        return found

    async def evidence(self) -> Evidence:
        records = await self.records()
        async with self._client() as client:
            summary = await _get(client, "/summary")
            people = await _get(client, "/people")
            bad = seen = 0
            while found := (page := await _get(client, "/requests", after=seen, limit=PAGE))["requests"]:
                bad += sum(is_bad(call) for call in found if call["kind"] in {"read", "write"})
                seen = page["next"]
        return _evidence(summary, people["people"], records, bad)

    def _client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(base_url=self._control, trust_env=False, timeout=60)


async def _get(client: httpx2.AsyncClient, path: str, **query: object) -> dict[str, Any]:
    answer = await client.get(path, params={name: str(value) for name, value in query.items()})
    answer.raise_for_status()
    found: dict[str, Any] = answer.json()
    return found


def _evidence(summary: Mapping[str, Any], people: Mapping[str, Sequence[str]], records: Records, bad: int) -> Evidence:
    return Evidence(
        people=people,
        records=records,
        duplicated=summary["duplicated"],
        repeats=summary["repeats"],
        taken=summary["owners"]["taken_by_api"],
        data_calls=summary["data_requests"],
        reads=summary["read_requests"],
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
    return tuple(
        person.email
        for person in people
        if not any(complete(person, record) for record in found.records.get(person.email, ()))
    )


def complete(person: Person, record: Held) -> bool:
    title = person.title is None or record.title == person.title
    return title and (person.score is None or record.score == person.score)


def percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """Of the values as they are (nearest rank), in seconds to the millisecond; 0 where there is none."""
    ordered = sorted(seconds)
    found = {}
    for share in (50, 95, 99):
        place = math.ceil(share / 100 * len(ordered)) - 1
        found[f"p{share}"] = round(ordered[max(0, place)], 3) if ordered else 0.0
    return found


def pools(
    owners: Mapping[str, Mapping[str, int]], kept: Mapping[str, tuple[int, int]], audit: Mapping[str, Any]
) -> dict[str, PoolSummary]:
    """kept: pool -> leads that went to the rep who has their company, and to the rep who has them in the CRM."""
    nobody = {pool: {rep.id: 0 for rep in REPS if rep.pool == pool} for pool in audit["pools"]}
    return {
        name: PoolSummary(
            nobody[name] | dict(owners.get(name, {})), entry["max_deviation"], entry["credit"], *kept.get(name, (0, 0))
        )
        for name, entry in sorted(audit["pools"].items())
    }
