"""From a key to its line, for everything that TOML can write."""

import tomllib
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from fairturn.operate.lines import scan

TEXT = '''\
top = 1
"quoted key" = "a # b"

[a.b]   # a comment
c = """
first
second"""
d.e = 'x'
f = [
  1, # one
  "two, ]",
  { g = "h", "i j" = [3] },
]
k = { l = 1, m.n = """x""" }

[[rules]]
id = "one"
when = \'\'\'
lead.x == "y"
\'\'\'

[[rules]]
id = "two"
when = "true"

[rules.require]
language = "de"

[[rules.more]]
x = 1
[[rules.more]]
x = 2
[pools]
emea.members = { ann = 1,
} '''


def test_lines():
    lines = scan(TEXT[: TEXT.index("[pools]")])
    expected = {
        "top": 1, "quoted key": 2, "a.b": 4, "a.b.c": 5, "a.b.d": 8, "a.b.d.e": 8, "a.b.f": 9, "a.b.f.1": 10,
        "a.b.f.2": 11, "a.b.f.3": 12, "a.b.f.3.g": 12, "a.b.f.3.i j.1": 12, "a.b.k.l": 14, "a.b.k.m.n": 14,
        "rules.1": 16, "rules.1.id": 17, "rules.1.when": 18, "rules.2": 22, "rules.2.when": 24,
        "rules.2.require.language": 27, "rules.2.more.1.x": 30, "rules.2.more.2.x": 32,
    }  # fmt: skip
    assert {key: lines.of(key) for key in expected} == expected


def test_where_the_text_of_a_string_begins():
    lines = scan(TEXT)
    assert lines.texts["rules.1.when"] == 19  # a line break behind the quotes is no part of the text
    assert lines.texts["rules.2.when"] == 24
    assert lines.texts["a.b.c"] == 6


def test_what_is_not_written_has_the_line_of_what_is_around_it():
    lines = scan(TEXT)
    assert lines.of("rules.2.pool") == 22
    assert lines.of("a.b.k.z.y") == 14
    assert lines.of("nowhere.at.all") is None


def test_line_ends_of_windows():
    assert scan(TEXT.replace("\n", "\r\n")).of("rules.2.when") == 24


def test_a_text_that_is_no_toml_keeps_what_came_before():
    lines = scan('[a]\nb = 1\nc = "open\n[d]\n')
    assert lines.of("a.b") == 2


def paths(value, path=""):
    entries = value.items() if isinstance(value, dict) else enumerate(value, 1) if isinstance(value, list) else ()
    for key, inner in entries:
        here = f"{path}.{key}" if path else str(key)
        yield here
        yield from paths(inner, here)


def test_every_key_of_the_broken_settings_is_found():
    for file in (Path(__file__).parent / "broken").glob("*.toml"):
        text = file.read_text()
        try:
            raw = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            continue
        lines = scan(text)
        assert set(paths(raw)) <= set(lines.keys), file.name


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab.=[]{}\"'\\\n#, 1é", max_size=60))
def test_no_text_stops_the_scanner(text):
    """Every text ends, and of those that TOML takes every key is found."""
    lines = scan(text)
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    plain = {path for path in paths(raw) if "\\" not in text and ".." not in path}
    assert plain <= set(lines.keys) or '"' in text or "'" in text
