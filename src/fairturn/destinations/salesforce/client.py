"""Salesforce as a destination: sObject Collections upsert on our external id, one outcome per record.

PATCH /services/data/vXX.X/composite/sobjects/{Object}/{ExternalIdField}
https://developer.salesforce.com/docs/platform/api-rest/guide/resources-composite-sobjects-collections-upsert.html
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fairturn.destinations.http import NoAnswer, NotSent, Reply, open_client
from fairturn.destinations.salesforce.auth import Credentials, Login
from fairturn.destinations.salesforce.decode import Reading, lacks_parent, names_nobody, read
from fairturn.destinations.salesforce.describe import Shapes
from fairturn.destinations.salesforce.directory import Directory, Named
from fairturn.destinations.salesforce.encode import Encoder, Record, only_id_is_the_owners, payload
from fairturn.destinations.salesforce.limits import MAX_RECORDS
from fairturn.destinations.salesforce.lookup import Reader
from fairturn.destinations.salesforce.wire import NO_RULES, Part, Run, Wire
from fairturn.errors import LoginRefused, WrongOrg
from fairturn.model import Answer, Batch, Later, LookUp, Outcome, Outgoing, Refused, Unknown, Written

KEPT = 10_000  # account keys remembered as not being in the CRM
FORGET = 600.0  # seconds until such a key is tried again

Drafted = tuple[Outgoing, Record]


@dataclass(slots=True)
class _Run(Run):
    """One `write`: its time, its calls, and what each record came to."""

    splits: int = 0  # further requests that may be spent on finding records that spoil one
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    records: dict[str, Record] = field(default_factory=dict)


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
        slots: int = 4,
        wanted: Iterable[Named] = (),
    ) -> None:
        self._client = open_client(timeout=timeout, allow_private=credentials.allow_private, connections=slots + 2)
        self._wire = Wire(self._client, Login(self._client, credentials, name), name=name, version=version)
        self._directory = Directory(self._wire, name, wanted)
        self._shapes = Shapes(self._wire, name)
        self._reader = Reader(self._wire, self._directory, self._shapes, encoder, name)
        self._encoder = encoder
        self._name = name
        self._timeout = timeout
        self._missing: dict[str, float] = {}  # an account's id or key -> when to try it again

    def __repr__(self) -> str:
        return f"Salesforce({self._name!r})"

    async def org(self) -> str:
        """The 18-character id of the org that answers; whom the settings name there is found at the same time."""
        run = Run.of(self._timeout)
        session = await self._wire.session(run)
        await self._directory.load(run)
        return session.org

    async def look_up(self, emails: Sequence[str], seconds: float) -> LookUp:
        run = Run.of(min(seconds, self._timeout))
        people = await self._reader.look_up(run, emails)
        used, most = run.usage or (None, None)
        return LookUp(people, calls=run.calls, quota_used=used, quota_max=most)

    async def close(self) -> None:
        await self._client.aclose()

    def draft(self, records: Sequence[Outgoing]) -> Mapping[str, Record | Refused]:
        return {record.key: self._encoder.draft(record, self._directory.known) for record in records}

    async def write(self, batch: Batch) -> Answer:
        """Within the request time-out, login included. Raises DestinationError only before anything was sent."""
        run = _Run(asyncio.get_running_loop().time() + self._timeout)
        await self._wire.session(run)
        await self._directory.load(run, [name for record in batch.records for name in self._encoder.names(record)])
        drafted: list[Drafted] = []
        for outgoing, draft in zip(batch.records, self.draft(batch.records).values(), strict=True):
            if isinstance(draft, Refused):
                run.outcomes[outgoing.key] = draft
            else:
                drafted.append((outgoing, draft))
        for start in range(0, len(drafted), MAX_RECORDS):
            await self._upsert(run, drafted[start : start + MAX_RECORDS])
        return Answer(
            outcomes=tuple(run.outcomes[record.key] for record in batch.records),
            records=run.records,
            calls=run.calls,
            quota_used=run.usage[0] if run.usage else None,
            quota_max=run.usage[1] if run.usage else None,
        )

    async def _upsert(self, run: _Run, drafted: Sequence[Drafted]) -> None:
        """One request; a second one, without their accounts, for the records whose account the CRM does not have."""
        now = asyncio.get_running_loop().time()
        known = [
            (outgoing, self._encoder.without_account(record) if self._is_missing(record, now) else record)
            for outgoing, record in drafted
        ]
        run.splits = 2 * len(known).bit_length() + 2
        await self._divide(run, known)
        orphans = {
            outgoing.key: account
            for outgoing, record in known
            if (account := self._encoder.account_of(record)) and lacks_parent(run.outcomes[outgoing.key])
        }
        if orphans:
            await self._divide(run, [(o, self._encoder.without_account(r)) for o, r in known if o.key in orphans])
            # Only what went through without its account says that the account was at fault, and not the owner.
            self._note_missing((orphans[key] for key in orphans if isinstance(run.outcomes[key], Written)), now)
        for outgoing, _ in known:
            # "invalid cross reference id" names no field; where the owner's is the only id, it is the owner's fault.
            outcome = run.outcomes[outgoing.key]
            if names_nobody(outcome, outgoing) and only_id_is_the_owners(run.records[outgoing.key]):
                run.outcomes[outgoing.key] = replace(outcome, owner_fault=True)

    async def _divide(self, run: _Run, drafted: Sequence[Drafted]) -> None:
        """Salesforce answers 400 to the whole request if it cannot even read one record: halve it until that one
        stands alone. Bounded, so that a fault of the mapping does not cost a request per record.
        """
        reading = await self._send(run, drafted)
        if reading.kind == "split" and run.splits > 0:
            middle = len(drafted) // 2
            run.splits -= 2
            await self._divide(run, drafted[:middle])
            await self._divide(run, drafted[middle:])
            return
        for (outgoing, record), outcome in zip(drafted, reading.outcomes, strict=True):
            run.outcomes[outgoing.key] = outcome
            run.records[outgoing.key] = record

    async def _send(self, run: _Run, drafted: Sequence[Drafted]) -> Reading:
        """A request, and once more after a renewed login. Whatever happens, every record gets an outcome."""
        sent = [outgoing for outgoing, _ in drafted]
        try:
            return read(await self._request(run, drafted), sent)
        except NoAnswer as error:
            return Reading("rows", tuple(Unknown(outgoing.key, str(error)) for outgoing in sent))
        except (NotSent, LoginRefused, WrongOrg) as error:
            kind = type(error).__name__
            return Reading("rows", tuple(Later(o.key, None, "destination", kind, str(error)) for o in sent))

    async def _request(self, run: _Run, drafted: Sequence[Drafted]) -> Reply:
        path = self._wire.path(f"composite/sobjects/{self._encoder.sobject}/{self._encoder.external_id}")
        key = self._encoder.external_id
        rows = [(self._encoder.sobject, {key: outgoing.key, **record}) for outgoing, record in drafted]
        return await self._wire.send(run, Part("PATCH", path, payload(rows), NO_RULES))

    def _is_missing(self, record: Record, now: float) -> bool:
        return self._missing.get(self._encoder.account_of(record) or "", 0.0) > now

    def _note_missing(self, accounts: Iterable[str], now: float) -> None:
        if len(self._missing) > KEPT:
            self._missing.clear()
        self._missing |= dict.fromkeys(accounts, now + FORGET)
