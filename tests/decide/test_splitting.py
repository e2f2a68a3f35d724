"""A body as events: media types, odd bytes, limits, ids."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairturn.decide.paths import path
from fairturn.decide.splitting import Limits, document, event_id, media, split
from fairturn.errors import RefusedRequest
from fairturn.model import Arrival, Item

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
LIMITS = Limits()


def take(
    body: bytes, content_type: str = JSON, *, dedupe: str | None = None, source: str = "s", limits: Limits = LIMITS
) -> Arrival:
    return split(source, "batch", content_type, body, limits, path(dedupe) if dedupe else None)


def one(body: bytes, content_type: str = JSON) -> Item:
    (item,) = take(body, content_type).items
    assert item.problem is None
    return item


def value(body: bytes, content_type: str = JSON) -> Any:
    item = one(body, content_type)
    return orjson.loads(body if item.body is None else item.body)


def refused(body: bytes, content_type: str = JSON, limits: Limits = LIMITS) -> tuple[int, str]:
    with pytest.raises(RefusedRequest) as caught:
        take(body, content_type, limits=limits)
    return caught.value.status, caught.value.message


def taken_or_refused(body: bytes, content_type: str) -> Arrival | int:
    """The arrival, or the status of a refusal that a sender understands."""
    try:
        return take(body, content_type, dedupe="a")
    except RefusedRequest as error:
        return {400: 400, 413: 413, 415: 415}[error.status]


def test_a_clean_object_needs_no_copy():
    assert one(b' {"email": "a@x.test"}\n').body is None
    assert one(b' {"email": "a@x.test"}\n').marks == ()


# ---- odd text -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "expected", "marks"),
    [
        (rb'{"company":"Ac\u0000me"}', {"company": "Ac\ufffdme"}, ("nul",)),
        (rb'{"com\u0000pany":"Acme"}', {"com\ufffdpany": "Acme"}, ("nul",)),
        (b'{"company":"Ac\x00me"}', {"company": "Ac\ufffdme"}, ("nul",)),
        (b'{"company":"Acme"}\x00', {"company": "Acme"}, ("nul",)),
        (rb'{"path":"C:\\u0000"}', {"path": r"C:\u0000"}, ()),
        (rb'{"n":"\ud800"}', {"n": "\ufffd"}, ("surrogate",)),
        (rb'{"n":"\udc00x\ud83d\ude00\uD83D"}', {"n": "\ufffdx😀\ufffd"}, ("surrogate",)),
        (rb'{"n":"\ud83d\\ude00"}', {"n": "\ufffd\\ude00"}, ("surrogate",)),
        (b'{"n":"\xed\xa0\x80"}', {"n": "\ufffd\ufffd\ufffd"}, ("charset",)),
        (b'{"message":"two\nlines"}', {"message": "two\nlines"}, ("control",)),
    ],
)
def test_case_41_odd_characters_are_replaced_and_marked(body, expected, marks):
    item = one(body)
    assert value(body) == expected
    assert item.marks == marks


def test_case_41_a_nul_in_a_form_field():
    item = one(b"email=a%40x.test&company=Ac\x00me&x=%00", FORM)
    assert orjson.loads(item.body or b"") == {"email": "a@x.test", "company": "Ac\ufffdme", "x": "\ufffd"}
    assert item.marks == ("nul",)


@pytest.mark.parametrize(
    ("body", "content_type", "name", "marks"),
    [
        (b'{"name":"H\xebllo"}', JSON, "H\ufffdllo", ("charset",)),
        (b'{"name":"H\xebllo"}', "application/json; charset=iso-8859-1", "Hëllo", ()),
        (b'{"name":"H\xebllo"}', 'Application/JSON;Charset="ISO-8859-1"', "Hëllo", ()),
        (b'{"name":"H\x80llo"}', "application/json; charset=windows-1252", "H€llo", ()),
        ('{"name":"Hëllo"}'.encode("utf-8-sig"), JSON, "Hëllo", ()),
        ('{"name":"Hëllo"}'.encode("utf-8-sig"), "application/json; charset=utf-8", "Hëllo", ()),
        ('{"name":"Hëllo"}'.encode("utf-8-sig"), "application/json; charset=iso-8859-1", "Hëllo", ()),
        ('{"name":"Hëllo"}'.encode("utf-16"), JSON, "Hëllo", ()),
        ('{"name":"Hëllo"}'.encode("utf-16-le"), JSON, "Hëllo", ()),
        ('{"name":"Hëllo"}'.encode("utf-16-be"), "application/json; charset=utf-16be", "Hëllo", ()),
        ('{"name":"Hëllo"}'.encode("utf-32"), JSON, "Hëllo", ()),
        ('{"name":"Hëllo"}'.encode("utf-16") + b"\x00", JSON, None, ()),
        ('{"name":"山田"}'.encode("shift_jis"), "application/json; charset=Shift_JIS", "山田", ()),
        ('{"name":"Hëllo"}'.encode(), "application/json; charset=us-ascii", "Hëllo", ()),
        ('{"name":"Hëllo"}'.encode(), "application/json; charset=utf8", "Hëllo", ()),
        ('{"name":"Hëllo"}'.encode(), "application/json; charset=klingon", "Hëllo", ("charset",)),
        (b'{"name":"Hello"}', "application/json; charset=zlib", "Hello", ("charset",)),
        (b'{"name":"Hello"}', "application/json; charset=punycode", "Hello", ("charset",)),
    ],
)
def test_case_48_charsets(body, content_type, name, marks):
    if name is None:
        assert refused(body, content_type)[0] == 400
        return
    assert value(body, content_type) == {"name": name}
    assert one(body, content_type).marks == marks


# ---- numbers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("constant", [b"NaN", b"Infinity", b"-Infinity"])
def test_case_43_no_number_is_400(constant):
    status, message = refused(b'{"email":"a@x.test","score":%b}' % constant)
    assert status == 400
    assert constant.decode() in message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7615917337495251231", 7615917337495251231),
        ("7615917337495251230", 7615917337495251230),
        ("9007199254740993", 9007199254740993),
        ("9007199254740993.0", "9007199254740993.0"),
        ("18446744073709551615", 2**64 - 1),
        ("-9223372036854775808", -(2**63)),
        ("18446744073709551616", "18446744073709551616"),
        ("-9223372036854775809", "-9223372036854775809"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("1e400", "1e400"),
        ("-1E400", "-1E400"),
        ("1e-400", "1e-400"),
        ("1e99999999999999999999", "1e99999999999999999999"),
        ("0e99999999999999999999", "0e99999999999999999999"),
        ("0.30000000000000004", 0.30000000000000004),
        ("0.300000000000000040001", "0.300000000000000040001"),
        ("1.50", 1.5),
        ("1e3", 1000.0),
        ("5" * 400, "5" * 400),
    ],
)
def test_cases_43_and_46_numbers_keep_every_digit(text, expected):
    body = b'{"lead_id":%b}' % text.encode()
    assert value(body) == {"lead_id": expected}
    assert type(value(body)["lead_id"]) is type(expected)
    assert one(body).marks == (("big number",) if isinstance(expected, str) else ())


def test_case_46_ids_beyond_2_to_53_are_different_events():
    numbers = [b"7615917337495251231", b"7615917337495251230", b"9007199254740993", b"9007199254740993.0"]
    bodies = [b'{"lead_id":%b}' % number for number in [*numbers, b"9007199254740992.0"]]
    assert len({one(body).id for body in bodies}) == 5
    assert len({take(body, dedupe="lead_id").items[0].id for body in bodies}) == 5


def test_a_number_of_too_many_digits_is_refused():
    status, message = refused(b'{"n":%b}' % (b"9" * 100_000))
    assert status == 400
    assert "1000 digits" in message


# ---- depth and size -----------------------------------------------------------------------------------------------


def nested(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


@pytest.mark.parametrize("levels", [1000, 100_000])
@pytest.mark.parametrize("content_type", [JSON, "text/plain", "", FORM])
def test_case_45_nesting_is_400_by_our_own_limit(levels, content_type):
    for body in (b"[" * levels + b"]" * levels, b"[" * levels, nested(levels), b'{"a":' * levels):
        status, _ = refused(body, content_type)
        assert status == 400
    if content_type != FORM:
        assert "deeper than 64" in refused(nested(levels), content_type)[1]


def test_case_45_depth_64_is_taken_and_65_is_not():
    assert one(nested(64)).body is None
    assert refused(nested(65))[0] == 400
    (deep, fine) = take(b"[" + nested(65) + b"," + nested(64) + b"]").items
    assert (deep.index, deep.problem) == (0, "The JSON is nested deeper than 64 levels")
    assert (fine.index, fine.problem) == (1, None)


def test_brackets_inside_strings_do_not_count():
    text = '{"a":"' + "[{" * 500 + '\\"' + "[" * 500 + '"}'
    assert one(text.encode()).body is None


def test_the_highest_depth_that_can_be_set():
    (item,) = take(nested(512).replace(b"1", b"1e400"), limits=Limits(depth=512)).items
    assert item.problem is None
    assert json.loads(item.body or b"")


def test_size_and_count():
    assert refused(b"{" + b" " * 2_000_000 + b"}")[0] == 413
    assert refused(b"[" + b'{"a":1},' * 10 + b'{"a":1}]', limits=Limits(items=10))[0] == 413
    assert refused(b"[" + b'{"a":1},' * 20 + b'{"a":}]', limits=Limits(items=10))[0] == 413
    assert refused(b"&".join(b"a%d=1" % number for number in range(11)), FORM, limits=Limits(items=10))[0] == 413


@pytest.mark.parametrize(
    "body",
    [
        b'"' * 1_000_000,
        rb'{"a":"' + rb"\"" * 500_000,
        b'[{"a":' + b'"\\' * 330_000,
        b"[" * 1_000_000,
        b"[" + b"{}," * 330_000,
        b"[" + b"1," * 499_000 + b"x]",
        b'{"a":' + b"9" * 1_000_000 + b"}",
        rb'{"a":"' + rb"\u0000" * 170_000 + b'"}',
        rb'{"a":"' + rb"\ud800" * 170_000 + b'"}',
        b"&" * 1_000_000,
        b"%" * 1_000_000,
        b"=" * 1_000_000,
        b"a=" + b"%41" * 330_000,
        b"\x00" * 1_000_000,
        b"\xff" * 1_000_000,
        b'{"a":1}' + b" " * 1_000_000 + b"x",
    ],
)
@pytest.mark.timeout(30)
@pytest.mark.parametrize("content_type", [JSON, "", FORM, "application/json; charset=iso2022_jp"])
def test_a_megabyte_of_spite_takes_linear_time(body, content_type):
    """A quadratic scan would need minutes here and end with the test's time."""
    assert taken_or_refused(body[:1_048_576], content_type) is not None


# ---- media types --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content_type", [f"{FORM}; charset=utf-8", FORM.upper(), "", "text/plain", f"{FORM};charset=UTF-8;x=1", f" {FORM} "]
)
def test_case_47_forms(content_type):
    expected = {"email": "a@x.test", "company": "A&B", "tag": ["1", "2"]}
    assert value(b"email=a%40x.test&company=A%26B&tag=1&tag=2", content_type) == expected


@pytest.mark.parametrize(
    "content_type", ["text/plain", "", FORM, "text/json", "application/cloudevents+json", "APPLICATION/JSON"]
)
def test_case_47_json_under_other_names(content_type):
    assert value(b'{"email":"a=b@x.test"}', content_type) == {"email": "a=b@x.test"}


@pytest.mark.parametrize(
    "content_type", ["text/xml", "multipart/form-data; boundary=x", "image/png", "application/jsonp", "x\x00"]
)
def test_case_47_unknown_types_are_415_with_a_remedy(content_type):
    status, message = refused(b"<a/>", content_type)
    assert status == 415
    assert "application/json" in message


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"", JSON, 400),
        (b"  \n", JSON, 400),
        (b"", FORM, 400),
        (b"", "", 400),
        (b"hello", FORM, 400),
        (b"&&", FORM, 400),
        (b"hello there", "", 415),
        (b"<lead a=b>", "text/plain", 415),
        (b'"hello"', JSON, 400),
        (b"5", JSON, 400),
        (b"null", JSON, 400),
        (b'{"a":1', JSON, 400),
        (b'{"a":1}{"b":2}', JSON, 400),
        (b"{a:1}", JSON, 400),
    ],
)
def test_case_47_nothing_is_silently_empty(body, content_type, status):
    assert refused(body, content_type)[0] == status


def test_messages_never_repeat_the_body():
    for body in (b'{"password": hunter2}', b"[hunter2]", b'["hunter2"]', b"hunter2"):
        assert "hunter2" not in refused(body)[1]


def test_a_form_with_plus_signs_blanks_and_its_own_charset():
    assert value(b"a=x+y%2B&b=&=&c", FORM) == {"a": "x y+", "b": "", "c": ""}
    assert value(b"n=H%EBllo", f"{FORM}; charset=latin1") == {"n": "Hëllo"}
    assert one(b"n=H%EBllo", FORM).marks == ("charset",)


def test_what_is_stored_of_a_content_type_is_printable():
    assert media("text/plain\x00\xe9").shown == "text/plain??"


# ---- arrays and ids -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("second", "problem"),
    [
        (b"{", None),
        (b'{"a":}', "It is not valid JSON"),
        (b"7", "It is a number"),
        (b"null", "It is null"),
        (b"[1]", "an array"),
        (b"", "It is not valid JSON"),
        (b'"x,]y"', "It is a text"),
        (b'{"n":NaN}', "NaN"),
        (nested(100), "deeper"),
    ],
)
def test_case_49_a_bad_item_costs_the_others_nothing(second, problem):
    body = b'[{"n":"a,]b"}, ' + second + b' ,{"n":3}]'
    if problem is None:
        assert refused(body)[0] == 400  # its brackets do not close: where would the next one start?
        return
    items = take(body).items
    assert [(item.index, item.problem is None) for item in items] == [(0, True), (1, False), (2, True)]
    assert problem in str(items[1].problem)
    assert [orjson.loads(item.body or b"") for item in items if not item.problem] == [{"n": "a,]b"}, {"n": 3}]


def test_case_49_arrays():
    assert take(b"[]").items == ()
    assert take(b" [ ] ").items == ()
    assert len(take(orjson.dumps([{"n": number} for number in range(100)])).items) == 100
    before = {item.id for item in take(b'[{"n":1},{"n":2}]').items}
    again = {item.id for item in take(b'[{"n":0},\n{"n":1}, {"n":2}]').items}
    assert len(again - before) == 1


def test_case_49_an_array_without_any_event_is_refused():
    assert refused(b"[1,2]") == (
        400,
        "No event in it can be taken; item 0 of the array: It is a number, not an object.",
    )


def test_case_56_equal_items_are_one_event_however_they_come():
    alone = one(b'{"email":"a@x.test","n":1}')
    spaced = one(b'{ "email": "\\u0061@x.test", "n":1 }')
    twice = take(b'[{"email":"a@x.test","n":1},{"email":"a@x.test","n":1}]').items
    assert {alone.id, spaced.id, *(item.id for item in twice)} == {alone.id}
    assert len(twice) == 1
    assert one(b'{"email":"a@x.test","n":2}').id != alone.id
    assert take(b'{"email":"a@x.test","n":1}', source="t").items[0].id != alone.id


def test_case_55_the_deliverys_own_id_decides_where_there_is_one():
    ids = {take(b'{"event_id":"e1","try":%d}' % number, dedupe="event_id").items[0].id for number in range(46)}
    assert len(ids) == 1
    without = [take(b'{"try":%d}' % number, dedupe="event_id").items[0].id for number in range(3)]
    assert len({*ids, *without}) == 4
    for nothing in (b"null", b'""', b"[]", b"true"):
        bodies = [b'{"event_id":%b,"n":%d}' % (nothing, number) for number in range(2)]
        assert len({take(body, dedupe="event_id").items[0].id for body in bodies}) == 2


def test_an_id_of_several_parts():
    expression = "[portalId, eventId]"
    first = take(b'[{"portalId":1,"eventId":2,"attemptNumber":0}]', dedupe=expression).items[0]
    again = take(b'[{"portalId":1,"eventId":2,"attemptNumber":1}]', dedupe=expression).items[0]
    other = take(b'[{"portalId":1,"eventId":3}]', dedupe=expression).items[0]
    none = take(b'{"x":1}', dedupe=expression).items[0]
    assert first.id == again.id
    assert len({first.id, other.id, none.id, take(b'{"x":2}', dedupe=expression).items[0].id}) == 4
    assert event_id("s", {"x": 1}, b"{}", path("length(x)")) == event_id("s", {}, b"{}", None)


def test_the_delivery_is_the_bytes():
    assert take(b'{"a":1}').delivery == take(b'{"a":1}').delivery
    assert take(b'{"a":1}').delivery != take(b'{"a": 1}').delivery
    assert take(b'{"a":1}').delivery != take(b'{"a":1}', source="t").delivery


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(content=st.dictionaries(st.text(), VALUES, max_size=4), ascii_only=st.booleans())
def test_any_json_is_kept_but_for_what_is_marked(content, ascii_only):
    body = json.dumps(content, ensure_ascii=ascii_only).encode("utf-8", "replace")
    item = one(body)
    clean = orjson.loads(body if item.body is None else item.body)
    if not item.marks:
        assert clean == json.loads(body)
    assert "\\u0000" not in json.dumps(clean).replace("\\\\", "")
    orjson.dumps(clean)
    assert one(orjson.dumps(clean)).id == item.id  # the copy is the same event


CONTENT_TYPES = st.sampled_from(
    [JSON, FORM, "", "text/plain", "text/xml", "application/json; charset=utf-16", "x;charset=é"]
)
PIECES = st.lists(
    st.sampled_from([*(bytes([byte]) for byte in b'{}[]",:\\1a=&%-. \0\xff'), b"e9", b"null", b"\\u0000", b"\\ud8"]),
    max_size=24,
).map(b"".join)


@settings(max_examples=500, deadline=None)
@given(body=st.binary(max_size=60) | PIECES, content_type=CONTENT_TYPES | st.text(max_size=40))
def test_whatever_comes_is_events_or_a_refusal(body, content_type):
    arrival = taken_or_refused(body, content_type)
    if isinstance(arrival, int):
        return
    for item in arrival.items:
        if item.problem is None:
            found = orjson.loads(body if item.body is None else item.body)
            assert isinstance(found, dict)
            assert "\x00" not in orjson.dumps(found).decode()
    assert document(content_type, body, Limits()) is not None
