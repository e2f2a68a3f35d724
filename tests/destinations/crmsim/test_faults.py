"""The fault plan: what the client meets, and what was committed all the same."""

import httpx2
import pytest

HOUR = 3600


def leads(crm):
    return crm.sim("/summary")["records"]["Lead"]


@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [
        ("unavailable", 503, "SERVER_UNAVAILABLE"),
        ("server_error", 500, "UNKNOWN_EXCEPTION"),
        ("daily_limit", 403, "REQUEST_LIMIT_EXCEEDED"),
        ("concurrent_limit", 403, "REQUEST_LIMIT_EXCEEDED"),
        ("expired_session", 401, "INVALID_SESSION_ID"),
    ],
)
def test_refused_before_any_work(crm, person, kind, status, code):
    crm.fault(kind, nth=[1])
    answer = crm.upsert(person("a"))
    assert (answer.status_code, answer.json()[0]["errorCode"]) == (status, code)
    assert leads(crm) == 0
    entry = crm.last()
    assert (entry["fault"], entry["committed"], entry["delivered"], entry["status"]) == (kind, False, True, status)
    assert "retry-after" not in answer.headers


@pytest.mark.parametrize(("kind", "status"), [("bad_gateway", 502), ("gateway_timeout", 504)])
@pytest.mark.parametrize("commit", [False, True])
def test_the_edge_answers_html(crm, person, kind, status, commit):
    crm.fault(kind, commit=commit)
    answer = crm.upsert(person("a"))
    assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html")
    assert "sforce-limit-info" not in answer.headers
    assert leads(crm) == int(commit)


def test_an_expired_session_stays_dead_until_the_next_login(crm, person):
    crm.fault("expired_session", nth=[1])
    assert crm.upsert(person("a")).status_code == 401
    again = crm.upsert(person("a"))
    assert again.status_code == 401
    assert again.json() == [{"message": "Session expired or invalid", "errorCode": "INVALID_SESSION_ID"}]
    crm.login()
    assert crm.upsert(person("a")).status_code == 200


@pytest.mark.parametrize(("kind", "committed"), [("reset_before", False), ("reset_after", True)])
def test_a_connection_reset_before_or_after_the_commit(crm, person, kind, committed):
    """Case 91: the write that did land."""
    crm.fault(kind, nth=[1])
    with pytest.raises(httpx2.TransportError):
        crm.upsert(person("a"))
    crm.wait(answered=2)
    entry = crm.last()
    assert (entry["status"], entry["delivered"], entry["committed"]) == (None, False, committed)
    assert leads(crm) == int(committed)
    assert crm.rows(person("a"))[0]["created"] is not committed
    assert leads(crm) == 1


@pytest.mark.parametrize("commit", [False, True])
def test_a_silent_success_names_no_row(crm, person, commit):
    crm.fault("silent", commit=commit, rows=1)
    answer = crm.upsert(person("a"), person("b"))
    assert answer.status_code == 200
    assert len(answer.json()) == int(commit)
    assert leads(crm) == 2 * int(commit)


def test_a_broken_answer(crm, person):
    crm.fault("broken")
    answer = crm.upsert(person("a"))
    assert answer.status_code == 200
    with pytest.raises(ValueError, match="Unterminated"):
        answer.json()
    assert leads(crm) == 1


def repeated(crm, kind, **given):
    """Repeats counted when two rows are sent again after an answer that the plan has spoilt."""
    rows = [{"Fairturn_Id__c": key, "LastName": key, "Company": "Acme"} for key in "ab"]
    crm.fault(kind, nth=[1], **given)
    crm.upsert(*rows)
    crm.rows(*rows)
    return crm.sim("/repeats")["count"]


def test_what_the_answer_did_not_tell_may_be_sent_again(crm):
    """No repeat: the client cannot know. A row that the answer did name is one."""
    assert repeated(crm, "broken") == 0
    assert not crm.sim("/requests")["requests"][-2]["delivered"]


def test_rows_left_out_of_a_silent_success_are_no_repeats(crm):
    assert repeated(crm, "silent", commit=True, rows=1) == 1


def test_an_answer_of_the_plans_own(crm, person):
    crm.fault("status", status=202, body={"odd": True}, headers={"Retry-After": "7"}, commit=True)
    answer = crm.upsert(person("a"))
    assert (answer.status_code, answer.json(), answer.headers["retry-after"]) == (202, {"odd": True}, "7")
    crm.fault("status", status=521, body="<html>down</html>")
    answer = crm.upsert(person("b"))
    assert (answer.status_code, answer.headers["content-type"], leads(crm)) == (521, "text/html", 1)


def test_storage_full_refuses_new_records_only(crm, person):
    crm.rows(person("old"))
    crm.fault("storage_full")
    rows = crm.rows(person("new"), person("old", Title="CEO"))
    assert [row["success"] for row in rows] == [False, True]
    assert rows[0]["errors"] == [
        {"statusCode": "STORAGE_LIMIT_EXCEEDED", "message": "storage limit exceeded", "fields": []}
    ]


def test_locks_lost_by_plan(crm, person):
    crm.fault("lock", rows=1)
    rows = crm.rows(person("a", Account__c=crm.ids["Acme"]), person("b"))
    assert rows[0]["errors"][0]["statusCode"] == "UNABLE_TO_LOCK_ROW"
    assert crm.ids["Acme"] in rows[0]["errors"][0]["message"]
    assert rows[1]["success"]


@pytest.mark.parametrize("commit", [False, True])
def test_a_hang_outlives_the_clients_patience(crm, person, commit):
    """A client that hung up changes nothing about the commit, and is seen not to have got its answer."""
    crm.fault("hang", nth=[1], seconds=HOUR, commit=commit)
    with pytest.raises(httpx2.ReadTimeout):
        crm.upsert(person("a"), timeout=0.2)
    crm.wait(resting=1)
    assert leads(crm) == int(commit)
    crm.sim("/release", {})
    crm.wait(answered=2)
    assert leads(crm) == 1
    assert (crm.last()["committed"], crm.last()["delivered"]) == (True, False)


def test_a_hang_that_ends_in_a_reset(crm, person):
    crm.fault("hang", seconds=0.1, then="reset")
    with pytest.raises(httpx2.TransportError):
        crm.upsert(person("a"))
    assert leads(crm) == 0


def test_rates_repeat_with_the_seed(crm, person):
    def run(seed):
        crm.sim("/faults", {"seed": seed, "faults": [{"kind": "unavailable", "rate": 0.5}]})
        return [crm.upsert(person("a")).status_code for _ in range(20)]

    first = run(7)
    assert first == run(7)
    assert set(first) == {200, 503}
    assert first != run(8)


def test_which_requests_a_fault_counts(crm, person):
    plan = [{"kind": "unavailable", "on": "write", "object": "contact", "every": 2, "times": 1}]
    crm.sim("/faults", {"faults": plan})
    contact = {"Fairturn_Id__c": "c", "LastName": "C"}
    crm.login()
    assert crm.upsert(person("a")).status_code == 200
    statuses = [crm.upsert(contact, object="Contact").status_code for _ in range(5)]
    assert statuses == [200, 503, 200, 200, 200]
    assert crm.sim("/faults")["faults"] == [{"kind": "unavailable", "on": "write", "seen": 5, "fired": 1}]


def test_a_window_that_is_over_and_one_to_come(crm, person):
    never = [{"kind": "unavailable", "from": HOUR}, {"kind": "unavailable", "until": 0}]
    now = [{"kind": "server_error", "from": 0, "until": HOUR}]
    crm.sim("/faults", {"faults": never})
    assert crm.upsert(person("a")).status_code == 200
    crm.sim("/faults", {"add": True, "faults": now})
    assert crm.upsert(person("a")).status_code == 500
    crm.http.delete("/__sim__/faults")
    assert crm.upsert(person("a")).status_code == 200


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ({"faults": [{"kind": "flood"}]}, "faults[0]: kind must be one of unavailable"),
        ({"faults": [{"kind": "slow", "rate": 2}]}, "rate is a probability"),
        ({"faults": [{"kind": "slow", "whenever": 1}]}, "unknown keys ['whenever']"),
        ({"fault": []}, "unknown keys in the fault plan: ['fault']"),
    ],
)
def test_a_wrong_plan_is_refused_with_its_place(crm, plan, said):
    answer = crm.http.post("/__sim__/faults", json=plan)
    assert answer.status_code == 400
    assert said in answer.json()["error"]
