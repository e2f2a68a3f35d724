"""How far a burst has come: counts, and how long each write took from its oldest event to the CRM's answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairturn.stores.postgres.database import Database, statements

SQL = statements("progress")


@dataclass(frozen=True, slots=True)
class Standing:
    leads: Mapping[str, int]  # status -> leads
    unrouted: int  # events
    signals: int  # events that wait for their lead
    quarantined: int  # events
    written: int  # leads that the destination has confirmed
    open: int  # leads with a change that is pending or in flight
    failed: int  # leads whose write failed


class PostgresProgress:
    """Counts over whole tables: for a demo and a benchmark, not for a page that many watch."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def served(self, destination: str) -> bool:
        """Whether a process holds the destination's lease: its worker is up."""
        async with self._database.connection() as c:
            return bool(await c.fetchval(SQL.served, destination))

    async def standing(self, destination: str) -> Standing:
        async with self._database.connection() as c:
            leads = {row["status"]: row["count"] for row in await c.fetch(SQL.leads)}
            events = await c.fetchrow(SQL.events)
            changes = await c.fetchrow(SQL.changes, destination)
        assert events is not None  # noqa: S101 - aggregates without a group have one row
        assert changes is not None  # noqa: S101 - the same
        return Standing(
            leads=leads,
            unrouted=events["pending"],
            signals=events["waiting"],
            quarantined=events["quarantined"],
            written=changes["written"],
            open=changes["open"],
            failed=changes["failed"],
        )

    async def owners(self) -> Mapping[str, Mapping[str, int]]:
        """Pool -> rep -> leads that are theirs now."""
        found: dict[str, dict[str, int]] = {}
        async with self._database.connection() as c:
            for row in await c.fetch(SQL.owners):
                found.setdefault(row["pool_id"], {})[row["rep_id"]] = row["count"]
        return found

    async def kept(self) -> Mapping[str, tuple[int, int]]:
        """Pool -> assignments to the rep who has the lead's company, and to the rep who has the lead in the CRM.

        Once all is written: whom the CRM had is told from the others by that no write names an owner.
        """
        async with self._database.connection() as c:
            return {row["pool_id"]: (row["company"], row["known"]) for row in await c.fetch(SQL.kept)}

    async def waits(self, destination: str) -> Sequence[float]:
        """Seconds of each write, from the oldest event that it carried to the CRM's answer."""
        async with self._database.connection() as c:
            return [row[0] for row in await c.fetch(SQL.waits, destination)]
