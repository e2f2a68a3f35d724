"""examples/: each file checks clean, and `fairturn serve` with it makes the lead that its body describes."""

import asyncio
import base64
import contextlib
import hashlib
import hmac
import os
import socket
import sys
import tomllib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
import orjson
import pytest

from fairturn.errors import ConfigError
from fairturn.operate import settings as settings_file
from fairturn.sources import FORMATS

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
SECRETS = {
    "TYPEFORM_SECRET": "typeform-secret-of-a-test",
    "HUBSPOT_WORKFLOW_SECRET": "workflow-secret-of-a-test",
    "SALESFORCE_CLIENT_ID": "client-id-of-a-test",
    "SALESFORCE_CLIENT_SECRET": "client-secret-of-a-test",
    "WEBSITE_FORM_SECRET": "form-secret-of-a-test",
}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_checks_clean(path):
    assert not settings_file.load(path, SECRETS).faults


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_without_its_secrets_every_one_of_them_is_named(path):
    with pytest.raises(ConfigError) as refused:
        settings_file.load(path, {})
    said, text = str(refused.value), path.read_text()
    assert [name for name in SECRETS if f"env:{name}" in text and name not in said] == []


def test_its_page_lists_every_file():
    page = (ROOT / "examples/README.md").read_text()
    files = [*EXAMPLES, *(ROOT / "examples/bodies").iterdir()]
    assert [file.name for file in files if file.name not in page] == []
    assert {path.name for path in (ROOT / "examples/bodies").iterdir()} == {
        Path(known.sample).name for known in FORMATS.values()
    }


# ---- the same, served ----------------------------------------------------------------------------------------------


class Served:
    """`fairturn serve` with an example, on a database of this test's own."""

    def __init__(self, http: httpx2.AsyncClient, sql: asyncpg.Connection) -> None:
        self.http = http
        self.sql = sql
        self.changed = asyncio.Event()

    async def fields(self) -> dict[str, Any]:
        """Of the one lead, once it was routed."""
        while True:
            async with asyncio.timeout(20):
                await self.changed.wait()
            self.changed.clear()
            if (stored := await self.sql.fetchval("select fields from lead")) is not None:
                return {name: state[0] for name, state in orjson.loads(stored).items()}

    async def lead(self) -> Any:
        return await self.sql.fetchrow("select * from lead")


@pytest.fixture
async def served(database: str, tmp_path: Path) -> AsyncIterator[Callable[[str], Any]]:
    async with contextlib.AsyncExitStack() as stack:

        async def start(example: str) -> Served:
            return await stack.enter_async_context(serving(ROOT / "examples" / example, database, tmp_path))

        yield start


@contextlib.asynccontextmanager
async def serving(config: Path, dsn: str, folder: Path) -> AsyncIterator[Served]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    log = folder / "serve.log"
    with log.open("wb") as out:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "fairturn", "serve", "--config", str(config), "--port", str(port)),
            env={**os.environ, **SECRETS, "FAIRTURN_DSN": dsn},
            stdout=out,
            stderr=out,
        )
    sql = await asyncpg.connect(dsn)
    try:
        async with httpx2.AsyncClient(
            base_url=f"http://127.0.0.1:{port}", timeout=20, trust_env=False, verify=False
        ) as http:
            await ready(http, process, log)
            found = Served(http, sql)
            await sql.add_listener("fairturn_change", lambda *_: found.changed.set())
            yield found
    finally:
        await sql.close()
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def ready(http: httpx2.AsyncClient, process: asyncio.subprocess.Process, log: Path) -> None:
    for _ in range(300):
        with contextlib.suppress(httpx2.ConnectError):
            if (await http.get("/readyz")).status_code == 200:
                return
        assert process.returncode is None, log.read_text()
        await asyncio.sleep(0.1)  # a port that nobody listens on gives no signal
    raise AssertionError(log.read_text())


def body(name: str) -> bytes:
    return (ROOT / "examples/bodies" / name).read_bytes()


async def test_a_typeform_response(served):
    app = await served("typeform.toml")
    sent = body("typeform.json")
    digest = hmac.new(SECRETS["TYPEFORM_SECRET"].encode(), sent, hashlib.sha256).digest()
    signed = {"Typeform-Signature": f"sha256={base64.b64encode(digest).decode()}", "content-type": "application/json"}

    forged = await app.http.post("/in/typeform", content=sent.replace(b"Kanaalhuis", b"Other"), headers=signed)
    assert forged.status_code == 401

    first = await app.http.post("/in/typeform", content=sent, headers=signed)
    again = await app.http.post("/in/typeform", content=sent, headers=signed)
    assert (first.status_code, again.status_code) == (202, 202)
    assert first.json() == again.json()  # one event, by Typeform's own id
    assert await app.fields() == {
        "email": "anna.vanderberg@kanaalhuis.nl",
        "first_name": "Anna",
        "last_name": "van der Berg",
        "company": "Kanaalhuis B.V.",
        "company_size": "51-200",
        "topics": "Lead routing; Reporting",
        "country": "NL",
        "phone": "+31201234567",
        "score": 9.0,
        "lead_source": "linkedin",
        "campaign": "revops-guide",
    }
    lead = await app.lead()
    assert (lead["status"], lead["rule_id"], lead["pool_id"]) == ("assigned", "dutch-mid-market", "mid-market")
    assert lead["rep_id"] in {"anouk", "bram"}  # Carla speaks no Dutch
    assert await app.sql.fetchval("select count(*) from event") == 1


async def test_a_hubspot_workflow_contact(served):
    app = await served("hubspot-workflow.toml")
    headers = {"X-Fairturn-Secret": SECRETS["HUBSPOT_WORKFLOW_SECRET"], "content-type": "application/json"}
    score = orjson.loads(body("hubspot_workflow.json"))
    score["properties"] |= {"hubspotscore": {"value": "55"}, "lastmodifieddate": {"value": "1772445700000"}}

    wrong = headers | {"X-Fairturn-Secret": "another"}
    refused = await app.http.post("/in/hubspot", content=body("hubspot_workflow.json"), headers=wrong)
    assert refused.status_code == 401
    taken = await app.http.post("/in/hubspot", content=body("hubspot_workflow.json"), headers=headers)
    assert taken.status_code == 202
    assert await app.fields() == {
        "email": "t.okafor@brightwell-energy.com",
        "first_name": "Tunde",
        "last_name": "Okafor",
        "company": "Brightwell Energy",
        "title": "Head of Revenue Operations",
        "phone": "+441614960000",
        "website": "brightwell-energy.com",
        "country": "GB",
        "employees": 850,
        "score": 37.0,
        "lead_source": "PAID_SEARCH",
        "campaign": "brand-uk",
    }
    lead = await app.lead()
    assert (lead["status"], lead["rule_id"], lead["rep_id"]) == ("assigned", "everyone-else", "amira")

    # Later, another workflow sends the contact again with its new score: the same lead, and the rep stays.
    later = await app.http.post("/in/hubspot-score", json=score, headers=headers)
    assert later.status_code == 202
    assert (await app.fields())["score"] == 55.0
    assert await app.sql.fetchval("select count(*) from lead") == 1
    assert await app.sql.fetchval("select count(*) from assignment where kind = 'turn'") == 1
    record = await in_shadow(app.sql)
    assert record["OwnerId"].startswith("0055g00000Amira")
    assert (record["Email"], record["NumberOfEmployees"]) == ("t.okafor@brightwell-energy.com", 850)


async def in_shadow(sql: asyncpg.Connection) -> dict[str, Any]:
    """What would have been sent to Salesforce first."""
    for _ in range(150):
        row = await sql.fetchval("select record from write where outcome = 'shadow' order by batch_id limit 1")
        if row is not None:
            return orjson.loads(row)
        await asyncio.sleep(0.1)  # the window's two seconds; a settled write wakes nobody
    raise AssertionError("nothing was written in shadow")


async def test_a_html_form_and_a_chat_that_waits(served):
    app = await served("html-form.toml")
    key = SECRETS["WEBSITE_FORM_SECRET"]
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert (await app.http.post("/in/website", content=body("form.txt"), headers=form)).status_code == 401
    taken = await app.http.post("/in/website", params={"key": key}, content=body("form.txt"), headers=form)
    assert taken.status_code == 202
    assert await app.fields() == {
        "email": "joao.pereira@atlantica-logistics.com",
        "first_name": "João",
        "last_name": "Pereira",
        "company": "Atlântica Logistics",
        "phone": "+14155550132",
        "country": "US",
        "employees": 1200,
        "message": "We route about 40 leads a day\r\nand would like to see a demo.",
        "interests": "routing; scheduling",
        "lead_source": "newsletter",
        "campaign": "spring-launch",
        "gclid": "Cj0KCQ",
    }
    first = (await app.lead())["rep_id"]

    asked = {"email": "kim@harbour-foods.com", "name": "Kim Ode", "question": "Do you do SSO?"}
    told = await app.http.post("/in/chat", json=asked, headers={"Authorization": f"Bearer {key}"})
    assert told.status_code == 200
    answer = told.json()
    assert (answer["pool"], answer["status"]) == ("inbound", "assigned")
    assert answer["rep"]["id"] in {"dana", "eli", "farah"} - {first}
    assert answer["rep"]["email"] == f"{answer['rep']['id']}@example-sales.com"


def test_the_plain_body_is_taken_by_what_init_writes():
    from fairturn.operate.init import starter

    mapped = tomllib.loads(starter())["sources"]["website"]["map"]
    assert set(orjson.loads(body("plain.json"))) <= set(mapped)
