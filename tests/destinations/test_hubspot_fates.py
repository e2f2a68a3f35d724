"""Every answer that HubSpot is known to give, and odd ones that it is not: from the response to the outcome."""

from dataclasses import replace
from datetime import UTC, datetime

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairturn.destinations.http import Reply, retry_after
from fairturn.destinations.hubspot.decode import Clash, Gone, Reading, Shed, read
from fairturn.destinations.hubspot.limits import limit_pause, quota, rate
from fairturn.destinations.hubspot.rows import Row, requests
from fairturn.model import Later, Outgoing, Rate, Refused, Unknown, Written

NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)
KEY = "fairturn_id"
BURST = {"x-hubspot-ratelimit-interval-milliseconds": "10000", "x-hubspot-ratelimit-max": "190"}


def row(number=1, record_id=None, owner="ann", **record):
    fields = {"email": f"lead{number}@acme.test"}
    outgoing = Outgoing(number, 1, 1, f"ft-{number}", record_id, fields, owner, "rep", None, None, NOW, None)
    given = {"email": f"lead{number}@acme.test", "lastname": f"Lead {number}", "hubspot_owner_id": "41", **record}
    return Row(outgoing, given if record_id is None else dict(record) or {"city": "Kiel"}, record_id)


def reply(status, body, **headers):
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    return Reply(status, {name.replace("_", "-"): value for name, value in headers.items()}, raw)


def error(message, category=None, **more):
    found = {"status": "error", "message": message, "correlationId": "aeb5f871-7f07-4993-9211-075dc63e7cbf", **more}
    return found | ({"category": category} if category else {})


def values(*wrong):
    """`Property values were not valid`, as recorded: JSON inside a sentence, and beside it."""
    inside = orjson.dumps(
        [{"isValid": False, "message": message, "error": code, "name": name} for code, name, message in wrong]
    ).decode()
    outside = [{"message": m, "code": c, "context": {"propertyName": [n]}} for c, n, m in wrong]
    return error(f"Property values were not valid: {inside}", "VALIDATION_ERROR", errors=outside)


def done(number, record_id="501", **more):
    return {"id": record_id, "properties": {KEY: f"ft-{number}"}, "objectWriteTraceId": f"ft-{number}", **more}


def batch(*results, errors=()):
    found = {"status": "COMPLETE", "results": list(results), "startedAt": "", "completedAt": ""}
    return found | ({"numErrors": len(errors), "errors": list(errors)} if errors else {})


def fates(answer, *rows):
    reading = read(answer, rows, KEY)
    return [reading.fates.get(one.key) for one in rows]


# ---- requests that failed as a whole: statuses -----------------------------------------------------------------------

EXPIRED = "The OAuth token used to make this call expired 75 second(s) ago."
SCOPES = {"requiredGranularScopes": ["crm.objects.contacts.write"]}
WHOLE = [
    # (response, what every record of it comes to: kind, scope, seconds, code)
    (429, error("You have reached your ten_secondly_rolling limit.", errorType="RATE_LIMIT",
                policyName="TEN_SECONDLY_ROLLING"), {}, ("later", "destination", 10.0, "TEN_SECONDLY_ROLLING")),
    (429, error("You have reached your ten_secondly_rolling limit.", policyName="TEN_SECONDLY_ROLLING"),
     {"x-hubspot-ratelimit-max": "190", "x-hubspot-ratelimit-interval-milliseconds": "12000"},
     ("later", "destination", 12.0, "TEN_SECONDLY_ROLLING")),
    (429, error("You have reached your daily limit.", errorType="RATE_LIMIT", policyName="DAILY"), {},
     ("later", "destination", 900.0, "DAILY")),
    (429, error("You have reached your daily limit.", errorType="RATE_LIMIT", policyName="DAILY"),
     {"retry-after": "32400"}, ("later", "destination", 32_400.0, "DAILY")),
    (429, error("You have reached your secondly limit.", "RATE_LIMITS"), {},
     ("later", "destination", 1.0, "RATE_LIMITS")),
    (429, error("You have reached your secondly limit.", errorType="RATE_LIMIT", policyName="SECONDLY"), {},
     ("later", "destination", 1.0, "SECONDLY")),
    (429, error("slow down", policyName="SECONDLY"), {"retry-after": "55"}, ("later", "destination", 55.0, "SECONDLY")),
    (429, b"<html>429</html>", {}, ("later", "destination", 10.0, "HTTP_429")),
    (401, error(EXPIRED, "EXPIRED_AUTHENTICATION"), {}, ("later", "destination", 300.0, "EXPIRED_AUTHENTICATION")),
    (401, error("Authentication credentials not found.", "INVALID_AUTHENTICATION"), {},
     ("later", "destination", 300.0, "INVALID_AUTHENTICATION")),
    (403, error("This app hasn't been granted all required scopes", "MISSING_SCOPES", context=SCOPES), {},
     ("later", "destination", 300.0, "MISSING_SCOPES")),
    (403, error("This app hasn't been granted all required scopes", "MISSING_SCOPES",
                errors=[{"message": "One or more", "context": {"requiredScopes": ["crm.objects.contacts.write"]}}]),
     {}, ("later", "destination", 300.0, "MISSING_SCOPES")),
    (403, error("This account is not allowed", "BANNED"), {}, ("later", "record", None, "BANNED")),
    (403, b"<html>blocked</html>", {}, ("later", "destination", None, "HTTP_403")),
    (423, error("locked"), {}, ("later", "destination", 2.0, "HTTP_423")),
    (477, error("Migration in progress"), {"retry-after": "86400"}, ("later", "destination", 86_400.0, "HTTP_477")),
    (477, error("Migration in progress"), {"retry-after": "999999"}, ("later", "destination", 86_400.0, "HTTP_477")),
    (477, b"", {}, ("later", "destination", 600.0, "HTTP_477")),
    (500, error("internal error"), {}, ("unknown",)),
    (502, b"<html><body>Bad gateway</body></html>", {}, ("unknown",)),
    (503, error("unavailable"), {}, ("unknown",)),
    (503, b"", {"retry-after": "30"}, ("later", "destination", 30.0, "HTTP_503")),
    (504, b"", {}, ("unknown",)),
    *((status, b"<html>edge</html>", {}, ("unknown",)) for status in (520, 521, 522, 523, 524, 525)),
    (404, error("resource not found"), {}, ("later", "destination", 60.0, "HTTP_404")),
    (405, b"", {}, ("later", "destination", 60.0, "HTTP_405")),
    (414, b"", {}, ("later", "destination", 60.0, "HTTP_414")),
    (302, b"", {}, ("later", "destination", 60.0, "HTTP_302")),
    (200, b"", {}, ("unknown",)),
    (200, b'{"status":"COMPLETE","resu', {}, ("unknown",)),
    (200, [], {}, ("unknown",)),
    (400, b"<html>odd</html>", {}, ("unknown",)),
    (400, error("Unable to perform update/upsert by non-unique 0-1 property fairturn_id", "VALIDATION_ERROR"), {},
     ("later", "destination", 300.0, "NO_UNIQUE_PROPERTY")),
    (400, values(("PROPERTY_DOESNT_EXIST", KEY, f'Property "{KEY}" does not exist')), {},
     ("later", "destination", 300.0, "NO_UNIQUE_PROPERTY")),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "headers", "expected"), WHOLE)
def test_requests_that_failed_as_a_whole(status, body, headers, expected):
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    for one in fates(Reply(status, headers, raw), row(1), row(2, "502")):
        if expected == ("unknown",):
            assert isinstance(one, Unknown)
            continue
        assert isinstance(one, Later)
        assert ("later", one.scope, one.after, one.code) == expected
        assert one.key in ("ft-1", "ft-2")


def test_missing_scopes_are_named_in_both_shapes():
    for body in (
        error("no", "MISSING_SCOPES", context=SCOPES),
        error(
            "no",
            "MISSING_SCOPES",
            errors=[{"message": "x", "context": {"requiredScopes": ["crm.objects.contacts.write"]}}],
        ),
    ):
        (one,) = fates(reply(403, body), row())
        assert "crm.objects.contacts.write" in one.message


# ---- one record's errors ---------------------------------------------------------------------------------------------

OPTIONS = 'Foo was not one of the allowed options: [label: "Computer Software"\nvalue: "COMPUTER_SOFTWARE"\n]'
COORDINATES = (
    "Cannot set PropertyValueCoordinates{portalId=1, objectTypeId=ObjectTypeId{legacyObjectType=CONTACT}, "
    "propertyName=fairturn_id, value=ft-1} on 501. 502 already has that value."
)
# (error of one row, what becomes of a new one, what of a known one)
ROWS = [
    (values(("INVALID_EMAIL", "email", "Email address example.lcom is invalid")), "INVALID_EMAIL", "INVALID_EMAIL"),
    (values(("INVALID_OPTION", "industry", OPTIONS)), Shed, Shed),
    (values(("INVALID_LONG", "employees", "many was not a valid long.")), Shed, Shed),
    (values(("INVALID_DATE", "since", "1635535865 is at 22:18:55.865 UTC, not midnight!")), Shed, Shed),
    (values(("PROPERTY_DOESNT_EXIST", "x", 'Property "x" does not exist')), Shed, Shed),
    (values(("READ_ONLY_VALUE", "score", '"score" is a calculated property; its value cannot be set.')), Shed, Shed),
    (values(("INVALID_EMAIL", "email", "bad"), ("INVALID_LONG", "employees", "bad")), "INVALID_EMAIL", "INVALID_EMAIL"),
    (values(("INVALID_OWNER_ID", "hubspot_owner_id", "41 is not a valid owner id")), "owner", "owner"),
    (error("Contact already exists. Existing ID: 77", "CONFLICT"), Clash, "CONFLICT"),
    (error("Contact already exists", "CONFLICT"), Clash, "CONFLICT"),
    (error("Contact already exists", "CONFLICT", context={"existingId": ["77"]}), Clash, "CONFLICT"),
    (error(COORDINATES, "VALIDATION_ERROR"), Clash, Shed),
    (error("Could not get some CONTACT objects, they may be deleted or not exist.", "OBJECT_NOT_FOUND",
           context={"ids": ["501"]}), "OBJECT_NOT_FOUND", Gone),
    (error("At least one of email, firstname, lastname is required", "VALIDATION_ERROR"), "VALIDATION_ERROR",
     "VALIDATION_ERROR"),
    (error("You have reached your secondly limit.", "RATE_LIMITS"), "destination", "destination"),
    (error("something new", "A_CATEGORY_NOBODY_KNOWS"), "record", "record"),
    (error("Invalid input JSON on line 3, column 9: Cannot deserialize value"), "INVALID_JSON", "INVALID_JSON"),
    ({}, "record", "record"),
]  # fmt: skip
PROPERTIES = {"industry": "Foo", "employees": "many", "since": "1635535865", "x": "y", "score": "1", KEY: "ft-1"}


def word(fate):
    if isinstance(fate, Refused):
        return "owner" if fate.owner_fault else fate.code
    return fate.scope if isinstance(fate, Later) else type(fate)


@pytest.mark.parametrize(("wrong", "new", "known"), ROWS)
def test_errors_of_one_record(wrong, new, known):
    """The same in a 207 with its trace id, and as the only input of a request that is refused."""
    for one, expected in (
        (row(1, **PROPERTIES), new),
        (row(1, "501", email="x@y.z", hubspot_owner_id="41", **PROPERTIES), known),
    ):
        traced = {**wrong, "context": {**wrong.get("context", {}), "objectWriteTraceId": ["ft-1"]}}
        answers = [reply(207, batch(done(2, "502"), errors=[traced]))]
        if "VALIDATION_ERROR" in wrong.values() or wrong.get("category") == "CONFLICT":
            answers.append(reply(409 if wrong["category"] == "CONFLICT" else 400, wrong))
        for answer in answers:
            rows = [one, row(2)] if answer.status == 207 else [one]
            fate = fates(answer, *rows)[0]
            assert word(fate) == expected, (answer.status, fate)


def test_hubspots_words_and_the_property_are_told():
    wrong = values(
        ("INVALID_EMAIL", "email", "Address x is invalid"), ("INVALID_LONG", "employees", "many was no long.")
    )
    (fate,) = fates(reply(400, wrong), row(employees="many"))
    assert isinstance(fate, Refused)
    assert fate.message == "Address x is invalid [email]; many was no long. [employees]"
    assert fate.fields == ("email", "employees")


def test_a_conflict_tells_the_record_that_is_there():
    in_words = error("Contact already exists. Existing ID: 77", "CONFLICT")
    beside = error("Contact already exists", "CONFLICT", context={"existingId": ["77"]})
    for wrong in (in_words, beside):
        assert fates(reply(409, wrong), row())[0] == Clash("77", wrong["message"])
        traced = wrong | {"context": {**wrong.get("context", {}), "objectWriteTraceId": ["ft-1"]}}
        assert fates(reply(207, batch(errors=[traced])), row())[0] == Clash("77", wrong["message"])


def test_what_is_shed_tells_what_may_be_sent_instead():
    (fate,) = fates(reply(400, values(("INVALID_OPTION", "industry", OPTIONS))), row(industry="Foo"))
    assert isinstance(fate, Shed)
    assert fate.options["industry"]["computer software"] == "COMPUTER_SOFTWARE"
    assert not fate.lasting
    (fate,) = fates(reply(400, values(("PROPERTY_DOESNT_EXIST", "x", 'Property "x" does not exist'))), row(x="1"))
    assert isinstance(fate, Shed)
    assert fate.lasting == {"x"}


# ---- batches: who is meant -------------------------------------------------------------------------------------------


def test_results_in_any_order_and_lower_case_are_matched_by_what_they_say_case_86():
    rows = [row(1), row(2), row(3, "503")]
    body = batch(
        {"id": "503", "properties": {}},
        {"id": "502", "properties": {"email": "lead2@acme.test"}, "new": True},
        {"id": "501", "properties": {KEY: "ft-1", "email": "other@acme.test"}, "new": False},
    )
    assert fates(reply(200, body), *rows) == [
        Written("ft-1", "501", created=False),
        Written("ft-2", "502", created=True),
        Written("ft-3", "503", created=False),
    ]


def test_part_of_a_207_is_not_success_case_87():
    wrong = values(("INVALID_EMAIL", "email", "Email address lead2 is invalid"))
    named = {**wrong, "context": {"objectWriteTraceId": ["ft-2"]}}
    one, two, three = fates(reply(207, batch(done(3, "503"), done(1), errors=[named])), row(1), row(2), row(3))
    assert isinstance(one, Written)
    assert isinstance(two, Refused)
    assert isinstance(three, Written)
    # With no id in the error, the only one that is left over is meant; of several each is asked for apart.
    one, two, three = fates(reply(207, batch(done(3, "503"), done(1), errors=[wrong])), row(1), row(2), row(3))
    assert isinstance(two, Refused)
    reading = read(reply(207, batch(done(1), errors=[wrong])), [row(1), row(2), row(3)], KEY)
    assert list(reading.fates) == ["ft-1"]
    assert reading.split is not None


@pytest.mark.parametrize("body", [batch(), batch(done(1)), {"status": "COMPLETE"}, {"status": "PENDING"}, {}])
def test_silence_is_never_success(body):
    assert isinstance(fates(reply(200, body), row(1), row(2))[1], Unknown)


def test_a_known_one_that_a_second_try_does_not_mention_is_looked_for():
    known = row(1, "501")
    assert isinstance(fates(reply(200, batch()), known)[0], Unknown)
    again = replace(known, outgoing=replace(known.outgoing, attempt=2))
    assert isinstance(fates(reply(200, batch()), again)[0], Gone)


def test_two_words_of_one_record_are_none():
    assert isinstance(fates(reply(200, batch(done(1), done(1, "777"))), row(1))[0], Unknown)
    wrong = error("bad", "VALIDATION_ERROR", context={"objectWriteTraceId": ["ft-1"]})
    assert isinstance(fates(reply(207, batch(done(1), errors=[wrong])), row(1))[0], Unknown)


@pytest.mark.parametrize("identity", [None, "", "abc", [], {"id": 1}])
def test_success_without_an_id_is_unknown(identity):
    assert isinstance(fates(reply(200, batch(done(1) | {"id": identity})), row(1))[0], Unknown)


def test_ids_that_are_gone_share_one_error():
    wrong = error("Could not get some CONTACT objects", "OBJECT_NOT_FOUND", context={"ids": ["501", "503"]})
    found = fates(reply(207, batch(done(2, "502"), errors=[wrong])), row(1, "501"), row(2, "502"), row(3, "503"))
    assert [type(one) for one in found] == [Gone, Written, Gone]


# ---- batches that are refused as a whole -----------------------------------------------------------------------------


def rows_of(count):
    return [row(n, str(500 + n), industry=f"Value {n}", city="Kiel") for n in range(count)]


def test_a_refused_batch_is_attributed_by_the_values_it_names():
    body = values(
        ("INVALID_OPTION", "industry", 'Value 3 was not one of the allowed options: [label: "Value 1"\nvalue: "V1"\n]'),
        ("INVALID_OPTION", "industry", "Value 12 was not one of the allowed options: []"),
    )
    reading = read(reply(400, body), rows_of(20), KEY)
    assert set(reading.fates) == {"ft-3", "ft-12"}
    assert len(reading.again) == 18
    assert reading.split is None


def test_a_property_that_is_not_there_concerns_all_who_have_it():
    rows = [*rows_of(3), row(9, "509", lastname="X")]
    body = values(("PROPERTY_DOESNT_EXIST", "industry", 'Property "industry" does not exist'))
    reading = read(reply(400, body), rows, KEY)
    assert set(reading.fates) == {"ft-0", "ft-1", "ft-2"}
    assert reading.again == {"ft-9"}


@pytest.mark.parametrize(
    "body",
    [
        error(
            "Duplicate IDs found in batch input: [501]. IDs must be unique",
            "VALIDATION_ERROR",
            context={"ids": ["501"]},
        ),
        error("The maximum number of inputs supported in a batch is 100.", "VALIDATION_ERROR"),
        error("Invalid input JSON on line 3, column 9: Cannot deserialize value"),
        values(("INVALID_OPTION", "industry", "Unheard of was not one of the allowed options: []")),
        error("A validation rule of the account says no", "VALIDATION_ERROR"),
        {},
    ],
)
def test_a_refused_batch_that_names_nobody_is_split(body):
    reading = read(reply(400, body), rows_of(4), KEY)
    assert reading.split is not None
    assert not reading.fates


def test_a_conflict_of_a_batch_names_the_first_alone_case_90():
    reading = read(reply(409, error("Contact already exists. Existing ID: 77", "CONFLICT")), [row(1), row(2)], KEY)
    assert [type(one) for one in reading.fates.values()] == [Clash, Clash]
    assert all(isinstance(one, Clash) and one.existing is None for one in reading.fates.values())


# ---- whatever comes --------------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 999) | st.sampled_from(["", "ft-1", "501", "CONFLICT", "x [y]"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "results",
                    "errors",
                    "message",
                    "category",
                    "context",
                    "ids",
                    "id",
                    "properties",
                    "objectWriteTraceId",
                    "name",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([200, 207, 400, 401, 403, 409, 429, 500]), JSON)
def test_no_answer_breaks_the_reading_and_success_needs_an_id(status, body):
    sent = [row(1), row(2, "502"), row(3)]
    reading = read(reply(status, body), sent, KEY)
    assert isinstance(reading, Reading)
    assert set(reading.fates) <= {"ft-1", "ft-2", "ft-3"}
    for fate in reading.fates.values():
        if isinstance(fate, Written):
            assert status in (200, 207)
            assert fate.record_id.isdigit()
    if reading.split is None:
        assert set(reading.fates) | reading.again == {"ft-1", "ft-2", "ft-3"}


# ---- limits ----------------------------------------------------------------------------------------------------------


def test_limits_are_read_from_the_headers():
    """Recorded on a 201. `-Secondly` is deprecated and means nothing."""
    headers = BURST | {
        "x-hubspot-ratelimit-daily": "250000", "x-hubspot-ratelimit-daily-remaining": "248569",
        "x-hubspot-ratelimit-remaining": "98", "x-hubspot-ratelimit-secondly": "10",
    }  # fmt: skip
    assert rate(headers) == Rate(190, 10.0, 98)
    assert quota(headers) == (1431, 250_000)
    assert rate({"x-hubspot-ratelimit-daily": "250000"}) is None
    assert quota(BURST) is None
    assert rate(dict.fromkeys(BURST, "many")) is None


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("55", 55.0), ("99999", 3600.0), ("Wed, 21 Oct 2026 07:28:00 GMT", None), ("-1", None), ("", None)],
)
def test_a_retry_after_is_believed_within_reason_case_111(header, seconds):
    """Cases 110 and 111: honoured where it is there, and never required."""
    assert retry_after({"retry-after": header}) == seconds
    assert limit_pause("TEN_SECONDLY_ROLLING", "", {"retry-after": header}) == (seconds or 10.0)


# ---- requests --------------------------------------------------------------------------------------------------------


def test_no_request_names_one_record_twice():
    rows = [row(n) for n in range(250)] + [row(300, "501"), row(301, "501"), row(302, "502")]
    rows += [replace(row(400), record={"email": "LEAD3@acme.test "})]
    laid = requests(rows, KEY)
    assert sorted(len(part) for part in laid) == [1, 2, 51, 100, 100]
    for part in laid:
        assert len(part) <= 100
        assert len({one.ident(KEY) for one in part}) == len(part)
        assert len({one.email for one in part}) == len(part)
        assert len({one.record_id is None for one in part}) == 1
