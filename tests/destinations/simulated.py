"""A simulated Salesforce in a process of its own, and what our tests ask of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from fairturn.config import Destination, Rep
from fairturn.destinations.salesforce import Salesforce, open_salesforce
from tests.destinations.simulator import Simulator, running

MAP = {
    "LastName": {"field": "last_name", "default": "Unknown"},
    "Company": {"field": "company", "default": "Unknown"},
    "Email": "email",
    "City": "city",
    "Title": "title",
}
SEED = {
    "users": [
        {"name": "Ann", "email": "ann@crm.test"},
        {"name": "Bob", "email": "bob@crm.test"},
        {"name": "Gone", "email": "gone@crm.test", "active": False},
    ],
    "queues": [{"name": "Held"}],
    "accounts": [{"Name": "Acme", "Fairturn_Key__c": "acme.com"}, {"Name": "Globex", "Fairturn_Key__c": "globex.com"}],
}


class Simulated(Simulator):
    """Its address, and its control endpoints."""

    def __init__(self, ready: dict[str, Any]) -> None:
        super().__init__(str(ready["control"]))
        self.url = str(ready["salesforce"])
        self.users: dict[str, str] = {}
        self.queue = ""

    def start(self) -> None:
        """The state in which every test begins."""
        self.post("/release", {})
        self.post("/reset", {})
        self.post("/latency", {"fixed": 0, "per_record": 0, "token": 0})
        made = self.post("/seed", SEED)
        self.users = {user["email"].partition("@")[0]: user["id"] for user in made["users"]}
        self.queue = made["queues"][0]["id"]

    def leads(self) -> dict[str, dict[str, Any]]:
        """Fairturn's key -> the record."""
        return {row["Fairturn_Id__c"]: row for row in self.get("/records/Lead")["records"]}

    def writes(self) -> list[dict[str, Any]]:
        return [row for row in self.get("/requests")["requests"] if row["kind"] == "write"]

    def settings(self, **changes: Any) -> Destination:
        given = {
            "type": "salesforce", "url": self.url, "allow_private": True, "map": MAP, "request_timeout": "10s",
            "client_id": "env:ID", "client_secret": "env:SECRET",
        }  # fmt: skip
        return Destination.model_validate(given | changes)

    def destination(
        self,
        *,
        name: str = "crm",
        secret: str = "crmsim-secret",
        reps: dict[str, Rep] | None = None,
        owners: Iterable[str] = (),
        **changes: Any,
    ) -> Salesforce:
        """Reps are those of SEED, by their user's id, unless others are given."""
        if reps is None:
            reps = {rep: Rep(name=rep, ids={name: user}) for rep, user in self.users.items()}
            reps["idless"] = Rep(name="idless")
        return open_salesforce(
            name, self.settings(**changes), reps, client_id="crmsim-client", client_secret=secret, owners=owners
        )


@contextlib.contextmanager
def simulated() -> Iterator[Simulated]:
    with running() as ready:
        found = Simulated(ready)
        yield found
        found.http.close()
