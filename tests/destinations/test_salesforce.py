"""Salesforce over real HTTP: what is sent, and what becomes of every answer."""

import asyncio
import logging
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from fairturn.destinations.http import is_public
from fairturn.destinations.salesforce import org_of
from fairturn.errors import DestinationError, LoginRefused, WrongOrg
from fairturn.model import Batch, Later, Outgoing, Refused, Unknown, Written

NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)


@pytest.fixture
async def crm(org):
    made = []

    def make(**changes):
        made.append(org.destination(**changes))
        return made[-1]

    yield make
    for destination in made:
        await destination.close()


def outgoing(number, **changes):
    fields = {"last_name": f"Lead {number}", "company": "Acme", "email": f"lead{number}@acme.com"}
    base = Outgoing(number, 1, 1, f"ft-{number}", None, fields, "ann", "rep", None, None, NOW, None)
    return replace(base, **changes)


def batch(*records):
    return Batch(1, "crm", records, NOW)


async def write(destination, *records):
    return (await destination.write(batch(*records))).outcomes


# ---- what is sent -----------------------------------------------------------------------------------------------


async def test_records_are_upserted_on_our_key(org, crm):
    destination = crm()
    answer = await destination.write(batch(*(outgoing(n) for n in range(3))))
    assert all(isinstance(one, Written) and one.created for one in answer.outcomes)
    assert [one.key for one in answer.outcomes] == ["ft-0", "ft-1", "ft-2"]
    leads = org.leads()
    assert leads["ft-1"]["Id"] == answer.outcomes[1].record_id
    assert leads["ft-1"]["OwnerId"] == org.users["ann"]
    again = await write(destination, outgoing(1, fields={"city": "Kiel", "last_name": "X", "company": "Y"}, owner=None))
    assert again == (Written("ft-1", leads["ft-1"]["Id"], created=False),)
    assert org.leads()["ft-1"]["OwnerId"] == org.users["ann"]
    assert len(org.leads()) == 3


async def test_assignment_rules_of_the_org_never_run(org, crm):
    await write(crm(), outgoing(1))
    (request,) = org.writes()
    assert {name.lower(): value for name, value in request["headers"].items()}["sforce-auto-assign"] == "FALSE"
    assert org.leads()["ft-1"]["OwnerId"] == org.users["ann"]


async def test_the_answer_tells_calls_quota_and_the_records_as_sent(org, crm):
    org.post("/limits", {"max": 5000, "used": 17})
    answer = await crm().write(batch(outgoing(1)))
    assert (answer.calls, answer.quota_max) == (1, 5000)
    assert answer.quota_used in (17, 18)
    assert answer.records["ft-1"]["OwnerId"] == org.users["ann"]


async def test_two_hundred_records_in_one_request(org, crm):
    outcomes = await write(crm(), *(outgoing(n) for n in range(200)))
    assert len(outcomes) == len(org.leads()) == 200
    assert len(org.writes()) == 1


async def test_leads_of_an_account_carry_its_key(org, crm):
    destination = crm(account_lookup="Account__r.Fairturn_Key__c")
    outcomes = await write(destination, outgoing(1, account=7, account_key="domain:acme.com"))
    assert isinstance(outcomes[0], Written)
    assert org.leads()["ft-1"]["Account__c"] is not None


async def test_an_account_that_the_crm_does_not_have_costs_one_more_call_once(org, crm):
    """The person is written without it; the key is remembered, so that the next lead costs no second call."""
    destination = crm(account_lookup="Account__r.Fairturn_Key__c")
    known = outgoing(1, account=7, account_key="domain:acme.com")
    answer = await destination.write(batch(known, outgoing(2, account=8, account_key="domain:nobody.com")))
    assert all(isinstance(one, Written) for one in answer.outcomes)
    assert answer.calls == 2
    assert "Account__r" not in answer.records["ft-2"]
    leads = org.leads()
    assert leads["ft-1"]["Account__c"] is not None
    assert leads["ft-2"].get("Account__c") is None
    answer = await destination.write(batch(outgoing(3, account=8, account_key="domain:nobody.com")))
    assert answer.calls == 1


async def test_an_account_id_that_the_crm_does_not_have_does_not_cost_the_lead(org, crm):
    """A source named an account that was merged away or never was: the person is written without it."""
    destination = crm(account_lookup="Account__r.Fairturn_Key__c")
    gone = {"crm_account_id": "001000000000001"}
    answer = await destination.write(
        batch(*(outgoing(n, fields=outgoing(n).fields | gone) for n in (1, 2)), outgoing(3))
    )
    assert all(isinstance(one, Written) for one in answer.outcomes)
    assert answer.calls == 2
    assert org.leads()["ft-1"].get("Account__c") is None
    again = await destination.write(batch(outgoing(4, fields=outgoing(4).fields | gone)))
    assert again.calls == 1


async def test_an_owner_id_that_is_nobodys_is_the_owners_fault_not_the_accounts(org, crm):
    org.users["nobody"] = "005000000000001"
    destination = crm(account_lookup="Account__r.Fairturn_Key__c")
    there = {"account": 7, "account_key": "domain:acme.com"}
    (refused,) = await write(destination, outgoing(1, owner="nobody", **there))
    assert isinstance(refused, Refused)
    assert (refused.code, refused.owner_fault) == ("INVALID_CROSS_REFERENCE_KEY", True)
    await write(destination, outgoing(2, **there))
    assert org.leads()["ft-2"]["Account__c"] is not None


async def test_shadow_needs_no_login(org, crm):
    destination = crm(secret="wrong")
    assert destination.draft([outgoing(1)])["ft-1"]["LastName"] == "Lead 1"
    assert org.get("/summary")["token_requests"] == 0


# ---- rows -------------------------------------------------------------------------------------------------------


async def test_one_bad_row_fails_alone_case_89(org, crm):
    """Case 89: row 57 of 100 has an address that the CRM refuses; 99 are written."""
    records = [outgoing(n) for n in range(100)]
    records[57] = outgoing(57, fields={"last_name": "X", "company": "Y", "email": "a@b"})
    outcomes = await write(crm(), *records)
    refused = [one for one in outcomes if not isinstance(one, Written)]
    assert len(refused) == 1
    assert isinstance(refused[0], Refused)
    assert (refused[0].key, refused[0].code) == ("ft-57", "INVALID_EMAIL_ADDRESS")
    assert len(org.leads()) == 99


async def test_one_unreadable_row_does_not_spoil_the_request_case_89(org, crm):
    """Case 89: the CRM answers 400 to all 100, because one value has the wrong type. About 2·log2(100) more calls."""
    records = [outgoing(n) for n in range(100)]
    records[57] = outgoing(57, fields={"last_name": 5, "company": "Y", "email": "x@y.com"})
    answer = await crm().write(batch(*records))
    bad = [one for one in answer.outcomes if not isinstance(one, Written)]
    assert [one.key for one in bad] == ["ft-57"]
    assert isinstance(bad[0], Refused)
    assert answer.calls <= 1 + 2 * 7
    assert len(org.leads()) == 99


async def test_a_fault_of_the_mapping_does_not_cost_a_call_per_record(org, crm):
    records = [outgoing(n, fields={"last_name": 5, "company": "Y"}) for n in range(200)]
    answer = await crm().write(batch(*records))
    assert answer.calls <= 20
    assert not any(isinstance(one, Written) for one in answer.outcomes)
    assert len(answer.outcomes) == 200


async def test_an_inactive_owner_is_the_owners_fault_case_96(org, crm):
    """Case 96: row 3 of 5; the other four are written, and it is known which."""
    records = [outgoing(n) for n in range(5)]
    records[3] = outgoing(3, owner="gone")
    outcomes = await write(crm(), *records)
    refused = outcomes[3]
    assert isinstance(refused, Refused)
    assert (refused.code, refused.owner_fault) == ("INACTIVE_OWNER_OR_USER", True)
    assert sorted(org.leads()) == ["ft-0", "ft-1", "ft-2", "ft-4"]


async def test_a_rep_without_an_id_is_told_before_anything_is_sent(org, crm):
    outcomes = await write(crm(), outgoing(1, owner="idless"), outgoing(2))
    assert isinstance(outcomes[0], Refused)
    assert "reps.idless.ids" in outcomes[0].message
    assert not outcomes[0].owner_fault
    assert isinstance(outcomes[1], Written)


async def test_held_leads_go_to_their_queue(org, crm):
    await write(crm(), outgoing(1, owner=org.queue, owner_kind="raw"))
    assert org.leads()["ft-1"]["OwnerId"] == org.queue


async def test_a_converted_lead_is_refused_for_good_case_93(org, crm):
    destination = crm()
    await write(destination, outgoing(1))
    org.post("/edit", {"key": {"field": "Fairturn_Id__c", "value": "ft-1"}, "fields": {"IsConverted": True}})
    outcomes = await write(destination, outgoing(1, fields={"city": "Kiel", "last_name": "x", "company": "y"}))
    assert isinstance(outcomes[0], Refused)
    assert outcomes[0].code == "CANNOT_UPDATE_CONVERTED_LEAD"


async def test_locked_rows_come_later_case_78(org, crm):
    """Case 78: only the failed rows, and not for the whole destination."""
    org.faults({"kind": "lock", "on": "write", "nth": [1], "rows": 2})
    outcomes = await write(crm(), *(outgoing(n) for n in range(4)))
    assert [type(one) for one in outcomes] == [Later, Later, Written, Written]
    assert {one.scope for one in outcomes[:2]} == {"record"}


async def test_a_value_too_long_is_cut_between_code_points_case_97(org, crm):
    """Case 97: a city of 55 letters, a company of 300, 40 emoji where 40 characters fit: written, not dead."""
    fields = {
        "last_name": "X",
        "company": "c" * 300,
        "city": "\N{GRINNING FACE}" * 40,
        "email": "x@y.com",
    }
    outcomes = await write(crm(), outgoing(1, fields=fields))
    assert isinstance(outcomes[0], Written)
    assert org.leads()["ft-1"]["City"] == "\N{GRINNING FACE}" * 20


# ---- requests ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ({"kind": "unavailable"}, Later),
        ({"kind": "bad_gateway"}, Unknown),
        ({"kind": "bad_gateway", "commit": True}, Unknown),
        ({"kind": "server_error", "commit": True}, Unknown),
        ({"kind": "gateway_timeout", "commit": True}, Unknown),
        ({"kind": "reset_before"}, Unknown),
        ({"kind": "reset_after"}, Unknown),
        ({"kind": "silent"}, Unknown),
        ({"kind": "silent", "commit": True}, Unknown),
        ({"kind": "broken"}, Unknown),
        ({"kind": "daily_limit"}, Later),
        ({"kind": "concurrent_limit"}, Later),
        ({"kind": "storage_full"}, Later),
    ],
)
async def test_a_request_that_fails_is_never_success_and_never_the_records_fault_case_91(org, crm, fault, expected):
    """Case 91: whether the write landed or not, the same upsert afterwards leaves one record."""
    destination = crm()
    org.faults(fault | {"on": "write", "nth": [1]})
    outcomes = await write(destination, outgoing(1), outgoing(2))
    assert [type(one) for one in outcomes] == [expected, expected]
    org.faults()
    assert all(isinstance(one, Written) for one in await write(destination, outgoing(1), outgoing(2)))
    assert sorted(org.leads()) == ["ft-1", "ft-2"]


async def test_three_limits_three_answers_case_115(org, crm):
    """Case 115: told apart by the message; nobody's credentials are doubted."""
    destination = crm()
    org.faults({"kind": "daily_limit", "on": "write"})
    (daily,) = await write(destination, outgoing(1))
    org.faults({"kind": "concurrent_limit", "on": "write"})
    (concurrent,) = await write(destination, outgoing(1))
    assert isinstance(daily, Later)
    assert isinstance(concurrent, Later)
    assert (daily.scope, daily.after) == ("destination", 900)
    assert (concurrent.scope, concurrent.after) == ("destination", 5)
    assert org.get("/summary")["token_requests"] == 1


async def test_some_rows_missing_are_unknown_case_86(org, crm):
    org.faults({"kind": "silent", "on": "write", "rows": 2, "commit": True})
    outcomes = await write(crm(), *(outgoing(n) for n in range(3)))
    assert [type(one) for one in outcomes] == [Written, Written, Unknown]


async def test_no_answer_is_unknown_within_the_time_out(org, crm):
    org.faults({"kind": "hang", "on": "write", "seconds": 10_000})
    async with asyncio.timeout(8):
        (outcome,) = await write(crm(request_timeout="1s"), outgoing(1))
    assert isinstance(outcome, Unknown)
    org.post("/release", {})


async def test_nobody_there_is_told_apart_from_no_answer(org, crm):
    with pytest.raises(DestinationError, match="no connection"):
        await write(crm(url="http://127.0.0.1:9"), outgoing(1))


# ---- the session ------------------------------------------------------------------------------------------------


async def test_an_expired_session_is_renewed_once_and_the_header_is_kept_case_115(org, crm):
    destination = crm()
    await write(destination, outgoing(1))
    org.post("/revoke", {})
    assert isinstance((await write(destination, outgoing(2)))[0], Written)
    assert org.get("/summary")["token_requests"] == 2
    headers = [{name.lower(): value for name, value in row["headers"].items()} for row in org.writes()]
    assert {row["sforce-auto-assign"] for row in headers} == {"FALSE"}


async def test_a_session_that_is_always_refused_is_no_loop(org, crm):
    org.faults({"kind": "expired_session", "on": "write"})
    (outcome,) = await write(crm(), outgoing(1))
    assert isinstance(outcome, Later)
    assert outcome.scope == "destination"
    assert len(org.writes()) == 2


async def test_one_login_for_all_who_wait_case_116(org, crm):
    """Case 116: five requests meet an expired session at once; one renewal, no record hurt."""
    destination = crm()
    await write(destination, outgoing(0))
    org.post("/latency", {"token": 11, "fixed": 0.5})
    org.post("/revoke", {})
    answers = await asyncio.gather(*(write(destination, outgoing(n)) for n in range(5)))
    assert all(isinstance(outcomes[0], Written) for outcomes in answers)
    assert org.get("/summary")["token_requests"] == 2


async def test_an_outage_of_the_login_does_not_spoil_the_credentials_case_116(org, crm):
    destination = crm()
    org.faults({"kind": "unavailable", "on": "token", "nth": [1]})
    with pytest.raises(DestinationError) as caught:
        await write(destination, outgoing(1))
    assert not isinstance(caught.value, LoginRefused)
    assert isinstance((await write(destination, outgoing(1)))[0], Written)


async def test_refused_credentials_say_what_to_do(org, crm):
    with pytest.raises(LoginRefused, match="invalid client credentials"):
        await write(crm(secret="wrong"), outgoing(1))
    assert len(org.writes()) == 0


async def test_another_org_is_never_written_to(org, crm):
    destination = crm(org="00D000000000001")
    with pytest.raises(WrongOrg, match="Nothing was written"):
        await write(destination, outgoing(1))
    assert org.writes() == []


async def test_the_org_is_known_from_the_login(org, crm):
    destination = crm()
    assert await destination.org() == org.get("/summary")["org"]
    assert isinstance((await write(crm(org=org.get("/summary")["org"][:15]), outgoing(1)))[0], Written)


@pytest.mark.parametrize(
    ("identity", "org_id"),
    [
        ("https://login.salesforce.com/id/00DXX0000000001/005XX000000001AAA", "00DXX00000000012AA"),
        ("https://login.salesforce.com/id/00DXX0000000001MAA/005XX000000001AAA", "00DXX0000000001MAA"),
        ("https://login.salesforce.com/id/", None),
        ("https://login.salesforce.com/00DXX0000000001MAA", None),
        (None, None),
        (7, None),
    ],
)
def test_org_of(identity, org_id):
    assert org_of(identity) == org_id


# ---- secrets and addresses --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "reset_before", "on": "any"},
        {"kind": "unavailable", "on": "token"},
        {"kind": "expired_session", "on": "write"},
        {"kind": "bad_gateway", "on": "write"},
        None,
    ],
)
async def test_secrets_are_nowhere_case_123(org, crm, caplog, fault):
    """Case 123: not in errors, outcomes, logs at debug level, or reprs."""
    caplog.set_level(logging.DEBUG)
    destination = crm(secret="SECRET123")
    if fault is not None:
        destination = crm()
        org.faults(fault)
    told = [repr(destination), repr(vars(destination))]
    try:
        told.append(repr(await destination.write(batch(outgoing(1)))))
    except DestinationError as error:
        told += [str(error), repr(error), repr(error.__cause__), repr(error.__context__)]
    token = "Bearer "
    text = "\n".join([*told, caplog.text])
    assert "SECRET123" not in text
    assert "crmsim-secret" not in text
    assert token not in text


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "169.254.169.254", "10.0.0.1", "192.168.1.1", "0.0.0.0", "::1", "::ffff:127.0.0.1", "fe80::1%eth0",
     "fc00::1", "100.64.0.1", "2002:7f00:1::", "224.0.0.1", "nonsense",
     "64:ff9b::169.254.169.254", "64:ff9b:1::a9fe:a9fe", "::169.254.169.254", "::127.0.0.1", "::ffff:0:127.0.0.1",
     "fec0::1", "192.0.0.192"],
)  # fmt: skip
def test_private_addresses_case_122(address):
    assert not is_public(address)


def test_public_addresses():
    assert is_public("13.110.1.1")
    assert is_public("2600:1f18::1")
    assert is_public("64:ff9b::13.110.1.1")


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/",
        "https://user@good.test@127.0.0.1/",
        "file:///etc/passwd",
        "https://u:SECRET123@host/",
        "",
    ],
)
def test_addresses_that_no_destination_may_have_case_122(org, url):
    with pytest.raises(DestinationError) as caught:
        org.destination(url=url, allow_private=False)
    assert "SECRET123" not in str(caught.value)


@pytest.mark.parametrize("host", ["localhost", "0x7f000001", "2130706433", "[::ffff:127.0.0.1]", "127.0.0.1"])
async def test_a_name_that_leads_to_a_private_address_is_not_connected_to_case_122(org, crm, host):
    """Case 122: judged where the connection is made, so that a second look-up cannot lead elsewhere."""
    port = org.url.rpartition(":")[2]
    before = org.get("/summary")["requests"]
    destination = crm(url=f"https://{host}:{port}", allow_private=False)
    with pytest.raises(DestinationError, match=r"no public address|does not resolve|no connection"):
        await destination.write(batch(outgoing(1)))
    assert org.get("/summary")["requests"] == before
