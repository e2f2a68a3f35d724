"""What a CRM says of people, where it is not what it should be: ids, owners, times and values of any kind, no end."""

from datetime import UTC, datetime

import orjson
import pytest

from fairturn.decide.existing import Policy, choose
from fairturn.destinations.http import Reply
from fairturn.destinations.hubspot.decode import whole
from fairturn.destinations.hubspot.reading import contact_of
from fairturn.destinations.salesforce.lookup import moment
from fairturn.errors import DestinationError
from fairturn.model import Later, Owner, Person
from fairturn.stores.postgres.people import person_json, person_of
from tests.destinations.test_salesforce_hostile import http, salesforce, server, token

LEAD = "00Q000000000001AAA"


def org(page):
    """Answers each query of a Composite by `page(soql)`, and any further page by `page(None)`."""

    def answer(line, head, body):
        if "oauth2" in line:
            return token(
                f"http://{next(x[6:] for x in head.split(chr(13) + chr(10)) if x.lower().startswith('host:'))}"
            )
        if "/composite" not in line:
            return http(200, page(None))
        parts = orjson.loads(body)["compositeRequest"]
        rows = [{"referenceId": p["referenceId"], "httpStatusCode": 200, "body": page(p["url"])} for p in parts]
        return http(200, {"compositeResponse": rows})

    return answer


async def test_records_without_an_id_and_values_that_no_field_holds_are_passed_over():
    odd = {"Email": "A@acme.com", "OwnerId": {"x": 1}, "CreatedDate": "2026-03-02T10:00:00", "IsConverted": "yes"}
    odd_ids: list[object] = [None, "", 7, [], "' OR Id != '", "00Q"]
    rows = [
        {**odd, "Id": LEAD, "City": {"deep": [1]}, "Fairturn_Id__c": "x\0\ud800".encode("utf-8", "replace").decode()},
        *({**odd, "Id": other} for other in odd_ids),
    ]

    def page(url):
        return {"done": True, "records": rows if url and "Lead" in url else []}

    async with server(org(page)) as (url, _), salesforce(url, map={"Email": "email", "City": "city"}) as destination:
        (found,) = (await destination.look_up(["a@acme.com"], 5)).people
    assert (found.record_id, found.owner, found.converted) == (LEAD, None, False)
    assert found.created_at == datetime(2026, 3, 2, 10, tzinfo=UTC)
    assert found.values["Email"] == "A@acme.com"
    assert "City" not in found.values


async def test_a_question_without_an_end_of_pages_costs_fifty_requests():
    endless = {"done": False, "nextRecordsUrl": "/services/data/v62.0/query/01g-2000", "records": []}
    async with server(org(lambda _: endless)) as (url, seen), salesforce(url) as destination:
        with pytest.raises(DestinationError, match="no end of records"):
            await destination.look_up(["a@acme.com"], 5)
    assert len(seen) < 55


def test_times_without_a_zone_can_be_compared_with_others():
    a = Person("1", "Lead", "a@x.com", Owner("005", "user", active=True), moment("2026-03-02T10:00:00"))
    b = Person("2", "Lead", "a@x.com", Owner("005", "user", active=True), moment("2026-03-02T09:00:00.000+0000"))
    c = Person("3", "Lead", "a@x.com", Owner("005", "user", active=True), moment("2026-03-02"))
    assert choose((a, b), Policy()).record == b
    assert choose((a, b, c), Policy()).record == c
    assert moment("yesterday") is None


@pytest.mark.parametrize("found", [None, "", True, 1.5, "7a", "\0", "9" * 20, {}, [1]])
def test_a_contact_without_a_number_is_none(found):
    assert contact_of({"id": found, "properties": {}}) is None


def test_a_contacts_values_are_texts():
    contact = contact_of({"id": 7, "properties": {"a": "x", "b": None, "c": 1, "d": {"e": [1]}}})
    assert contact is not None
    assert (contact.id, contact.properties) == ("7", {"a": "x", "b": None, "c": "1"})


def test_a_person_can_be_stored_whatever_its_texts_hold():
    owner = Owner("\0", "user", active=True, name="\0", email="\ud800")
    person = Person("\0", "Lead", "a\0@x.com", owner, None, "\0", "\0", key="\0", values={"\0": "\0", "a": "\ud800"})
    text = orjson.dumps(person_json(person)).decode()
    assert "\\u0000" not in text
    assert person_of(orjson.loads(text)).email == "a\ufffd@x.com"


@pytest.mark.parametrize("errors", [5, True, "x", [5, None, {"context": 7}], {"context": {"requiredScopes": 7}}])
def test_a_refusal_for_scopes_is_one_whatever_stands_beside_it(errors):
    body = {"category": "MISSING_SCOPES", "message": "no", "context": {"requiredScopes": ["b"]}, "errors": errors}
    said = whole(Reply(403, {}, orjson.dumps(body)))
    assert isinstance(said, Later)
    assert said.message.endswith("Give the app: b")
