"""From payloads to lead fields. Cases 40, 46, 69, 75, 118 and 119."""

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairturn.config import STANDARD_FIELDS, Settings, Source
from fairturn.decide.mapping import Mapped, Mapper, compile_mapper
from fairturn.errors import ConfigError, MappingProblem

T0 = datetime(2026, 3, 2, 10, tzinfo=UTC)
OWN = {"seats": "integer", "budget": "number", "newsletter": "boolean", "renewal": "time"}


def mapper(**source: object) -> Mapper:
    made = Source.model_validate({"verify": {"type": "unsigned"}, "map": {"email": "email"}, **source})
    return compile_mapper("web", made, Settings.model_validate({"fields": OWN}))


def mapped(payload: object, **source: object) -> Mapped:
    return mapper(**source)(payload, T0)


# ---- ways ----------------------------------------------------------------------------------------------------------


def test_of_several_ways_the_first_that_finds_a_value_wins():
    ways = {"company": ["company", "org.name", "people[?boss].company | [0]", '"Company Name"']}
    assert mapped({"company": "A", "org": {"name": "B"}}, map=ways).values["company"] == "A"
    assert mapped({"company": " ", "org": {"name": "B"}}, map=ways).values["company"] == "B"
    assert mapped({"org": 7, "people": [{"boss": True, "company": "C"}]}, map=ways).values["company"] == "C"
    assert mapped({"Company Name": "D"}, map=ways).values["company"] == "D"


def test_a_value_that_does_not_fit_is_marked_and_the_next_way_is_tried():
    lead = mapped({"size": "many", "staff": "250"}, map={"employees": ["size", "staff"]})
    assert lead.values == {"employees": 250}
    assert lead.marks == ("employees: not a number",)


def test_constants_fill_in_where_nothing_was_found():
    source = {
        "map": {"email": "email", "lead_source": "src"},
        "constants": {"lead_source": "Website", "newsletter": True},
    }
    assert mapped({"email": "a@x.com"}, **source).values == {
        "email": "a@x.com", "lead_source": "Website", "newsletter": True
    }  # fmt: skip
    assert mapped({"email": "a@x.com", "src": "Fair"}, **source).values["lead_source"] == "Fair"


def test_a_source_without_a_map_takes_the_fields_by_their_own_names():
    lead = mapped({"email": "a@x.com", "seats": "5", "nonsense": 1}, map={})
    assert lead.values == {"email": "a@x.com", "seats": 5}


def test_an_expression_that_does_not_fit_the_payload_is_a_missing_value_with_a_mark():
    lead = mapped({"email": "a@x.com", "n": 5}, map={"email": "email", "company": "length(n)"})
    assert lead.values == {"email": "a@x.com"}
    assert "company: " in lead.marks[0]


def test_deep_nesting_is_a_missing_value_and_no_crash():
    deep: object = "a@x.com"
    for _ in range(30_000):
        deep = [deep]
    lead = mapped({"email": "a@x.com", "deep": deep}, map={"email": "email", "company": "to_string(deep)"})
    assert lead.values == {"email": "a@x.com"}


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ({"map": {"email": "a..b"}}, "sources.web.map.email: 'a..b' is not a JMESPath expression"),
        ({"map": {"email": "nope(@)"}}, None),  # known only when it runs
        ({"map": {"email": ""}}, "sources.web.map.email: '' is not a JMESPath"),
        ({"map": {"email": "a" * 1001}}, "has 1001 characters. Keep it below 1000."),
        ({"map": {"surname": "b"}}, "sources.web.map.surname: a lead has no field 'surname'. Add it under [fields]"),
        ({"constants": {"employees": "many"}}, "sources.web.constants.employees: the constant does not fit"),
        ({"timezone": "Berlin"}, "sources.web.timezone: there is no time zone 'Berlin'."),
        ({"ids": {"visitor": "[["}}, "sources.web.ids.visitor: "),
        ({"occurred_at": "]"}, "sources.web.occurred_at: "),
    ],
)
def test_faults_of_a_mapping_name_their_place(source, says):
    if says is None:
        mapper(**source)
        return
    with pytest.raises(ConfigError) as caught:
        mapper(**source)
    assert says in str(caught.value)


# ---- what is there and what is not -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("payload", "clears", "value", "cleared"),
    [
        ({}, (), None, False),
        ({}, ("phone",), None, False),  # missing never touches
        ({"phone": None}, (), None, False),
        ({"phone": None}, ("phone",), None, True),
        ({"phone": ""}, (), None, False),
        ({"phone": ""}, ("phone",), None, True),
        ({"phone": " \u00a0"}, ("phone",), None, True),
        ({"phone": []}, ("phone",), None, True),
        ({"phone": "+1 666"}, ("phone",), "+1 666", False),
        ({"phone": {}}, ("phone",), None, False),  # not a number at all: marked, not an order to erase
        ({"nested": {}}, ("phone",), None, False),
        ({"nested": {"phone": None}}, ("phone",), None, True),
        ({"phone": None, "nested": {"phone": "+1 666"}}, ("phone",), "+1 666", False),
    ],
)
def test_case_75_missing_null_and_empty(payload, clears, value, cleared):
    lead = mapped(
        {"email": "a@x.com", **payload}, map={"email": "email", "phone": ["phone", "nested.phone"]}, clears=clears
    )
    assert lead.values.get("phone") == value
    assert lead.cleared == (frozenset({"phone"}) if cleared else frozenset())


def test_case_75_a_blank_score_is_no_zero():
    assert "score" not in mapped({"email": "a@x.com", "score": ""}, map={"email": "email", "score": "score"}).values


def test_only_a_plain_way_can_tell_null_from_nothing():
    for way, cleared in (("phone", {"phone"}), ("phone || mobile", set())):
        lead = mapped({"email": "a@x.com", "phone": None}, map={"email": "email", "phone": way}, clears=("phone",))
        assert lead.cleared == cleared


@pytest.mark.parametrize(
    ("payload", "says"),
    [
        ("hello", "This event is a text, not an object with named fields."),
        (["a@x.com"], "This event is a list"),
        (None, "This event is null"),
        (7, "This event is a number"),
        (True, "This event is true or false"),
        ({}, "None of the fields and ids mapped by sources.web has a value in this event; it holds: nothing."),
        ({"mail": "a@x.com", "challenge": "x"}, "it holds: mail, challenge."),
        ({"email": ""}, "it holds: email."),
        ({"email": {"value": 1}}, "Found but not taken: email: a list or an object where one value is expected."),
    ],
)
def test_what_cannot_be_a_lead_is_told_apart_with_a_sentence(payload, says):
    with pytest.raises(MappingProblem) as caught:
        mapped(payload, constants={"lead_source": "Website"})
    assert says in str(caught.value)


def test_an_id_alone_or_an_order_to_erase_is_enough():
    assert mapped({"id": 7}, ids={"visitor": "id"}).ids == {"visitor": "7"}
    assert mapped({"phone": None}, map={"phone": "phone"}, clears=("phone",)).cleared == {"phone"}


# ---- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "exact"),
    [
        ("7615917337495251231", "7615917337495251231"),
        ("7615917337495251230", "7615917337495251230"),
        ("9007199254740993", "9007199254740993"),
        ("9007199254740993.0", "9007199254740993"),
        ("1" + "0" * 60, "1" + "0" * 60),
        ('"00123"', "00123"),
    ],
)
def test_case_46_ids_keep_every_digit(written, exact):
    payload = json.loads(f'{{"lead_id": {written}}}', parse_float=Decimal)
    for way in ("lead_id", "to_string(lead_id)", "[lead_id]"):
        assert mapped(payload, ids={"lead": way}).ids == {"lead": exact}, way


@pytest.mark.parametrize(
    "junk", ["undefined", "null", "N/A", "0", "-", "{{ticket.id}}", "[object Object]", "(not set)"]
)
def test_a_placeholder_is_no_id(junk):
    lead = mapped({"email": "a@x.com", "id": junk}, ids={"visitor": "id"})
    assert not lead.ids
    assert lead.marks == (f"visitor: {junk!r} is a placeholder, not an id",)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (250, 250),
        ("250", 250),
        ("1,200", 1200),
        (None, None),
        ("many", None),
        ("", None),
    ],
)
def test_case_119_employees(sent, kept):
    lead = mapped({"email": "a@x.com", "employees": sent}, map={"email": "email", "employees": "employees"})
    assert lead.values.get("employees") == kept
    assert bool(lead.marks) == (sent == "many")


@pytest.mark.parametrize(
    ("sent", "kept"),
    [("US", "US"), (" us ", "US"), ("USA", "US"), ("NO", "NO"), ("Norge", "NO"), ("", None), (None, None)],
)
def test_case_118_and_119_country(sent, kept):
    lead = mapped({"email": "a@x.com", "country": sent}, map={"email": "email", "country": "country"})
    assert lead.values.get("country") == kept


def test_typed_fields_of_ones_own():
    payload = {"seats": 12.0, "budget": "1.234,56", "newsletter": "on", "renewal": "2026-04-01"}
    lead = mapped(payload, map={name: name for name in OWN}, timezone="America/Chicago")
    assert lead.values == {
        "seats": 12,
        "budget": 1234.56,
        "newsletter": True,
        "renewal": "2026-04-01T05:00:00Z",
    }  # case 40


def test_address_country_and_number_in_their_one_form_each():
    ways = {"email": "email", "country": "country", "phone": "phone"}
    payload = {"email": ["Ann <Ann@X.com>", "b@x.com"], "country": "Deutschland", "phone": 4989123456}
    lead = mapped(payload, map=ways, phone_region="us")
    assert lead.values == {"email": "ann@x.com", "country": "DE", "phone": "+4989123456"}
    assert lead.marks == ("email: several, the first taken",)
    assert mapped({"phone": "(415) 555-0100"}, map=ways, phone_region="us").values["phone"] == "+14155550100"
    assert mapped({"phone": "(415) 555-0100"}, map=ways).marks == ("phone: no country known, kept as typed",)


def test_an_address_of_brackets_alone_is_no_address():
    lead = mapped({"email": "<>", "company": "A"}, map={"email": "email", "company": "company"})
    assert lead.values == {"company": "A"}


# ---- time ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "taken", "mark"),
    [
        ("2036-01-01T00:00:00Z", T0, "occurred_at: in the future, taken as the time of arrival"),
        ("2026-03-02T10:00:02Z", T0 + timedelta(seconds=2), None),
        ("2026-03-02T10:05:00Z", T0 + timedelta(minutes=5), None),
        ("2026-03-02T10:05:01Z", T0, "occurred_at: in the future, taken as the time of arrival"),
        (0, T0, "occurred_at: before the year 2000, taken as the time of arrival"),
        ("1970-01-01", T0, "occurred_at: before the year 2000, taken as the time of arrival"),
        (1772445000, datetime(2026, 3, 2, 9, 50, tzinfo=UTC), None),
        (1772445000000, datetime(2026, 3, 2, 9, 50, tzinfo=UTC), None),
        ("2026-03-02 03:00:00", datetime(2026, 3, 2, 9, tzinfo=UTC), None),
        (None, T0, None),
        ("", T0, None),
        ("soon", T0, "occurred_at: not a time; send ISO 8601, such as 2026-03-02T10:00:00Z"),
        ({}, T0, "occurred_at: not a time"),
    ],
)
def test_case_69_an_events_own_time_counts_only_where_it_can_be(sent, taken, mark):
    lead = mapped({"email": "a@x.com", "at": sent}, occurred_at="at", timezone="America/Chicago")
    assert lead.occurred_at == taken
    assert lead.marks == ((mark,) if mark else ())


# ---- anything --------------------------------------------------------------------------------------------------------

NUMBERS = st.integers() | st.integers(10**4000, 10**4001) | st.floats() | st.decimals() | st.just(Decimal("1e400"))
TEXTS = st.text(st.characters(exclude_categories=()), max_size=30) | st.sampled_from(
    ["1e400", "9" * 400, "+49", "a@b", "\0"]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(TEXTS, inside, max_size=3),
    max_leaves=6,
)
ALL = mapper(
    map={name: name for name in (*STANDARD_FIELDS, *OWN)} | {"company": ["company", "to_string(@)", "a.b[0] || c"]},
    ids={"visitor": "id"},
    occurred_at="at",
    clears=("phone", "company"),
    phone_region="DE",
)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from([*STANDARD_FIELDS, *OWN, "id", "at"]), ANYTHING, max_size=6) | ANYTHING)
def test_whatever_comes_is_mapped_or_refused_with_a_sentence(payload):
    try:
        lead = ALL(payload, T0)
    except MappingProblem:
        return
    assert not lead.cleared & lead.values.keys()
    for name, value in lead.values.items():
        kind = {**STANDARD_FIELDS, **OWN}[name]
        assert type(value) is {"integer": int, "number": float, "boolean": bool}.get(kind, str)
    for text in [*lead.values.values(), *lead.ids.values(), *lead.marks]:
        if isinstance(text, str):
            assert text.encode()  # storable, and not blank
            assert "\0" not in text
    json.dumps(dict(lead.values), allow_nan=False)
    assert lead.occurred_at.tzinfo is UTC
