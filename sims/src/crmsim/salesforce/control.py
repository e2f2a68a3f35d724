"""`/__sim__` of a Salesforce org: what it has besides what every simulator has."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from crmsim import faults, proof
from crmsim.clock import stamp
from crmsim.panel import Panel, Table, answer, read_body
from crmsim.salesforce import evidence_views, hands, ids, ownership, planting, seeding
from crmsim.salesforce.org import Author, Record, Version
from crmsim.salesforce.state import Salesforce


class Control(Panel[Salesforce]):
    """What a Salesforce org has besides."""

    __slots__ = ()

    def own(self) -> Table:
        return [
            ("GET", "/summary", self.summary),
            ("GET", "/people", self.people), ("GET", "/locks", self.locks),
            ("POST", "/seed", self.seed), ("POST", "/owner", self.owner), ("POST", "/edit", self.edit),
            ("GET", "/owners", self.owners), ("POST", "/second-writer", self.begin_writer),
            ("POST", "/convert", self.convert),
            ("GET", "/switches", self.switches), ("POST", "/switches", self.switches),
            ("GET", "/limits", self.limits), ("POST", "/limits", self.limits),
            ("POST", "/app", self.app), ("POST", "/revoke", self.revoke),
        ]  # fmt: skip

    def kinds(self) -> Collection[str]:
        return faults.KINDS

    def numbers(self) -> dict[str, int]:
        return evidence_views.numbers(self.sim)

    def history(self) -> Sequence[Version]:
        return self.sim.org.versions

    def called(self, object: str, id: str) -> tuple[str, str]:
        """Ids of 15 characters and of 18 name the same record."""
        sobject, id15 = self.sim.org.sobject(object), ids.to15(id)
        return sobject.name if sobject else object, ids.to18(id15) if id15 else id

    def rows(self, object: str) -> list[dict[str, Any]]:
        return evidence_views.records(self.sim.org, object)

    async def summary(self, _: Request) -> Response:
        return answer(evidence_views.summary(self.sim))

    async def people(self, _: Request) -> Response:
        return answer(evidence_views.people(self.sim.org))

    async def locks(self, _: Request) -> Response:
        return answer(evidence_views.locks(self.sim))

    async def seed(self, request: Request) -> Response:
        org = self.sim.org
        first = org.version_count
        made = seeding.seed(org, await read_body(request))
        born = [version.json() for version in org.versions if version.seq >= first]
        self.sim.evidence.write_line({"commit": None, "versions": born})
        return answer(made)

    async def owner(self, request: Request) -> Response:
        """A person changes a record's owner: `{"object": "Lead", "email"|"id"|"key": …, "owner": …, "by": …}`."""
        body = await read_body(request)
        values = {"OwnerId": planting.owner(self.sim.org, str(body["owner"]))}
        return self._by_hand(body, values)

    async def edit(self, request: Request) -> Response:
        """A person changes any fields, `IsConverted` and `IsDeleted` included: `fields` instead of `owner`."""
        body = await read_body(request)
        return self._by_hand(body, dict(body["fields"]))

    def _by_hand(self, body: dict[str, Any], values: dict[str, Any]) -> Response:
        org, record = self.sim.org, self._record(body)
        known = {item.name for item in record.sobject.fields.values()}
        if set(values) - known:
            raise ValueError(f"{record.sobject.name} has no fields {sorted(set(values) - known)}")
        author = Author(planting.user_or_words(org, str(body.get("by", "a person"))), "hand", None, stamp())
        version = org.log(org.update(record, values, author))
        self.sim.evidence.write_line({"commit": None, "versions": [version.json()]})
        return answer(version.json())

    async def owners(self, request: Request) -> Response:
        """Owners in time and what became of the people of the seed; `?email=` for one of them."""
        return answer(proof.owners(ownership.moves(self.sim.org), request.query_params.get("email")))

    async def convert(self, request: Request) -> Response:
        """Somebody converts a Lead: `{"email": …}` or id or key."""
        lead = self._record(await read_body(request))
        if lead.sobject.name != "Lead" or lead.values.get("IsConverted"):
            raise ValueError("only an open Lead can be converted")
        contact = planting.convert(self.sim.org, lead)
        return answer({"lead": lead.id18, "contact": contact.id18, "account": contact.values["AccountId"]})

    async def begin_writer(self, request: Request) -> Response:
        """`{"every": 5, "records": 3, "to": ["Ann"], "times": 10, "seed": 7}`; `fields` instead of owners edits."""
        sim = self.sim
        wanted = hands.habit(sim.org, await read_body(request))
        holder = -(sim.writers.begun + 1)
        place = hands.Place(sim.org, sim.locks, sim.clock, sim.evidence, sim.switches.lock_timeout, holder)
        sim.writers.begin(sim.clock, sim.evidence.bell, wanted, partial(hands.turn, place))
        return await self.second_writer(request)

    def _record(self, body: dict[str, Any]) -> Record:
        """The one record that `id`, `email` or `key` (`{"field": …, "value": …}`) names."""
        org, sobject = self.sim.org, self.sim.org.sobject(str(body.get("object", "Lead")))
        if sobject is None:
            raise ValueError(f"no object {body.get('object')!r}")
        if "id" in body:
            record = org.get(str(body["id"]))
            matches = [record] if record and record.sobject is sobject else []
        else:
            key = body.get("key") or {"field": "Email", "value": body.get("email")}
            field = sobject.fields[str(key["field"]).lower()]
            matches = [row for row in org.live(sobject.name) if row.values.get(field.name) is not None
                       and field.fold(row.values[field.name]) == field.fold(key["value"])]  # fmt: skip
        if len(matches) != 1:
            raise ValueError(f"{len(matches)} records of {sobject.name} match; name one by id, email or key")
        return matches[0]

    async def switches(self, request: Request) -> Response:
        sim = self.sim
        if request.method == "POST":
            changed = replace(sim.switches)
            changed.change(await read_body(request))
            sim.org.shape(changed)
            sim.switches = changed
        return answer(asdict(sim.switches))

    async def limits(self, request: Request) -> Response:
        """The daily API requests: `{"max": 100, "used": 99}`."""
        usage = self.sim.usage
        if request.method == "POST":
            body = await read_body(request)
            usage.maximum = int(body.get("max", usage.maximum))
            usage.used = int(body.get("used", usage.used))
        return answer({"max": usage.maximum, "used": usage.used})

    async def app(self, request: Request) -> Response:
        """Change what the connected app is known by: `{"jwt_key": PEM, "client_secret": …}`. Tokens live on."""
        sessions = self.sim.sessions
        sessions.app = sessions.app.changed(await read_body(request))
        return answer({"client_id": sessions.app.client_id})

    async def revoke(self, request: Request) -> Response:
        """Kill all tokens, or the one named."""
        return answer({"revoked": self.sim.sessions.revoke((await read_body(request)).get("token"))})
