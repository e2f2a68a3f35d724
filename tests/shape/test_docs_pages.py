"""The pages for people: every settings fragment, sender, field and command that they name is one that exists."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from pydantic import TypeAdapter

from fairturn.cli import app
from fairturn.config import DERIVED_FIELDS, STANDARD_FIELDS, Settings, Verify
from fairturn.decide.signatures import compile_verifier

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "examples/README.md", *sorted((ROOT / "docs").rglob("*.md"))]
HOWTO = sorted((ROOT / "docs/howto").glob("*.md"))
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def fragments() -> Iterator[Any]:
    for page in PAGES:
        for number, (kind, text) in enumerate(FENCED.findall(page.read_text()), 1):
            if kind == "toml":
                yield pytest.param(text, id=f"{page.stem}-{number}")


@pytest.mark.parametrize("text", list(fragments()))
def test_a_fragment_of_settings_has_their_shape(text):
    found = tomllib.loads(text)
    for source in found.get("sources", {}).values():
        source.setdefault("verify", {"type": "unsigned"})  # a fragment may leave out what is not its subject
    Settings.model_validate(found)


def senders() -> Iterator[Any]:
    table = (ROOT / "docs/howto/sources.md").read_text()
    for row in re.findall(r"^\| ([^|]+) \| (`header = .*) \|$", table, re.MULTILINE):
        yield pytest.param(", ".join(re.findall(r"`(\w+ = [^`]+)`", row[1])), id=row[0])


@pytest.mark.parametrize("settings", list(senders()))
def test_a_senders_proof_can_be_checked(settings):
    verify = tomllib.loads(f'verify = {{ type = "hmac", secrets = ["env:X"], {settings} }}')["verify"]
    secret = verify.get("key_prefix", "").encode() + b"QUJDREVGR0hJSktM"
    compile_verifier(TypeAdapter(Verify).validate_python(verify), (secret,))


def test_there_are_as_many_senders_as_rows():
    assert len(list(senders())) == 5


def commands() -> set[str]:
    found: set[str] = set()

    def walk(command: Any, path: str) -> None:
        for name, child in command.commands.items():
            found.add(f"{path}{name}")
            if hasattr(child, "commands"):
                walk(child, f"{path}{name} ")

    walk(typer.main.get_command(app), "")
    return found


def named(text: str) -> Iterator[str]:
    """`fairturn x y` in code, with the second word only where the first is a group."""
    code = [*re.findall(r"`([^`\n]+)`", FENCED.sub("", text)), *(inner for _, inner in FENCED.findall(text))]
    known = commands()
    for piece in code:
        for one, two in re.findall(r"(?:^|[\n&|(] *|\$ )fairturn ([a-z]+)(?: ([a-z]+))?", piece):
            group = any(command.startswith(f"{one} ") for command in known)
            yield f"{one} {two}" if group and two else one


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_that_a_page_names_exist(page):
    assert set(named(page.read_text())) <= commands()


def test_the_page_on_mapping_lists_every_field():
    page = (ROOT / "docs/howto/mapping.md").read_text()
    listed = re.search(r"The standard fields are `([^`]+)`", page)
    assert listed is not None
    assert listed[1].split() == list(STANDARD_FIELDS)
    assert {"domain_kind", "email_kind"} <= set(DERIVED_FIELDS)


@pytest.mark.parametrize("page", HOWTO, ids=lambda page: page.stem)
def test_a_page_for_doing_says_what_to_do_when_it_goes_wrong(page):
    text = page.read_text()
    assert "## When it goes wrong" in text or "## At two in the morning" in text


def test_every_page_can_be_found():
    index = (ROOT / "docs/README.md").read_text()
    pages = [
        page for page in (ROOT / "docs").rglob("*.md") if "decisions" not in page.parts and page.name != "README.md"
    ]
    assert [page.name for page in pages if str(page.relative_to(ROOT / "docs")) not in index] == []


def test_decisions_are_listed_with_their_status():
    index = (ROOT / "docs/decisions/README.md").read_text()
    rows = dict(re.findall(r"^\| \[(\d{4})\]\([^)]+\) \| .* \| ([^|]+) \|$", index, re.MULTILINE))
    said = {
        page.name[:4]: re.search(r"^Status: ([^.]+)\.", page.read_text(), re.MULTILINE)
        for page in (ROOT / "docs/decisions").glob("[0-9]*.md")
    }
    assert rows == {number: status[1] for number, status in said.items() if status}
    assert all(said.values())
