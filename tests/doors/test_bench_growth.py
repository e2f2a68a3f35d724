"""`python -m bench growth`: what it promises to say, and that its tables are those that routing would have left."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import orjson
import pytest

from bench import growth
from bench.growth.load import requests
from bench.growth.people import again_of, came, first_of, person
from bench.leads import COUNTRIES
from fairturn.config import Organisation, Routing
from fairturn.decide.addresses import email_facts
from fairturn.decide.matching import email_key
from fairturn.decide.splitting import event_id

ROOT = Path(__file__).parents[2]
BASE = 2_000


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    file = tmp_path_factory.mktemp("growth") / "figures.json"
    command = [sys.executable, "-m", "bench", "growth", "--small", "200", "--large", str(BASE), "--events", "60"]
    command += ["--rounds", "1", "--backlog", "150", "--seconds", "5", "--json", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr
    return orjson.loads(file.read_bytes()), done.stdout


def test_both_bases_are_measured(measured):
    found, said = measured
    assert [row["base"] for row in found["rows"]] == [200, BASE]
    for row in found["rows"]:
        assert row["ms_per_1000"] > 0
        assert set(row["cpu_ms_per_1000"]) == {"intake", "worker", "postgresql"}
        assert row["bytes"] == sum(one["bytes"] + sum(one["indexes"].values()) for one in row["tables"])
        assert row["backlog"]["changes"] >= 150
        assert row["backlog"]["written"] > 0
        assert {one["page"] for one in row["pages"]} >= {"leads list", "failed list", "why EMAIL"}
    assert found["ratio"] == pytest.approx(found["rows"][1]["ms_per_1000"] / found["rows"][0]["ms_per_1000"])
    assert f"{found['ratio']:.2f}" in said


def test_statements_of_a_batch_do_not_grow_with_it(measured):
    """Nor with what is there: a batch of four hundred needs those of forty, give or take the kinds of rows in it."""
    rows = measured[0]["rows"]
    for row in rows:
        assert [one["batches"] for one in row["statements"]] == [1] * len(growth.BATCHES)
    assert max(one["statements"] for row in rows for one in row["statements"]) <= 40


def test_tables_hold_what_a_year_leaves(measured):
    """The fill has looked at every reference, and the audit at every turn; here it is how many there are."""
    row = measured[0]["rows"][1]
    rows = {one["table"]: one["rows"] for one in row["tables"]}
    assert rows["lead"] == rows["lead_key"] == rows["change"] == BASE
    assert rows["event"] == rows["delivery"] == rows["write"] == BASE * 1.3
    # Rounds and batches came on top, and were audited with it.
    assert row["audit"]["assignments"] > BASE


def submission_of(value: object) -> object:
    assert isinstance(value, dict)
    return value["submission"]


def test_keys_and_ids_are_those_of_the_product():
    """Else no update would find its lead, and a webhook sent again would be another event."""
    for number in range(50):
        one = person(number, 1000, "large", "everyone", COUNTRIES)
        key = email_key(email_facts(one.email, Organisation(), Routing()))
        body = orjson.loads(first_of(number, 1000))
        assert key is not None
        assert (key.digest, key.value) == (one.key, one.mailbox)
        assert one.email == body["email"]
        assert body["employees"] == one.employees
        submission = body["submission"].encode()
        made = came(number, first_of(number, 1000), submission)
        assert made.event == event_id("website", body, None, submission_of)


def test_updates_are_of_people_of_before():
    bodies = [orjson.loads(request.partition(b"\r\n\r\n")[2]) for request in requests(1000, 5000, 80, 20)]
    assert len({body["submission"] for body in bodies}) == 100
    assert Counter(body["submission"][0] for body in bodies) == {"s": 80, "u": 20}
    known = {orjson.loads(first_of(number, 1000))["email"] for number in range(1000)}
    assert {body["email"] in known for body in bodies if body["submission"][0] == "u"} == {True}
    assert again_of(7, 1000, 1) != again_of(7, 1000, 2)
