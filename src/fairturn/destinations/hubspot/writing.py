"""One write: read what must be read, send, send again what is to be sent otherwise, until every record has an outcome.

Known contacts by batch/update on their record id, new ones by batch/upsert on the unique property.
https://developers.hubspot.com/docs/api-reference/crm-contacts-v3/guide
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fairturn.decide.existing import Policy, free
from fairturn.destinations.http import NoAnswer, NotSent
from fairturn.destinations.hubspot.companies import associate
from fairturn.destinations.hubspot.decode import Clash, Gone, Reading, Shed, read
from fairturn.destinations.hubspot.directory import Directory
from fairturn.destinations.hubspot.door import Door, Tally
from fairturn.destinations.hubspot.encode import LIFECYCLE, Encoder
from fairturn.destinations.hubspot.lookup import People
from fairturn.destinations.hubspot.problems import Problem
from fairturn.destinations.hubspot.reading import Reader, Unread
from fairturn.destinations.hubspot.rows import COMPANY, EMAIL, OWNER, Contact, Record, Row, requests
from fairturn.errors import LoginRefused, WrongOrg
from fairturn.model import Answer, Batch, Later, Load, Outcome, Outgoing, Refused, Unknown, Written

TURNS = 5  # times that one record is sent again within a write
FORGET = 600.0  # seconds that a property is left out which the account does not have, or does not let us write


@dataclass(frozen=True, slots=True)
class Tools:
    """What all writes to one account share."""

    door: Door
    encoder: Encoder
    reader: Reader
    directory: Directory
    object_type: str
    policy: Policy
    people: People
    barred: dict[str, tuple[float, str]]  # property -> when to try it again (monotonic), HubSpot's words


@dataclass(slots=True)
class Writing:
    tools: Tools
    run: Tally
    spare: int = 0  # further requests that may be spent on what spoils one
    halted: Later | None = None  # the account is to be left alone: nothing more is sent
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    done: dict[str, Row] = field(default_factory=dict)  # as sent
    found: dict[str, Contact] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
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
            for part in requests(self._ready(rows), self.external_id):
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
        stale = [row for row in rows if row.record_id is not None and _is_stale(row.outgoing)]
        by_email = [row for row in rows if row.record_id is None and self.external_id == EMAIL]
        tried = [row for row in rows if row.record_id is None and row.outgoing.reread and self.external_id != EMAIL]
        try:
            for asked, known in (
                (stale, await self._by_id(stale)),
                (by_email, await self._by_email(by_email)),
                (tried, await self._by_key(tried)),
            ):
                rows = self._regarded(rows, asked, known)
        except Unread as error:
            return self._unread(rows, [*stale, *by_email, *tried], error)
        return list(rows)

    async def _by_id(self, rows: Sequence[Row]) -> Mapping[str, Contact]:
        ids = {row.key: row.record_id for row in rows if row.record_id is not None}
        known = await self.tools.reader.by_id(self.run, ids.values()) if ids else {}
        return {key: known[one] for key, one in ids.items() if one in known}

    async def _by_email(self, rows: Sequence[Row]) -> Mapping[str, Contact]:
        emails = {row.key: row.email for row in rows if row.email is not None}
        known = await self.tools.reader.by_email(self.run, emails.values()) if emails else {}
        return {key: known[one] for key, one in emails.items() if one in known}

    async def _by_key(self, rows: Sequence[Row]) -> Mapping[str, Contact]:
        keys = [row.key for row in rows]
        return await self.tools.reader.by_key(self.run, self.external_id, keys) if keys else {}

    def _regarded(self, rows: Sequence[Row], asked: Sequence[Row], known: Mapping[str, Contact]) -> list[Row]:
        """The same rows; those asked for by what was read. Known ones that are not there are found out by the write."""
        wanted = {row.key for row in asked}
        return [self._onto(row, known[row.key]) if row.key in wanted & known.keys() else row for row in rows]

    def _onto(self, row: Row, contact: Contact) -> Row:
        """Write this contact, over what it has now, with the owner only where nobody else's stands."""
        outgoing = row.outgoing
        self.found[row.key] = contact
        record = dict(self.tools.encoder.onto(outgoing, contact))
        stands = self._stands(row, contact)
        if stands is not None:
            self.owners[row.key] = stands
        elif OWNER in row.record:
            record[OWNER] = row.record[OWNER]
        elif contact.owner is not None:
            self.owners[row.key] = contact.owner
        kept = {name: value for name, value in record.items() if name not in row.without}
        return replace(row, record=kept, record_id=contact.id, contact=contact, stands=stands)

    def _stands(self, row: Row, contact: Contact) -> str | None:
        """The owner who is there and stays: set by somebody since we last knew, or active where we never knew."""
        outgoing, there = row.outgoing, contact.owner
        ours = row.record.get(OWNER)
        if there is None or ours is None or there in (ours, outgoing.owner_known):
            return None
        if outgoing.owner_known is None and free(self.tools.people.person("", contact), self.tools.policy) is not None:
            return None
        return there

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
        now = asyncio.get_running_loop().time()
        able = []
        for one in rows:
            barred = {
                name: words for name, (until, words) in self.tools.barred.items() if until > now and name in one.record
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
        if self.halted is not None:
            self.outcomes |= {row.key: replace(self.halted, key=row.key) for row in part}
            return []
        verb = "upsert" if part[0].record_id is None else "update"
        path = f"/crm/v3/objects/{self.tools.object_type}/batch/{verb}"
        began = asyncio.get_running_loop().time()
        body = {"inputs": [row.payload(self.external_id) for row in part]}
        try:
            reply = await self.tools.door.call(self.run, "POST", path, body)
        except NoAnswer as error:
            reading = Reading({row.key: Unknown(row.key, str(error)) for row in part})
        except (NotSent, LoginRefused, WrongOrg) as error:
            self.halted = Later(None, None, "destination", type(error).__name__, str(error))
            reading = Reading({row.key: replace(self.halted, key=row.key) for row in part})
        else:
            reading = read(reply, part, self.external_id)
            seconds = asyncio.get_running_loop().time() - began
            if 200 <= reply.status < 300:
                self.loads.append(Load(self.tools.object_type, len(part), seconds, overloaded=False))
        return await self._followed(part, reading)

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
        until = asyncio.get_running_loop().time() + FORGET
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
        try:
            by_id = await self.tools.reader.by_id(self.run, ids.values()) if ids else {}
            known = {key: by_id[one] for key, one in ids.items() if one in by_id}
            known |= await self._by_email([row for row in rows if row.key not in known])
        except Unread as error:
            return self._unread(rows, rows, error), []
        moved, unmoved = [], []
        for row, fate in clashes:
            if row.key in known:
                moved.append(self._onto(row, known[row.key]).again())
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
        known: dict[str, Contact] = {}
        try:
            known |= await self._by_id(rows)
            if self.external_id != EMAIL:
                known |= await self._by_key([row for row in rows if row.key not in known])
            known |= await self._by_email([row for row in rows if row.key not in known])
        except Unread as error:
            return self._unread(rows, rows, error)
        again = []
        for row, fate in gone:
            if row.key in known:
                again.append(self._onto(row, known[row.key]).again())
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
            if OWNER in row.record:
                self.owners[row.key] = str(row.record[OWNER])
            outcome = replace(outcome, without=row.without, owner_stands=row.stands)
        self.outcomes[row.key] = outcome
        self.done[row.key] = row

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
        return Answer(
            outcomes=tuple(
                self.outcomes.get(record.key) or Unknown(record.key, "no word of this record")
                for record in batch.records
            ),
            records=records,
            found={
                key: {name: value for name, value in contact.properties.items() if name in names}
                for key, contact in self.found.items()
            },
            owners=self.owners,
            refused={key: row.refused for key, row in self.done.items() if row.refused},
            loads=tuple(self.loads),
            rate=self.run.rate,
            calls=self.run.calls,
            quota_used=self.run.quota[0] if self.run.quota else None,
            quota_max=self.run.quota[1] if self.run.quota else None,
        )


def _is_stale(outgoing: Outgoing) -> bool:
    """Told to read it; or a record that we neither read nor wrote, whose id the lead came with."""
    return outgoing.reread or (outgoing.found is None and outgoing.confirmed is None)


def _kept_back(row: Row, answered: Mapping[str, object]) -> Row:
    """HubSpot ignores a lifecycle stage that would go back, and says nothing."""
    properties = answered.get("properties")
    there = properties.get(LIFECYCLE) if isinstance(properties, dict) else None
    sent = row.record.get(LIFECYCLE)
    if sent in (None, "") or not there or str(there).casefold() == str(sent).casefold():
        return row
    return row.shed({LIFECYCLE: f"HubSpot kept the stage {there}: it only moves forward"})
