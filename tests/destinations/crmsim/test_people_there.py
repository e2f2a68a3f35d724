"""An org that is not empty: people by the hundred, converted leads, a second writer, owners in time."""

from collections import Counter

KNOWN = {"count": 300, "owned": 100, "queue": 50, "inactive": 50, "converted": 50, "contacts": 50, "seed": 7}


def ask(crm, text):
    answer = crm.call("GET", "query", params={"q": text})
    assert answer.status_code == 200, answer.text
    return answer.json()["records"]


def test_three_hundred_people_in_one_call(crm):
    people = crm.sim("/seed", {"people": KNOWN})["people"]
    kinds = Counter(entry["kind"] for entry in people)
    assert kinds == {"owned": 100, "queue": 50, "inactive": 50, "converted": 50, "contacts": 50}
    summary = crm.sim("/summary")
    assert (summary["people"], summary["duplicated"]) == (300, 0)
    assert summary["records"]["Lead"] == 250
    by_kind = {entry["kind"]: entry for entry in people}
    for kind, active, holder in (("owned", True, "User"), ("inactive", False, "User"), ("queue", True, "Queue")):
        [row] = ask(
            crm,
            f"SELECT Owner.Type, Owner.IsActive, IsConverted FROM Lead WHERE Email = '{by_kind[kind]['email']}'",
        )
        assert (row["Owner"]["Type"], row["Owner"]["IsActive"], row["IsConverted"]) == (holder, active, False)
    gone = by_kind["converted"]
    [row] = ask(
        crm,
        f"SELECT IsConverted, ConvertedContactId, ConvertedContact.Owner.Name FROM Lead WHERE Id = '{gone['lead']}'",
    )
    assert (row["IsConverted"], row["ConvertedContactId"]) == (True, gone["contact"])
    [row] = ask(crm, f"SELECT Account.Name, Owner.Name FROM Contact WHERE Email = '{gone['email'].upper()}'")
    assert row["Account"]["Name"]


def test_the_same_seed_makes_the_same_people(crm):
    first = crm.sim("/seed", {"people": KNOWN})["people"]
    crm.start()
    assert crm.sim("/seed", {"people": KNOWN})["people"] == first


def test_one_call_proves_that_nobody_was_doubled_or_taken(crm, person):
    owned = crm.sim("/seed", {"people": {"owned": 3, "inactive": 1}})["people"]
    free = next(entry for entry in owned if entry["kind"] == "inactive")
    mine = [entry for entry in owned if entry["kind"] == "owned"]
    crm.rows({"Id": free["lead"], "OwnerId": crm.ids["Ann"]}, {"Id": mine[0]["lead"], "Title": "x"}, key="Id")
    report = crm.sim("/owners")
    assert (report["added"], report["taken"]) == ([], [])
    assert report["numbers"] == {"moved": 1, "moved_by_api": 1, "moved_by_hand": 0, "taken_by_api": 0}

    other = next(name for name in ("Ann", "Bob") if crm.ids[name] != mine[1]["owner"])
    crm.rows({"Id": mine[1]["lead"], "OwnerId": crm.ids[other]}, key="Id")
    crm.rows(person("new", Email=mine[2]["email"].upper()))
    report = crm.sim("/owners")
    assert (report["added"], report["taken"]) == ([mine[2]["email"]], [mine[1]["lead"]])
    times = report["records"][mine[1]["lead"]]["owners"]
    assert [(row["owner"], row["source"], row["taken"]) for row in times] == [
        (mine[1]["owner"], "seed", False),
        (crm.ids[other], "api", True),
    ]
    assert crm.sim("/summary")["owners"]["taken_by_api"] == 1


def test_a_lead_and_the_contact_it_became_are_one_person(crm, person):
    crm.rows(person("a", Email="a@x.test"))
    made = crm.sim("/convert", {"email": "a@x.test"})
    people = crm.sim("/people")
    assert (people["people"], people["duplicated"]) == ({"a@x.test": [made["contact"]]}, 0)
    assert crm.rows(person("a", Title="x"))[0]["errors"][0]["statusCode"] == "CANNOT_UPDATE_CONVERTED_LEAD"


def test_somebody_else_moves_owners_meanwhile(crm, person):
    crm.rows(*(person(f"k{n}", OwnerId=crm.ids["Ann"]) for n in range(6)))
    habit = {"every": 0.2, "records": 2, "to": ["Ann", "Bob"], "times": 3, "by": "Bob", "seed": 7}
    crm.sim("/second-writer", habit)
    crm.wait(hand_turns=3)
    numbers = crm.sim("/owners")["numbers"]
    assert (numbers["moved_by_hand"], numbers["taken_by_api"]) == (6, 0)
    authors = {row["by"] for entry in crm.sim("/owners")["records"].values() for row in entry["owners"][1:]}
    assert authors == {crm.ids["Bob"]}
    crm.sim("/second-writer", {"every": 0.1, "fields": {"Status": "Working - Contacted"}, "records": 9, "times": 1})
    crm.wait(hand_turns=4)
    assert {row["Status"] for row in crm.sim("/records/Lead")["records"]} == {"Working - Contacted"}
    wrong = crm.http.post("/__sim__/second-writer", json={"every": 1})
    assert wrong.status_code == 400


def test_somebody_elses_save_waits_for_the_row(crm, person):
    """Or a save that comes during ours would be lost under it."""
    crm.rows(person("a", OwnerId=crm.ids["Ann"]))
    crm.sim("/switches", {"lock_timeout": 600})
    crm.fault("slow", nth=[1], seconds=600)
    ours = crm.later(crm.rows, person("a", OwnerId=crm.ids["Ann"], Title="x"))
    crm.wait(resting=1)
    crm.sim("/second-writer", {"every": 0.1, "to": ["Bob"], "times": 1})
    crm.wait(lock_waiting=1)
    crm.sim("/release", {})
    assert ours.result()[0]["success"]
    crm.wait(hand_turns=1)
    assert crm.record()["OwnerId"] == crm.ids["Bob"]


def test_who_the_org_is_and_what_it_runs(crm):
    crm.sim("/seed", {"users": [{"name": "Sam Box", "email": "sam@x.test.invalid", "username": "sam@x.test.box"}]})
    [org] = ask(crm, "SELECT Id, IsSandbox, Name, InstanceName FROM Organization")
    assert (org["IsSandbox"], org["InstanceName"]) == (True, "CS42")
    [user] = ask(crm, "SELECT FirstName, Username, IsActive FROM User WHERE Email = 'sam@x.test.invalid'")
    assert (user["FirstName"], user["Username"]) == ("Sam", "sam@x.test.box")
    queues = ask(crm, "SELECT Queue.Name, SobjectType FROM QueueSobject WHERE SobjectType = 'Lead'")
    assert [row["Queue"]["Name"] for row in queues] == ["Assignment Rule Queue", "Inbound"]
    [rule] = ask(crm, "SELECT Name FROM AssignmentRule WHERE SobjectType = 'Lead' AND Active = true")
    assert rule["Name"] == "Standard"
    crm.sim("/switches", {"assignment_rule": False})
    assert ask(crm, "SELECT Id FROM AssignmentRule WHERE Active = true") == []
    assert len(ask(crm, "SELECT MasterLabel FROM LeadStatus ORDER BY SortOrder")) == 5
