"""Rows of what is to be written: the mapping's record, kept off what others wrote and off what the org refuses."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from fairturn.decide.users import same_id
from fairturn.destinations.salesforce.describe import Shapes
from fairturn.destinations.salesforce.directory import Directory, Named
from fairturn.destinations.salesforce.encode import QUEUE, Encoder, Record, cut
from fairturn.destinations.salesforce.finding import There
from fairturn.destinations.salesforce.mending import Mended
from fairturn.destinations.salesforce.rows import Row
from fairturn.model import Outgoing, Refused

KEPT: Final = 10_000  # account keys remembered as not being in the CRM
FORGET: Final = 600.0  # seconds until such a key, or a field that the org did not take, is tried again
PLACES: Final = ("State", "Country", "MailingState", "MailingCountry")


class Drafter:
    """Remembers, for a while, what the org turned out not to have."""

    def __init__(self, encoder: Encoder, directory: Directory, shapes: Shapes) -> None:
        self._encoder = encoder
        self._directory = directory
        self._shapes = shapes
        self._missing: dict[str, float] = {}  # an account's id or key -> when to try it again
        self._unfit: dict[tuple[str, str], tuple[float, str]] = {}  # object, field -> when to try it again, why not
        self._lengths: dict[tuple[str, str], tuple[float, int]] = {}  # object, field -> until when, how much it holds

    def draft(self, out: Outgoing) -> Record | Refused:
        """As it would be sent, as far as it is known without asking."""
        row = self.row(out)
        return row if isinstance(row, Refused) else row.record

    def places(self, sobject: str) -> bool:
        """Whether the org's lists of states and countries matter to what is written of this object."""
        return any(name in PLACES for name in self._encoder.mapping(sobject))

    def row(self, out: Outgoing, there: There | None = None, user: str | None = None) -> Row | Refused:
        """there: the record as it was read just now, which is the one to be written. user: who we are."""
        sobject = there.sobject if there else self._encoder.object_of(out)
        if there is not None:
            out = replace(out, record_id=there.record_id, object_type=sobject, found=there.values)
            if not there.same:  # of another record nothing was ever ours
                out = replace(out, confirmed=None, refused={})
        if problem := self._encoder.impossible(out, sobject):
            return problem
        shape = self._shapes.known(sobject)
        whole = self._encoder.compose(out, sobject, find=self._directory.known, shape=shape)
        new = out.record_id is None
        record = self._encoder.guard(out, whole, sobject, new=new, wrote=out.confirmed, current=out.found)
        owner = self._encoder.owner(out, sobject, self._directory.known)
        if isinstance(owner, Refused):
            return owner
        stands = self._stands(out, owner.get("OwnerId"), there, user)
        made = Row(out, sobject, record | ({} if stands else owner), self._unmarked(out), stands)
        return self._off_limits(replace(made, without=self._untyped(out, whole, sobject)))

    def mended(self, row: Row, mended: Mended) -> Row:
        """The row without what its org refused, which is remembered where it holds for every record."""
        until = asyncio.get_running_loop().time() + FORGET
        self._unfit |= {(row.sobject, name): (until, mended.without[name]) for name in mended.unfit}
        self._lengths |= {(row.sobject, name): (until, most) for name, most in mended.lengths.items()}
        values = {name: row.record[name] for name in mended.without}
        return replace(
            row,
            record=mended.record,
            without={**row.without, **mended.without},
            refused={**row.refused, **values},
        )

    def without_account(self, row: Row) -> Row:
        return replace(row, record=self._encoder.without_account(row.record), bare=True)

    def note_missing(self, accounts: Iterable[str]) -> None:
        if len(self._missing) > KEPT:
            self._missing.clear()
        self._missing |= dict.fromkeys(accounts, asyncio.get_running_loop().time() + FORGET)

    def _stands(self, out: Outgoing, owner: object, there: There | None, user: str | None) -> str | None:
        """An owner whom somebody else gave the record since, and who is left: the one who has it now."""
        if there is None or owner is None or there.owner is None or same_id(there.owner, str(owner)):
            return None
        if out.owner_known is None and not there.kept and (there.free or there.owner.startswith(QUEUE)):
            return None  # the event named the record, and nobody has it who keeps it
        # With a lost answer, whom we had sent: another one there was set by somebody since.
        sent = (out.confirmed or {}).get("OwnerId") if out.owner_known is None else None
        ours = [str(one) for one in (out.owner_known, sent, user) if one is not None]
        return there.owner if there.kept or not any(same_id(there.owner, one) for one in ours) else None

    def _unmarked(self, out: Outgoing) -> bool:
        """Whether our key has to be put on the record. What we wrote before bears it, unless we read otherwise."""
        key = self._encoder.external_id
        if out.record_id is None:
            return False
        if out.found is not None and key in out.found:
            return str(out.found[key] or "").casefold() != out.key.casefold()
        return out.confirmed is None

    def _untyped(self, out: Outgoing, whole: Record, sobject: str) -> dict[str, str]:
        """Record types that the mapping names and the org does not have: field -> why it is left out."""
        without: dict[str, str] = {}
        for name, way in self._encoder.mapping(sobject).items() if out.record_id is None else ():
            if way.record_type is None or name in whole:
                continue
            known = self._directory.known(Named("record_type", way.record_type, sobject))
            if known is not None:
                count = "several record types" if known.ids else "no record type"
                without[name] = f"Salesforce has {count} {way.record_type!r} of {sobject}"
        return without

    def _off_limits(self, row: Row) -> Row:
        """Less what was found out before: fields, lengths, accounts."""
        now = asyncio.get_running_loop().time()
        record, without, refused = dict(row.record), dict(row.without), dict(row.refused)
        for name, value in row.record.items():
            until, why = self._unfit.get((row.sobject, name), (0.0, ""))
            if until > now:
                del record[name]
                without[name], refused[name] = why, value
                continue
            until, most = self._lengths.get((row.sobject, name), (0.0, 0))
            if until > now and isinstance(value, str):
                record[name] = cut(value, most)
        made = replace(row, record=record, without=without, refused=refused)
        account = self._encoder.account_of(record)
        return self.without_account(made) if self._missing.get(account or "", 0.0) > now else made
