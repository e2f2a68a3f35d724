"""One write: read what must be read, send, send again what is to be sent otherwise, until every record has an outcome.

Known contacts by batch/update on their record id, new ones by batch/upsert on the unique property.
https://developers.hubspot.com/docs/api-reference/crm-contacts-v3/guide
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fairturn.destinations.http import NoAnswer, NotSent
from fairturn.destinations.hubspot.companies import associate
from fairturn.destinations.hubspot.decode import Clash, Gone, Reading, Shed, read
from fairturn.destinations.hubspot.directory import Directory
from fairturn.destinations.hubspot.door import Door, Tally
from fairturn.destinations.hubspot.encode import LIFECYCLE, Encoder
from fairturn.destinations.hubspot.problems import Problem
from fairturn.destinations.hubspot.reading import Unread
from fairturn.destinations.hubspot.regard import Regard, is_stale
from fairturn.destinations.hubspot.rows import COMPANY, EMAIL, OWNER, Record, Row, requests
from fairturn.errors import LoginRefused, WrongOrg
from fairturn.model import Answer, Batch, Later, Load, Outcome, Outgoing, Refused, Unknown, Written

TURNS = 5  # times that one record is sent again within a write
FORGET = 600.0  # seconds: what we know of a contact is good for; that a property is left out which is not to be had
KEPT = 10_000  # contacts remembered as written lately


@dataclass(frozen=True, slots=True)
class Tools:
    """What all writes to one account share."""

    door: Door
    encoder: Encoder
    directory: Directory
    regard: Regard
    object_type: str
    barred: dict[str, tuple[float, str]]  # property -> when to try it again (monotonic), HubSpot's words
    touched: dict[str, tuple[float, str]]  # contact -> when it was last written (monotonic), for which of our keys


@dataclass(slots=True)
class Writing:
    tools: Tools
    run: Tally
    spare: int = 0  # further requests that may be spent on what spoils one
    halted: Later | None = None  # the account is to be left alone: nothing more is sent
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    done: dict[str, Row] = field(default_factory=dict)  # as sent
    loads: list[Load] = field(default_factory=list)

    @property
    def external_id(self) -> str:
        return self.tools.encoder.external_id

    async def write(self, batch: Batch) -> Answer:
        """Raises nothing: every record of the batch has an outcome."""
        rows = self._drafted(batch.records)
        self.spare = 2 * len(rows).bit_length() + 8
        rows = await self._read_first(rows)
        while rows:
            again: list[Row] = []
            for part in requests(rows, self.external_id):
                again += await self._send(part)
            rows = again
        await self._companies()
        return self._answer(batch)

    def _drafted(self, records: Iterable[Outgoing]) -> list[Row]:
        rows = []
        for outgoing in records:
            draft = self.tools.encoder.draft(outgoing, self.tools.directory.users)
            if isinstance(draft, Refused):
                self.outcomes[outgoing.key] = draft
            else:
                rows.append(Row(outgoing, draft, outgoing.record_id))
        return rows

    # ---- what must be read before -----------------------------------------------------------------------------------

    async def _read_first(self, rows: Sequence[Row]) -> list[Row]:
        """Known contacts of whom we know too little; new ones whom an earlier try may have made; and, where the address
        is the key, every new one: an upsert would write over all of a person who is there.
        """
        regard = self.tools.regard
        stale = [row for row in rows if row.record_id is not None and is_stale(row.outgoing)]
        new = [row for row in rows if row.record_id is None]
        by_email = new if self.external_id == EMAIL else []
        tried = [] if by_email else [row for row in new if row.outgoing.reread]
        try:
            known = await regard.by_id(self.run, stale)
            known |= await regard.by_email(self.run, by_email)
            known |= await regard.by_key(self.run, tried)
        except Unread as error:
            return self._unread(rows, [*stale, *by_email, *tried], error)
        return regard.regarded(rows, known, now())

    def _unread(self, rows: Sequence[Row], asked: Sequence[Row], error: Unread) -> list[Row]:
        """What cannot be read is not written now; the others are, unless the account is to be left alone."""
        if error.later.scope == "destination":
            self.halted = error.later
        waits = {row.key for row in asked}
        self.outcomes |= {key: replace(error.later, key=key) for key in waits}
        return [row for row in rows if row.key not in waits]

    # ---- sending ----------------------------------------------------------------------------------------------------

    def _ready(self, rows: Sequence[Row]) -> list[Row]:
        """Rows to be sent now. Those that have nothing to say are done, those without a chance come later."""
        moment = now()
        able = []
        for one in rows:
            barred = {
                name: words
                for name, (until, words) in self.tools.barred.items()
                if until > moment and name in one.record
            }
            row = one.shed(barred) if barred else one
            if self.halted is not None:
                self.outcomes[row.key] = replace(self.halted, key=row.key)
            elif row.record_id is not None and not row.properties(self.external_id):
                self._finish(row, Written(row.key, row.record_id, created=False))
            elif row.turns > TURNS or self.run.left() <= 0:
                words = "no time was left for it" if self.run.left() <= 0 else "it met another fault each time"
                self.outcomes[row.key] = Later(row.key, None, "record", "AGAIN", words)
            else:
                able.append(row)
        return able

    async def _send(self, part: Sequence[Row]) -> list[Row]:
        """One request. The rows that are to be sent once more, otherwise."""
        part = self._ready(await self._shared(part))
        if not part:
            return []
        verb = "upsert" if part[0].record_id is None else "update"
        path = f"/crm/v3/objects/{self.tools.object_type}/batch/{verb}"
        began = now()
        body = {"inputs": [row.payload(self.external_id) for row in part]}
        try:
            reply = await self.tools.door.call(self.run, "POST", path, body)
        except NoAnswer as error:
            reading = Reading({row.key: Unknown(row.key, str(error)) for row in part})
        except (NotSent, LoginRefused, WrongOrg) as error:
            self.halted = Later(None, error.after, "destination", type(error).__name__, str(error))
            reading = Reading({row.key: replace(self.halted, key=row.key) for row in part})
        else:
            reading = read(reply, part, self.external_id)
            seconds = now() - began
            if 200 <= reply.status < 300:
                self.loads.append(Load(self.tools.object_type, len(part), seconds, overloaded=False))
        return await self._followed(part, reading)

    async def _shared(self, part: Sequence[Row]) -> list[Row]:
        """Two leads with two addresses of one contact: the second finds the first's owner and key, and leaves them
        (case 73). What we knew of the contact is older than that.
        """
        shared = [row for row in part if self._is_shared(row)]
        if not shared or self.halted is not None:
            return list(part)
        try:
            return self.tools.regard.regarded(part, await self.tools.regard.by_id(self.run, shared), now())
        except Unread as error:
            return self._unread(part, shared, error)

    def _is_shared(self, row: Row) -> bool:
        at, key = self.tools.touched.get(row.record_id or "", (0.0, row.key))
        recent = at > now() - FORGET
        return key != row.key and recent and row.read_at < at

    async def _followed(self, part: Sequence[Row], reading: Reading) -> list[Row]:
        again: list[Row] = []
        clashes: list[tuple[Row, Clash]] = []
        gone: list[tuple[Row, Gone]] = []
        for row in part:
            match reading.fates.get(row.key):
                case Shed() as fate:
                    again += self._shed(row, fate)
                case Clash() as fate:
                    clashes.append((row, fate))
                case Gone() as fate:
                    gone.append((row, fate))
                case None:
                    again.append(row.again())
                case outcome:
                    self._finish(row, outcome, reading.results.get(row.key))
        moved, unmoved = await self._clashed(clashes)
        moved += await self._missed(gone)
        again += unmoved
        return [*moved, *(again if reading.split is None else self._halved(again, reading.split))]

    def _halved(self, rows: Sequence[Row], split: Problem) -> list[Row]:
        """Refused as a whole, nobody knows for whom: in halves, until the one that spoils it stands alone. Bounded, so
        that a fault of the mapping does not cost a request per record.
        """
        if self.spare <= 0:
            self.outcomes |= {row.key: Later(row.key, None, "record", split.code, split.words) for row in rows}
            return []
        self.spare -= 2
        middle = (len(rows) + 1) // 2
        halves = (rows[:middle], rows[middle:])
        return [replace(row, part=2 * row.part + side, turns=0) for side, half in enumerate(halves) for row in half]

    def _shed(self, row: Row, fate: Shed) -> list[Row]:
        """A bad property costs the property, not the lead; and not even that where only the value's form was wrong."""
        until = now() + FORGET
        for name in fate.lasting:
            self.tools.barred[name] = (until, fate.fields[name])
        habits = self.tools.encoder.habits
        habits.dates |= fate.dates
        habits.options |= fate.options
        suited = {name: habits.suited(name, row.record[name]) for name in fate.fields if name in row.record}
        other = {name: value for name, value in suited.items() if value != row.record[name]}
        bad = {name: words for name, words in fate.fields.items() if name not in other}
        return [replace(row, record={**row.record, **other}).shed(bad).again()]

    async def _clashed(self, clashes: Sequence[tuple[Row, Clash]]) -> tuple[list[Row], list[Row]]:
        """The person is there under another record: that one is written, and its owner looked at first. Rows that have
        one now, and rows to be tried once more as they are.
        """
        if not clashes:
            return [], []
        rows = [row for row, _ in clashes]
        ids = {row.key: fate.existing for row, fate in clashes if fate.existing is not None}
        regard = self.tools.regard
        try:
            by_id = await regard.reader.by_id(self.run, ids.values()) if ids else {}
            known = {key: by_id[one] for key, one in ids.items() if one in by_id}
            known |= await regard.by_email(self.run, [row for row in rows if row.key not in known])
        except Unread as error:
            return self._unread(rows, rows, error), []
        moved, unmoved = [], []
        for row, fate in clashes:
            if row.key in known:
                moved.append(regard.onto(row, known[row.key], now()).again())
            elif fate.existing is None and row.turns == 0:
                unmoved.append(row.again())  # of a request that was refused for another's sake
            else:
                self.outcomes[row.key] = Later(row.key, None, "record", "CONFLICT", fate.words)
        return moved, unmoved

    async def _missed(self, gone: Sequence[tuple[Row, Gone]]) -> list[Row]:
        """A record that is not there any more is not made again: somebody took it away, or merged it into another."""
        if not gone:
            return []
        rows = [row for row, _ in gone]
        try:
            known = await self.tools.regard.by_any(self.run, rows)
        except Unread as error:
            return self._unread(rows, rows, error)
        again = []
        for row, fate in gone:
            if row.key in known:
                again.append(self.tools.regard.onto(row, known[row.key], now()).again())
                continue
            words = (
                f"contact {row.record_id} is not in HubSpot any more, and none has its key or address: {fate.words} "
                "Restore it there and retry this write, or drop it"
            )
            self._finish(row, Refused(row.key, "RECORD_GONE", words))
        return again

    def _finish(self, row: Row, outcome: Outcome, answered: Mapping[str, object] | None = None) -> None:
        if isinstance(outcome, Later) and outcome.scope == "destination":
            self.halted = replace(outcome, key=None)
        if isinstance(outcome, Written):
            row = _kept_back(row, answered or {})
            outcome = replace(outcome, without=row.without, owner_stands=row.stands)
            self._touch(outcome)
        self.outcomes[row.key] = outcome
        self.done[row.key] = row

    def _touch(self, outcome: Written) -> None:
        touched = self.tools.touched
        if len(touched) > KEPT:
            touched.clear()
        touched[outcome.record_id] = (now(), outcome.key)

    # ---- after it ---------------------------------------------------------------------------------------------------

    async def _companies(self) -> None:
        """No lead fails for its company: it is listed as written without."""
        pairs = {
            key: (outcome.record_id, str(row.record[COMPANY]))
            for key, row in self.done.items()
            if COMPANY in row.record and isinstance(outcome := self.outcomes[key], Written)
        }
        if not pairs:
            return
        failed = await associate(self.tools.door, self.run, list(pairs.values()))
        for key, pair in pairs.items():
            outcome = self.outcomes[key]
            if pair in failed and isinstance(outcome, Written):
                row = self.done[key] = self.done[key].shed({COMPANY: failed[pair]})
                self.outcomes[key] = replace(outcome, without=row.without)

    def _answer(self, batch: Batch) -> Answer:
        names = frozenset(self.tools.encoder.names()) - {OWNER}
        records: dict[str, Record] = {key: row.record for key, row in self.done.items()}
        read_now = {key: row.contact for key, row in self.done.items() if row.contact is not None}
        # The owner after it: ours where it was taken, else the one who was read.
        owners = {key: contact.owner for key, contact in read_now.items() if contact.owner is not None}
        for key, record in records.items():
            if OWNER in record and isinstance(self.outcomes[key], Written):
                owners[key] = str(record[OWNER])
        return Answer(
            outcomes=tuple(
                self.outcomes.get(record.key) or Unknown(record.key, "no word of this record")
                for record in batch.records
            ),
            records=records,
            found={
                key: {name: value for name, value in contact.properties.items() if name in names}
                for key, contact in read_now.items()
            },
            owners=owners,
            refused={key: row.refused for key, row in self.done.items() if row.refused},
            loads=tuple(self.loads),
            rate=self.run.rate,
            calls=self.run.calls,
            quota_used=self.run.quota[0] if self.run.quota else None,
            quota_max=self.run.quota[1] if self.run.quota else None,
        )


def now() -> float:
    """Monotonic."""
    return asyncio.get_running_loop().time()


def _kept_back(row: Row, answered: Mapping[str, object]) -> Row:
    """HubSpot ignores a lifecycle stage that would go back, and says nothing."""
    properties = answered.get("properties")
    there = properties.get(LIFECYCLE) if isinstance(properties, dict) else None
    sent = row.record.get(LIFECYCLE)
    if sent in (None, "") or not there or str(there).casefold() == str(sent).casefold():
        return row
    return row.shed({LIFECYCLE: f"HubSpot kept the stage {there}: it only moves forward"})
