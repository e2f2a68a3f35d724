"""Every row of the vendor's tables of errors, from the response on the wire to the outcome of the record.

What becomes of an outcome is the other half: tests/decide/test_fates.py.
"""

from dataclasses import replace

import orjson
import pytest

from fairturn.destinations.salesforce.decode import Problem, overloaded
from fairturn.destinations.salesforce.mending import mend, named
from fairturn.model import Batch, Later, Refused, Unknown, Written
from tests.destinations.test_salesforce import NOW, outgoing
from tests.destinations.test_salesforce_hostile import http, salesforce, server, token

ID = "00Q000000000001AAA"
GOOD = {"id": ID, "success": True, "errors": [], "created": True}
LOCKED = "unable to obtain exclusive access to this record or 1 records: 001XX"
WRAPPED = f"LeadTrigger: execution of AfterInsert caused by: System.DmlException: UNABLE_TO_LOCK_ROW, {LOCKED}: []"
RIGHTS = (
    "Unable to create/update fields: Rating. Please check the security settings of this field and verify that it is "
    "read/write for your profile or permission set."
)
STATE = (
    "There's a problem with this state, even though it may appear correct. Please select a state from the list of "
    "valid states.: State/Province"
)
FLOW = "We can't save this record because the “Intake” process failed. The flow tried to update records: {}"
CONTACT = "003000000000009AAA"
NOT_SHOWN = [{"errorCode": "NOT_FOUND", "message": "The requested resource does not exist"}]
NOBODY = {
    "compositeResponse": [
        {"httpStatusCode": 200, "referenceId": f"part{n}", "body": {"done": True, "records": []}} for n in range(3)
    ]
}
HTML = b"<html><body>Bad Gateway</body></html>"

CONVERTED = "CANNOT_UPDATE_CONVERTED_LEAD"  # its Contact is looked for, which costs a call
AGAIN, WAIT, PERSON, DAY, FOR_GOOD, OWNER, ALONE = "again", "wait", "person", "day", "for good", "owner", "alone"
WITHOUT, UNSURE, WRITTEN = "without", "unsure", "written"

# (code, message, fields, what becomes of a row, what becomes of a request of one record that is answered so with 400)
ROWS = [
    ("UNABLE_TO_LOCK_ROW", LOCKED, [], AGAIN),
    ("CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY", WRAPPED, [], AGAIN),
    ("CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY", "LeadTrigger: caused by: System.NullPointerException", [], FOR_GOOD),
    ("REQUEST_LIMIT_EXCEEDED", "ConcurrentRequests (Concurrent API Requests) Limit exceeded.", [], WAIT),
    ("REQUEST_LIMIT_EXCEEDED", "TotalRequests Limit exceeded.", [], DAY),
    ("UNKNOWN_EXCEPTION", "An unexpected error occurred.", [], AGAIN),
    ("DUPLICATE_VALUE", "duplicate value found: Fairturn_Id__c duplicates value on record with id: 00Q9", [], AGAIN),
    ("DUPLICATE_VALUE", "Duplicate external id specified: ft-1", ["Fairturn_Id__c"], AGAIN),
    ("DUPLICATE_VALUE", "duplicate value found: Rating duplicates value on record with id: 00Q9", [], WITHOUT),
    ("ALL_OR_NONE_OPERATION_ROLLED_BACK", "Record rolled back because not all records were valid", [], AGAIN),
    ("PROCESSING_HALTED", "The transaction was rolled back since another operation failed.", [], AGAIN),
    ("REQUIRED_FIELD_MISSING", "Required fields are missing: [LastName, Company]", ["LastName"], FOR_GOOD),
    ("REQUIRED_FIELD_MISSING", "Required fields are missing: [Budget__c]", ["Budget__c"], FOR_GOOD),
    ("INVALID_EMAIL_ADDRESS", "Email: invalid email address: not-an-email", ["Email"], FOR_GOOD),
    ("INVALID_EMAIL_ADDRESS", "Rating: invalid email address: Hot", ["Rating"], WITHOUT),
    ("STRING_TOO_LONG", "Rating: data value too large: Hot (max length=2)", ["Rating"], WRITTEN),
    ("STRING_TOO_LONG", "Email: data value too large: x (max length=2)", ["Email"], FOR_GOOD),
    ("INVALID_FIELD", "No such column 'Rating' on sobject of type Lead", [], WITHOUT),
    ("INVALID_FIELD_FOR_INSERT_UPDATE", RIGHTS, ["Rating"], WITHOUT),
    ("INVALID_FIELD_FOR_INSERT_UPDATE", RIGHTS, [], WITHOUT),
    ("INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST", "bad value for restricted picklist field: Hot", [], WITHOUT),
    ("FIELD_INTEGRITY_EXCEPTION", STATE, [], WITHOUT),
    ("FIELD_CUSTOM_VALIDATION_EXCEPTION", "Ask finance first", [], FOR_GOOD),
    ("FIELD_CUSTOM_VALIDATION_EXCEPTION", "Only Warm or Cold", ["Rating"], WITHOUT),
    ("FIELD_CUSTOM_VALIDATION_EXCEPTION", "Nobody is called that", ["LastName"], FOR_GOOD),
    ("DUPLICATES_DETECTED", "Use one of these records?", [], FOR_GOOD),
    ("DUPLICATE_EXTERNAL_ID", "Key: more than one record found for external id field: [a, b]", [], FOR_GOOD),
    ("INACTIVE_OWNER_OR_USER", "operation performed with inactive user [005] as owner of lead", [], OWNER),
    ("INVALID_CROSS_REFERENCE_KEY", "invalid cross reference id", [], OWNER),
    ("INVALID_CROSS_REFERENCE_KEY", "Rating: this ID value isn't valid for the user: 012", ["Rating"], WITHOUT),
    ("MALFORMED_ID", "Owner ID: id value of incorrect type: 005", ["OwnerId"], OWNER),
    ("MALFORMED_ID", "Rating: id value of incorrect type: Hot", ["Rating"], WITHOUT),
    ("CANNOT_UPDATE_CONVERTED_LEAD", "cannot reference converted lead", [], FOR_GOOD),
    ("ENTITY_IS_DELETED", "entity is deleted", [], FOR_GOOD),
    ("STORAGE_LIMIT_EXCEEDED", "storage limit exceeded", [], DAY),
    ("API_DISABLED_FOR_ORG", "The REST API is not enabled for this Organization.", [], PERSON),
    ("INSUFFICIENT_ACCESS", "insufficient access rights", [], FOR_GOOD),
    ("INSUFFICIENT_ACCESS_OR_READONLY", "insufficient access rights on object id", [], FOR_GOOD),
    ("A_CODE_NOBODY_KNOWS", "something new", [], FOR_GOOD),
]  # fmt: skip

# Codes and words that say that the org's own automation could not swallow so many at once, and what only looks so.
AUTOMATION = [
    ("CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY", "T: System.LimitException: Apex CPU time limit exceeded", True),
    ("CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY", "T: System.LimitException: Too many SOQL queries: 101", True),
    ("CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY", "T: System.LimitException: Too many DML statements: 151", True),
    ("CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY", "T: System.LimitException: Too many query rows: 50001", True),
    ("CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY", "T: System.LimitException: Apex heap size too large: 6000001", True),
    (
        "CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY",
        "Too many batch retries in the presence of Apex triggers and partial failures.",
        True,
    ),
    ("CANNOT_EXECUTE_FLOW_TRIGGER", FLOW.format("LIMIT_EXCEEDED: Too many SOQL queries: 101"), True),
    ("CANNOT_EXECUTE_FLOW_TRIGGER", FLOW.format("Number of iterations exceeded."), True),
    ("REQUEST_RUNNING_TOO_LONG", "Your request was running for too long, and has been stopped.", True),
    ("TXN_SECURITY_METERING_ERROR", "The transaction security policies took too long.", True),
    ("CANNOT_EXECUTE_FLOW_TRIGGER", FLOW.format("REQUIRED_FIELD_MISSING: Required fields are missing: [X]"), False),
    ("CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY", "T: System.NullPointerException: Attempt to de-reference null", False),
    ("CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY", "T: maximum trigger depth exceeded", False),
    ("TXN_SECURITY_NO_ACCESS", "The operation you requested isn't allowed by a security policy", False),
    ("FIELD_CUSTOM_VALIDATION_EXCEPTION", "Budget limit exceeded", False),
    ("REQUEST_LIMIT_EXCEEDED", "TotalRequests Limit exceeded.", False),
    ("STORAGE_LIMIT_EXCEEDED", "storage limit exceeded", False),
]

# (status, body, what becomes of the records)
REQUESTS = [
    (400, [{"errorCode": "JSON_PARSER_ERROR", "message": "Cannot deserialize"}], FOR_GOOD),
    (403, [{"errorCode": "REQUEST_LIMIT_EXCEEDED", "message": "TotalRequests Limit exceeded."}], DAY),
    (403, [{"errorCode": "REQUEST_LIMIT_EXCEEDED", "message": "ConcurrentRequests Limit exceeded."}], WAIT),
    (403, [{"errorCode": "API_DISABLED_FOR_ORG", "message": "not enabled"}], PERSON),
    (403, [{"errorCode": "INSUFFICIENT_ACCESS", "message": "no"}], AGAIN),
    (404, [{"errorCode": "NOT_FOUND", "message": "Provided external ID field does not exist"}], WAIT),
    (401, [{"errorCode": "INVALID_SESSION_ID", "message": "Session expired or invalid"}], WAIT),
    (401, [{"errorCode": "INVALID_AUTH_HEADER", "message": "INVALID_HEADER_TYPE"}], WAIT),
    (300, ["/services/data/v59.0/sobjects/Lead/00QA"], WAIT),
    (410, [{"errorCode": "UNSUPPORTED_API_VERSION", "message": "gone"}], WAIT),
    (420, b"", WAIT),
    (429, b"slow down", WAIT),
    (500, [{"errorCode": "UNABLE_TO_LOCK_ROW", "message": LOCKED}], AGAIN),
    (500, [{"errorCode": "UNKNOWN_EXCEPTION", "message": "?"}], UNSURE),
    (500, HTML, UNSURE),
    (502, HTML, UNSURE),
    (503, [{"errorCode": "SERVER_UNAVAILABLE", "message": "Server Unavailable"}], WAIT),
    (503, HTML, WAIT),
    (504, b"", UNSURE),
    (200, [], UNSURE),
    (200, b'[{"success":', UNSURE),
    (200, {"hasErrors": False}, UNSURE),
]
MAP = {"LastName": "last_name", "Company": "company", "Email": "email", "Rating": {"value": "Hot"}, "State": "state"}
FIELDS = {"last_name": "x", "company": "y", "email": "x@acme.com", "state": "Hot"}


def kind(outcome):
    match outcome:
        case Written():
            return WITHOUT if outcome.without else WRITTEN
        case Refused():
            return OWNER if outcome.owner_fault else FOR_GOOD
        case Unknown():
            return UNSURE
        case Later(scope="record"):
            return AGAIN
        case Later(after=900.0):
            return DAY
        case Later(after=300.0):
            return PERSON
        case _:
            return WAIT


def less_describe(answer):
    """The map names a state: how the org writes states is asked once, and not shown here."""
    return replace(answer, calls=answer.calls - 1)


async def written(*answers, record=None, count=1):
    """What becomes of records when the CRM answers so, one answer after the other; a token and nobody else besides."""
    left = list(answers)

    def answer(line, head, _):
        host = next(x[6:] for x in head.split("\r\n") if x.lower().startswith("host:"))
        if "oauth2" in line:
            return token(f"http://{host}")
        if "describe" in line:
            return http(404, NOT_SHOWN)
        return http(200, NOBODY) if "/composite HTTP" in line else http(*left.pop(0))

    one = record or outgoing(1, fields=FIELDS)
    records = [replace(one, key=f"ft-{n}") for n in range(1, count + 1)]
    async with server(answer) as (url, _), salesforce(url, map=MAP) as destination:
        return less_describe(await destination.write(Batch(1, "crm", tuple(records), NOW)))


@pytest.mark.parametrize(("code", "message", "fields", "fate"), ROWS)
async def test_a_row_of_a_collection(code, message, fields, fate):
    error = {"statusCode": code, "message": message, "fields": fields}
    answer = await written((200, [{"success": False, "errors": [error]}]), (200, [GOOD]))
    (outcome,) = answer.outcomes
    assert kind(outcome) == fate
    assert answer.calls == (2 if fate in (WITHOUT, WRITTEN) or code == CONVERTED else 1)
    if isinstance(outcome, Refused | Later):
        assert (outcome.code, message in outcome.message) == (code, True)  # the CRM's own words
    if fate == WITHOUT:
        assert message in next(iter(outcome.without.values()))
        assert answer.refused["ft-1"]


@pytest.mark.parametrize(("code", "message", "fields", "fate"), ROWS)
async def test_the_same_as_an_answer_to_the_request(code, message, fields, fate):
    """Errors of a request say `errorCode`, and may have no fields."""
    error = {"errorCode": code, "message": message} | ({"fields": fields} if fields else {})
    (outcome,) = (await written((400, [error]), (200, [GOOD]))).outcomes
    assert kind(outcome) == fate


@pytest.mark.parametrize(("code", "message", "fields", "fate"), ROWS)
async def test_the_same_in_a_part_of_a_composite(code, message, fields, fate):
    error = {"statusCode": code, "message": message, "fields": fields}
    parts = [
        {
            "httpStatusCode": 200,
            "referenceId": "part0",
            "body": [GOOD | {"id": CONTACT}],
            "httpHeaders": {},
        },
        {"httpStatusCode": 200, "referenceId": "part1", "body": [{"success": False, "errors": [error]}]},
    ]
    known = outgoing(9, record_id=CONTACT, found={}, owner=None, fields=FIELDS, object_type="Contact")
    left = [(200, {"compositeResponse": parts}), (200, [GOOD])]

    def answer(line, head, _):
        host = next(x[6:] for x in head.split("\r\n") if x.lower().startswith("host:"))
        if "oauth2" in line:
            return token(f"http://{host}")
        if "describe" in line:
            return http(404, NOT_SHOWN)
        return http(200, NOBODY) if "/composite HTTP" in line and len(left) < 2 else http(*left.pop(0))

    async with server(answer) as (url, _), salesforce(url, map=MAP) as destination:
        answers = await destination.write(Batch(1, "crm", (known, outgoing(1, fields=FIELDS)), NOW))
    there, new = answers.outcomes
    assert kind(there) == WRITTEN
    assert kind(new) == fate


@pytest.mark.parametrize(("code", "message", "fields", "fate"), ROWS)
async def test_the_same_of_a_new_one_beside_one_that_is_known(code, message, fields, fate):
    there = "00Q000000000009AAA"
    error = {"statusCode": code, "message": message, "fields": fields}
    known = outgoing(9, record_id=there, found={}, owner=None, fields=FIELDS)
    left = [(200, [GOOD | {"id": there}, {"success": False, "errors": [error]}]), (200, [GOOD])]

    def answer(line, head, _):
        host = next(x[6:] for x in head.split("\r\n") if x.lower().startswith("host:"))
        if "oauth2" in line:
            return token(f"http://{host}")
        if "describe" in line:
            return http(404, NOT_SHOWN)
        return http(200, NOBODY) if "/composite HTTP" in line and len(left) < 2 else http(*left.pop(0))

    async with server(answer) as (url, _), salesforce(url, map=MAP) as destination:
        answers = await destination.write(Batch(1, "crm", (known, outgoing(1, fields=FIELDS)), NOW))
    there_, new = answers.outcomes
    assert kind(there_) == WRITTEN
    assert kind(new) == fate


@pytest.mark.parametrize(("status", "body", "fate"), REQUESTS)
async def test_a_request(status, body, fate):
    answer = await written(*[(status, body)] * 2)
    assert kind(answer.outcomes[0]) == fate


@pytest.mark.parametrize(("status", "body", "fate"), REQUESTS)
async def test_a_part_of_a_composite_or_the_whole_of_it(status, body, fate):
    """A part that is not mentioned is unknown; so is what nobody can read."""
    inner = None if isinstance(body, bytes) else body
    parts = [{"httpStatusCode": status, "referenceId": "part0", "body": inner}]
    known = outgoing(1, record_id=CONTACT, found={}, owner=None, fields=FIELDS, object_type="Contact")

    def answer(line, head, _):
        host = next(x[6:] for x in head.split("\r\n") if x.lower().startswith("host:"))
        if "oauth2" in line:
            return token(f"http://{host}")
        return http(404, NOT_SHOWN) if "describe" in line else http(200, {"compositeResponse": parts})

    async with server(answer) as (url, _), salesforce(url, map=MAP) as destination:
        answers = await destination.write(Batch(1, "crm", (known, outgoing(2, fields=FIELDS)), NOW))
    assert not any(isinstance(one, Written) for one in answers.outcomes)
    assert kind(answers.outcomes[1]) == UNSURE
    assert kind(answers.outcomes[0]) == fate


@pytest.mark.parametrize(("code", "message", "much"), AUTOMATION)
def test_whether_there_were_too_many_at_once(code, message, much):
    assert overloaded([Problem(code, message)]) == much


@pytest.mark.parametrize(("code", "message", "much"), AUTOMATION)
async def test_too_many_at_once_are_halved_and_a_fault_of_the_record_is_not(code, message, much):
    error = {"statusCode": code, "message": message, "fields": []}
    bad = [{"success": False, "errors": [error]}] * 4
    good = [[GOOD | {"id": f"00Q00000000000{n}AAA"} for n in pair] for pair in ((1, 2), (3, 4))]
    answer = await written((200, bad), *((200, rows) for rows in good), count=4)
    assert {kind(one) for one in answer.outcomes} == ({WRITTEN} if much else {kind(answer.outcomes[0])})
    assert [load.overloaded for load in answer.loads][0:1] == ([much] if answer.loads else [])
    assert answer.calls == (3 if much else 1)


async def test_a_row_that_breaks_the_automation_alone_is_refused():
    error = {"statusCode": "CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY", "message": "Apex CPU time limit exceeded"}
    answer = await written((200, [{"success": False, "errors": [error]}]))
    assert kind(answer.outcomes[0]) == FOR_GOOD
    assert answer.loads[0].overloaded


async def test_a_login_that_answers_with_its_own_shape_of_errors():
    """The token endpoint says `error`."""
    answer = await written((401, [{"errorCode": "INVALID_SESSION_ID", "message": "Session expired"}]), (200, [GOOD]))
    assert kind(answer.outcomes[0]) == WRITTEN
    assert answer.calls == 2


@pytest.mark.parametrize(
    ("message", "record", "meant"),
    [
        ("Lead Source: bad value for restricted picklist field: Fax", {"LeadSource": "Fax"}, ("LeadSource",)),
        ("Own Stage: bad value for restricted picklist field: x", {"Own_Stage__c": "x"}, ("Own_Stage__c",)),
        ("State/Province: data value too large: abc (max length=2)", {"State": "abc", "City": "abc"}, ()),
        ("No such column 'Foo__c' on sobject of type Lead", {"foo__c": 1, "City": "x"}, ("foo__c",)),
        (
            "Unable to create/update fields: A__c, B__c. Please check",
            {"A__c": 1, "B__c": 2, "C__c": 3},
            ("A__c", "B__c"),
        ),
        ("Cannot deserialize instance of double from VALUE_STRING value 7x or request may", {"N__c": "7x"}, ("N__c",)),
        ("Cannot deserialize instance of date from VALUE_NUMBER_INT value 7 or request may", {"D__c": 7}, ("D__c",)),
        ("Numeric value (1000000000001) out of range of int at [line:1]", {"N__c": 1000000000001}, ("N__c",)),
        ("something else", {"City": "x"}, ()),
        ("something: else", {"City": "x"}, ()),
    ],
)
def test_which_field_is_meant(message, record, meant):
    assert named(Problem("X", message), record) == meant


def test_what_is_left_of_a_record_is_what_it_was():
    record = {"LastName": "x", "Rating": "Hot", "Country": "Atlantis", "StateCode": "IL", "City": "Kiel"}
    country = Problem("FIELD_INTEGRITY_EXCEPTION", "There's a problem with this country", ("Country",))
    found = mend(record, [country, Problem("X", "bad", ("Rating",))], "Fairturn_Id__c")
    assert found is not None
    assert found.record == {"LastName": "x", "City": "Kiel"}
    assert set(found.without) == {"Rating", "Country", "StateCode"}
    assert mend(record, [country, Problem("INVALID_EMAIL_ADDRESS", "bad", ("Email",))], "Fairturn_Id__c") is None
    assert mend(record, [], "Fairturn_Id__c") is None
    assert orjson.dumps(found.record)
