"""The subset of SOQL that a reconciliation needs, and its errors."""

import pytest


def ask(crm, text, **given):
    return crm.call("GET", "query", params={"q": text}, **given)


def keys(crm, where):
    answer = ask(crm, f"SELECT Fairturn_Id__c FROM Lead {where}")
    assert answer.status_code == 200, answer.text
    return [record["Fairturn_Id__c"] for record in answer.json()["records"]]


@pytest.fixture
def people(crm, person):
    crm.rows(
        person("a", Email="a@x.test", Score__c=5, Account__c=crm.ids["Acme"], OwnerId=crm.ids["Ann"]),
        person("b", Email="b@x.test", Score__c=10, OwnerId=crm.ids["Bob"]),
        person("it's", Title="VP", OwnerId=crm.ids["Ann"]),
    )
    return crm


def test_owners_of_a_list_of_keys(people):
    """Only what is selected comes back; who is not there is not listed."""
    answer = ask(
        people, r"SELECT Id, OwnerId, Email, Fairturn_Id__c FROM Lead WHERE Fairturn_Id__c IN ('a','it\'s','zz')"
    )
    body = answer.json()
    assert (body["totalSize"], body["done"]) == (2, True)
    first = body["records"][0]
    assert set(first) == {"attributes", "Id", "OwnerId", "Email", "Fairturn_Id__c"}
    assert (first["OwnerId"], first["Email"]) == (people.ids["Ann"], "a@x.test")
    assert body["records"][1]["Email"] is None


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("", ["a", "b", "it's"]),
        ("WHERE Fairturn_Id__c = 'A'", ["a"]),
        ("WHERE Email != null", ["a", "b"]),
        ("WHERE Email = null AND Title LIKE 'v%'", ["it's"]),
        ("WHERE Score__c >= 5 AND Score__c < 10", ["a"]),
        ("WHERE (Score__c > 5 OR Title = 'VP') AND NOT Email = 'x'", ["b", "it's"]),
        ("WHERE Fairturn_Id__c NOT IN ('a', 'b')", ["it's"]),
        ("WHERE Account__r.Fairturn_Key__c = 'acme.test'", ["a"]),
        ("WHERE Owner.Name = 'Bob'", ["b"]),
        ("WHERE IsConverted = false ORDER BY Score__c DESC LIMIT 2", ["b", "a"]),
        ("ORDER BY Fairturn_Id__c LIMIT 1 OFFSET 1", ["b"]),
        ("WHERE CreatedDate > 2020-01-01T00:00:00Z", ["a", "b", "it's"]),
        ("WHERE CreatedDate = TODAY AND Email LIKE '%@X.TEST'", ["a", "b"]),
        ("WHERE CreatedDate = LAST_N_DAYS:3 AND Title = ''", ["a", "b"]),
        ("WHERE CreatedDate < YESTERDAY OR CreatedDate > TODAY", []),
        ("WHERE Title != 'CEO'", ["a", "b", "it's"]),
        ("WHERE Owner.Type = 'User' AND Owner.IsActive = true AND Owner.Email = 'BOB@seller.test'", ["b"]),
        ("WHERE OwnerId IN (SELECT Id FROM User WHERE Name = 'Ann')", ["a", "it's"]),
        ("WHERE OwnerId NOT IN (SELECT Id FROM User WHERE Name = 'Ann') AND Score__c = 10", ["b"]),
    ],
)
def test_conditions(people, where, found):
    assert keys(people, where) == found


def test_ids_in_both_forms(people):
    ann = people.ids["Ann"]
    assert keys(people, f"WHERE OwnerId = '{ann[:15]}'") == keys(people, f"WHERE OwnerId = '{ann}'") == ["a", "it's"]


def test_related_names_and_counts(people):
    [row] = ask(
        people, "SELECT Owner.Name, Account__r.Name, Account__r.Industry FROM Lead WHERE Email = 'a@x.test'"
    ).json()["records"]
    assert row["Owner"]["Name"] == "Ann"
    assert (row["Account__r"]["Name"], row["Account__r"]["Industry"]) == ("Acme", None)
    assert ask(people, "SELECT COUNT() FROM Lead").json() == {"totalSize": 3, "done": True, "records": []}
    assert (
        ask(people, "SELECT Id FROM User WHERE IsActive = true AND Email LIKE '%seller.test'").json()["totalSize"] == 2
    )
    assert ask(people, "SELECT Id FROM Group WHERE Type = 'Queue' AND Name = 'Inbound'").json()["totalSize"] == 1
    assert ask(people, "SELECT Id FROM Organization").json()["records"][0]["Id"] == people.sim("/summary")["org"]


def test_pages(crm, person):
    crm.rows(*(person(f"k{n}") for n in range(5)))
    crm.sim("/switches", {"query_page": 2})
    body = ask(crm, "SELECT Fairturn_Id__c FROM Lead").json()
    seen, pages = body["records"], 1
    while not body["done"]:
        body = crm.http.get(body["nextRecordsUrl"], headers=crm.headers).json()
        assert body["totalSize"] == 5
        seen, pages = seen + body["records"], pages + 1
    assert [record["Fairturn_Id__c"] for record in seen] == [f"k{n}" for n in range(5)]
    assert pages == 3
    batch = ask(crm, "SELECT Id FROM Lead", headers={"Sforce-Query-Options": "batchSize=200"}).json()
    assert batch["done"]
    lost = crm.call("GET", "query/01gnothing-2")
    assert lost.json()[0]["errorCode"] == "INVALID_QUERY_LOCATOR"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SELECT FROM Lead", "MALFORMED_QUERY"),
        ("SELECT Id FROM Lead WHERE Email = 'open", "MALFORMED_QUERY"),
        ("SELECT Id FROM Lead WHERE a = 1 AND b = 2 OR c = 3", "MALFORMED_QUERY"),
        ("", "MALFORMED_QUERY"),
        ("SELECT Shoe__c FROM Lead", "INVALID_FIELD"),
        ("SELECT Id FROM Lead WHERE Shoe__c = 1", "INVALID_FIELD"),
        ("SELECT Shoe.Name FROM Lead", "INVALID_FIELD"),
        ("SELECT Id FROM Accout", "INVALID_TYPE"),
        ("SELECT Id FROM Lead WHERE IsConverted = 'false'", "INVALID_FIELD"),
        ("SELECT Id FROM Lead WHERE CreatedDate > '2026-01-01T00:00:00Z'", "INVALID_FIELD"),
        ("SELECT Id FROM Lead WHERE Email = 5", "INVALID_FIELD"),
        ("SELECT Id FROM Lead WHERE Description LIKE '%x%'", "INVALID_FIELD"),
        ("SELECT Id FROM Lead WHERE Id = 'x'", "INVALID_QUERY_FILTER_OPERATOR"),
        ("SELECT Id FROM Lead WHERE Owner.Shoe = 'x'", "INVALID_FIELD"),
    ],
)
def test_errors(crm, text, code):
    answer = ask(crm, text)
    assert (answer.status_code, answer.json()[0]["errorCode"]) == (400, code)


def test_an_error_shows_the_place(crm):
    [error] = ask(crm, "SELECT Id FROM Accout").json()
    assert error["message"].startswith(
        "\nSELECT Id FROM Accout\n               ^\nERROR at Row:1:Column:16\nsObject type"
    )
    [error] = ask(crm, "SELECT Id, Shoe__c FROM Lead").json()
    assert "ERROR at Row:1:Column:12\nNo such column 'Shoe__c' on entity 'Lead'. If you are" in error["message"]
    [error] = ask(crm, "SELECT Id FROM Lead WHERE CreatedDate > 'x'").json()
    assert "'CreatedDate' must be of type dateTime and should not be enclosed in quotes" in error["message"]


def test_the_bin(people):
    [row] = ask(people, "SELECT Id FROM Lead WHERE Email = 'a@x.test'").json()["records"]
    people.call("DELETE", f"sobjects/Lead/{row['Id']}")
    text = "SELECT Id, IsDeleted FROM Lead WHERE Email = 'a@x.test'"
    assert ask(people, text).json()["totalSize"] == 0
    [row] = people.call("GET", "queryAll", params={"q": text}).json()["records"]
    assert row["IsDeleted"]
