"""A simulated HubSpot in a process of its own, and what our tests ask of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from fairturn.config import Destination, Rep
from fairturn.destinations.hubspot import HubSpot, HubSpotInspect, Secrets, open_hubspot, open_inspect
from tests.destinations.simulator import Simulator, running

MAP: dict[str, Any] = {
    "email": "email",
    "firstname": "first_name",
    "lastname": {"field": "last_name", "default": "Unknown"},
    "company": "company",
    "city": "city",
    "industry": "industry",
    "hs_lead_status": {"value": "NEW", "mode": "create_only"},
}
SEED: dict[str, Any] = {
    "owners": [
        {"name": "Ann Able", "email": "ann@seller.test"},
        {"name": "Bob Baker", "email": "bob@seller.test"},
        {"name": "Gone Girl", "email": "gone@seller.test", "archived": True},
    ],
    "properties": [{"object": "contacts", "name": "fairturn_id", "hasUniqueValue": True}],
    "companies": [{"name": "Acme", "domain": "acme.test"}, {"name": "Globex", "domain": "globex.test"}],
}
PRIVATE: Secrets = {"token": "pat-na1-crmsim"}
OAUTH: Secrets = {
    "client_id": "crmsim-client",
    "client_secret": "crmsim-secret",
    "refresh_token": "crmsim-refresh",
}


class HubspotAccount(Simulator):
    """Its address, and its control endpoints."""

    def __init__(self, ready: dict[str, Any]) -> None:
        super().__init__(str(ready["hubspot_control"]))
        self.url = str(ready["hubspot"])
        self.owners: dict[str, str] = {}
        self.companies: list[str] = []

    def start(self) -> None:
        """The state in which every test begins."""
        self.post("/release", {})
        self.post("/reset", {})
        self.post("/latency", {"fixed": 0, "per_record": 0, "search": 0, "token": 0})
        made = self.seed(**SEED)
        self.owners = {row["email"].partition("@")[0]: row["id"] for row in made["owners"]}
        self.companies = made["companies"]

    def seed(self, **document: Any) -> Any:
        return self.post("/seed", document)

    def contact(self, **entry: Any) -> str:
        """Puts one there, and answers with its id."""
        return str(self.seed(contacts=[entry])["contacts"][0])

    def switch(self, **switches: Any) -> None:
        self.post("/switches", switches)

    def contacts(self) -> dict[str, dict[str, Any]]:
        """E-mail -> the record as it is: its id, and its properties beside it."""
        rows = self.get("/records/contacts")["records"]
        return {row["email"]: row for row in rows if row.get("email") and not row["_archived"]}

    def requests(self, part: str = "/crm/") -> list[dict[str, Any]]:
        return [row for row in self.get("/requests")["requests"] if part in row["path"]]

    def calls(self) -> list[str]:
        """The data requests so far: the last parts of their paths."""
        return [row["path"].rstrip("/").rpartition("/")[2] for row in self.requests()]

    def settings(self, **changes: Any) -> Destination:
        given = {"type": "hubspot", "url": self.url, "allow_private": True, "map": MAP, "request_timeout": "10s"}
        return Destination.model_validate(given | changes)

    def reps(self) -> dict[str, Rep]:
        """Ann by her address, Bob by his id, and one of whom HubSpot knows nothing."""
        return {
            "ann": Rep(name="Ann", email="Ann@seller.test"),
            "bob": Rep(name="Bob", ids={"hub": self.owners["bob"]}),
            "gone": Rep(name="Gone", ids={"hub": self.owners["gone"]}),
            "idless": Rep(name="Idless"),
        }

    def destination(self, secrets: Secrets = PRIVATE, **changes: Any) -> HubSpot:
        return open_hubspot("hub", self.settings(**changes), self.reps(), **secrets)

    def inspect(self, **changes: Any) -> HubSpotInspect:
        return open_inspect("hub", self.settings(**changes), **PRIVATE)


@contextlib.contextmanager
def hubspot_account() -> Iterator[HubspotAccount]:
    with running("--hubspot-port", "0") as ready:
        found = HubspotAccount(ready)
        yield found
        found.http.close()
