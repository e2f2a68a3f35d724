"""Every code that Salesforce is known to answer with, and odd answers that it is not."""

from dataclasses import replace
from datetime import UTC, datetime

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairturn.destinations.http import Reply
from fairturn.destinations.salesforce.decode import read
from fairturn.destinations.salesforce.limits import usage
from fairturn.model import Later, Outgoing, Refused, Unknown, Written

NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)
RECORD = Outgoing(1, 1, 1, "ft-1", None, {}, "ann", "rep", None, None, NOW, None)
ID = "00QXX0000000001AAA"
AGAIN, FOR_GOOD, ORG, OWNER = "record", "refused", "destination", "owner"

# (code, message, fields, what becomes of it as a row, what of a request that is refused as a whole)
CATALOGUE = [
    ("UNABLE_TO_LOCK_ROW", "unable to obtain exclusive access to this record or 1 records: 001A", [], AGAIN, AGAIN),
    (
        "CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY",
        "X: execution of AfterInsert caused by: System.DmlException: UNABLE_TO_LOCK_ROW, unable to",
        [],
        AGAIN,
        AGAIN,
    ),
    ("CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY", "X: execution of AfterInsert caused by: null", [], FOR_GOOD, FOR_GOOD),
    ("REQUEST_LIMIT_EXCEEDED", "ConcurrentRequests (Concurrent API Requests) Limit exceeded.", [], ORG, ORG),
    ("REQUEST_LIMIT_EXCEEDED", "TotalRequests Limit exceeded.", [], ORG, ORG),
    ("SERVER_UNAVAILABLE", "Server Unavailable", [], AGAIN, ORG),
    ("UNKNOWN_EXCEPTION", "An unexpected error occurred", [], AGAIN, AGAIN),
    ("INVALID_AUTH_HEADER", "INVALID_HEADER_TYPE", [], ORG, ORG),
    ("DUPLICATE_VALUE", "duplicate value found: Foo__c duplicates value on record with id: 00QA", [], AGAIN, AGAIN),
    ("DUPLICATE_VALUE", "Duplicate external id specified: ft-1", ["Fairturn_Id__c"], AGAIN, AGAIN),
    ("DUPLICATE_VALUE", "duplicate value found: Foo__c", [], FOR_GOOD, FOR_GOOD),
    ("ALL_OR_NONE_OPERATION_ROLLED_BACK", "Record rolled back because not all records were valid", [], AGAIN, AGAIN),
    ("PROCESSING_HALTED", "The transaction was rolled back since another operation failed.", [], AGAIN, AGAIN),
    ("REQUIRED_FIELD_MISSING", "Required fields are missing: [LastName, Company]", ["LastName"], FOR_GOOD, FOR_GOOD),
    ("INVALID_EMAIL_ADDRESS", "Email: invalid email address: not-an-email", ["Email"], FOR_GOOD, FOR_GOOD),
    ("STRING_TOO_LONG", "First Name: data value too large: V (max length=40)", ["FirstName"], FOR_GOOD, FOR_GOOD),
    ("INVALID_FIELD", "No such column 'X' on sobject of type Lead", [], FOR_GOOD, FOR_GOOD),
    ("INVALID_FIELD_FOR_INSERT_UPDATE", "Unable to create/update fields: X.", ["X"], FOR_GOOD, FOR_GOOD),
    ("FIELD_CUSTOM_VALIDATION_EXCEPTION", "Ask finance first", [], FOR_GOOD, FOR_GOOD),
    ("DUPLICATES_DETECTED", "Use one of these records?", [], FOR_GOOD, FOR_GOOD),
    (
        "DUPLICATE_EXTERNAL_ID",
        "Label: more than one record found for external id field: [a, b]",
        [],
        FOR_GOOD,
        FOR_GOOD,
    ),
    ("INACTIVE_OWNER_OR_USER", "operation performed with inactive user [005A] as owner of lead", [], OWNER, OWNER),
    ("INVALID_CROSS_REFERENCE_KEY", "Owner ID: owner cannot be blank", [], OWNER, OWNER),
    ("INVALID_CROSS_REFERENCE_KEY", "invalid cross reference id", ["OwnerId"], OWNER, OWNER),
    ("INVALID_CROSS_REFERENCE_KEY", "invalid cross reference id", ["Account__c"], FOR_GOOD, FOR_GOOD),
    ("MALFORMED_ID", "Owner ID: id value of incorrect type: 005", ["OwnerId"], OWNER, OWNER),
    ("CANNOT_UPDATE_CONVERTED_LEAD", "cannot reference converted lead", [], FOR_GOOD, FOR_GOOD),
    ("ENTITY_IS_DELETED", "entity is deleted", [], FOR_GOOD, FOR_GOOD),
    ("STORAGE_LIMIT_EXCEEDED", "storage limit exceeded", [], ORG, ORG),
    ("API_DISABLED_FOR_ORG", "The REST API is not enabled for this Organization.", [], ORG, ORG),
    ("INSUFFICIENT_ACCESS_OR_READONLY", "insufficient access rights on object id", [], FOR_GOOD, FOR_GOOD),
    ("A_CODE_NOBODY_KNOWS", "something new", [], FOR_GOOD, FOR_GOOD),
]


def kind_of(outcome):
    if isinstance(outcome, Refused):
        return OWNER if outcome.owner_fault else FOR_GOOD
    assert isinstance(outcome, Later)
    return outcome.scope


def reply(status, body):
    return Reply(status, {}, body if isinstance(body, bytes) else orjson.dumps(body))


@pytest.mark.parametrize(("code", "message", "fields", "row", "request_"), CATALOGUE)
def test_the_catalogue(code, message, fields, row, request_):
    error = {"statusCode": code, "message": message, "fields": fields}
    (outcome,) = read(reply(200, [{"success": False, "errors": [error]}]), [RECORD]).outcomes
    assert kind_of(outcome) == row
    assert isinstance(outcome, Refused | Later)
    assert message in outcome.message
    for name in fields:
        assert name in outcome.message  # whoever reads the list of failed writes sees the field
    whole = [{"errorCode": code, "message": message, "fields": fields}]
    (outcome,) = read(reply(400, whole), [RECORD]).outcomes
    assert kind_of(outcome) == request_


@pytest.mark.parametrize("status", [400, 403, 500])
def test_a_lock_is_a_lock_whatever_the_status(status):
    """Production code meets it as 500, others as 400, and with a trigger around it as another code."""
    body = [{"errorCode": "UNABLE_TO_LOCK_ROW", "message": "unable to obtain exclusive access"}]
    outcomes = read(reply(status, body), [RECORD, replace(RECORD, key="ft-2")]).outcomes
    assert [kind_of(one) for one in outcomes] == [AGAIN, AGAIN]


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (500, [{"errorCode": "APEX_ERROR", "message": "?"}], Unknown),
        (500, [{"errorCode": "UNKNOWN_EXCEPTION", "message": "?"}], Unknown),
        (502, b"<html><body>Bad gateway</body></html>", Unknown),
        (504, b"", Unknown),
        (503, [{"errorCode": "SERVER_UNAVAILABLE", "message": "Server Unavailable"}], Later),
        (503, b"<html>maintenance</html>", Later),
        (404, [{"errorCode": "NOT_FOUND", "message": "Provided external ID field does not exist"}], Later),
        (410, [{"errorCode": "UNSUPPORTED_API_VERSION", "message": "gone"}], Later),
        (302, b"", Later),
        (300, ["/services/data/v59.0/sobjects/Lead/00QA"], Later),
        (429, b"slow down", Later),
    ],
)
def test_requests_that_failed(status, body, expected):
    (outcome,) = read(reply(status, body), [RECORD]).outcomes
    assert isinstance(outcome, expected)


@pytest.mark.parametrize(
    ("header", "after"),
    [("55", 55), ("99999", 3600), ("Wed, 21 Oct 2026 07:28:00 GMT", None), ("-1", None), ("", None)],
)
def test_a_gateway_that_names_a_time_is_believed_case_111(header, after):
    """Case 111: honoured where it is there, and never required."""
    (outcome,) = read(Reply(503, {"retry-after": header}, b""), [RECORD]).outcomes
    assert isinstance(outcome, Later)
    assert (outcome.scope, outcome.after) == ("destination", after)


def test_rights_that_are_missing_end_after_some_attempts_case_105():
    """Case 105: 403 always. Counted, so that it ends; and not the record's word alone, so not at once."""
    (outcome,) = read(reply(403, [{"errorCode": "INSUFFICIENT_ACCESS", "message": "no"}]), [RECORD]).outcomes
    assert kind_of(outcome) == AGAIN


def test_a_session_that_has_expired():
    for body in ([{"errorCode": "INVALID_SESSION_ID", "message": "Session expired or invalid"}], b""):
        assert read(reply(401, body), [RECORD]).kind == "expired"


def test_a_bad_request_is_split_until_one_record_is_left():
    body = [{"errorCode": "JSON_PARSER_ERROR", "message": "Cannot deserialize instance of date"}]
    assert read(reply(400, body), [RECORD, RECORD]).kind == "split"
    (outcome,) = read(reply(400, body), [RECORD]).outcomes
    assert isinstance(outcome, Refused)


def test_a_race_of_two_inserts_is_tried_once_more_and_no_oftener():
    error = {"statusCode": "DUPLICATE_VALUE", "message": "duplicates value on record with id: 00QA", "fields": []}
    body = [{"success": False, "errors": [error]}]
    assert isinstance(read(reply(200, body), [RECORD]).outcomes[0], Later)
    assert isinstance(read(reply(200, body), [replace(RECORD, attempt=2)]).outcomes[0], Refused)


@pytest.mark.parametrize("key", ["duplicateResut", "duplicateResult"])
def test_a_duplicate_rule_names_the_record_it_found_case_95(key):
    """Case 95: Salesforce itself misspells the key."""
    match = {"matchRecords": [{"record": {"attributes": {"type": "Lead"}, "Id": "00Q9"}}]}
    error = {"errorCode": "DUPLICATES_DETECTED", "message": "Use one?", key: {"matchResults": [match]}}
    (outcome,) = read(reply(400, [error]), [RECORD]).outcomes
    assert isinstance(outcome, Refused)
    assert outcome.message == "Use one? [00Q9]"


def test_several_errors_of_one_row_are_all_told():
    errors = [
        {"statusCode": "STRING_TOO_LONG", "message": "City: data value too large", "fields": ["City"]},
        {"statusCode": "INACTIVE_OWNER_OR_USER", "message": "inactive user", "fields": []},
        {"statusCode": "UNABLE_TO_LOCK_ROW", "message": "busy", "fields": []},
    ]
    (outcome,) = read(reply(200, [{"success": False, "errors": errors}]), [RECORD]).outcomes
    assert isinstance(outcome, Refused)
    assert outcome.owner_fault
    assert "City" in outcome.message
    assert "inactive user" in outcome.message


def test_a_queue_is_no_rep():
    queued = replace(RECORD, owner="00GA", owner_kind="raw")
    error = {
        "statusCode": "INVALID_CROSS_REFERENCE_KEY",
        "message": "invalid cross reference id",
        "fields": ["OwnerId"],
    }
    (outcome,) = read(reply(200, [{"success": False, "errors": [error]}]), [queued]).outcomes
    assert isinstance(outcome, Refused)
    assert not outcome.owner_fault


@pytest.mark.parametrize(
    "row",
    [
        {"success": True, "errors": []},
        {"success": True, "id": None, "errors": []},
        {"success": True, "id": "", "errors": []},
        {"success": False, "errors": []},
        {"success": "true", "id": ID},
        {"id": ID},
        None,
        "ok",
        [],
    ],
)
def test_a_row_that_says_nothing_sure_is_unknown_case_100(row):
    (outcome,) = read(reply(200, [row]), [replace(RECORD, record_id=ID)]).outcomes
    assert isinstance(outcome, Unknown)


def test_what_is_written_by_its_id_answers_with_that_id_and_a_neighbours_id_is_no_answer_case_28():
    """Case 28: an order that is not ours shows in the ids. By our key any id may come, but that of a neighbour."""
    other = "00QXX0000000002AAA"
    body = [{"success": True, "id": other, "created": True}]
    (outcome,) = read(reply(200, body), [replace(RECORD, record_id=ID)]).outcomes
    assert isinstance(outcome, Unknown)
    (outcome,) = read(reply(200, body), [RECORD]).outcomes
    assert outcome == Written(RECORD.key, other, created=True)
    sent = [replace(RECORD, record_id=ID), replace(RECORD, key="ft-2", record_id=other)]
    rows = [{"success": True, "id": one, "created": False} for one in (other, ID)]
    assert all(isinstance(one, Unknown) for one in read(reply(200, rows), sent).outcomes)


@pytest.mark.parametrize("body", [b"", b"{}", b"null", b'[{"success":true', b"<html>", b"[1,2,3]", b"\xff\xfe"])
def test_an_answer_that_is_none_is_unknown(body):
    assert all(isinstance(one, Unknown) for one in read(reply(200, body), [RECORD, RECORD]).outcomes)


def test_more_rows_than_records_prove_that_the_order_is_not_ours():
    rows = [{"success": True, "id": ID, "errors": [], "created": True}] * 3
    assert all(isinstance(one, Unknown) for one in read(reply(200, rows), [RECORD, RECORD]).outcomes)


def test_an_id_of_fifteen_characters_is_kept_in_its_long_form_case_99():
    (outcome,) = read(reply(200, [{"success": True, "id": "0050000000AbCdE", "errors": []}]), [RECORD]).outcomes
    assert isinstance(outcome, Written)
    assert len(outcome.record_id) == 18
    assert outcome.created is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["success", "id", ID, "errors", "statusCode"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["success", "id", "errors", "statusCode", "message", "fields"]), inner)
    ),
    max_leaves=20,
)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([200, 201, 204, 300, 400, 401, 403, 404, 500, 503]), JSON, st.integers(1, 4))
def test_whatever_comes_each_record_gets_one_outcome(status, body, count):
    sent = [replace(RECORD, key=f"ft-{number}") for number in range(count)]
    found = read(reply(status, body), sent)
    assert [one.key for one in found.outcomes] == [record.key for record in sent]
    if status != 200:
        assert not any(isinstance(one, Written) for one in found.outcomes)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("api-usage=18/5000", (18, 5000)),
        ("api-usage=18/5000; per-app-api-usage=17/250(appName=x)", (18, 5000)),
        ("per-app-api-usage=17/250(appName=x); api-usage=18/5000", (18, 5000)),
        ("api-bursts=1/750; api-usage=8/15000", (8, 15000)),
        ("per-app-api-usage=17/250(appName=x)", None),
        ("", None),
        (None, None),
        ("api-usage=x/y", None),
    ],
)
def test_limit_info(header, expected):
    assert usage(header) == expected
