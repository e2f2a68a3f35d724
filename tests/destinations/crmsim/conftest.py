"""A simulator as a process of its own, spoken to over HTTP alone; twenty times faster than life."""

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

SCALE = 0.05
CLIENT = ("crmsim-client", "crmsim-secret")
SEED = {
    "users": [
        {"name": "Ann", "email": "ann@seller.test"},
        {"name": "Bob", "email": "bob@seller.test"},
        {"name": "Gone", "email": "gone@seller.test", "active": False},
    ],
    "queues": [{"name": "Inbound"}],
    "accounts": [
        {"Name": "Acme", "Fairturn_Key__c": "acme.test"},
        {"Name": "Globex", "Fairturn_Key__c": "globex.test"},
    ],
}


class Crm:
    """A client of one simulator."""

    def __init__(self, ready: dict[str, Any]) -> None:
        self.ready = ready
        self.http = httpx2.Client(base_url=ready["salesforce"], timeout=30, verify=False)
        self.headers: dict[str, str] = {}
        self.ids: dict[str, str] = {}
        self.pool = ThreadPoolExecutor(8)

    def close(self) -> None:
        self.pool.shutdown()
        self.http.close()

    def sim(self, path: str, body: Any = None, **query: Any) -> Any:
        """A call of the control endpoints that must succeed."""
        method = "GET" if body is None else "POST"
        answer = self.http.request(method, f"/__sim__{path}", json=body, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def login(self) -> None:
        answer = self.http.post("/services/oauth2/token", data={"grant_type": "client_credentials"}, auth=CLIENT)
        self.headers = {"Authorization": f"Bearer {answer.json()['access_token']}", "Sforce-Auto-Assign": "FALSE"}

    def start(self) -> None:
        """The state in which every test begins."""
        self.sim("/reset", {})
        made = self.sim("/seed", SEED)
        self.ids = {row["name"]: row["id"] for row in made["users"] + made["queues"]}
        self.ids |= dict(zip(("Acme", "Globex"), made["accounts"], strict=True))
        self.sim("/latency", {"fixed": 0, "per_record": 0, "token": 0})
        self.login()

    def call(self, method: str, path: str, **given: Any) -> httpx2.Response:
        headers = self.headers | given.pop("headers", {})
        return self.http.request(method, f"/services/data/v60.0/{path}", headers=headers, **given)

    def upsert(self, *rows: dict[str, Any], object: str = "Lead", key: str = "Fairturn_Id__c", **given: Any) -> Any:
        body = {"records": [{"attributes": {"type": object}, **row} for row in rows]} | given.pop("body", {})
        return self.call("PATCH", f"composite/sobjects/{object}/{key}", json=body, **given)

    def rows(self, *rows: dict[str, Any], **given: Any) -> list[dict[str, Any]]:
        answer = self.upsert(*rows, **given)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def later(self, function: Callable[..., Any], *args: Any, **given: Any) -> Future[Any]:
        """Start it in a thread of its own."""
        return self.pool.submit(function, *args, **given)

    def wait(self, **numbers: int) -> dict[str, int]:
        """Until the simulator has seen so much."""
        return self.sim("/wait", **numbers)

    def fault(self, kind: str, **given: Any) -> None:
        self.sim("/faults", {"seed": 1, "faults": [{"kind": kind, **given}]})

    def last(self) -> dict[str, Any]:
        return self.sim("/requests")["requests"][-1]

    def record(self, object: str = "Lead", position: int = -1) -> dict[str, Any]:
        return self.sim(f"/records/{object}")["records"][position]


@contextlib.contextmanager
def running(*arguments: str, most: float = 100) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """The process and its ready line. It ends with the block, and after `most` seconds at the latest."""
    command = [sys.executable, "-m", "crmsim", "serve", "--exit-with-parent", *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        watchdog = threading.Timer(most, process.kill)
        watchdog.start()
        try:
            yield process, json.loads(process.stdout.readline())
        finally:
            watchdog.cancel()
            process.stdin.close()
            process.wait(10)


@pytest.fixture(scope="session")
def one_process() -> Iterator[Crm]:
    # For as long as a worker has tests of it: between its first and its last there may be minutes of others.
    with running("--time-scale", str(SCALE), "--https", most=threading.TIMEOUT_MAX) as (_, ready):
        crm = Crm(ready)
        yield crm
        crm.close()


@pytest.fixture
def crm(one_process: Crm) -> Crm:
    one_process.start()
    return one_process


@pytest.fixture
def launch() -> Callable[..., contextlib.AbstractContextManager[tuple[subprocess.Popen[str], dict[str, Any]]]]:
    return running


@pytest.fixture
def connect() -> Iterator[Callable[[dict[str, Any]], Crm]]:
    """Clients of further processes."""
    with contextlib.ExitStack() as stack:

        def make(ready: dict[str, Any]) -> Crm:
            crm = Crm(ready)
            stack.callback(crm.close)
            return crm

        yield make


@pytest.fixture
def person() -> Callable[..., dict[str, Any]]:
    """A lead that the org takes."""

    def make(key: str, **fields: Any) -> dict[str, Any]:
        return {"Fairturn_Id__c": key, "LastName": key.title(), "Company": "Acme"} | fields

    return make
