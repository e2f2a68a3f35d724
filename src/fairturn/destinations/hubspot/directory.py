"""The owners of an account: who is meant by a name or an address, and who is active.

GET /crm/v3/owners/: `id` is what hubspot_owner_id takes, `userId` is another number. Those who left are a list of their
own, `archived=true`.
https://developers.hubspot.com/docs/api-reference/crm-crm-owners-v3/guide
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import structlog

from fairturn.decide.users import Roster, User
from fairturn.destinations.hubspot.decode import body_of
from fairturn.destinations.hubspot.door import Door, Tally
from fairturn.destinations.hubspot.problems import problems_of
from fairturn.destinations.hubspot.reading import Unread, asked
from fairturn.model import Later, Owner

log = structlog.get_logger(__name__)

PATH: Final = "/crm/v3/owners/"
PAGE: Final = 500  # owners; HubSpot's most
PAGES: Final = 100
FRESH: Final = 600.0  # seconds that the list is believed
MISSED: Final = 60.0  # seconds: at most so often it is read again for somebody who is not in it


class Directory:
    """`users` None: the app may not read owners. Then only ids can be used, and nobody is known to be inactive."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._read: float | None = None  # monotonic
        self._reading = asyncio.Lock()
        self.users: Roster | None = None

    @property
    def known(self) -> bool:
        """Whether anybody was asked yet."""
        return self._read is not None

    async def fresh(self, run: Tally, *, missed: bool = False) -> bool:
        """Read the list where it is too old; missed: somebody was not in it. Whether it was read. Raises Unread."""
        async with self._reading:
            now = asyncio.get_running_loop().time()
            if self._read is not None and now - self._read < (MISSED if missed else FRESH):
                return False
            try:
                self.users = Roster((*await self._list(run), *await self._left(run)))
            except Unread as error:
                log.warning("hubspot.owners_unread", destination=self._door.name, error=str(error))
                if error.later.code == "MISSING_SCOPES":
                    self.users = None
                elif self.users is None:
                    raise
                else:  # an old list is better than none
                    self._read = now - FRESH + MISSED
                    return False
            self._read = now
            return True

    def owner(self, owner_id: str | None) -> Owner | None:
        """Who owns a record; one who is in neither list is inactive."""
        if not owner_id:
            return None
        if self.users is None:
            return Owner(owner_id, "user", active=True)
        user = self.users.by_id(owner_id)
        if user is None:
            return Owner(owner_id, "user", active=False)
        return Owner(user.id, "user", active=user.active, name=user.name, email=user.email)

    async def _left(self, run: Tally) -> tuple[User, ...]:
        """For their names, and to tell who left from who was never there. Not worth a write that waits."""
        try:
            return await self._list(run, active=False)
        except Unread as error:
            log.warning("hubspot.archived_owners_unread", destination=self._door.name, error=str(error))
            return ()

    async def _list(self, run: Tally, *, active: bool = True) -> tuple[User, ...]:
        found: dict[str, User] = {}
        query = {"limit": str(PAGE), "archived": "false" if active else "true"}
        for _ in range(PAGES):
            reply = await asked(self._door, run, "GET", PATH, query=query)
            body = body_of(reply) or {}
            if reply.status >= 300 or not isinstance(body.get("results"), list):
                first = problems_of(body)[0]
                raise Unread(Later(None, None, "destination", first.code, f"the list of owners: {first.words}"))
            found |= {user.id: user for entry in body["results"] if (user := user_of(entry, active=active)) is not None}
            after = _after(body)
            if after is None or after == query.get("after"):
                break
            query["after"] = after
        return tuple(found.values())


def user_of(entry: Any, *, active: bool) -> User | None:
    if not isinstance(entry, dict) or not entry.get("id"):
        return None
    active = active and entry.get("archived") is not True
    email = entry.get("email")
    email = email if isinstance(email, str) and email else None
    name = " ".join(str(entry[part]) for part in ("firstName", "lastName") if entry.get(part))
    return User(str(entry["id"]), "user", name or email or str(entry["id"]), email, active=active)


def _after(body: Mapping[str, Any]) -> str | None:
    paging = body.get("paging")
    following = paging.get("next") if isinstance(paging, dict) else None
    after = following.get("after") if isinstance(following, dict) else None
    return str(after) if after else None
