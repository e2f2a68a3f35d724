"""`/__sim__`: what a test, a demonstration or a person asks the simulator itself. It needs no session and no time."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from crmsim import faults
from crmsim.clock import stamp
from crmsim.panel import Panel, Table, answer, read_body, window
from crmsim.salesforce import evidence_views, hands, ownership, planting, seeding
from crmsim.salesforce.org import Author, Record
from crmsim.salesforce.state import Salesforce


class Control(Panel[Salesforce]):
    """What a Salesforce org has besides."""

    __slots__ = ()

    def own(self) -> Table:
        return [
            ("GET", "/summary", self.summary),
            ("GET", "/versions", self.versions),
            ("GET", "/records/{object}", self.records), ("GET", "/people", self.people),
            ("GET", "/locks", self.locks),
            ("POST", "/seed", self.seed), ("POST", "/owner", self.owner), ("POST", "/edit", self.edit),
            ("GET", "/owners", self.owners), ("GET", "/second-writer", self.second_writer),
            ("POST", "/second-writer", self.begin_writer), ("DELETE", "/second-writer", self.stop_writers),
            ("POST", "/convert", self.convert),
            ("GET", "/latency", self.latency), ("POST", "/latency", self.latency),
            ("GET", "/switches", self.switches), ("POST", "/switches", self.switches),
            ("GET", "/limits", self.limits), ("POST", "/limits", self.limits),
            ("POST", "/app", self.app), ("POST", "/revoke", self.revoke),
        ]  # fmt: skip

    def kinds(self) -> Collection[str]:
        return faults.KINDS

    def numbers(self) -> dict[str, int]:
        return evidence_views.numbers(self.sim)

    async def summary(self, _: Request) -> Response:
        return answer(evidence_views.summary(self.sim))

    async def versions(self, request: Request) -> Response:
        """`?after=&limit=&object=&id=`; `next` is the `after` of the next page, and starts at -1."""
        after, limit = int(request.query_params.get("after", "-1")), window(request)[1]
        query = request.query_params
        page = evidence_views.versions(self.sim.org, after, limit, query.get("object"), query.get("id"))
        upto = page[-1].seq if page else after
        kept = self.sim.org.versions
        return answer({"versions": [item.json() for item in page], "next": upto, "dropped": kept[0].seq if kept else 0})

    async def records(self, request: Request) -> Response:
        """Every record of an object as it is now, in order of creation: `?after=&limit=` count records."""
        after, limit = window(request)
        found = evidence_views.records(self.sim.org, request.path_params["object"])
        page = found[after : after + limit]
        return answer({"records": page, "next": after + len(page), "total": len(found)})

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
        return answer(ownership.report(self.sim.org, request.query_params.get("email")))

    async def convert(self, request: Request) -> Response:
        """Somebody converts a Lead: `{"email": …}` or id or key."""
        lead = self._record(await read_body(request))
        if lead.sobject.name != "Lead" or lead.values.get("IsConverted"):
            raise ValueError("only an open Lead can be converted")
        contact = planting.convert(self.sim.org, lead)
        return answer({"lead": lead.id18, "contact": contact.id18, "account": contact.values["AccountId"]})

    async def second_writer(self, _: Request) -> Response:
        working = self.sim.hands
        return answer({"at_work": len(working.tasks), "turns": working.turns, "changes": working.changes})

    async def begin_writer(self, request: Request) -> Response:
        """`{"every": 5, "records": 3, "to": ["Ann"], "times": 10, "seed": 7}`; `fields` instead of owners edits."""
        sim = self.sim
        wanted = hands.habit(sim.org, await read_body(request), sim.hands.begun + 1)
        place = hands.Place(sim.org, sim.locks, sim.clock, sim.evidence, sim.switches.lock_timeout)
        sim.hands.begin(place, wanted)
        return await self.second_writer(request)

    async def stop_writers(self, request: Request) -> Response:
        self.sim.hands.stop()
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

    async def latency(self, request: Request) -> Response:
        """Simulated seconds: `{"fixed": 0.5, "per_record": 0.01, "token": 0.1}`, any of them."""
        latency = self.sim.latency
        for name, value in (await read_body(request) if request.method == "POST" else {}).items():
            if name not in ("fixed", "per_record", "token") or not isinstance(value, (int, float)) or value < 0:
                raise ValueError(
                    f"latency has fixed, per_record and token, in seconds of 0 or more; not {name}={value!r}"
                )
            setattr(latency, name, float(value))
        return answer({"fixed": latency.fixed, "per_record": latency.per_record, "token": latency.token})

    async def switches(self, request: Request) -> Response:
        sim = self.sim
        if request.method == "POST":
            changed = replace(sim.switches)
            changed.change(await read_body(request))
            sim.org.shape(changed)
            sim.switches = changed
        return answer(evidence_views.switches(sim))

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
