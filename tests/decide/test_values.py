"""Values one by one: numbers, words, moments, places, phone numbers. Cases 46, 48, 70, 98 and 119."""

import os
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fairturn.decide import typed
from fairturn.decide.phones import phone
from fairturn.decide.places import countries, country
from fairturn.decide.times import Unreadable, instant, iso
from fairturn.decide.typed import NotTaken

BERLIN = ZoneInfo("Europe/Berlin")
HUGE = pytest.param(10**5000, id="huge")  # more digits than Python turns to text
TEN = datetime(2026, 3, 2, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("  Ann\u00a0", "Ann"),
        ("\ufeffAnn\u200b", "Ann"),
        ("a\0b", "ab"),
        ("\0", None),
        ("H\ud800llo", "H\ufffdllo"),  # case 48's sort of damage, one level up
        ("\ud83d\ude00", "😀"),
        ("two\nlines", "two\nlines"),
        (7, "7"),
        (7.0, "7"),
        (7.5, "7.5"),
        (15550000000.0, "15550000000"),
        (Decimal("9007199254740993.0"), "9007199254740993"),
        (Decimal("0.12345678901234567890"), "0.12345678901234567890"),
        (True, "true"),
        (["a", None, " ", "b", 3], "a; b; 3"),
        ([], None),
        (None, None),
    ],
)
def test_text(sent, kept):
    assert typed.text(sent) == (kept, None)


def test_a_very_long_text_is_cut_and_says_so():
    assert typed.text("x" * 40_000) == ("x" * 32_000, "cut to 32,000 characters")


@pytest.mark.parametrize("sent", [{}, [[]], [{"a": 1}], float("nan"), float("inf"), Decimal("NaN"), HUGE])
def test_no_text(sent):
    with pytest.raises(NotTaken):
        typed.text(sent)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (250, 250), (250.0, 250), ("250", 250), (" 250 ", 250), ("+250", 250), ("-3", -3), ("1,200", 1200),
        ("1 200", 1200), ("1'200", 1200), ("1\u202f200", 1200), ("1.200.000", 1_200_000), ("1,200,000", 1_200_000),
        ("250.0", 250), (Decimal("9007199254740993.0"), 9007199254740993), ([7], 7), ("1e3", 1000), (2**63 - 1,
        2**63 - 1),
        ("", None), (None, None),
    ],
)  # fmt: skip
def test_whole_numbers(sent, kept):
    assert typed.integer(sent) == (kept, None)


@pytest.mark.parametrize(
    "sent",
    ["many", "1.200", 2.5, "2.5", "51-200", "250+", "1,20,0", "12,", True, {}, [1, 2], 2**63, "1e400",
    "9" * 500, "٣", "0x10",
     float("nan"), float("inf"), Decimal("1e400"), Decimal("NaN"), Decimal("1e999999"), HUGE],
)  # fmt: skip
def test_no_whole_numbers(sent):
    with pytest.raises(NotTaken):
        typed.integer(sent)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (7, 7.0), ("7.5", 7.5), ("7,5", 7.5), (".5", 0.5), ("1,234.56", 1234.56), ("1.234,56", 1234.56),
        ("1 234,56", 1234.56), ("1,200", 1200.0), ("1.200", 1.2), ("-1e-3", -0.001), (Decimal("1e-400"), 0.0),
        (None, None),
    ],
)  # fmt: skip
def test_numbers(sent, kept):
    if kept == 0.0:
        with pytest.raises(NotTaken):  # a fraction of four hundred digits counts nothing that a lead has
            typed.number(Decimal("1e-401"))
    assert typed.number(sent)[0] == kept


@pytest.mark.parametrize("sent", ["1e400", Decimal("1e400"), float("inf"), "nan", "inf", "seven", True, {}, 10**400])
def test_no_numbers(sent):
    with pytest.raises(NotTaken):
        typed.number(sent)


def test_case_46_a_number_that_cannot_hold_its_digits_says_so():
    assert typed.number(9007199254740993) == (9007199254740992.0, "rounded")
    assert typed.number(2**60) == (float(2**60), None)


@pytest.mark.parametrize(
    ("sent", "kept"), [("on", True), ("JA", True), (1, True), ("0", False), ("Nein", False), ("", None)]
)
def test_yes_and_no(sent, kept):
    assert typed.boolean(sent) == (kept, None)


@pytest.mark.parametrize("sent", ["maybe", 2, {}, ["yes", "no"]])
def test_neither_yes_nor_no(sent):
    with pytest.raises(NotTaken):
        typed.boolean(sent)


@pytest.mark.parametrize(
    "sent",
    [
        "2026-03-02 11:00:00",
        "2026-03-02T11:00:00",
        "2026/03/02 11:00:00",
        "2026/3/2 11:00",
        "20260302T110000",
        "2026-03-02T15:30:00+05:30",
        "2026-03-02 15:30:00 +0530",
        "2026-03-02T10:00:00Z",
        "2026-03-02 10:00:00 UTC",
        "2026-03-02T10:00:00.000000000Z",
        "Mon, 02 Mar 2026 10:00:00 GMT",
        "2 Mar 2026 11:00 +0100",
        "1772445600",
        1772445600,
        1772445600.0,
        Decimal("1772445600.000"),
        1772445600000,
        "1772445600000",
        1772445600000000,
    ],
)
@pytest.mark.parametrize("server", ["Asia/Kolkata", "UTC"])
def test_case_70_one_moment_whatever_the_servers_zone(sent, server, monkeypatch):
    monkeypatch.setenv("TZ", server)
    assert instant(sent, BERLIN) == TEN


@pytest.mark.parametrize("sent", ["02/03/2026", "13/03/2026", "02.03.2026 10:00", "2-3-26"])
def test_case_70_a_date_that_can_be_read_two_ways_is_not_read(sent):
    with pytest.raises(Unreadable, match="two ways"):
        instant(sent, BERLIN)


@pytest.mark.parametrize(
    "sent",
    ["", "soon", "2026-13-01", "2026-02-30", True, None, {}, [], "9" * 30, float("nan"), float("inf"),
    -(10**18), 10**18,
     Decimal("1e999999"), Decimal("sNaN"), "0001-01-01T00:00:00+14:00", "9999-12-31T23:00:00-12:00",
     "31 Foo 2026 10:00 GMT",
     "١٧٧٢٤٤٥٦٠٠", "x" * 1000],
)  # fmt: skip
def test_no_moment(sent):
    with pytest.raises(Unreadable):
        instant(sent, BERLIN)


def test_case_98_seconds_are_not_milliseconds():
    assert iso(instant(1635535865, UTC)) == iso(instant(1635535865000, UTC)) == "2021-10-29T19:31:05Z"
    assert iso(instant("2021-10-29", ZoneInfo("America/New_York"))) == "2021-10-29T04:00:00Z"


def test_case_39_zones_come_with_the_program():
    """Case 39: a container without the system's zone files."""
    code = (
        "from zoneinfo import ZoneInfo; from fairturn.decide.times import instant;"
        "print(*(instant('2026-07-01 10:00', ZoneInfo(z)).hour for z in ('America/Buenos_Aires', 'Europe/Kyiv')))"
    )
    env = os.environ | {"PYTHONTZPATH": ""}
    said = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["13", "7"]


def test_of_an_hour_that_comes_twice_the_first():
    assert iso(instant("2026-10-25T02:30:00", BERLIN)) == "2026-10-25T00:30:00Z"


@given(st.text(max_size=40) | st.floats() | st.decimals(allow_nan=True) | st.integers())
@example("Mon, 99 Mar 2026 10:00:00 GMT")
def test_a_moment_or_a_reason(value):
    with suppress(Unreadable):
        assert instant(value, BERLIN).tzinfo is UTC


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("U.S.A.", "US"), ("united states of america", "US"), ("America", "US"), ("UK", "GB"), ("England", "GB"),
        ("The Netherlands", "NL"), ("Holland", "NL"), ("Brasil", "BR"), ("Türkiye", "TR"), ("Turkey", "TR"),
        ("Deutschland", "DE"), ("España", "ES"), ("Espana", "ES"), ("中国", "CN"), ("UAE", "AE"), ("Russia", "RU"),
        ("Côte d’Ivoire", "CI"), ("cote d'ivoire", "CI"), ("Czech Republic", "CZ"), ("Viet Nam", "VN"), ("deu", "DE"),
        ("Korea, Republic of", "KR"), ("Bosnia & Herzegovina", "BA"), ("Allemagne", "DE"), ("NO", "NO"), ("no", "NO"),
        ("Congo", "Congo"), ("Atlantis", "Atlantis"), ("DE AT", "DE AT"),
    ],
)  # fmt: skip
def test_countries_by_what_people_write(written, code):
    assert country(written) == code


def test_the_file_of_countries_is_whole():
    codes = set(countries().values())
    assert len(codes) == 250  # 249 of ISO 3166-1, and Kosovo
    for code in codes:
        assert country(code) == country(code.lower()) == code
    alpha3 = {name for name in countries() if len(name) == 3}
    assert alpha3 >= {"usa", "deu", "gbr", "fra", "cod", "xkx", "chn", "rou", "srb"}


@pytest.mark.parametrize(
    ("typed_", "home", "source", "kept"),
    [
        ("+1 (415) 555-0100", None, None, "+14155550100"),
        ("(415) 555-0100", None, "US", "+14155550100"),
        ("(415) 555-0132", "GB", "US", "+14155550132"),  # no such number at home, one at the source's
        ("0161 496 0000", "GB", "US", "+441614960000"),
        ("0049 89 1234567", "DE", None, "+49891234567"),
        ("011 49 89 1234567", "US", None, "+49891234567"),
        ("+49 89 1234567 ext. 12", None, None, "+49891234567 ext. 12"),
        ("1-800-FLOWERS", "US", None, "+18003569377"),
    ],
)
def test_phone_numbers(typed_, home, source, kept):
    assert phone(typed_, home, source) == (kept, None)


@pytest.mark.parametrize(
    ("typed_", "home"),
    [("+1 555", None), ("555-1234", None), ("call me", "US"), ("", "US"), ("9" * 300, "US"), ("+", "XX")],
)
def test_what_is_no_number_stays_as_typed(typed_, home):
    kept, mark = phone(typed_, home)
    assert kept == typed_
    assert mark
    assert mark.endswith("kept as typed")
