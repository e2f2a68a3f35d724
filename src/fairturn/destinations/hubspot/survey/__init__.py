"""Whether the settings would work in this account, asked as the app: `fairturn check --crm`."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fairturn.config import Settings
from fairturn.decide.users import User, named
from fairturn.desk import Finding
from fairturn.destinations.hubspot.auth import SANDBOXES, Credentials
from fairturn.destinations.hubspot.door import Door, tally
from fairturn.destinations.hubspot.encode import sources
from fairturn.destinations.hubspot.problems import Problem
from fairturn.destinations.hubspot.rows import EMAIL
from fairturn.destinations.hubspot.survey import properties
from fairturn.destinations.hubspot.survey.asks import SCOPES, WHERE, Asks, lacks_scope
from fairturn.destinations.hubspot.survey.probe import Probe, probe_properties
from fairturn.destinations.surveying import Notes, judge_person, wanted_in
from fairturn.errors import DestinationError, LoginRefused, WrongOrg

TOKEN_INFO: Final = "/oauth/v2/private-apps/get/access-token-info"  # noqa: S105 - a path
SCARCE: Final = 0.2  # of the day's requests left: a warning


class HubSpotSurvey:
    """Implements desk.Survey."""

    def __init__(self, name: str, settings: Settings, credentials: Credentials) -> None:
        self._name = name
        self._settings = settings
        self._mine = mine = settings.destinations[name]
        self._credentials = credentials
        self._door = Door(credentials, name=name, timeout=mine.request_timeout, connections=2)
        self._asks = Asks(self._door, mine.request_timeout)

    def __repr__(self) -> str:
        return f"HubSpotSurvey({self._name!r})"

    async def close(self) -> None:
        await self._door.close()

    async def survey(self, *, probe: bool) -> Sequence[Finding]:
        notes = Notes(self._name)
        try:
            await self._account(notes)
            await self._scopes(notes)
            known = await self._properties(notes)
            users = await self._owners(notes)
            await self._contacts(notes)
            self._limits(notes)
            if probe:
                await self._probe(notes, known, users)
        except WrongOrg as error:
            notes.error("account", str(error), "The Hub ID stands in the menu behind your account's name")
        except LoginRefused as error:
            notes.error("login", str(error), "Development, Legacy apps, the app, Auth: copy the token")
        except DestinationError as error:
            notes.error("connection", str(error), "Nothing more was asked. Try again once it answers")
        return notes.findings

    async def _account(self, notes: Notes) -> None:
        account = await self._door.account(tally(self._mine.request_timeout))
        kind = "a sandbox" if account.kind in SANDBOXES else account.kind.lower().replace("_", " ") or "an account"
        notes.ok("login", f"account {account.portal}, {kind}")
        if self._mine.org is None:
            notes.warning("account", "no account is pinned", f'Pin this one: org = "{account.portal}"')

    async def _scopes(self, notes: Notes) -> None:
        """A private app's token tells its scopes. The token goes in the body: a URL would be kept in logs."""
        if self._credentials.token is None:
            return
        reply, body = await self._asks.send("POST", TOKEN_INFO, {"tokenKey": self._credentials.token})
        granted = body.get("scopes")
        if reply.status >= 300 or not isinstance(granted, list):
            return  # then what cannot be read says so itself, and the probe what cannot be written
        for scope, reason in SCOPES.items():
            if scope not in granted:
                notes.error(f"scope {scope}", f"the app does not have it, {reason}", f"{WHERE}: tick it")

    async def _properties(self, notes: Notes) -> Mapping[str, properties.Property]:
        answer = await self._asks.ask("/crm/v3/properties/contacts")
        if isinstance(answer, Problem):
            self._refused(notes, "properties", answer, "crm.schemas.contacts.read")
            return {}
        rows = answer.get("results")
        found = [properties.property_of(row) for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
        known = {one.name: one for one in found}
        properties.judge_key(notes, known, self._mine.external_id)
        properties.judge_map(notes, known, self._settings, self._mine)
        properties.judge_status(notes, known, self._mine)
        return known

    async def _owners(self, notes: Notes) -> list[User]:
        """The reps' owners, those who can be given leads. The deactivated are listed apart."""
        users: list[User] = []
        for archived in ("false", "true"):
            rows = await self._asks.all("/crm/v3/owners/", {"limit": "500", "archived": archived})
            if isinstance(rows, Problem):
                self._refused(notes, "owners", rows, "crm.objects.owners.read")
                return []
            users += [user_of(row) for row in rows if row.get("id")]
        found: list[User] = []
        for one in wanted_in(self._name, self._settings):
            user = judge_person(notes, one, named(one.text, users), "HubSpot", "Settings, Users & Teams")
            if user is not None and one.kind == "rep":
                found.append(user)
        return found

    async def _contacts(self, notes: Notes) -> None:
        """Whether contacts can be read, which a look-up does."""
        answer = await self._asks.ask("/crm/v3/objects/contacts", {"limit": "1", "properties": EMAIL})
        if isinstance(answer, Problem):
            self._refused(notes, "contacts", answer, "crm.objects.contacts.read")
        else:
            notes.ok("contacts", "can be read")

    def _limits(self, notes: Notes) -> None:
        run = self._asks.last
        if run is None:
            return
        if run.rate is not None:
            notes.ok("burst limit", f"{run.rate.most} requests in {run.rate.seconds:g} s, for this app")
        if run.quota is None:
            return
        used, most = run.quota
        sentence = f"{max(most - used, 0):,} of {most:,} requests of the day are left, for all apps together"
        if most - used <= most * SCARCE:
            remedy = "Settings, Integrations, API usage; set daily_calls to leave room for others"
            (notes.error if used >= most else notes.warning)("quota", sentence, remedy)
        else:
            notes.ok("quota", sentence)

    async def _probe(self, notes: Notes, known: Mapping[str, properties.Property], users: Sequence[User]) -> None:
        mine, key = self._mine, f"fairturn-probe-{uuid.uuid4().hex[:16]}"
        if mine.external_id == EMAIL:
            key += "@example.com"
        elif (found := known.get(mine.external_id)) is None or not found.unique:
            notes.error("probe", "nothing was made: it could not be found again", properties.MAKE)
            return
        walk = Probe(self._asks, mine.external_id, key)
        await walk.run(notes, probe_properties(sources(mine.map)), users[0].id if users else None)

    def _refused(self, notes: Notes, what: str, problem: Problem, scope: str) -> None:
        if lacks_scope(problem):
            told = f"scope {scope}"
            if all(one.subject != told for one in notes.findings):
                notes.error(told, f"the app does not have it, {SCOPES[scope]}", f"{WHERE}: tick it")
        else:
            notes.error(what, f"could not be read: {problem.code}: {problem.words}", WHERE)


def user_of(row: Mapping[str, Any]) -> User:
    email = row.get("email") or None
    name = " ".join(str(row[part]) for part in ("firstName", "lastName") if row.get(part))
    return User(str(row["id"]), "user", name or str(email or row["id"]), email, active=row.get("archived") is not True)
