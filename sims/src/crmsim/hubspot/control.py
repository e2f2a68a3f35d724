"""`/__sim__` of a HubSpot account: what it has besides what every simulator has."""

from collections.abc import Collection, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from crmsim import proof
from crmsim.hubspot import faulty, hands, planting, seeding, views
from crmsim.hubspot.portal import Version
from crmsim.hubspot.searching import remember
from crmsim.hubspot.state import Hubspot
from crmsim.panel import Panel, Table, answer, read_body


class Control(Panel[Hubspot]):
    """What a HubSpot account has besides."""

    __slots__ = ()

    def own(self) -> Table:
        return [
            ("GET", "/summary", self.summary), ("GET", "/people", self.people), ("GET", "/owners", self.owners),
            ("POST", "/seed", self.seed), ("POST", "/owner", self.owner), ("POST", "/edit", self.edit),
            ("POST", "/archive", self.archive), ("POST", "/merge", self.merge),
            ("POST", "/person", self.person), ("POST", "/second-writer", self.begin_writer),
            ("GET", "/switches", self.switches), ("POST", "/switches", self.switches),
            ("GET", "/limits", self.limits), ("POST", "/limits", self.limits),
            ("POST", "/revoke", self.revoke),
        ]  # fmt: skip

    def kinds(self) -> Collection[str]:
        return faulty.KINDS

    def numbers(self) -> dict[str, int]:
        return views.numbers(self.sim)

    def history(self) -> Sequence[Version]:
        return self.sim.portal.versions

    def called(self, object: str, id: str) -> tuple[str, str]:
        kind = self.sim.portal.kind(object)
        if object and kind is None:
            raise ValueError(f"no object {object!r}")
        return kind.name if kind else "", id

    def rows(self, object: str) -> list[dict[str, Any]]:
        """Of `owners` too."""
        return views.records(self.sim.portal, object)

    async def summary(self, _: Request) -> Response:
        return answer(views.summary(self.sim))

    async def people(self, _: Request) -> Response:
        return answer(views.people(self.sim.portal))

    async def owners(self, request: Request) -> Response:
        """Owners in time and what became of the people of the seed; `?email=` for one of them."""
        return answer(proof.owners(views.moves(self.sim.portal), request.query_params.get("email")))

    async def seed(self, request: Request) -> Response:
        sim = self.sim
        first = sim.portal.version_count
        made = seeding.seed(sim.portal, sim.tokens, await read_body(request))
        hands.told(sim, sim.portal.since(first))
        return answer(made)

    async def owner(self, request: Request) -> Response:
        """A person changes a record's owner: `{"object", "email"|"id"|"key", "owner": …|null, "by"}`."""
        body = await read_body(request)
        portal, wanted = self.sim.portal, body["owner"]
        owner = "" if wanted is None else planting.named_owner(portal, str(wanted))
        found, by = hands.record(portal, body), hands.author(portal, body)
        return answer(hands.edit(self.sim, found, {"hubspot_owner_id": owner}, by).json())

    async def edit(self, request: Request) -> Response:
        """A person changes any properties: `fields` instead of `owner`."""
        body, portal = await read_body(request), self.sim.portal
        found, by = hands.record(portal, body), hands.author(portal, body)
        return answer(hands.edit(self.sim, found, dict(body["fields"]), by).json())

    async def archive(self, request: Request) -> Response:
        """A person deletes a record, or takes it back with `"restore": true`."""
        body, portal = await read_body(request), self.sim.portal
        found, by = hands.record(portal, body), hands.author(portal, body)
        version = portal.restore(found, by) if body.get("restore") else portal.archive(found, by)
        remember(self.sim, found)
        hands.told(self.sim, [version])
        return answer(version.json())

    async def merge(self, request: Request) -> Response:
        """A person merges two records: `{"primary": {"email"…}, "other": {"email"…}, "by"}`."""
        body, sim = await read_body(request), self.sim
        first = sim.portal.version_count
        both = [hands.record(sim.portal, {"object": body.get("object", "contacts"), **body[name]})
                for name in ("primary", "other")]  # fmt: skip
        by = hands.author(sim.portal, body)
        stays = sim.portal.merge(both[0], both[1], by, new_id=sim.switches.merge_new_id)
        remember(sim, stays)
        hands.told(sim, sim.portal.since(first))
        return answer({"id": stays.id, "email": stays.email})

    async def person(self, request: Request) -> Response:
        """An owner leaves or comes back: `{"owner": …, "archived": true}`."""
        body, portal = await read_body(request), self.sim.portal
        found = portal.owners[planting.named_owner(portal, str(body["owner"]))]
        found.archived = bool(body["archived"])
        return answer(asdict(found))

    async def begin_writer(self, request: Request) -> Response:
        """`{"every": 5, "records": 3, "to": ["Ann"], "times": 10, "seed": 7}`; `fields` instead of owners edits."""
        sim = self.sim
        wanted = hands.habit(sim.portal, await read_body(request))
        sim.writers.begin(sim.clock, sim.evidence.bell, wanted, partial(hands.turn, sim))
        return await self.second_writer(request)

    async def switches(self, request: Request) -> Response:
        if request.method == "POST":
            self.sim.switches.change(await read_body(request))
        return answer(asdict(self.sim.switches))

    async def limits(self, request: Request) -> Response:
        """`{"burst", "oauth_burst", "search", "daily", "used"}`; a new `burst` forgets the last ten seconds."""
        limits = self.sim.limits
        if request.method == "POST":
            limits.roll(self.sim.wall())
            limits.change(await read_body(request))
            limits.calls.clear()
            limits.searches.clear()
        return answer(limits.report())

    async def revoke(self, request: Request) -> Response:
        """Kill all OAuth access tokens, or the `token` named (private, access or refresh)."""
        return answer({"revoked": self.sim.tokens.revoke((await read_body(request)).get("token"))})
