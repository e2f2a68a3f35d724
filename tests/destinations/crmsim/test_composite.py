"""Composite, Composite Batch and Composite Graph: several requests that travel in one."""

from typing import Any

import pytest

BASE = "/services/data/v60.0"


def part(reference: str, method: str, path: str, body: Any = None, **more: Any) -> dict[str, Any]:
    found = {"referenceId": reference, "method": method, "url": f"{BASE}/{path}", **more}
    return found if body is None else found | {"body": body}


def send(crm, *parts, **flags):
    return crm.call("POST", "composite", json={"compositeRequest": list(parts), **flags})


def results(answer) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    return answer.json()["compositeResponse"]


def rows(*people: dict[str, Any], object: str = "Lead") -> list[dict[str, Any]]:
    return [{"attributes": {"type": object}, **person} for person in people]


def test_a_later_subrequest_uses_what_an_earlier_one_answered(crm):
    account, contact, again = results(
        send(
            crm,
            part("acc", "PATCH", "sobjects/Account/Fairturn_Key__c/new.test", {"Name": "New"}),
            part("con", "POST", "sobjects/Contact/", {"LastName": "Doe", "AccountId": "@{acc.id}"}),
            part("read", "GET", "sobjects/Contact/@{con.id}?fields=LastName,AccountId"),
        )
    )
    assert (account["httpStatusCode"], account["body"]["created"], account["referenceId"]) == (201, True, "acc")
    assert account["httpHeaders"] == {"Location": f"{BASE}/sobjects/Account/{account['body']['id']}"}
    assert contact["httpStatusCode"] == 201
    assert again["body"]["AccountId"] == account["body"]["id"]
    assert crm.last()["calls"] == 1
    assert [(one["method"], one["object"], one["status"]) for one in crm.last()["parts"]] == [
        ("PATCH", "Account", 201),
        ("POST", "Contact", 201),
        ("GET", "Contact", 200),
    ]


def test_a_query_and_collections_inside(crm, person):
    crm.rows(person("a", Email="a@x.test"))
    found, written = results(
        send(
            crm,
            part("q", "GET", "query?q=SELECT+Id,Email+FROM+Lead+WHERE+Email+IN+('a@x.test')"),
            part(
                "w",
                "PATCH",
                "composite/sobjects/Lead/Fairturn_Id__c",
                {"records": rows(person("b"), person("c", Email="bad"))},
                httpHeaders={"Sforce-Auto-Assign": "FALSE"},
            ),
        )
    )
    assert found["body"]["totalSize"] == 1
    assert [row["success"] for row in written["body"]] == [True, False]
    assert written["body"][1]["errors"][0]["statusCode"] == "INVALID_EMAIL_ADDRESS"
    last = crm.last()
    assert last["kind"] == "write"
    assert [(row["key"], row["object"], row["outcome"]) for row in last["rows"]] == [
        ("b", "Lead", "created"),
        ("c", "Lead", "INVALID_EMAIL_ADDRESS"),
    ]


def test_one_that_only_asks_is_a_read(crm):
    send(crm, part("q", "GET", "query?q=SELECT+Id+FROM+Lead"))
    assert crm.last()["kind"] == "read"


def test_what_depends_on_a_failure_is_not_executed_and_the_rest_is(crm, person):
    bad, halted, good = results(
        send(
            crm,
            part("bad", "POST", "sobjects/Account", {"Website": "x.test"}),
            part("dep", "POST", "sobjects/Contact", {"LastName": "Doe", "AccountId": "@{bad.id}"}),
            part("good", "POST", "sobjects/Lead", person("a")),
        )
    )
    assert (bad["httpStatusCode"], bad["body"][0]["errorCode"]) == (400, "REQUIRED_FIELD_MISSING")
    assert halted["body"] == [
        {
            "errorCode": "PROCESSING_HALTED",
            "message": "Invalid reference specified. No value for bad.id found in bad.",
        }
    ]
    assert good["httpStatusCode"] == 201
    assert [one["status"] for one in crm.last()["parts"]] == [400, 400, 201]


def test_all_or_none_undoes_all_and_names_the_one_at_fault(crm, person):
    first, bad, last = results(
        send(
            crm,
            part("first", "POST", "sobjects/Lead", person("a")),
            part("bad", "POST", "sobjects/Lead", {"Company": "Acme"}),
            part("last", "POST", "sobjects/Lead", person("c")),
            allOrNone=True,
        )
    )
    halted = "The transaction was rolled back since another operation in the same transaction failed."
    for one in (first, last):
        assert (one["httpStatusCode"], one["body"]) == (400, [{"errorCode": "PROCESSING_HALTED", "message": halted}])
    assert bad["body"][0]["errorCode"] == "REQUIRED_FIELD_MISSING"
    assert crm.sim("/summary")["records"]["Lead"] == 0
    assert [row["outcome"] for row in crm.last()["rows"]] == ["PROCESSING_HALTED", "REQUIRED_FIELD_MISSING"]
    assert not crm.last()["committed"]
    assert crm.sim("/locks")["held"] == []


def test_all_or_none_over_collections_that_are_not(crm, person):
    """The trap of SF-docs: the inner answer still says success, and nothing stands."""
    inner, halted = results(
        send(
            crm,
            part("in", "POST", "composite/sobjects", {"records": rows(person("a"), {"Company": "Acme"})}),
            part("out", "POST", "sobjects/Lead", person("b")),
            allOrNone=True,
        )
    )
    assert inner["httpStatusCode"] == 200
    assert [row["success"] for row in inner["body"]] == [True, False]
    assert halted["body"][0]["errorCode"] == "PROCESSING_HALTED"
    assert crm.sim("/summary")["records"]["Lead"] == 0


def test_all_or_none_that_succeeds_is_one_commit(crm, person):
    send(
        crm,
        part("a", "PATCH", "sobjects/Lead/Fairturn_Id__c/a", {"LastName": "A", "Company": "Acme"}),
        part("b", "PATCH", "sobjects/Lead/Fairturn_Id__c/a", {"LastName": "B"}),
        allOrNone=True,
    )
    assert crm.record()["LastName"] == "B"
    assert [row["outcome"] for row in crm.last()["rows"]] == ["created", "updated"]
    assert crm.sim("/summary")["rows"] == {"created": 1, "updated": 1, "refused": 0}


def test_headers_of_the_request_are_not_those_of_its_subrequests(crm, person):
    """Only Accept, Authorization and Content-Type are handed on: Sforce-Auto-Assign on the outside does nothing."""
    write = {"method": "POST", "path": "sobjects/Lead", "body": person("a")}
    send(crm, part("a", **write))
    taken = crm.record()["OwnerId"]
    send(crm, part("b", **write | {"body": person("b")}, httpHeaders={"Sforce-Auto-Assign": "FALSE"}))
    assert crm.record()["OwnerId"] != taken
    crm.sim("/switches", {"composite_inherits_headers": True})
    send(crm, part("c", **write | {"body": person("c")}))
    assert crm.record()["OwnerId"] != taken


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ([], "must be a list"),
        ([part("a", "GET", "limits")] * 2, "Duplicate referenceId: a"),
        ([{"method": "GET", "url": f"{BASE}/limits"}], "referenceId is required"),
        ([part("a[1]", "GET", "limits")], "Provided referenceId ('a[1]') must start with a letter or a number"),
        ([part("a", "get", "limits")], "method must be one of"),
        ([{"referenceId": "a", "method": "GET", "url": "/limits"}], "url must start with"),
        ([part("a", "GET", "limits", httpHeaders={"Accept": "x"})], "httpHeaders cannot name"),
        ([part(f"a{n}", "GET", "sobjects/Lead") for n in range(26)], "the limit is 25"),
        ([part(f"a{n}", "GET", "query?q=SELECT+Id+FROM+Lead") for n in range(6)], "the limit is 5"),
    ],
)
def test_what_spoils_the_whole_request(crm, parts, said):
    answer = send(crm, *parts)
    assert answer.status_code == 400
    assert said in answer.json()[0]["message"]


def test_the_heavy_five_are_a_switch(crm):
    crm.sim("/switches", {"composite_heavy_parts": 25})
    parts = [part(f"a{n}", "GET", "query?q=SELECT+Id+FROM+Lead") for n in range(25)]
    assert len(results(send(crm, *parts))) == 25


def test_null_references_are_values_since_v52(crm, person):
    [row] = crm.rows(person("a"))
    parts = [
        part("read", "GET", f"sobjects/Lead/{row['id']}?fields=FirstName"),
        part("copy", "POST", "sobjects/Lead", person("b", FirstName="@{read.FirstName}")),
    ]
    assert results(send(crm, *parts))[1]["httpStatusCode"] == 201
    old = crm.http.post("/services/data/v51.0/composite", json={"compositeRequest": parts}, headers=crm.headers)
    assert results(old)[1]["body"][0]["errorCode"] == "PROCESSING_HALTED"


def test_a_version_sent_again_in_a_composite_is_a_repeat(crm):
    same = part("a", "PATCH", "sobjects/Lead/Fairturn_Id__c/a", {"LastName": "A", "Company": "Acme"})
    send(crm, same)
    assert crm.sim("/summary")["repeats"] == 0
    send(crm, same)
    assert crm.sim("/summary")["repeats"] == 1


def test_faults_strike_subrequests(crm, person):
    crm.fault("unavailable", on="part", object="Contact")
    lead, contact = results(
        send(
            crm,
            part("l", "POST", "sobjects/Lead", person("a")),
            part("c", "POST", "sobjects/Contact", {"LastName": "Doe"}),
        )
    )
    assert (lead["httpStatusCode"], contact["httpStatusCode"]) == (201, 503)
    assert crm.last()["parts"][1]["fault"] == "unavailable"
    crm.fault("lock", on="write")
    [locked] = results(send(crm, part("l", "PATCH", "sobjects/Lead/Fairturn_Id__c/a", {"LastName": "B"})))
    assert locked["body"][0]["errorCode"] == "UNABLE_TO_LOCK_ROW"


def test_a_silent_success_names_only_the_first(crm, person):
    crm.fault("silent", on="write", commit=True, rows=1)
    answer = send(crm, *(part(f"l{n}", "PATCH", f"sobjects/Lead/Fairturn_Id__c/{n}", person("x")) for n in range(3)))
    assert [one["referenceId"] for one in results(answer)] == ["l0"]


def test_batch_counts_each_and_stops_if_told(crm, person):
    calls = [
        {"method": "GET", "url": "v60.0/limits"},
        {"method": "POST", "url": "v60.0/sobjects/Lead", "richInput": {"Company": "Acme"}},
        {"method": "POST", "url": "v60.0/sobjects/Lead", "richInput": person("a")},
    ]
    used = crm.sim("/limits")["used"]
    body = crm.call("POST", "composite/batch", json={"batchRequests": calls}).json()
    assert body["hasErrors"] is True
    assert [one["statusCode"] for one in body["results"]] == [200, 400, 201]
    assert crm.sim("/limits")["used"] == used + 3
    body = crm.call("POST", "composite/batch", json={"batchRequests": calls, "haltOnError": True}).json()
    assert [one["statusCode"] for one in body["results"]] == [200, 400, 412]
    assert body["results"][2]["result"][0]["errorCode"] == "BATCH_PROCESSING_HALTED"
    assert crm.sim("/summary")["records"]["Lead"] == 1


def test_graphs_stand_or_fall_each_for_itself(crm, person):
    def graph(name, *parts):
        return {"graphId": name, "compositeRequest": list(parts)}

    body = {
        "graphs": [
            graph("good", part("a", "POST", "sobjects/Lead", person("a"))),
            graph(
                "bad",
                part("b", "POST", "sobjects/Lead", person("b")),
                part("c", "POST", "sobjects/Lead", {"Company": "Acme"}),
            ),
        ]
    }
    good, bad = crm.call("POST", "composite/graph", json=body).json()["graphs"]
    assert (good["isSuccessful"], bad["isSuccessful"]) == (True, False)
    codes = [one["body"][0]["errorCode"] for one in bad["graphResponse"]["compositeResponse"]]
    assert codes == ["PROCESSING_HALTED", "REQUIRED_FIELD_MISSING"]
    assert crm.sim("/summary")["records"]["Lead"] == 1
    assert crm.last()["calls"] == 1


def test_composite_does_not_nest(crm):
    inner = part("in", "POST", "composite", {"compositeRequest": [part("x", "GET", "limits")]})
    assert results(send(crm, inner))[0]["httpStatusCode"] == 404


def test_what_may_still_be_undone_is_locked(crm, person):
    """An upsert that meets the uncommitted record waits, finds it gone, and makes its own."""
    new = {"LastName": "Doe", "Company": "Acme"}
    path = "sobjects/Lead/Fairturn_Id__c/a"
    crm.sim("/faults", {"faults": [{"kind": "hang", "on": "part", "object": "Contact", "seconds": 3600}]})
    parts = [part("lead", "PATCH", path, new), part("bad", "POST", "sobjects/Contact", {"FirstName": "J"})]
    undone = crm.later(send, crm, *parts, allOrNone=True)
    crm.wait(resting=1)
    other = crm.later(crm.call, "PATCH", path, json=new | {"Title": "CEO"})
    crm.wait(lock_waiting=1)
    crm.sim("/release", {})
    assert [one["httpStatusCode"] for one in results(undone.result())] == [400, 400]
    assert (other.result().status_code, other.result().json()["created"]) == (201, True)
    assert (crm.record()["Fairturn_Id__c"], crm.record()["Title"]) == ("a", "CEO")
    assert crm.sim("/summary")["records"]["Lead"] == 1
