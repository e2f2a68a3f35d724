"""Salesforce as a destination: few calls, one outcome per record.

A write is: find out what must be known, send, and look once more at what was refused for a reason that we can mend.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from fairturn.decide.existing import Policy
from fairturn.destinations.http import open_client
from fairturn.destinations.salesforce.auth import Credentials, Login
from fairturn.destinations.salesforce.describe import Shapes
from fairturn.destinations.salesforce.directory import Directory, Named
from fairturn.destinations.salesforce.drafting import FORGET, Drafter
from fairturn.destinations.salesforce.encode import Encoder, Record
from fairturn.destinations.salesforce.finding import Finder, There
from fairturn.destinations.salesforce.looking_again import SecondLook
from fairturn.destinations.salesforce.lookup import Reader
from fairturn.destinations.salesforce.rows import Row, Writing
from fairturn.destinations.salesforce.sending import LEAST, Sender
from fairturn.destinations.salesforce.wire import NO_RULES, SAVE_ALIKE, Run, Wire
from fairturn.errors import DestinationError, LoginRefused, WrongOrg
from fairturn.model import Answer, Batch, Later, LookUp, Outgoing, Refused, Written

ROUNDS = 4  # of one write: a record may have more than one fault, and Salesforce tells one at a time


class Salesforce:
    """Implements ports.Destination. No secret of it appears in an error, a log line or a repr."""

    def __init__(
        self,
        credentials: Credentials,
        encoder: Encoder,
        *,
        name: str,
        version: str,
        timeout: float,
        policy: Policy,
        slots: int = 4,
        wanted: Iterable[Named] = (),
        asked: bool = True,
    ) -> None:
        """policy: whose records are free to be assigned. wanted: who must be found in the org before the first write.
        asked: people are looked up beforehand.
        """
        self._client = open_client(timeout=timeout, allow_private=credentials.allow_private, connections=slots + 2)
        self._wire = Wire(self._client, Login(self._client, credentials, name), name=name, version=version)
        self._directory = Directory(self._wire, name, wanted)
        self._shapes = Shapes(self._wire, name)
        self._drafter = Drafter(encoder, self._directory, self._shapes)
        self._reader = Reader(self._wire, self._directory, self._shapes, encoder, name)
        self._finder = Finder(self._reader, encoder, self._directory, policy)
        self._second = SecondLook(self._drafter, self._finder, encoder)
        self._sender = Sender(self._wire, encoder.external_id, {**NO_RULES, **(SAVE_ALIKE if asked else {})})
        self._undescribed: dict[str, float] = {}  # object -> when to ask again what its fields are
        self._encoder = encoder
        self._name = name
        self._timeout = timeout

    def __repr__(self) -> str:
        return f"Salesforce({self._name!r})"

    async def org(self) -> str:
        """The 18-character id of the org that answers; whom the settings name there is found at the same time."""
        run = Run.of(self._timeout)
        session = await self._wire.session(run)
        await self._directory.load(run)
        await self._describe(run, {self._encoder.sobject})
        return session.org

    async def look_up(self, emails: Sequence[str], seconds: float) -> LookUp:
        run = Run.of(min(seconds, self._timeout))
        people, unknown = await self._reader.look_up(run, emails)
        self._drafter.note_missing(unknown)
        used, most = run.usage or (None, None)
        return LookUp(people, calls=run.calls, quota_used=used, quota_max=most)

    async def close(self) -> None:
        await self._client.aclose()

    def draft(self, records: Sequence[Outgoing]) -> Mapping[str, Record | Refused]:
        return {record.key: self._drafter.draft(record) for record in records}

    async def write(self, batch: Batch) -> Answer:
        """Within the request time-out, login included. Raises DestinationError only before anything was sent."""
        run = Writing.of(self._timeout)
        await self._wire.session(run)
        await self._directory.load(run, [name for record in batch.records for name in self._encoder.names(record)])
        await self._describe(run, {self._encoder.object_of(record) for record in batch.records})
        stale = [record for record in batch.records if record.reread]
        there = await self._finder.again(run, stale) if stale else {}
        rows = [row for record in batch.records if (row := self._row(run, record, there.get(record.key)))]
        for left in reversed(range(ROUNDS)):
            rows = [row for row in _apart(run, rows) if not self._is_done(run, row)]
            if not rows:
                break
            await self._sender.send(run, rows)
            rows = await self._second.mended(run, rows, self._wire.user) if left and run.left() > LEAST else []
        self._second.settle(run)
        return self._answer(run, batch)

    # ---- what is sent -----------------------------------------------------------------------------------------------

    async def _describe(self, run: Run, objects: Iterable[str]) -> None:
        """Best known beforehand, and no reason to write nothing: what is wrong is said by the answers too."""
        now = asyncio.get_running_loop().time()
        for sobject in objects:
            if self._drafter.places(sobject) and self._undescribed.get(sobject, 0.0) <= now:
                try:
                    await self._shapes.of(run, sobject)
                except (LoginRefused, WrongOrg):
                    raise
                except DestinationError:
                    self._undescribed[sobject] = now + FORGET

    def _row(self, run: Writing, out: Outgoing, there: There | None) -> Row | None:
        if there is not None:
            run.found[out.key] = there.values
            run.owners |= {out.key: there.owner} if there.owner else {}
        row = self._drafter.row(out, there, self._wire.user)
        if isinstance(row, Row):
            return row
        run.outcomes[out.key] = row
        return None

    def _is_done(self, run: Writing, row: Row) -> bool:
        """Nothing of it is left to be sent: the record is there, and has all it may have."""
        if row.record or row.stamp or row.out.record_id is None:
            return False
        run.outcomes[row.key], run.rows[row.key] = Written(row.key, row.out.record_id, created=False), row
        return True

    # ---- what is told -----------------------------------------------------------------------------------------------

    def _answer(self, run: Writing, batch: Batch) -> Answer:
        written: dict[str, Row] = {}
        for key, row in run.rows.items():
            outcome = run.outcomes[key]
            if isinstance(outcome, Written):
                written[key] = row
                elsewhere = row.sobject if row.sobject != self._encoder.sobject else None
                run.outcomes[key] = replace(
                    outcome, object_type=elsewhere, without=row.without, owner_stands=row.stands
                )
                if isinstance(owner := row.record.get("OwnerId"), str):
                    run.owners[key] = owner
        used, most = run.usage or (None, None)
        return Answer(
            outcomes=tuple(run.outcomes[record.key] for record in batch.records),
            records={key: row.record for key, row in run.rows.items()},
            found=run.found,
            owners=run.owners,
            refused={key: row.refused for key, row in written.items() if row.refused},
            loads=tuple(run.loads),
            calls=run.calls,
            quota_used=used,
            quota_max=most,
        )


def _apart(run: Writing, rows: Sequence[Row]) -> list[Row]:
    """Each record once: named twice, Salesforce refuses both. Two leads may be one person there."""
    once: dict[str, Row] = {}
    for row in rows:
        record = row.out.record_id or f"key {row.key}"
        if once.setdefault(record, row) is not row:
            words = f"its record {record} is in the request already, for another lead"
            run.outcomes[row.key] = Later(row.key, None, "record", "SAME_RECORD", words)
    return list(once.values())
