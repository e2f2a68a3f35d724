"""A simulated HubSpot as a process of its own, spoken to over HTTP alone, at the speed of life and without latency."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from hubspot import HubSpot

from tests.destinations.crmsim.conftest import Crm, running

TOKEN = "pat-na1-crmsim"
OAUTH = {"client_id": "crmsim-client", "client_secret": "crmsim-secret", "refresh_token": "crmsim-refresh"}
SEED: dict[str, Any] = {
    "owners": [
        {"name": "Ann Able", "email": "ann@seller.test"},
        {"name": "Bob Baker", "email": "bob@seller.test"},
        {"name": "Gone Girl", "email": "gone@seller.test", "archived": True},
    ],
    "properties": [
        {"object": "contacts", "name": "fairturn_id", "hasUniqueValue": True},
        {"object": "companies", "name": "fairturn_key", "hasUniqueValue": True},
    ],
    "companies": [{"name": "Acme", "domain": "acme.test"}, {"name": "Globex", "domain": "globex.test"}],
}


class Hub(Crm):
    """A client of one simulated account."""

    def __init__(self, ready: dict[str, Any]) -> None:
        super().__init__(ready | {"salesforce": ready["hubspot"]})

    def login(self) -> None:
        self.headers = {"Authorization": f"Bearer {TOKEN}"}

    def start(self) -> None:
        """The state in which every test begins."""
        self.sim("/reset", {})
        made = self.sim("/seed", SEED)
        self.ids = {row["name"].split()[0]: row["id"] for row in made["owners"]}
        self.ids |= dict(zip(("Acme", "Globex"), made["companies"], strict=True))
        self.sim("/latency", {"fixed": 0, "per_record": 0, "search": 0, "token": 0})
        self.sim("/switches", {"index_lag_least": 0, "index_lag_most": 0})
        self.sim("/limits", {"search": 1000})
        self.login()

    def call(self, method: str, path: str, **given: Any) -> httpx2.Response:
        headers = self.headers | given.pop("headers", {})
        return self.http.request(method, path, headers=headers, **given)

    def post(self, path: str, body: Any, **given: Any) -> httpx2.Response:
        return self.call("POST", path, json=body, **given)

    def batch(self, verb: str, *inputs: Any, object: str = "contacts", **more: Any) -> httpx2.Response:
        return self.post(f"/crm/v3/objects/{object}/batch/{verb}", {"inputs": list(inputs), **more})

    def contact(self, **properties: Any) -> dict[str, Any]:
        answer = self.post("/crm/v3/objects/contacts", {"properties": properties})
        assert answer.status_code == 201, answer.text
        return answer.json()

    def read(self, email: str, *properties: str) -> dict[str, Any]:
        names = {"properties": ",".join(properties)} if properties else {}
        answer = self.call("GET", f"/crm/v3/objects/contacts/{email}", params={"idProperty": "email", **names})
        assert answer.status_code == 200, answer.text
        return answer.json()["properties"]

    def search(self, name: str, value: str, operator: str = "EQ", **more: Any) -> Any:
        filters = [{"propertyName": name, "operator": operator, "value": value}]
        answer = self.post("/crm/v3/objects/contacts/search", {"filterGroups": [{"filters": filters}], **more})
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture(scope="session")
def hub_process() -> Iterator[Hub]:
    with running("--hubspot-port", "0") as (_, ready):
        hub = Hub(ready)
        yield hub
        hub.close()


@pytest.fixture
def hub(hub_process: Hub) -> Hub:
    hub_process.start()
    return hub_process


@pytest.fixture
def client(hub: Hub) -> HubSpot:
    """HubSpot's own library."""
    return HubSpot(access_token=TOKEN, host=hub.ready["hubspot"])
