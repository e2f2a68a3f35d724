"""Asking HubSpot what it has: the contacts that bear our keys, or the addresses that we wrote. Reads only."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from fairturn.config import Destination as Settings
from fairturn.desk import Found
from fairturn.destinations.hubspot.auth import Credentials
from fairturn.destinations.hubspot.directory import Directory
from fairturn.destinations.hubspot.door import Door, Tally, tally
from fairturn.destinations.hubspot.limits import MAX_RECORDS
from fairturn.destinations.hubspot.lookup import CREATED, moment
from fairturn.destinations.hubspot.reading import Reader, Unread
from fairturn.destinations.hubspot.rows import EMAIL, OWNER, Contact
from fairturn.errors import DestinationError

TRIES = 4  # of a question that met an outage or a limit
PATIENT = 30.0  # seconds that a person waits for one to pass

T = TypeVar("T")
Question = Callable[[Tally, Sequence[str]], Awaitable[dict[str, Contact]]]


class HubSpotInspect:
    """Implements ports.Inspect."""

    def __init__(self, credentials: Credentials, settings: Settings, *, name: str) -> None:
        self._door = Door(credentials, name=name, timeout=settings.request_timeout, connections=2)
        self._seconds = settings.request_timeout
        self._key = settings.external_id
        self._reader = Reader(self._door, settings.object, [OWNER, EMAIL, CREATED, settings.external_id])
        self._directory = Directory(self._door)
        self._name = name

    def __repr__(self) -> str:
        return f"HubSpotInspect({self._name!r})"

    async def find(self, keys: Sequence[str], emails: Sequence[str], records: Sequence[str] = ()) -> Sequence[Found]:
        """Each contact once, however it was found. Raises DestinationError."""
        found: dict[str, Contact] = {}

        async def by_key(run: Tally, part: Sequence[str]) -> dict[str, Contact]:
            return await self._reader.by_key(run, self._key, part)

        questions: list[tuple[Question, Sequence[str]]] = [
            (self._reader.by_email, emails),
            (self._reader.by_id, records),
        ]
        if self._key != EMAIL:
            questions.insert(0, (by_key, keys))
        for question, values in questions:
            wanted = list(dict.fromkeys(values))
            for start in range(0, len(wanted), MAX_RECORDS):
                part = wanted[start : start + MAX_RECORDS]
                there = await self._asked(partial(put, question, part))
                found |= {contact.id: contact for contact in there.values()}
        if any(contact.owner for contact in found.values()):
            await self._asked(self._directory.fresh)
        return [self._found(contact) for contact in found.values()]

    async def close(self) -> None:
        await self._door.close()

    def _found(self, contact: Contact) -> Found:
        """An app is no user: who made a contact is not told of it."""
        key = contact.properties.get(self._key) if self._key != EMAIL else None
        owner = self._directory.owner(contact.owner)
        return Found(
            contact.id,
            key or None,
            contact.owner,
            contact.properties.get(EMAIL) or None,
            owner.name if owner else None,
            owner.email if owner else None,
            moment(contact.properties.get(CREATED)),
        )

    async def _asked(self, question: Callable[[Tally], Awaitable[T]]) -> T:
        for attempt in range(1, TRIES + 1):
            run = tally(self._seconds)
            await self._door.account(run)
            try:
                return await question(run)
            except Unread as error:
                wait = error.later.after if error.later.after is not None else 2.0**attempt
                if attempt == TRIES or wait > PATIENT:
                    raise DestinationError(f"Destination {self._name} does not answer the question: {error}") from error
            await asyncio.sleep(wait)
        raise DestinationError(f"Destination {self._name} does not answer the question")


async def put(question: Question, part: Sequence[str], run: Tally) -> dict[str, Contact]:
    return await question(run, part)
