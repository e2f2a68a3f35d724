"""The evidence and the acts of people."""

import json

import pytest


def test_a_request_leaves_all_its_facts(crm, person):
    [row] = crm.rows(person("a", Account__c=crm.ids["Acme"]))
    entry = crm.last()

    assert (entry["method"], entry["path"]) == (
        "PATCH", "/services/data/v60.0/composite/sobjects/Lead/Fairturn_Id__c",
    )  # fmt: skip
    assert (entry["kind"], entry["object"], entry["key_field"], entry["records"]) == (
        "write",
        "Lead",
        "Fairturn_Id__c",
        1,
    )
    assert entry["headers"]["sforce-auto-assign"] == "FALSE"
    assert "authorization" not in json.dumps(entry).lower()
    note = entry["rows"][0]
    assert (note["key"], note["id"], note["outcome"], note["account"]) == ("a", row["id"], "created", crm.ids["Acme"])
    assert entry["accounts"] == [crm.ids["Acme"]]
    assert (entry["status"], entry["fault"], entry["committed"], entry["delivered"]) == (200, None, True, True)
    assert entry["mono"] <= entry["committed_mono"] <= entry["answered_mono"]
    assert entry["answered_at"] >= entry["at"]


def test_requests_come_in_pages_and_as_a_stream(crm, person):
    first = crm.last()["n"]
    for n in range(5):
        crm.rows(person(f"k{n}"))
    page = crm.sim("/requests", after=first, limit=3)
    rest = crm.sim("/requests", after=page["next"], limit=3)
    assert [entry["n"] - first for entry in page["requests"] + rest["requests"]] == [1, 2, 3, 4, 5]
    stream = crm.http.get("/__sim__/requests", params={"format": "jsonl", "kind": "write"}).text
    assert [json.loads(line)["n"] - first for line in stream.splitlines()] == [1, 2, 3, 4, 5]


def test_every_version_says_who_when_and_what(crm, person):
    [row] = crm.rows(person("a", Email="a@x.test"))
    crm.sim("/owner", {"email": "A@x.test", "owner": "bob@seller.test", "by": "ann@seller.test"})
    crm.rows(person("a", Title="CEO"))
    crm.rows(person("a", Title="CEO"))
    versions = crm.sim("/versions", object="Lead", id=row["id"][:15])["versions"]

    assert [version["source"] for version in versions] == ["api", "hand", "api", "api"]
    assert [version["version"] for version in versions] == [1, 2, 3, 4]
    assert versions[1]["by"] == crm.ids["Ann"]
    integration = crm.sim("/records/User")["records"][0]["Id"]
    assert versions[1]["changed"] == {"OwnerId": [integration, crm.ids["Bob"]]}
    assert versions[2]["changed"] == {"Title": [None, "CEO"]}
    assert versions[3]["changed"] == {}
    assert versions[2]["request"] == crm.last()["n"] - 1
    assert crm.record()["OwnerId"] == crm.ids["Bob"], "enrichment leaves the person's owner"


def test_people_beyond_one_per_email_count_those_there_before(crm, person):
    crm.sim("/seed", {"contacts": [{"LastName": "J", "Email": "jane@x.test"}]})
    crm.rows(person("a", Email="Jane@x.test"), person("b", Email="bob@x.test"), person("c"))
    people = crm.sim("/people")
    assert (people["emails"], people["duplicated"], people["without_email"]) == (2, 1, 1)
    assert len(people["twice"]["jane@x.test"]) == 2


def test_a_version_sent_again_after_its_answer_is_a_repeat(crm, person):
    crm.rows(person("a", Title="1"))
    crm.rows(person("a", Title="2"))
    assert crm.sim("/repeats")["count"] == 0
    crm.rows(person("a", Title="2"), person("b"))
    found = crm.sim("/repeats")
    assert found["count"] == 1
    assert (found["repeats"][0]["key"], found["repeats"][0]["again"]) == ("a", crm.last()["n"])


def test_a_retry_after_a_lost_answer_is_no_repeat(crm, person):
    crm.fault("bad_gateway", commit=True, nth=[1])
    crm.upsert(person("a"))
    crm.rows(person("a"))
    assert crm.sim("/repeats")["count"] == 0


def test_the_summary(crm, person):
    crm.rows(person("a"), person("b"), {"Fairturn_Id__c": "c"})
    crm.rows(person("a", Title="CEO"))
    crm.call("GET", "limits")
    found = crm.sim("/summary")
    assert (found["write_requests"], found["read_requests"], found["data_requests"]) == (2, 1, 3)
    assert found["token_requests"] == 1
    assert found["rows"] == {"created": 2, "updated": 1, "refused": 1}
    assert (found["peak_concurrent"], found["in_flight"], found["undelivered"]) == (1, 0, 0)
    assert found["usage"]["used"] == 3


def test_peak_of_concurrent_requests(crm, person):
    crm.fault("slow", seconds=3600)
    waiting = [crm.later(crm.rows, person(f"k{n}")) for n in range(3)]
    crm.wait(resting=3)
    crm.sim("/release", {})
    assert all(future.result()[0]["created"] for future in waiting)
    assert crm.sim("/summary")["peak_concurrent"] == 3


def test_waiting_for_what_does_not_come(crm):
    answer = crm.http.get("/__sim__/wait", params={"leads": 1, "timeout": 0.05})
    assert answer.status_code == 408
    assert crm.http.get("/__sim__/wait", params={"moons": 1}).status_code == 400


def test_latency_and_switches_answer_with_what_is_in_force(crm):
    assert crm.sim("/latency", {"fixed": 1.5}) == {"fixed": 1.5, "per_record": 0.0, "read": None, "token": 0.0}
    half_wrong = crm.http.post("/__sim__/latency", json={"per_record": 3, "token": -1})
    assert half_wrong.status_code == 400
    assert crm.sim("/latency")["per_record"] == 0.0
    assert crm.sim("/switches", {"lock_timeout": 5})["lock_timeout"] == 5
    assert crm.sim("/switches")["parent_lock"] == "write"


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/switches", {"gravity": 1}, "no switch 'gravity'"),
        ("/switches", {"parent_lock": "never"}, "parent_lock must be one of write, relation"),
        ("/switches", {"lead_account": 1}, "lead_account takes a bool"),
        ("/latency", {"fixed": -1}, "latency has fixed, per_record, read and token"),
        ("/seed", {"leads": [{"Shoe__c": 1}]}, "leads[0]: Lead has no field Shoe__c"),
        ("/seed", {"users": [{"id": "123", "name": "A"}]}, "users[0]: '123' is no id of this object"),
        ("/seed", {"folks": []}, "unknown sections ['folks']"),
        ("/seed", {"people": {"count": 1, "owned": 2}}, "count 1 is less"),
        ("/owner", {"email": "no@x.test", "owner": "Ann"}, "0 records of Lead match"),
        ("/owner", {"email": "no@x.test", "owner": "Zoe"}, "no user or queue with id, e-mail or name 'Zoe'"),
    ],
)
def test_a_wrong_request_is_told_so(crm, path, body, said):
    answer = crm.http.post(f"/__sim__{path}", json=body)
    assert answer.status_code == 400
    assert said in answer.json()["error"]


def test_seeds_give_the_same_ids_every_time_and_take_given_ones(crm):
    before = dict(crm.ids)
    crm.start()
    assert crm.ids == before
    made = crm.sim("/seed", {"users": [{"id": "0050000000AbCdE", "name": "Zoe", "email": "zoe@x.test"}]})
    assert made["users"][0]["id"] == "0050000000AbCdEAAV"
