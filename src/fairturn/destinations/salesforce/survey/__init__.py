"""Whether the settings would work in this org, asked as the integration user: `fairturn check --crm`."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fairturn.config import MapTo, Settings
from fairturn.decide.users import User
from fairturn.desk import Finding
from fairturn.destinations.http import base_of, open_client
from fairturn.destinations.salesforce.auth import Credentials, Login, Session
from fairturn.destinations.salesforce.decode import Problem, problems_of
from fairturn.destinations.salesforce.directory import Directory, Named
from fairturn.destinations.salesforce.encode import sources
from fairturn.destinations.salesforce.objects import CONTACT, LEAD, translated
from fairturn.destinations.salesforce.soql import among, select
from fairturn.destinations.salesforce.survey import fields
from fairturn.destinations.salesforce.survey.automation import judge_automation
from fairturn.destinations.salesforce.survey.described import Described, described
from fairturn.destinations.salesforce.survey.probe import LABEL, Probe
from fairturn.destinations.salesforce.wire import NO_RULES, SAVE_ALIKE, Part, Run, Wire, parsed
from fairturn.destinations.surveying import Notes, Wanted, judge_person, wanted_in
from fairturn.errors import DestinationError, LoginRefused, WrongOrg

PLACES: Final = {"rep": "Setup, Users", "owner": "Setup, Users or Queues", "parked": "Setup, Users or Queues"}
SCARCE: Final = 0.2  # of the day's requests left: a warning
APP: Final = (
    "Setup, External Client App Manager (or App Manager), the app: consumer key and secret, client credentials flow"
)


class SalesforceSurvey:
    """Implements desk.Survey."""

    def __init__(self, name: str, settings: Settings, credentials: Credentials) -> None:
        self._name = name
        self._settings = settings
        self._mine = mine = settings.destinations[name]
        self._seconds = mine.request_timeout
        self._client = open_client(timeout=self._seconds, allow_private=credentials.allow_private, connections=2)
        self._wire = Wire(self._client, Login(self._client, credentials, name), name=name, version=mine.api_version)

    def __repr__(self) -> str:
        return f"SalesforceSurvey({self._name!r})"

    async def close(self) -> None:
        await self._client.aclose()

    async def survey(self, *, probe: bool) -> Sequence[Finding]:
        notes = Notes(self._name)
        try:
            session = await self._wire.session(self._time())
            await self._org(notes, session)
            await self._quota(notes)
            await self._objects(notes)
            users = await self._people(notes)
            objects = [self._mine.object, *([CONTACT] if self._contacts else [])]
            await judge_automation(notes, self._wire, self._time(), objects, asked=self._mine.existing == "ask")
            # Nothing is written to an org that is not the one that is meant, or that lets us make nothing.
            wrong = {one.subject for one in notes.findings if one.severity == "error"}
            if probe and not wrong & {"org", self._mine.object}:
                await self._probe(notes, users)
        except WrongOrg as error:
            notes.error("org", str(error), "Setup, Company Information shows the org's id")
        except LoginRefused as error:
            notes.error("login", str(error), APP)
        except DestinationError as error:
            notes.error("connection", str(error), "Nothing more was asked. Try again once it answers")
        return notes.findings

    @property
    def _contacts(self) -> bool:
        """Whether people are found who are Contacts already."""
        return self._mine.object == LEAD and self._mine.existing == "ask"

    async def _org(self, notes: Notes, session: Session) -> None:
        [answer] = await self._wire.ask(
            self._time(), [select(("Name", "IsSandbox"), "Organization", among("Id", [session.org]))]
        )
        row = answer[0] if isinstance(answer, list) and answer else {}
        sandbox = row.get("IsSandbox")
        kind = "a sandbox" if sandbox else "production" if sandbox is False else "of which nothing is told"
        notes.ok("login", f"org {session.org}, {row.get('Name') or 'without a name'}, {kind}")
        if self._mine.sandbox is not None and sandbox is not None and self._mine.sandbox != sandbox:
            wanted = "a sandbox" if self._mine.sandbox else "production"
            notes.error("org", f"it is {kind}, and sandbox says that it has to be {wanted}", "Correct url, or sandbox")
        if self._mine.org is None:
            notes.warning("org", "no org is pinned", f'Pin this one: org = "{session.org}"')

    async def _quota(self, notes: Notes) -> None:
        run = self._time()
        reply = await self._wire.send(run, Part("GET", self._wire.path("limits")))
        body = parsed(reply.body)
        daily = body.get("DailyApiRequests") if isinstance(body, dict) else None
        most, left = (daily.get("Max"), daily.get("Remaining")) if isinstance(daily, dict) else (None, None)
        if not isinstance(most, int) or not isinstance(left, int):
            if run.usage is None:
                sentence = "the day's limit of requests could not be read"
                notes.warning("quota", sentence, "Give the integration user View Setup and Configuration")
                return
            most, left = run.usage[1], run.usage[1] - run.usage[0]
        sentence = (
            f"{max(left, 0):,} of {most:,} requests are left of the last 24 hours', for all integrations together"
        )
        if left <= most * SCARCE:
            remedy = "Setup, Company Information, API Requests; set daily_calls to leave room for others"
            (notes.error if left <= 0 else notes.warning)("quota", sentence, remedy)
        else:
            notes.ok("quota", sentence)

    async def _objects(self, notes: Notes) -> None:
        mine, mapping = self._mine, dict(sources(self._mine.map))
        found = await self._described(notes, mine.object)
        if found is not None:
            on = fields.surveyed(found, self._settings, creates=True)
            fields.judge_object(notes, on)
            fields.judge_key(notes, on, mine.external_id)
            fields.judge_map(notes, on, mapping)
            fields.judge_required(notes, on, mapping, self._ours())
            fields.judge_status(notes, on, mine)
            if mine.account_lookup is not None:
                account = await self._described(notes, "Account")
                fields.judge_lookup(notes, on, account, mine.account_lookup)
        if self._contacts and (contact := await self._described(notes, CONTACT)) is not None:
            on = fields.surveyed(contact, self._settings, creates=False)
            fields.judge_object(notes, on)
            fields.judge_key(notes, on, mine.external_id)
            own = sources(mine.contact_map) or translated(mapping, mine.external_id, to=CONTACT)
            fields.judge_map(notes, on, own, translated=not mine.contact_map)

    def _ours(self) -> frozenset[str]:
        """Fields that Fairturn fills without the map."""
        ours = {"ownerid", self._mine.external_id.lower()}
        if self._mine.account_lookup is not None:
            relation = self._mine.account_lookup.partition(".")[0].lower()
            ours |= {f"{relation.removesuffix('__r')}__c", f"{relation}id"}
        return frozenset(ours)

    async def _described(self, notes: Notes, sobject: str) -> Described | None:
        reply = await self._wire.send(self._time(), Part("GET", self._wire.path(f"sobjects/{sobject}/describe")))
        body = parsed(reply.body)
        if reply.status == 200 and isinstance(body, dict):
            return described(body)
        problems = problems_of(body)
        why = f"{problems[0].code}: {problems[0].words}" if problems else f"HTTP {reply.status}"
        if reply.status >= 500 or not problems or problems[0].code == "REQUEST_LIMIT_EXCEEDED":
            raise DestinationError(f"Destination {self._name} does not describe {sobject}: {why}")
        remedy = (
            f"Setup, Permission Sets, the integration user's, Object Settings, {sobject}: tick Read, Create and Edit"
        )
        notes.error(sobject, f"the integration user does not see it: {why}", remedy)
        return None

    async def _people(self, notes: Notes) -> list[User]:
        """The reps' users, those who can be given leads."""
        wanted = list(wanted_in(self._name, self._settings))
        named = {one: Named("user" if one.kind == "rep" else "owner", one.text) for one in wanted}
        directory = Directory(self._wire, self._name, named.values())
        await directory.load(self._time())
        found: list[tuple[Wanted, User]] = []
        for one in wanted:
            known = directory.known(named[one])
            users = known.users if known is not None else ()
            if (user := judge_person(notes, one, users, "Salesforce", PLACES[one.kind])) is not None:
                found.append((one, user))
        await self._queues(notes, [(one, user) for one, user in found if user.kind == "queue" and one.kind == "owner"])
        return [user for one, user in found if one.kind == "rep"]

    async def _queues(self, notes: Notes, found: Sequence[tuple[Wanted, User]]) -> None:
        if not found:
            return
        sobject = self._mine.object
        if sobject in (CONTACT, "Account"):
            for one, user in found:
                notes.error(one.subject, f"{user.name} is a queue, and no queue owns a {sobject}", "Name a user")
            return
        question = select(("QueueId", "SobjectType"), "QueueSobject", among("QueueId", [user.id for _, user in found]))
        [answer] = await self._wire.ask(self._time(), [question])
        if isinstance(answer, Problem):
            notes.warning("queues", f"what they may own could not be asked for: {answer.code}: {answer.words}")
            return
        able = {str(row.get("QueueId"))[:15] for row in answer if row.get("SobjectType") == sobject}
        for one, user in found:
            if user.id[:15] not in able:
                remedy = f"Setup, Queues, {user.name}, Edit, Supported Objects: add {sobject}"
                notes.error(one.subject, f"the queue {user.name} may not own {sobject}s", remedy)

    async def _probe(self, notes: Notes, users: Sequence[User]) -> None:
        me = (self._wire.user or "")[:15]
        rep = next((user.id for user in users if user.id[:15] != me), None)
        mine, key = self._mine, f"fairturn-probe-{uuid.uuid4().hex[:16]}"
        headers = {**NO_RULES, **(SAVE_ALIKE if mine.existing == "ask" else {})}
        walk = Probe(self._wire, mine.object, mine.external_id, key, headers, self._seconds)
        await walk.run(notes, probe_record(sources(self._mine.map)), rep)

    def _time(self) -> Run:
        return Run.of(self._seconds)


def probe_record(mapping: Mapping[str, MapTo]) -> dict[str, Any]:
    """Constants and defaults of the map, as on every lead; names that say what it is."""
    record: dict[str, Any] = {}
    for target, way in mapping.items():
        value = way.value if way.value is not None else way.default
        if value is not None and "." not in target:
            record[target] = value
    names = {target.lower() for target in mapping}
    record |= {name: LABEL for name in ("LastName", "Company") if name.lower() in names}
    return record


def open_survey(name: str, settings: Settings, *, client_id: str, client_secret: str) -> SalesforceSurvey:
    """client_id, client_secret: the secrets themselves. Raises DestinationError when `url` will not do."""
    mine = settings.destinations[name]
    url = base_of(mine.url, f"destinations.{name}.url", allow_private=mine.allow_private)
    return SalesforceSurvey(name, settings, Credentials(url, client_id, client_secret, mine.org, mine.allow_private))
