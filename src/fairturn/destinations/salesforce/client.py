"""Salesforce as a destination: sObject Collections upsert on our external id, one outcome per record.

PATCH /services/data/vXX.X/composite/sobjects/{Object}/{ExternalIdField}
https://developer.salesforce.com/docs/platform/api-rest/guide/resources-composite-sobjects-collections-upsert.html
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import orjson

from fairturn.destinations.http import NoAnswer, NotSent, Reply, exchange, open_client
from fairturn.destinations.salesforce.auth import Credentials, Login, Session
from fairturn.destinations.salesforce.decode import Reading, lacks_parent, names_nobody, read
from fairturn.destinations.salesforce.encode import Encoder, Record, only_id_is_the_owners
from fairturn.destinations.salesforce.limits import MAX_RECORDS, usage
from fairturn.errors import DestinationError, LoginRefused, WrongOrg
from fairturn.model import Answer, Batch, Later, LookUp, Outcome, Outgoing, Refused, Unknown, Written

KEPT = 10_000  # account keys remembered as not being in the CRM
FORGET = 600.0  # seconds until such a key is tried again

Drafted = tuple[Outgoing, Record]


@dataclass(slots=True)
class _Run:
    """One `write`: its time, its calls, and what each record came to."""

    ends: float  # monotonic
    calls: int = 0
    splits: int = 0  # further requests that may be spent on finding records that spoil one
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    records: dict[str, Record] = field(default_factory=dict)
    usage: tuple[int, int] | None = None

    def left(self) -> float:
        return self.ends - asyncio.get_running_loop().time()


class Salesforce:
    """Implements ports.Destination. No secret of it appears in an error, a log line or a repr."""

    def __init__(
        self, credentials: Credentials, encoder: Encoder, *, name: str, version: str, timeout: float, slots: int = 4
    ) -> None:
        self._client = open_client(timeout=timeout, allow_private=credentials.allow_private, connections=slots + 2)
        self._login = Login(self._client, credentials, name)
        self._encoder = encoder
        self._name = name
        self._path = f"/services/data/v{version.removeprefix('v')}/composite/sobjects"
        self._timeout = timeout
        self._org: str | None = None
        self._missing: dict[str, float] = {}  # an account's id or key -> when to try it again

    def __repr__(self) -> str:
        return f"Salesforce({self._name!r})"

    async def org(self) -> str:
        """The 18-character id of the org that answers."""
        return (await self._session(self._timeout)).org

    async def look_up(self, emails: Sequence[str], seconds: float) -> LookUp:  # noqa: ARG002
        raise DestinationError("look-ups are not built yet")

    async def close(self) -> None:
        await self._client.aclose()

    def draft(self, records: Sequence[Outgoing]) -> Mapping[str, Record | Refused]:
        return {record.key: self._encoder.draft(record) for record in records}

    async def write(self, batch: Batch) -> Answer:
        """Within the request time-out, login included. Raises DestinationError only before anything was sent."""
        run = _Run(asyncio.get_running_loop().time() + self._timeout)
        await self._session(run.left())
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
        session: Session | None = None
        reading = Reading("rows")
        for _ in range(2):
            try:
                session = await self._session(run.left(), stale=session)
                reading = read(await self._request(run, session, drafted), sent)
            except NoAnswer as error:
                return Reading("rows", tuple(Unknown(outgoing.key, str(error)) for outgoing in sent))
            except (NotSent, LoginRefused, WrongOrg) as error:
                kind = type(error).__name__
                return Reading("rows", tuple(Later(o.key, None, "destination", kind, str(error)) for o in sent))
            if reading.kind != "expired":
                return reading
        return Reading("rows", reading.outcomes)

    async def _request(self, run: _Run, session: Session, drafted: Sequence[Drafted]) -> Reply:
        if run.left() <= 0:
            raise NotSent(f"no time was left of the {self._timeout:.0f} s for this request")
        request = self._client.build_request(
            "PATCH",
            session.base.copy_with(path=f"{self._path}/{self._encoder.sobject}/{self._encoder.external_id}"),
            content=orjson.dumps(self._encoder.payload(drafted)),
            headers={
                "Authorization": f"Bearer {session.token}",
                "Content-Type": "application/json; charset=UTF-8",
                "Accept": "application/json",
                # Absent means TRUE: the org's assignment rules would replace the owner that we send.
                "Sforce-Auto-Assign": "FALSE",
            },
        )
        run.calls += 1
        reply = await exchange(self._client, request, run.left())
        run.usage = usage(reply.headers.get("sforce-limit-info")) or run.usage
        return replace(reply, body=self._login.clean(reply.body, session))

    async def _session(self, seconds: float, stale: Session | None = None) -> Session:
        session = await self._login.session(seconds, stale)
        if self._org is None:
            self._org = session.org
        if session.org != self._org:
            raise WrongOrg(f"Destination {self._name} wrote to org {self._org}, and now org {session.org} answers")
        return session

    def _is_missing(self, record: Record, now: float) -> bool:
        return self._missing.get(self._encoder.account_of(record) or "", 0.0) > now

    def _note_missing(self, accounts: Iterable[str], now: float) -> None:
        if len(self._missing) > KEPT:
            self._missing.clear()
        self._missing |= dict.fromkeys(accounts, now + FORGET)
