"""A record, and the contact that turns out to be its person: what is written over it, and whose owner stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fairturn.decide.existing import Policy, free
from fairturn.destinations.hubspot.door import Tally
from fairturn.destinations.hubspot.encode import Encoder
from fairturn.destinations.hubspot.lookup import People
from fairturn.destinations.hubspot.reading import Reader
from fairturn.destinations.hubspot.rows import EMAIL, OWNER, Contact, Row
from fairturn.model import Outgoing


@dataclass(frozen=True, slots=True)
class Regard:
    encoder: Encoder
    reader: Reader
    people: People
    policy: Policy

    # Each by the key of the row; rows whose contact is not there are left out. All raise Unread.

    async def by_id(self, run: Tally, rows: Sequence[Row]) -> dict[str, Contact]:
        ids = {row.key: row.record_id for row in rows if row.record_id is not None}
        known = await self.reader.by_id(run, ids.values()) if ids else {}
        return {key: known[one] for key, one in ids.items() if one in known}

    async def by_email(self, run: Tally, rows: Sequence[Row]) -> dict[str, Contact]:
        emails = {row.key: row.email for row in rows if row.email is not None}
        known = await self.reader.by_email(run, emails.values()) if emails else {}
        return {key: known[one] for key, one in emails.items() if one in known}

    async def by_key(self, run: Tally, rows: Sequence[Row]) -> dict[str, Contact]:
        """Nobody, where the address is the key."""
        if self.encoder.external_id == EMAIL or not rows:
            return {}
        return await self.reader.by_key(run, self.encoder.external_id, [row.key for row in rows])

    async def by_any(self, run: Tally, rows: Sequence[Row]) -> dict[str, Contact]:
        """By the id (which was merged into another), else by our key, else by the address."""
        known: dict[str, Contact] = {}
        for ask in (self.by_id, self.by_key, self.by_email):
            known |= await ask(run, [row for row in rows if row.key not in known])
        return known

    def onto(self, row: Row, contact: Contact, now: float) -> Row:
        """Write this contact, over what it has now, with the owner only where nobody else's stands. now: monotonic."""
        record = dict(self.encoder.onto(row.outgoing, contact))
        stands = self._stands(row, contact)
        if stands is None and OWNER in row.record:
            record[OWNER] = row.record[OWNER]
        kept = {name: value for name, value in record.items() if name not in row.without}
        return replace(row, record=kept, record_id=contact.id, contact=contact, read_at=now, stands=stands)

    def regarded(self, rows: Sequence[Row], known: Mapping[str, Contact], now: float) -> list[Row]:
        """The same rows in their order. Known ones that are not there are found out by the write."""
        return [self.onto(row, known[row.key], now) if row.key in known else row for row in rows]

    def _stands(self, row: Row, contact: Contact) -> str | None:
        """The owner who is there and stays: set by somebody since we last knew, or active where we never knew."""
        there, ours, out = contact.owner, row.record.get(OWNER), row.outgoing
        # With a lost answer, whom we had sent: another one there was set by somebody since.
        sent = (out.confirmed or {}).get(OWNER) if out.owner_known is None else out.owner_known
        if there is None or ours is None or there in (ours, sent):
            return None
        if row.outgoing.owner_known is None and free(self.people.person("", contact), self.policy) is not None:
            return None
        return there


def is_stale(outgoing: Outgoing) -> bool:
    """Told to read it; or a record that we neither read nor wrote, whose id the lead came with."""
    return outgoing.reread or (outgoing.found is None and outgoing.confirmed is None)
