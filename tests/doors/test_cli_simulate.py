"""Who would get what: with and without a database, with and without other settings to compare with."""

import json
from collections.abc import AsyncIterator

import pytest

from tests.doors.commands import Open, lead, shells
from tests.flow.world import config

RULES = """
[[rules]]
id = "own"
when = 'lead.domain_kind == "own"'
ignore = true

[[rules]]
id = "big"
when = 'lead.employees > 1000'
park = "00G000000000001"

[[rules]]
id = "rest"
when = "true"
pool = "main"
"""
OWN = '[organisation]\nown_domains = ["us.com"]\n'


@pytest.fixture
async def shell(database, tmp_path) -> AsyncIterator[Open]:
    async with shells(database, tmp_path) as start:
        yield start


def export(folder, rows: int = 10) -> str:
    file = folder / "leads.csv"
    lines = [f"Pat {n};p{n}@c{n}.com;C{n};12" for n in range(rows)]
    extra = ["Own;me@us.com;Us;9", "Big;boss@big.com;Big;5000", "Pat 0 again;P0@c0.com;C0;12"]
    file.write_text("\n".join(["Full Name;E-Mail;Company Name;Employees", *lines, *extra]), encoding="utf-16")
    return str(file)


async def test_a_spreadsheet_is_read_by_its_headings_and_nothing_is_written(shell: Open, tmp_path):
    run = await shell(config("ann = 2, bob = 1, cid = 1", rules=RULES, more=OWN))
    found = (await run("simulate", export(tmp_path, 12), "--json")).json
    assert (found["rows"], found["leads"]) == (15, 14)
    assert (found["assigned"], found["ignored"], found["parked"], found["held"]) == (12, 1, 1, 0)
    assert found["pools"] == {"main": {"ann": 6, "bob": 3, "cid": 3}}
    assert found["rules"] == {"rest": 12, "own": 1, "big": 1}
    assert next(fate for fate in found["fates"] if fate["name"].startswith("Pat 0"))["rows"] == [1, 15]
    assert await run.world.value("select count(*) from lead") == 0
    assert await run.world.value("select count(*) from assignment where kind = 'turn'") == 0
    said = (await run("simulate", export(tmp_path, 12))).out
    assert "14 leads in 15 rows: 12 assigned" in said
    assert [line.split() for line in said.splitlines() if line.startswith(("rest ", "own ", "big "))] == [
        ["rest", "12"],
        ["own", "1"],
        ["big", "1"],
    ]


async def test_a_file_whose_columns_say_nothing_is_refused_with_what_to_do(shell: Open, tmp_path):
    run = await shell()
    file = tmp_path / "odd.csv"
    file.write_text("Colour,Shape\nred,round\n")
    said = (await run("simulate", str(file), code=2)).err
    assert "odd.csv: no column of it is known as a field of a lead" in said
    assert "It has: Colour, Shape" in said
    assert "--source web" in said


async def test_it_begins_where_the_rotation_stands(shell: Open, tmp_path):
    run = await shell(config("ann = 1, bob = 1, cid = 1"))
    await run("reps", "pause", "cid", "--reason", "away")
    await run.world.route(lead(900))
    first = await run.world.value("select rep_id from lead")
    found = (await run("simulate", export(tmp_path, 1), "--json")).json
    (fate,) = [fate for fate in found["fates"] if fate["name"].startswith("Pat")]
    assert {fate["rep"], first} == {"ann", "bob"}
    again = (await run("simulate", export(tmp_path, 9), "--json", "--fresh")).json
    assert set(again["pools"]["main"]) == {"ann", "bob", "cid"}  # nobody is paused in an empty rotation


async def test_what_would_happen_happens(shell: Open, tmp_path):
    """The simulation's owners are those of the real station, lead by lead."""
    run = await shell(config("ann = 3, bob = 2, cid = 1"))
    await run.world.route(*(lead(n) for n in range(500, 507)))
    file = tmp_path / "leads.jsonl"
    file.write_text("\n".join(json.dumps(lead(n)) for n in range(40)))
    found = (await run("simulate", str(file), "--source", "web", "--json")).json
    await run.world.route(*(lead(n) for n in range(40)))
    rows = await run.world.fetch("select rep_id, fields -> 'full_name' ->> 0 as name from lead order by id offset 7")
    assert {row["name"]: row["rep_id"] for row in rows} == {fate["name"]: fate["rep"] for fate in found["fates"]}


async def test_other_settings_are_compared_lead_by_lead(shell: Open, tmp_path):
    run = await shell(config("ann = 1, bob = 1"))
    other = tmp_path / "other.toml"
    other.write_text(config("ann = 1, bob = 1", rules=RULES, more=OWN))
    found = (
        await run("simulate", export(tmp_path), "--config", str(other), "--against", str(run.config), "--json")
    ).json
    changes = {(row["name"], row["to"]) for row in found["against"]["changed"]}
    assert {("Own", "ignored"), ("Big", "parked")} <= changes
    said = (await run("simulate", export(tmp_path), "--against", str(other), "--fresh")).out
    assert "would fare otherwise than under" in said


async def test_no_database_is_said_and_is_no_hindrance(tmp_path, shell: Open):
    run = await shell()
    run.config.write_text(f'data = "{tmp_path}/none"\n{config()}')
    said = await run("simulate", export(tmp_path), "--json")
    assert said.json["assigned"] == 12
    assert "no database answers" in said.err
    assert not (tmp_path / "none").exists()


async def test_files_that_cannot_be_read_are_refused_in_a_sentence(shell: Open, tmp_path):
    run = await shell()
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"email": "a@b.com"}\n{"email": \n')
    assert "broken.jsonl:2: this is no JSON" in (await run("simulate", str(broken), code=2)).err
    assert "there is no such file" in (await run("simulate", str(tmp_path / "no.csv"), code=2)).err
    broken.write_text('{"visitor": "v1"}\n[1]\n')
    odd = (await run("simulate", str(broken), "--source", "web", "--json")).json
    assert list(odd["problems"]) == ["2"]
