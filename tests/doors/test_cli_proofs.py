"""why, audit and reconcile: what they say, and what they find when something is wrong."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from fairturn.assemble.operator import inspects
from fairturn.config import Settings
from fairturn.model import Batch, Outgoing, Written
from tests.destinations.simulated import MAP, simulated
from tests.doors.commands import Open, Shell, lead, shells
from tests.flow.world import config

RULES = """
[[rules]]
id = "own"
when = 'lead.domain_kind == "own"'
ignore = true

[[rules]]
id = "german"
when = 'lead.country == "DE"'
pool = "main"
require = { language = "de" }

[[rules]]
id = "rest"
when = "true"
pool = "main"
"""
LANGUAGES = '[reps.bob.attributes]\nlanguage = ["de"]\n[organisation]\nown_domains = ["us.com"]\n'


@pytest.fixture
async def shell(database, tmp_path) -> AsyncIterator[Open]:
    async with shells(database, tmp_path) as start:
        yield start


@pytest.fixture(scope="module")
def salesforce_process():
    with simulated() as found:
        yield found


@pytest.fixture
def org(salesforce_process):
    salesforce_process.start()
    return salesforce_process


async def test_why_tells_the_turn_as_it_was(shell: Open):
    run = await shell(config(rules=RULES, more=LANGUAGES))
    await run.world.route(*(lead(n) for n in range(4)))
    await run("reps", "pause", "cid", "--reason", "on holiday", "--actor", "olga")
    await run.world.route(lead(7, country="DE"))
    await run("reps", "resume", "cid")
    await run.world.route(*(lead(n) for n in range(20, 30)))
    found = (await run("why", "p7@c7.com", "--json")).json
    assert (found["rule"], found["pool"], found["rep"], found["status"]) == ("german", "main", "bob", "assigned")
    candidates = {row["rep"]: row for row in found["candidates"]}
    assert candidates["bob"]["available"]
    assert candidates["bob"]["why_not"] is None
    assert "wants language = de" in candidates["ann"]["why_not"]
    assert candidates["cid"]["why_not"] == "Cid was paused by olga: on holiday."
    assert not candidates["cid"]["available"]
    assert sum(row["balance"] for row in found["candidates"]) == pytest.approx(0, abs=0.02)
    said = (await run("why", str(found["lead"]))).out
    assert "Rule own did not match: lead.domain_kind is 'other'." in said
    assert "Rule german decided: lead.country is 'DE'." in said
    assert "bob got it in pool main" in said
    assert "crm: a change waits" in said


async def test_why_tells_of_a_colleague_who_paid_with_the_turn(shell: Open):
    """Who keeps a second lead of a company pays with the next turn, and why says so of the lead that went on."""
    run = await shell()
    await run.world.route(lead(1), lead(2, email="x@c1.com"))
    await run.world.route(*(lead(n) for n in range(3, 12)))
    rows = await run.world.fetch("select seq, kind, rep_id, lead_id from assignment order by seq")
    at = next(place for place, row in enumerate(rows) if row["kind"] == "paid")
    payer, went = rows[at], rows[at + 1]
    found = (await run("why", str(went["lead_id"]), "--json")).json
    # Three rows of members who joined and the one of the payment are no leads.
    assert found["number"] == went["seq"] - 4
    assert found["paid_by"] == payer["rep_id"].title()
    candidates = {row["rep"]: row for row in found["candidates"]}
    paid = candidates[payer["rep_id"]]
    assert paid["credit"] == -1
    assert paid["due"] == max(row["due"] for row in candidates.values())
    assert paid["why_not"].endswith(f"so it went to {went['rep_id'].title()}.")
    assert sum(row["balance"] for row in found["candidates"]) == pytest.approx(0, abs=0.02)
    said = (await run("why", str(went["lead_id"]))).out
    assert f"{went['rep_id']} got it in pool main as its lead no. {found['number']}: next in turn." in said
    assert f"{paid['rep'].title()} was next and paid with this turn for a lead kept before" in said
    assert "it can be given from +0.25 on" in said
    first = (await run("why", "p1@c1.com", "--json")).json
    assert (first["number"], first["paid_by"]) == (1, None)
    assert {row["balance"] for row in first["candidates"]} == {0.0}
    assert {row["due"] for row in first["candidates"]} == {0.33}


async def test_why_and_show_tell_the_record_written_and_the_one_of_shadow_mode(shell: Open):
    run = await shell()
    await run.world.route(lead(1))
    sent = """with b as (insert into batch (destination_id, holder, deadline, records, settled_at)
                         values ('crm', gen_random_uuid(), now(), 1, now()) returning id)
              insert into write (batch_id, lead_id, destination_id, version, oldest_event_at, outcome, record,
                                 answered_at)
              select b.id, l.id, 'crm', 1, now(), $1, $2, now() from b cross join lead l"""
    dark = {"LastName": "Pat \x1b[31m", "Account__r": {"Key__c": "c1.com"}, "Title": None}
    await run.world.fetch(sent, "shadow", dark)
    for words in (("why", "p1@c1.com"), ("leads", "show", "p1@c1.com")):
        said = (await run(*words)).out
        assert "crm, as it would have been sent (shadow)" in said
        assert "Pat [31m" in said
        assert "c1.com" in said
        assert "(empty)" in said
    (kept,) = (await run("why", "p1@c1.com", "--json")).json["records"]
    assert (kept["written"], kept["shadow"]["LastName"]) == (None, "Pat \x1b[31m")
    await run.world.fetch(sent, "written", {"LastName": "Pat"})
    await run.world.fetch("update change set record = $1, record_id = 'r1', confirmed = version", {"LastName": "Pat"})
    (kept,) = (await run("leads", "show", "p1@c1.com", "--json")).json["destinations"]
    assert (kept["written"], kept["shadow"]) == ({"LastName": "Pat"}, None)
    assert "crm, as it last confirmed it: LastName = Pat" in (await run("why", "p1@c1.com")).out


async def test_what_was_odd_in_an_event_is_shown(shell: Open):
    """A value that a field could not take is no secret: it stays with the event, after what the door had to clean."""
    run = await shell()
    await run.world.post(lead(1, employees="many"), lead(2))
    await run.world.fetch("update event set marks = array['nul'] where state = 'pending'")
    await run.world.route()
    mark = await run.world.value("select marks[2] from event where cardinality(marks) = 2")
    assert mark.startswith("employees: ")
    for words in (("why", "p1@c1.com"), ("leads", "show", "p1@c1.com")):
        said = (await run(*words)).out
        assert mark in said
        assert "NUL characters were replaced" in said
        assert (await run(*words, "--json")).json["events"][0]["marks"] == ["nul", mark]
    assert (await run("why", "p2@c2.com", "--json")).json["events"][0]["marks"] == ["nul"]


async def test_why_finds_a_lead_by_whatever_one_has_in_hand(shell: Open):
    run = await shell()
    await run.world.route(lead(1), lead(2))
    number = await run.world.value("select lead_id from lead_key where value = 'v1'")
    await run.world.fetch("update change set record_id = '00QA1B2C3D4E5F6' where lead_id = $1", number)
    key = await run.world.value("select external_key from change where lead_id = $1", number)
    for words in (f"{number}", f"#{number}", "P1@C1.com", "v1", "00QA1B2C3D4E5F6", key):
        assert (await run("why", words, "--json")).json["lead"] == number


async def test_why_of_a_held_lead_says_who_could_take_it(shell: Open):
    run = await shell()
    for rep in ("ann", "bob", "cid"):
        await run("reps", "pause", rep, "--reason", "closed")
    await run.world.route(lead(1))
    await run("reps", "resume", "ann")
    found = (await run("why", "p1@c1.com", "--json")).json
    assert found["status"] == "held"
    assert {row["rep"]: row["available"] for row in found["candidates"]} == {"ann": True, "bob": False, "cid": False}
    assert "Bob is paused: closed." in (await run("why", "p1@c1.com")).out


async def test_text_from_outside_cannot_steer_the_terminal(shell: Open):
    """Case 125, for terminals: escapes, markup and marks of writing direction are shown, never obeyed."""
    run = await shell()
    nasty = "\x1b[31mRed\x07 [bold]Ann[/bold] \u202egnp.exe \x9b2J <b>"
    await run.world.route(lead(1, name=nasty, company="[link=http://x]a[/link]"))
    for words in (("leads", "list"), ("leads", "show", "p1@c1.com"), ("why", "p1@c1.com"), ("leads", "list", "--json")):
        said = (await run(*words)).out
        assert not set(said) & set("\x1b\x07\x9b\u202e")
        assert "[bold]Ann[/bold]" in said
    assert "[link=http://x]a[/link]" in (await run("leads", "list")).out


async def test_audit_says_how_far_from_fair_and_finds_what_was_changed(shell: Open):
    run = await shell(config("ann = 3, bob = 2, cid = 1"))
    await run.world.route(*(lead(n) for n in range(30)))
    found = (await run("audit", "--json")).json
    assert set(found) == {"ok", "assignments", "pools"}
    assert found["ok"]
    assert found["assignments"] == 30
    pool = found["pools"]["main"]
    assert set(pool) == {"assignments", "gaps", "recomputed", "max_deviation", "credit"}
    assert pool["recomputed"]
    assert 0 < pool["max_deviation"] < 1
    said = (await run("audit")).out
    assert "furthest from fair share: 0." in said
    assert "every turn recomputed is the one that was made" in said


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        (
            "update assignment set rep_id = 'bob' where seq = 10 and rep_id <> 'bob' or seq = 11 and rep_id <> 'bob'",
            "seq 1",
        ),
        ("delete from assignment where seq = 9", "missing"),
        ("update rotation set balance = balance + case rep_id when 'ann' then 1 else 0 end", "the balance of ann"),
        ("update pool set given = given - 1", "leads given"),
        ("update pool set last_rep = case last_rep when 'ann' then 'bob' else 'ann' end", "got its last lead"),
        (
            "insert into credit (pool_id, rep_id, kind, opened_seq) values ('main', 'ann', 'owed', 1)",
            "open credit of ann",
        ),
    ],
)
async def test_audit_is_not_ok_after(shell: Open, sql: str, words: str):
    run = await shell()
    await run.world.route(*(lead(n) for n in range(12)))
    await run("audit")
    await run.world.fetch(sql)
    said = await run("audit", code=1)
    assert "NOT OK" in said.out
    assert words in said.out
    assert not (await run("audit", "--json", code=1)).json["ok"]


async def test_audit_streams_rows_in_bounded_memory(shell: Open):
    """Pools of several pages of the cursor, with changes of the set within."""
    run = await shell()
    for n in range(12):
        await run.world.route(*(lead(n * 1000 + m) for m in range(500)))
        await run(*("reps", "pause" if n % 2 == 0 else "resume", "ann", "--reason", "x"))
    found = (await run("audit", "--json")).json
    assert found["ok"]
    assert found["assignments"] == 6000


async def salesforce(shell: Open, org) -> Shell:
    rows = "".join(f'[reps.{name}.ids]\nsf = "{org.users[name]}"\n' for name in ("ann", "bob"))
    fields = (
        'LastName = { field = "last_name", default = "Unknown" }\nEmail = "email"\n'
        'Company = { field = "company", default = "Unknown" }\n'
    )
    more = (
        f'[destinations.sf]\ntype = "salesforce"\nurl = "{org.url}"\nallow_private = true\nclient_id = "env:SF_ID"\n'
        f'client_secret = "env:SF_SECRET"\nexisting = "ignore"\n[destinations.sf.map]\n{fields}{rows}'
    )
    return await shell(config("ann = 1, bob = 1", more=more))


async def deliver(run: Shell, org, *, skip: int = 0) -> None:
    """Every lead but the first `skip` of them in the CRM, as the deliver station would have left them."""
    destination = org.destination(
        map={name: to for name, to in MAP.items() if name in {"LastName", "Company", "Email"}}
    )
    rows = await run.world.fetch(
        """select l.id, l.rep_id, l.fields -> 'email' ->> 0 as email, c.external_key as key
           from lead l join change c on c.lead_id = l.id and c.destination_id = 'sf' order by l.id offset $1""",
        skip,
    )
    records = tuple(outgoing(row) for row in rows)
    answer = await destination.write(Batch(1, "sf", records, datetime.now(UTC)))
    await destination.close()
    assert all(isinstance(one, Written) for one in answer.outcomes)
    await run.world.fetch(
        """with b as (insert into batch (destination_id, holder, deadline, records, settled_at)
                      values ('sf', gen_random_uuid(), now(), 1, now()) returning id),
           w as (insert into write (batch_id, lead_id, destination_id, version, oldest_event_at, owner, outcome)
                 select b.id, l.id, 'sf', 1, now(), l.rep_id, 'written' from b cross join lead l)
           update change set state = 'done', confirmed = version, first_event_at = null where destination_id = 'sf'"""
    )


def outgoing(row) -> Outgoing:
    fields = {"last_name": "Pat", "company": "C", "email": row["email"]}
    now = datetime.now(UTC)
    return Outgoing(row["id"], 1, 1, row["key"], None, fields, row["rep_id"], "rep", None, None, now, None)


async def test_reconcile_asks_the_crm_itself(shell: Open, org, monkeypatch):
    monkeypatch.setenv("SF_ID", "crmsim-client")
    monkeypatch.setenv("SF_SECRET", "crmsim-secret")
    run = await salesforce(shell, org)
    await run.world.route(*(lead(n) for n in range(250)))
    await deliver(run, org)
    found = (await run("reconcile", "--json")).json
    assert (found["checked"], found["missing"], found["twice"], found["owner_differs"]) == (250, [], [], [])
    assert found["not_asked"] == {"crm": "a console keeps nothing"}
    assert "250 leads of the last 24h checked: 0 missing, 0 twice" in (await run("reconcile")).out


async def test_reconcile_finds_who_is_missing_and_who_is_twice(shell: Open, org, monkeypatch):
    monkeypatch.setenv("SF_ID", "crmsim-client")
    monkeypatch.setenv("SF_SECRET", "crmsim-secret")
    run = await salesforce(shell, org)
    await run.world.route(*(lead(n) for n in range(3)), lead(3, email="o'neil@c3.com"))
    await deliver(run, org, skip=1)
    ids = [row["id"] for row in await run.world.fetch("select id from lead order by id")]
    again = org.destination(map={name: MAP[name] for name in ("LastName", "Company", "Email")})
    copy = Outgoing(9, 1, 1, "ft-other", None, {"last_name": "Pat", "company": "C", "email": "p2@c2.com"}, None, "rep",
                    None, None, datetime.now(UTC), None)  # fmt: skip
    await again.write(Batch(2, "sf", (copy,), datetime.now(UTC)))
    await again.close()
    found = (await run("reconcile", "--since", "1h", "--json", code=1)).json
    assert [row["lead"] for row in found["missing"]] == [ids[0]]
    assert [(row["lead"], len(row["records"])) for row in found["twice"]] == [(ids[2], 2)]
    assert found["owner_differs"] == []
    said = (await run("reconcile", code=1)).out
    assert f"MISSING in sf: lead {ids[0]}" in said
    assert f"TWICE in sf: lead {ids[2]}" in said


async def test_reconcile_lists_records_whose_owner_is_not_the_leads_rep(shell: Open, org, monkeypatch):
    """Changed by a person since, or never sent: both are listed with names, and neither is a fault."""
    monkeypatch.setenv("SF_ID", "crmsim-client")
    monkeypatch.setenv("SF_SECRET", "crmsim-secret")
    run = await salesforce(shell, org)
    await run.world.route(*(lead(n) for n in range(4)))
    other = {"ann": "bob", "bob": "ann"}
    moved, never, *_ = rows = await run.world.fetch("select id, rep_id from lead order by id")
    await deliver(run, org)
    await run.world.fetch(
        "update lead set rep_id = case rep_id when 'ann' then 'bob' else 'ann' end where id <= $1", never[0]
    )
    await run.world.fetch(
        "update write set owner = case owner when 'ann' then 'bob' else 'ann' end where lead_id = $1", moved[0]
    )
    await run.world.fetch("update write set owner = null where lead_id = $1", never[0])
    found = (await run("reconcile", "--json")).json
    assert [row["lead"] for row in found["owner_differs"]] == [moved["id"], never["id"]]
    for row, (_, before), sent in zip(found["owner_differs"], rows[:2], (True, False), strict=True):
        now = other[before]
        assert (row["wanted_name"], row["found_name"]) == (now.title(), before.title())
        assert row["wanted"][:15] == org.users[now][:15]
        assert (row["sent"] is not None) == sent
    said = (await run("reconcile")).out
    assert "(that was sent), there " in said
    assert "(that was never sent), there " in said
    await run.world.fetch("update change set state = 'pending', first_event_at = now() where lead_id = $1", never[0])
    assert [row["lead"] for row in (await run("reconcile", "--json")).json["owner_differs"]] == [moved["id"]]


async def test_leads_older_than_a_destination_are_no_loss_and_are_written_on_demand(shell: Open, org, monkeypatch):
    monkeypatch.setenv("SF_ID", "crmsim-client")
    monkeypatch.setenv("SF_SECRET", "crmsim-secret")
    run = await shell(config("ann = 1, bob = 1"))
    await run.world.route(*(lead(n) for n in range(5)))
    run = await salesforce(shell, org)
    await run.world.route(*(lead(n) for n in range(5, 8)), lead(0, score=9))
    found = (await run("reconcile", "--json")).json
    assert (found["checked"], found["never_due"], found["waiting"], found["missing"]) == (8, {"sf": 4}, 4, [])
    said = (await run("reconcile", "--since", "2h")).out
    assert "4 leads came before sf was in the settings" in said
    assert "fairturn destinations backfill sf --since 2h --reason" in said
    assert (await run("destinations", "backfill", "sf", "--reason", "new CRM", "--json")).json["leads"] == 4
    assert (await run("destinations", "backfill", "sf", "--reason", "new CRM", "--json")).json["leads"] == 0
    rows = await run.world.fetch(
        "select priority, version = owner_version as owned from change where priority = 'bulk'"
    )
    assert [tuple(row) for row in rows] == [("bulk", True)] * 4
    found = (await run("reconcile", "--json")).json
    assert (found["never_due"], found["waiting"]) == ({}, 8)
    assert [row["act"] for row in (await run("history", "--json")).json] == ["backfill"]
    assert "Known:" in (await run("destinations", "backfill", "sg", "--reason", "x", code=2)).err
    run = await shell(config("ann = 1, bob = 1"))
    assert "is not in the settings" in (await run("destinations", "backfill", "sf", "--reason", "x", code=2)).err
    run = await salesforce(shell, org)  # back again: what came meanwhile was not due either
    await run.world.route(lead(9))
    assert await run.world.value("select count(*) from destination where left_at is not null") == 0


async def test_leads_of_the_days_in_shadow_are_no_loss_and_are_written_on_demand(shell: Open, org, monkeypatch):
    """Recorded and never sent: no list has them, so reconcile must tell of them, and a backfill sends them."""
    monkeypatch.setenv("SF_ID", "crmsim-client")
    monkeypatch.setenv("SF_SECRET", "crmsim-secret")
    run = await salesforce(shell, org)
    await run.world.route(*(lead(n) for n in range(3)))
    await run.world.fetch(
        """with b as (insert into batch (destination_id, holder, deadline, records, settled_at, shadow)
                      values ('sf', gen_random_uuid(), now(), 1, now(), true) returning id),
           w as (insert into write (batch_id, lead_id, destination_id, version, oldest_event_at, outcome, answered_at)
                 select b.id, c.lead_id, 'sf', c.version, now(), 'shadow', now()
                 from b cross join change c where c.destination_id = 'sf')
           update change set state = 'done', sent_version = version, first_event_at = null
           where destination_id = 'sf'"""
    )
    await run.world.route(lead(7))
    found = (await run("reconcile", "--json")).json
    assert (found["checked"], found["never_due"], found["waiting"], found["listed"]) == (4, {"sf": 3}, 1, 0)
    assert "or while it was in shadow" in (await run("reconcile")).out
    assert (await run("destinations", "backfill", "sf", "--reason", "live", "--json")).json["leads"] == 3
    assert (await run("destinations", "backfill", "sf", "--reason", "live", "--json")).json["leads"] == 0
    rows = await run.world.fetch("select owner_version > owner_confirmed as owned, state from change order by lead_id")
    assert {tuple(row) for row in rows if row["state"] == "pending"} == {(True, "pending")}
    assert (await run("reconcile", "--json")).json["waiting"] == 4


@pytest.mark.parametrize("named", [{}, {"refresh_token": "env:HUB_REFRESH"}])
async def test_a_hubspot_whose_secrets_the_settings_do_not_name_is_not_asked(named: dict[str, str]):
    mine = {"type": "hubspot", "map": {"email": "email"}, **named}
    async with inspects(Settings.model_validate({"destinations": {"hub": mine}}), {}) as (asked, silent):
        assert not asked
        assert silent == {
            "hub": "the settings name neither token nor refresh_token, client_id and client_secret for it"
        }


async def test_a_secret_that_is_missing_or_refused_is_said_without_it(shell: Open, org, monkeypatch):
    """Case 123."""
    run = await salesforce(shell, org)
    monkeypatch.delenv("SF_ID", raising=False)
    assert "SF_ID" in (await run("reconcile", code=2)).err
    monkeypatch.setenv("SF_ID", "crmsim-client")
    monkeypatch.setenv("SF_SECRET", "SECRET123")
    await run.world.route(lead(1))
    said = await run("reconcile", code=3)
    assert "SECRET123" not in said.err + said.out
    assert "Traceback" not in said.err
