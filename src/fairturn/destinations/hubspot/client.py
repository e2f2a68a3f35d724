"""HubSpot as a destination: contacts in batches, one outcome per record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairturn.config import Destination as Settings
from fairturn.decide.existing import policy_of
from fairturn.destinations.hubspot.auth import Credentials
from fairturn.destinations.hubspot.directory import Directory
from fairturn.destinations.hubspot.door import Door, Tally, tally
from fairturn.destinations.hubspot.encode import Encoder
from fairturn.destinations.hubspot.lookup import CREATED, STATUS, People
from fairturn.destinations.hubspot.reading import Reader, Unread
from fairturn.destinations.hubspot.regard import Regard
from fairturn.destinations.hubspot.rows import Record
from fairturn.destinations.hubspot.writing import Tools, Writing
from fairturn.errors import DestinationError
from fairturn.model import Answer, Batch, LookUp, Outgoing, Refused


class HubSpot:
    """Implements ports.Destination. No secret of it appears in an error, a log line or a repr."""

    def __init__(self, credentials: Credentials, encoder: Encoder, settings: Settings, *, name: str) -> None:
        slots = settings.max_slots + 2
        door = Door(credentials, name=name, timeout=settings.request_timeout, connections=slots, doubts=True)
        self._timeout = settings.request_timeout
        self._name = name
        directory = Directory(door)
        status = settings.status_field or STATUS
        reader = Reader(door, settings.object, [*encoder.names(), status, CREATED])
        self._people = People(directory, settings.object, encoder.external_id, status, frozenset(encoder.names()))
        regard = Regard(encoder, reader, self._people, policy_of(settings))
        self._tools = Tools(door, encoder, directory, regard, settings.object, {}, {})

    def __repr__(self) -> str:
        return f"HubSpot({self._name!r})"

    async def org(self) -> str:
        """The id of the account (portal) that answers."""
        run = tally(self._timeout)
        portal = (await self._tools.door.account(run)).portal
        await self._tools.directory.fresh(run)
        return portal

    async def close(self) -> None:
        await self._tools.door.close()

    def draft(self, records: Sequence[Outgoing]) -> Mapping[str, Record | Refused]:
        users, known = self._tools.directory.users, self._tools.directory.known
        return {record.key: self._tools.encoder.draft(record, users, known=known) for record in records}

    async def look_up(self, emails: Sequence[str], seconds: float) -> LookUp:
        run = tally(seconds)
        await self._tools.door.account(run)
        await self._tools.directory.fresh(run)
        found = await self._tools.regard.reader.by_email(run, emails)
        used, most = run.quota or (None, None)
        people = tuple(self._people.person(email, contact) for email, contact in found.items())
        return LookUp(people, run.calls, used, most, run.rate)

    async def write(self, batch: Batch) -> Answer:
        """Within the request time-out, login included. Raises DestinationError only before anything was sent."""
        run = tally(self._timeout)
        await self._tools.door.account(run)
        await self._owners(run, batch.records)
        return await Writing(self._tools, run).write(batch)

    async def _owners(self, run: Tally, records: Sequence[Outgoing]) -> None:
        """Somebody who was given access a minute ago is no reason to refuse a lead."""
        directory = self._tools.directory
        try:
            await directory.fresh(run)
            users = directory.users
            if users is not None and any(
                isinstance(self._tools.encoder.owner(record, users), Refused)
                for record in records
                if record.owner is not None
            ):
                await directory.fresh(run, missed=True)
        except Unread as error:
            raise DestinationError(str(error), error.after) from error
