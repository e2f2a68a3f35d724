"""Row and parent locks: who waits for whom, for how long, and what a lost lock looks like. Steps are held by a gate."""

import pytest

HOUR = 3600


def at(account, **fields):
    return {"Account__r": {"Fairturn_Key__c": f"{account}.test"}} | fields


def hold_first_write(crm, *rows, **given):
    """A request that keeps its locks until released; returns once it has them."""
    crm.fault("slow", on="write", nth=[1], seconds=HOUR)
    first = crm.later(crm.rows, *rows, **given)
    crm.wait(resting=1)
    return first


def test_a_second_writer_of_one_account_waits_for_the_first(crm, person):
    """Case 78, the half that goes well."""
    first = hold_first_write(crm, person("a", **at("acme")))
    second = crm.later(crm.rows, person("b", **at("acme")))
    crm.wait(lock_waiting=1)
    one, two = (entry["n"] for entry in crm.sim("/requests", kind="write")["requests"])
    assert crm.sim("/locks")["held"] == [{"record": crm.ids["Acme"], "request": one, "waiting": [two]}]
    crm.sim("/release", {})

    assert first.result()[0]["created"]
    assert second.result()[0]["created"]
    [wait] = crm.last()["lock_waits"]
    assert (wait["record"], wait["holder"], wait["timed_out"]) == (crm.ids["Acme"], one, False)
    assert crm.sim("/locks")["held"] == []
    numbers = crm.sim("/summary")
    assert (numbers["lock_waits"], numbers["lock_timeouts"], numbers["overlaps"]) == (1, 0, 1)
    assert crm.sim("/overlaps")["overlaps"] == [{"requests": [one, two], "accounts": [crm.ids["Acme"]]}]


def test_after_ten_seconds_only_the_rows_of_the_contended_account_fail(crm, person):
    """Case 78."""
    first = hold_first_write(crm, person("a", **at("acme")))
    rows = crm.rows(person("b", **at("acme")), person("c", **at("globex")), person("d"), person("e", **at("acme")))
    crm.sim("/release", {})

    locked = {
        "statusCode": "UNABLE_TO_LOCK_ROW",
        "message": f"unable to obtain exclusive access to this record or 1 records: {crm.ids['Acme']}",
        "fields": [],
    }
    assert [row["errors"] for row in rows] == [[locked], [], [], [locked]]
    assert first.result()[0]["created"]
    waits = [entry["lock_waits"] for entry in crm.sim("/requests", kind="write")["requests"]]
    assert [len(found) for found in waits] == [0, 1], "the second row of a lost account does not wait again"
    assert waits[1][0]["timed_out"]
    assert waits[1][0]["waited"] == pytest.approx(10, rel=0.3)


def test_a_plain_lead_locks_no_account(crm, person):
    crm.sim("/switches", {"lead_account": False})
    first = hold_first_write(crm, person("a"))
    assert crm.rows(person("b"))[0]["created"]
    assert crm.sim("/summary")["lock_waits"] == 0
    crm.sim("/release", {})
    first.result()


def test_contacts_lock_their_account(crm):
    rows = [{"Fairturn_Id__c": key, "LastName": key, "AccountId": crm.ids["Acme"]} for key in ("a", "b")]
    first = hold_first_write(crm, rows[0], object="Contact")
    second = crm.later(crm.rows, rows[1], object="Contact")
    crm.wait(lock_waiting=1)
    crm.sim("/release", {})
    assert first.result()[0]["created"]
    assert second.result()[0]["created"]


def test_an_account_upsert_locks_the_account_itself(crm, person):
    first = hold_first_write(
        crm, {"Fairturn_Key__c": "acme.test", "Industry": "Steel"}, object="Account", key="Fairturn_Key__c"
    )
    second = crm.later(crm.rows, person("b", **at("acme")))
    crm.wait(lock_waiting=1)
    crm.sim("/release", {})
    assert not first.result()[0]["created"]
    assert second.result()[0]["created"]


@pytest.mark.parametrize("mode", ["write", "relation"])
def test_whether_an_update_that_leaves_the_relation_alone_locks_the_parent(crm, person, mode):
    crm.rows(person("a", **at("acme")))
    crm.sim("/switches", {"parent_lock": mode})
    first = hold_first_write(crm, person("b", **at("acme")))
    second = crm.later(crm.rows, {"Fairturn_Id__c": "a", "Title": "CEO"})
    if mode == "write":
        crm.wait(lock_waiting=1)
    else:
        second.result()
    crm.sim("/release", {})
    assert first.result()[0]["created"]
    assert not second.result()[0]["created"]


def test_one_record_is_locked_whatever_its_account(crm, person):
    [row] = crm.rows(person("a"))
    first = hold_first_write(crm, person("a", Title="1"))
    second = crm.later(crm.call, "PATCH", f"sobjects/Lead/{row['id']}", json={"Title": "2"})
    crm.wait(lock_waiting=1)
    crm.sim("/release", {})
    first.result()
    assert second.result().status_code == 204
    assert crm.record()["Title"] == "2"


@pytest.mark.parametrize("status", [500, 400])
def test_a_lost_lock_on_a_single_record(crm, person, status):
    crm.sim("/switches", {"single_lock_status": status, "lock_timeout": 0.1})
    [row] = crm.rows(person("a"))
    first = hold_first_write(crm, person("a", Title="1"))
    answer = crm.call("PATCH", f"sobjects/Lead/{row['id']}", json={"Title": "2"})
    crm.sim("/release", {})
    first.result()
    assert answer.status_code == status
    message = f"unable to obtain exclusive access to this record or 1 records: {row['id']}"
    assert answer.json() == [{"message": message, "errorCode": "UNABLE_TO_LOCK_ROW", "fields": []}]


def test_two_accounts_in_opposite_order_block_each_other(crm, person):
    """Locks are taken as the rows are reached: unsorted batches deadlock until a time-out ends it."""
    crm.sim("/latency", {"per_record": 2})
    pairs = ("acme", "globex"), ("globex", "acme")
    both = [
        crm.later(crm.rows, person(f"{n}a", **at(one)), person(f"{n}b", **at(other)))
        for n, (one, other) in enumerate(pairs)
    ]
    outcomes = [row["success"] for future in both for row in future.result()]
    assert set(outcomes) == {True, False}
    assert crm.sim("/summary")["lock_timeouts"] == outcomes.count(False)


def test_two_racing_inserts_of_one_key_the_later_commit_is_refused(crm, person):
    first = hold_first_write(crm, person("a"))
    [second] = crm.rows(person("a", Title="CEO"))
    crm.sim("/release", {})
    [row] = first.result()
    assert second["created"]
    assert row["errors"][0]["statusCode"] == "DUPLICATE_VALUE"
    assert (
        row["errors"][0]["message"]
        == f"duplicate value found: Fairturn_Id__c duplicates value on record with id: {second['id']}"
    )
    assert crm.sim("/summary")["records"]["Lead"] == 1


def test_latency_is_fixed_plus_per_record_with_the_locks_held(crm, person):
    crm.sim("/latency", {"fixed": 4, "per_record": 0.5})
    crm.rows(*(person(f"k{n}", **at("acme")) for n in range(4)))
    assert crm.last()["seconds"] >= (4 + 4 * 0.5) * 0.05
    assert crm.sim("/summary")["work"] == {"transactions": 1, "transaction_ms": 4000.0, "record_ms": 2000.0}


def test_a_read_has_a_latency_of_its_own_and_is_no_work(crm, person):
    crm.sim("/latency", {"fixed": 60, "read": 1})
    assert crm.call("GET", "query", params={"q": "SELECT Id FROM Lead"}).json()["totalSize"] == 0
    assert 0.05 <= crm.last()["seconds"] < 3
    assert crm.sim("/summary")["work"]["transactions"] == 0


def test_a_reset_leaves_a_request_in_flight_its_own_org(crm, person):
    first = hold_first_write(crm, person("a", **at("acme")))
    crm.start()
    crm.sim("/release", {})
    assert first.result()[0]["created"]
    assert crm.sim("/summary")["records"]["Lead"] == 0
    assert crm.sim("/locks")["held"] == []
