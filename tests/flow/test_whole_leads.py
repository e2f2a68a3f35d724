"""Who is one person, what of an event counts, which company a lead is of: as the CRM has it in the end."""

from collections import Counter

import pytest

from tests.flow.whole import Wholes, reps
from tests.flow.world import Worlds, config

SPELLINGS = [
    "Fred.Bloggs@x-works.com",
    "fred.bloggs@x-works.com",
    " fred.bloggs@x-works.com ",
    "fred.bloggs@x-works.com.",
    '"Fred" <fred.bloggs@x-works.com>',
]


@pytest.mark.parametrize("windows", [1, 2])
async def test_case_71_one_address_in_five_spellings(open_whole: Wholes, windows: int) -> None:
    w = await open_whole(reps(["ann", "bob"]))
    events = [{"email": email, "city": f"City {n}"} for n, email in enumerate(SPELLINGS)]
    if windows == 2:
        await w.world.route(*events[:2])
        await w.deliver()
        events = events[2:]
    await w.world.route(*events)
    await w.deliver()
    assert w.owners() == {"fred.bloggs@x-works.com": "ann"}
    assert w.records()["fred.bloggs@x-works.com"]["City"] == "City 4"
    assert await w.world.owners() == ["ann"]
    assert len(w.org.writes()) == windows
    assert w.org.get("/summary")["duplicated"] == 0


@pytest.mark.parametrize("windows", [1, 2])
async def test_case_67_a_late_event_does_not_overwrite_newer_state(open_whole: Wholes, windows: int) -> None:
    """A field that only the older event carries is still filled."""
    w = await open_whole(reps(["ann"]))
    await w.world.route({"email": "l1@gmail.com", "city": "verified", "at": "2026-03-02T10:02:00Z"})
    if windows == 2:
        await w.deliver()
    await w.world.route({"email": "l1@gmail.com", "city": "required", "title": "CEO", "at": "2026-03-02T10:00:00Z"})
    await w.deliver()
    record = w.records()["l1@gmail.com"]
    assert (record["City"], record["Title"]) == ("verified", "CEO")
    sent = [row["record"] for row in await w.world.fetch("select record from write order by batch_id")]
    assert [record["City"] for record in sent if "City" in record] == ["verified"]  # and is not said again
    assert len(sent) == windows


async def test_case_68_one_second_the_journals_order_whoever_routes_first(world: Worlds) -> None:
    w = await world(config())
    moment = "2026-03-02T10:00:00Z"
    one, two = await w.post(
        {"email": "l1@gmail.com", "company": "A", "at": moment}, {"email": "l1@gmail.com", "company": "B", "at": moment}
    )
    await w.station.route([two])
    await w.station.route([one])
    assert await w.value("select fields->'company'->>0 from lead") == "B"


async def test_case_69_a_clock_in_the_future_does_not_win_for_ever(open_whole: Wholes) -> None:
    w = await open_whole(reps(["ann"]))
    await w.world.route({"email": "l1@gmail.com", "city": "future", "at": "2036-01-01T00:00:00Z"})
    await w.world.route({"email": "l1@gmail.com", "city": "true"})
    await w.deliver()
    assert w.records()["l1@gmail.com"]["City"] == "true"
    await w.world.route({"email": "l1@gmail.com", "city": "epoch", "at": 0})
    await w.deliver()
    assert w.records()["l1@gmail.com"]["City"] == "epoch"  # no time that can be: that of its arrival


async def test_case_70_the_servers_zone_decides_nothing(world: Worlds, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two times without a zone are of the source's zone; the later one wins, however they are written."""
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    w = await world(config())
    for at, city in [
        ("2026-03-02T10:00:00Z", "ten"),
        ("2026-03-02 10:00:01", "a second later"),
        ("2026-03-02T15:29:59+05:30", "before both"),
    ]:
        await w.route({"email": "l1@gmail.com", "city": city, "at": at})
    assert await w.value("select fields->'city'->>0 from lead") == "a second later"


async def test_case_75_blank_input_wipes_nothing_in_the_crm(open_whole: Wholes) -> None:
    w = await open_whole(reps(["ann"]))
    await w.world.route({"email": "l1@gmail.com", "city": "Kiel", "score": 7})
    await w.deliver()
    for nothing in ({}, {"city": None}, {"city": ""}, {"city": " "}, {"score": ""}):
        await w.world.route({"email": "l1@gmail.com", "title": f"T{len(nothing)}", **nothing})
        await w.deliver()
        assert w.records()["l1@gmail.com"]["City"] == "Kiel"
    assert await w.world.value("select fields->'score'->>0 from lead") == "7.0"


async def test_case_76_free_mail_is_no_company(world: Worlds) -> None:
    w = await world(config("ann = 1, bob = 1, cid = 1"))
    gmail = [{"email": f"p{n}@gmail.com"} for n in range(300)]
    gmx = [{"email": f"p{n}@gmx.com"} for n in range(5)]
    acme = [{"email": f"p{n}@acme-works.com"} for n in range(3)]
    await w.route(*gmail, *gmx, *acme, {"visitor": "no address"})
    accounts = await w.fetch("select account_id, count(*) from lead group by 1")
    assert {row["account_id"] is None: row["count"] for row in accounts} == {True: 306, False: 3}
    mail = Counter((await w.owners())[:305])
    assert max(mail.values()) - min(mail.values()) <= 1
    company = "select distinct rep_id from lead where fields->'email'->>0 like '%acme-works.com'"
    assert len(await w.fetch(company)) == 1
    assert await w.value("select status from lead where fields->'email' is null") == "assigned"


async def test_case_77_accounts_that_share_a_domain(open_whole: Wholes) -> None:
    """Each lead has one account: the CRM's where it is known, else the domain's; a public suffix is never one."""
    w = await open_whole(reps(["ann", "bob"]))
    named = ["001000000000001", "001000000000002"]
    await w.world.route(
        {"email": "a@acme-works.com", "account": named[0]},
        {"email": "b@acme-works.com", "account": named[1]},
        {"email": "c@acme-works.com"},
        {"email": "d@www.acme-works.com"},
        {"email": "e@eu.ACME-Works.com"},
        {"email": "f@acme-works.co.uk"},
        {"email": "g@other-works.co.uk"},
    )
    rows = await w.world.fetch("select fields->'email'->>0 as email, account_id from lead")
    account = {row["email"][0]: row["account_id"] for row in rows}
    assert None not in account.values()
    assert account["c"] == account["d"] == account["e"]
    assert len({account["c"], account["f"], account["g"]}) == 3
    before = dict(account)
    await w.world.route({"email": "c@acme-works.com", "city": "Kiel"}, {"email": "a@acme-works.com", "city": "Kiel"})
    rows = await w.world.fetch("select fields->'email'->>0 as email, account_id from lead")
    assert {row["email"][0]: row["account_id"] for row in rows} == before


async def test_case_46_numbers_keep_their_digits_on_the_way_to_the_crm(open_whole: Wholes) -> None:
    w = await open_whole(reps(["ann", "bob"]))
    numbers = [7615917337495251231, 7615917337495251230, 9007199254740993]
    await w.world.route(*({"visitor": number, "title": number} for number in numbers))
    await w.deliver()
    assert await w.world.value("select count(*) from lead") == 3
    titles = {row["Title"] for row in w.org.get("/records/Lead")["records"]}
    assert titles == {str(number) for number in numbers}
