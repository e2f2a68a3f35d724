"""Evidence, faults, people who are there already, and a second writer."""

import json

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.destinations.crmsim.hub.conftest import TOKEN
from tests.destinations.crmsim.hub.test_hubspot_records import CONTACTS, row


def test_a_request_leaves_all_its_facts(hub):
    made = hub.batch("upsert", row("a@x.co", firstname="A"), row("bad")).json()
    assert made["category"] == "VALIDATION_ERROR"
    refused = hub.last()
    assert (refused["status"], refused["committed"], refused["records"]) == (400, False, 2)
    assert {note["outcome"] for note in refused["rows"]} == {"INVALID_EMAIL"}
    result = hub.batch("upsert", row("a@x.co", firstname="A")).json()["results"][0]
    entry = hub.last()
    assert (entry["kind"], entry["object"], entry["key_field"], entry["path"]) == (
        "write", "contacts", "email", f"{CONTACTS}/batch/upsert",
    )  # fmt: skip
    assert "authorization" not in json.dumps(entry).lower()
    assert (entry["rows"][0]["id"], entry["rows"][0]["outcome"]) == (result["id"], "created")
    assert (entry["committed"], entry["delivered"], entry["calls"]) == (True, True, 1)
    summary = hub.sim("/summary")
    assert (summary["write_requests"], summary["rows"]) == (2, {"created": 1, "updated": 0, "refused": 2})
    lines = hub.http.get("/__sim__/requests", params={"format": "jsonl"}).text.splitlines()
    assert json.loads(lines[-1])["n"] == entry["n"]


def test_every_version_says_who_when_and_what(hub):
    made = hub.contact(email="a@x.co", hubspot_owner_id=hub.ids["Ann"])
    hub.sim("/owner", {"email": "A@x.co", "owner": "bob@seller.test", "by": "ann@seller.test"})
    hub.sim("/edit", {"id": made["id"], "fields": {"hs_lead_status": "OPEN"}})
    hub.call("PATCH", f"{CONTACTS}/{made['id']}", json={"properties": {"phone": "1"}})
    versions = hub.sim("/versions", object="contacts", id=made["id"])["versions"]
    assert [(item["version"], item["source"]) for item in versions] == [
        (1, "api"),
        (2, "hand"),
        (3, "hand"),
        (4, "api"),
    ]
    assert versions[1]["by"] == hub.ids["Ann"]
    assert versions[1]["changed"]["hubspot_owner_id"] == [hub.ids["Ann"], hub.ids["Bob"]]
    assert versions[3]["changed"] == {"phone": [None, "1"]}
    assert versions[3]["request"] == hub.last()["n"]
    [current] = hub.sim("/records/contacts")["records"]
    assert (current["hubspot_owner_id"], current["_version"]) == (hub.ids["Bob"], 4)


def test_a_version_sent_again_is_a_repeat_however_it_was_addressed(hub):
    made = hub.batch("upsert", row("a@x.co", firstname="A")).json()["results"][0]
    assert hub.sim("/repeats")["count"] == 0
    again = {"id": made["id"], "properties": {"email": "a@x.co", "firstname": "A"}}
    hub.batch("update", again)
    assert hub.sim("/repeats")["count"] == 1
    hub.batch("update", again | {"properties": {"firstname": "B"}})
    assert hub.sim("/repeats")["count"] == 1


def test_the_work_of_writes_is_counted_and_that_of_reads_is_not(hub):
    hub.sim("/latency", {"fixed": 0.01, "per_record": 0.005})
    hub.batch("upsert", row("a@x.co"), row("b@x.co"))
    hub.batch("read", {"id": "a@x.co"}, idProperty="email")
    assert hub.sim("/summary")["work"] == {"transactions": 1, "transaction_ms": 10.0, "record_ms": 10.0}


@pytest.mark.parametrize("kind", ["bad_gateway", "gateway_timeout", "server_error", "edge", "broken", "silent"])
def test_a_retry_after_an_answer_that_told_nothing_is_no_repeat(hub, kind):
    hub.fault(kind, commit=True, nth=[1])
    answer = hub.batch("upsert", row("a@x.co"))
    assert hub.sim("/summary")["records"]["contacts"] == 1, "written all the same"
    if kind == "silent":
        assert (answer.status_code, answer.json()["results"]) == (200, [])
    if kind == "broken":
        with pytest.raises(json.JSONDecodeError):
            answer.json()
    [again] = hub.batch("upsert", row("a@x.co")).json()["results"]
    assert again["new"] is False
    assert hub.sim("/repeats")["count"] == 0


@pytest.mark.parametrize(("kind", "written"), [("reset_before", 0), ("reset_after", 1)])
def test_a_connection_is_reset_before_or_after_the_commit(hub, kind, written):
    hub.fault(kind, nth=[1])
    with pytest.raises(httpx2.TransportError):
        hub.batch("upsert", row("a@x.co"))
    assert hub.sim("/summary")["records"]["contacts"] == written
    assert hub.sim("/summary")["undelivered"] == 1
    hub.batch("upsert", row("a@x.co"))
    assert (hub.sim("/summary")["records"]["contacts"], hub.sim("/repeats")["count"]) == (1, 0)


def test_faults_that_come_before_any_work_write_nothing(hub):
    for kind in ("unavailable", "locked", "migration", "silent", "edge", "burst_limit", "daily_limit", "search_limit"):
        hub.fault(kind)
        hub.batch("upsert", row("a@x.co"))
    assert hub.sim("/summary")["records"]["contacts"] == 0
    hub.fault("migration", seconds=90)
    assert hub.batch("upsert", row("a@x.co")).headers["retry-after"] == "90"
    hub.fault("edge", status=521)
    answer = hub.batch("upsert", row("a@x.co"))
    assert (answer.status_code, answer.headers["content-type"]) == (521, "text/html")


def test_silence_can_be_of_some_rows_only(hub):
    hub.fault("silent", commit=True, rows=2)
    body = hub.batch("upsert", *(row(f"a{n}@x.co") for n in range(5))).json()
    assert {item["properties"]["email"] for item in body["results"]} == {"a0@x.co", "a1@x.co"}
    assert "errors" not in body
    assert hub.sim("/summary")["records"]["contacts"] == 5


def test_a_request_that_rests_can_be_let_go(hub):
    hub.fault("slow", seconds=600)
    waiting = hub.later(hub.batch, "upsert", row("a@x.co"))
    hub.wait(resting=1)
    assert hub.sim("/summary")["records"]["contacts"] == 0
    assert hub.sim("/release", {}) == {"released": 1}
    assert waiting.result().status_code == 200


def test_requests_that_share_a_company_overlap(hub):
    made = hub.sim("/seed", {"contacts": [{"email": f"{name}@x.co", "company": "Acme"} for name in "ab"]})["contacts"]
    hub.fault("slow", seconds=600)
    updates = [
        hub.later(hub.batch, "update", {"id": one, "properties": {"phone": "1"}}) for one in made
    ]  # fmt: skip
    hub.wait(resting=2)
    assert hub.sim("/overlaps")["count"] == 1
    hub.sim("/release", {})
    assert [update.result().status_code for update in updates] == [200, 200]


def test_a_wrong_seed_fault_or_switch_is_told(hub):
    for path, body in (
        ("/seed", {"contacts": [{"shoe_size": 4}]}),
        ("/seed", {"people": {"count": 1, "queue": 2}}),
        ("/faults", {"faults": [{"kind": "lock"}]}),
        ("/switches", {"partial_upsert": "perhaps"}),
        ("/limits", {"burst": -1}),
        ("/owner", {"email": "nobody@x.co", "owner": "ann@seller.test"}),
        ("/second-writer", {"every": 1}),
    ):
        answer = hub.http.post(f"/__sim__{path}", json=body)
        assert answer.status_code == 400, path
        assert answer.json()["error"]


def test_people_are_there_from_the_start_and_nobody_is_doubled_or_taken(hub):
    wish = {"count": 300, "owned": 100, "unowned": 50, "inactive": 50, "customers": 30, "secondary": 40,
            "companied": 30, "seed": 7}  # fmt: skip
    people = hub.sim("/seed", {"people": wish})["people"]
    assert len(people) == 300
    kinds = {kind: sum(one["kind"] == kind for one in people) for kind in wish if kind not in ("count", "seed")}
    assert kinds == {name: wish[name] for name in kinds}
    for part in range(0, 300, 100):
        inputs = [row(one["email"], one["email"], phone="1") for one in people[part : part + 100]]
        assert hub.batch("upsert", *inputs).status_code == 200
    found = hub.sim("/owners")
    assert (found["added"], found["taken"]) == ([], [])
    assert len(found["known"]) == 300
    summary = hub.sim("/summary")
    assert (summary["rows"]["created"], summary["rows"]["updated"], summary["duplicated"]) == (0, 300, 0)
    someone = next(one for one in people if one["kind"] == "owned")
    other = next(hub.ids[name] for name in ("Ann", "Bob") if hub.ids[name] != someone["owner"])
    hub.batch("update", {"id": someone["contact"], "properties": {"hubspot_owner_id": other}})
    assert hub.sim("/owners")["taken"] == [someone["contact"]]
    [record] = hub.sim("/owners", email=someone["email"])["records"].values()
    assert [step["owner"] for step in record["owners"]] == [someone["owner"], other]


def test_a_second_writer_moves_owners_while_we_work(hub):
    hub.sim("/seed", {"contacts": [{"email": f"{n}@x.co", "owner": "Ann Able"} for n in range(5)]})
    hub.sim("/second-writer", {"every": 0.1, "records": 2, "times": 3, "to": ["Ann Able", "Bob Baker"], "seed": 1})
    versions = 2 + 5 + 6  # companies, contacts, moves
    hub.wait(versions=versions)
    moved = [item for item in hub.sim("/versions", limit=10_000)["versions"] if item["source"] == "hand"]
    assert len(moved) == 6
    assert {item["by"] for item in moved} == {"a second writer"}
    assert hub.sim("/summary")["owners"] == {
        "moved": 6, "moved_by_api": 0, "moved_by_hand": 6, "taken_by_api": 0,
    }  # fmt: skip
    hub.wait(hand_turns=3)
    assert hub.http.delete("/__sim__/second-writer").json()["changes"] == 6
    assert hub.sim("/summary")["second_writer"] == {"turns": 3, "changes": 6}
    hub.sim("/reset", {})
    assert hub.sim("/second-writer") == {"at_work": 0, "turns": 0, "changes": 0}


def test_a_person_archives_and_merges(hub):
    hub.contact(email="a@x.co")
    hub.contact(email="b@x.co")
    hub.sim("/merge", {"primary": {"email": "a@x.co"}, "other": {"email": "b@x.co"}, "by": "bob@seller.test"})
    assert hub.read("b@x.co")["email"] == "a@x.co"
    hub.sim("/archive", {"email": "a@x.co"})
    assert hub.batch("read", {"id": "b@x.co"}, idProperty="email").json()["results"] == []


def test_a_reset_brings_the_start_back(hub):
    hub.contact(email="a@x.co")
    hub.sim("/limits", {"burst": 1})
    hub.sim("/reset", {})
    summary = hub.sim("/summary")
    assert (summary["records"], summary["write_requests"]) == ({"contacts": 0, "companies": 0, "owners": 0}, 0)
    assert hub.sim("/limits")["burst"] == 190


def test_a_process_is_set_up_by_its_command_line(launch, connect, tmp_path):
    seed, plan = tmp_path / "seed.json", tmp_path / "faults.json"
    seed.write_text(json.dumps({"owners": [{"email": "ann@x.co", "name": "Ann"}]}))
    plan.write_text(json.dumps({"seed": 1, "faults": [{"kind": "locked", "nth": [2]}]}))
    options = ("--hubspot-port", "0", "--hubspot-seed-file", str(seed), "--hubspot-faults", str(plan))
    with launch("--time-scale", "0.05", "--hubspot-switch", "tld_check=false", *options) as (_, ready):
        crm = connect(ready | {"salesforce": ready["hubspot"]})
        headers = {"Authorization": f"Bearer {TOKEN}"}
        assert crm.sim("/switches")["tld_check"] is False
        assert [crm.http.get("/crm/v3/owners/", headers=headers).status_code for _ in range(2)] == [200, 423]
        assert ready["hubspot_control"] == ready["hubspot"] + "/__sim__"


WORDS = [
    "inputs", "properties", "id", "idProperty", "objectWriteTraceId", "associations", "to", "from", "types",
    "associationTypeId", "filterGroups", "filters", "propertyName", "operator", "value", "values", "limit", "after",
    "sorts", "email", "name", "label", "type", "fieldType", "groupName", "options", "primaryObjectId",
]  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 300) | st.sampled_from(["", "a@x.co", "1", "email", "EQ"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5),
    max_leaves=12,
)
PAIRS = "/crm/v4/associations/contacts/companies/batch"
PATHS = [
    *(f"{CONTACTS}{verb}" for verb in ("", "/search", "/merge")),
    *(f"/crm/v3/properties/contacts{rest}" for rest in ("", "/groups")),
    *(f"{CONTACTS}/batch/{verb}" for verb in ("create", "read", "update", "upsert", "archive")),
    *(f"{PAIRS}/{verb}" for verb in ("create", "read", "associate/default", "archive")),
]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.sampled_from(PATHS), body=JSON, inputs=st.booleans())
def test_whatever_is_sent_is_answered_in_hubspots_words(hub, path, body, inputs):
    hub.sim("/limits", {"burst": 100_000})
    sent = json.dumps({"inputs": [body], "filterGroups": [body]} if inputs else body)
    answer = hub.call("POST", path, content=sent, headers={"Content-Type": "application/json"})
    assert answer.status_code in (200, 201, 204, 207, 400, 404, 409), answer.text
    if answer.status_code >= 400:
        assert answer.json()["status"] == "error"
