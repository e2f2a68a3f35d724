"""Who we are to HubSpot: tokens that end, tokens that are refused, the account that answers, and what an echo tells."""

import logging

import pytest

from fairturn.config import Destination
from fairturn.decide.verdicts import needs_a_person
from fairturn.destinations.hubspot import open_hubspot
from fairturn.destinations.hubspot.auth import APART, TokenDoubted
from fairturn.errors import DestinationError, LoginRefused, WrongOrg
from fairturn.model import Later, Refused, Written
from tests.destinations.hubspot_simulated import OAUTH, PRIVATE
from tests.destinations.test_hubspot import batch, outgoing
from tests.destinations.test_salesforce_hostile import http, server


@pytest.fixture
async def crm(hub):
    made = []

    def make(*args, **changes):
        made.append(hub.destination(*args, **changes))
        return made[-1]

    yield make
    for destination in made:
        await destination.close()


def tokens(hub):
    return len([row for row in hub.get("/requests")["requests"] if row["path"] == "/oauth/v1/token"])


async def test_the_account_that_answers_is_told(hub, crm):
    assert await crm().org() == "62515"
    assert await crm(OAUTH).org() == "62515"
    assert await crm(org="62515", sandbox=True).org() == "62515"


async def test_another_account_than_the_one_pinned_is_never_written_to(hub, crm):
    for changes in ({"org": "4711"}, {"sandbox": False}):
        destination = crm(**changes)
        with pytest.raises(WrongOrg, match="Nothing was written"):
            await destination.org()
        with pytest.raises(WrongOrg):
            await destination.write(batch(outgoing(1)))
    assert not hub.contacts()


async def test_a_token_that_is_refused_needs_a_person(hub, crm):
    """A token that lasts, at the second refusal in a row."""
    destination = crm({"token": "pat-na1-wrong"})
    with pytest.raises(TokenDoubted, match="tried once more") as caught:
        await destination.org()
    assert (caught.value.after, "pat-na1-wrong" in str(caught.value)) == (10.0, False)
    later(destination)
    with pytest.raises(LoginRefused, match=r"Check token, of the private app"):
        await destination.org()
    with pytest.raises(LoginRefused, match=r"BAD_REFRESH_TOKEN.*refresh_token"):
        await crm({**OAUTH, "refresh_token": "revoked"}).org()


def later(destination):
    """As if so much time had passed that a refusal is no more of requests that were out together."""
    login = destination._tools.door._login
    login._doubted -= APART + 1.0


def stopped(answer):
    [found] = {(type(one), one.scope, one.after) for one in answer.outcomes}
    return found


async def test_a_private_token_that_is_taken_back_is_not_asked_for_again(hub, crm):
    """One request finds it out, a second one ten seconds later is sure of it: from then on a person is waited for."""
    destination = crm()
    await destination.org()
    hub.post("/revoke", {"token": PRIVATE["token"]})
    before = len(hub.requests())
    answer = await destination.write(batch(outgoing(1), outgoing(2)))
    assert stopped(answer) == (Later, "destination", 10.0)
    assert not needs_a_person(answer)
    assert len(hub.requests()) == before + 1
    later(destination)
    answer = await destination.write(batch(outgoing(1), outgoing(2)))
    assert stopped(answer) == (Later, "destination", 300.0)
    assert needs_a_person(answer)
    assert len(hub.requests()) == before + 2


async def test_one_refusal_of_a_private_token_is_a_pause_of_seconds(hub, crm):
    """Whatever it met: a write, a look-up, two of them at once. What goes well in between starts the count anew."""
    destination = crm()
    await destination.org()
    for _ in range(3):
        hub.faults({"kind": "expired_token", "path": "/batch/", "times": 2})
        answer = await destination.write(batch(outgoing(1)))
        assert stopped(answer) == (Later, "destination", 10.0)
        with pytest.raises(DestinationError) as caught:
            await destination.look_up(["somebody@acme.test"], 5.0)
        assert caught.value.after == 10.0
        later(destination)
        [one] = (await destination.write(batch(outgoing(1)))).outcomes
        assert isinstance(one, Written)


async def test_a_token_is_renewed_before_its_half_hour_ends(hub, crm):
    """It says 1,800 s. One that says 61 s is used for 5 s, one that is over is renewed without a 401."""
    hub.switch(token_seconds=61.0)
    destination = crm(OAUTH)
    await destination.org()
    assert tokens(hub) == 1
    login = destination._tools.door._login
    assert login._session is not None
    login._session = type(login._session)(login._session.token, 0.0)
    assert isinstance((await destination.write(batch(outgoing(1)))).outcomes[0], Written)
    assert tokens(hub) == 2
    assert not [row for row in hub.requests() if row["status"] == 401]


async def test_a_token_that_ran_out_is_renewed_once_in_the_same_write(hub, crm):
    """Case 109. The rows are written, and an OAuth app is told no daily limit."""
    destination = crm(OAUTH)
    await destination.org()
    hub.post("/revoke", {})
    answer = await destination.write(batch(*(outgoing(n) for n in range(5))))
    assert all(isinstance(one, Written) for one in answer.outcomes)
    assert tokens(hub) == 2
    assert (answer.quota_max, answer.calls) == (None, 2)
    assert len(hub.contacts()) == 5


async def test_a_login_that_is_refused_again_and_again_is_no_loop(hub, crm):
    destination = crm(OAUTH)
    await destination.org()
    hub.faults({"kind": "expired_token", "path": "/batch/upsert"})
    before = len(hub.requests())
    [one] = (await destination.write(batch(outgoing(1)))).outcomes
    assert isinstance(one, Later)
    assert (one.scope, one.code) == ("destination", "EXPIRED_AUTHENTICATION")
    assert len(hub.requests()) == before + 2
    assert tokens(hub) == 2


async def test_a_refresh_token_that_was_taken_back_in_the_middle_stops_the_destination(hub, crm):
    destination = crm(OAUTH)
    await destination.org()
    hub.post("/revoke", {})
    hub.post("/revoke", {"token": OAUTH["refresh_token"]})
    [one] = (await destination.write(batch(outgoing(1)))).outcomes
    assert isinstance(one, Later)
    assert (one.scope, one.code) == ("destination", "LoginRefused")


async def test_a_login_endpoint_that_is_down_leaves_the_credentials_as_good_as_they_were(hub, crm):
    hub.faults({"kind": "bad_gateway", "on": "token", "times": 1})
    destination = crm(OAUTH)
    with pytest.raises(DestinationError) as caught:
        await destination.org()
    assert not isinstance(caught.value, LoginRefused)
    assert await destination.org() == "62515"


async def test_without_the_scope_for_owners_ids_still_work(hub, crm):
    hub.faults({"kind": "missing_scopes", "path": "/crm/v3/owners"})
    destination = crm()
    await destination.org()
    one, two = (await destination.write(batch(outgoing(1, "bob"), outgoing(2, "ann")))).outcomes
    assert isinstance(one, Written)
    assert two.code == "OWNERS_UNREAD"
    assert "crm.objects.owners.read" in two.message
    hub.contact(email="there@acme.test", owner="Gone Girl")
    [person] = (await destination.look_up(["there@acme.test"], 5.0)).people
    assert person.owner is not None
    assert person.owner.active  # not known to be inactive: nobody's lead is taken


async def test_a_limit_of_a_look_up_is_no_answer(hub, crm):
    destination = crm()
    await destination.org()
    for fault in ("burst_limit", "bad_gateway", "silent", "broken", "missing_scopes"):
        hub.faults({"kind": fault, "path": "/batch/read", "times": 1})
        with pytest.raises(DestinationError):
            await destination.look_up(["somebody@acme.test"], 5.0)
    assert (await destination.look_up(["somebody@acme.test"], 5.0)).people == ()


async def test_our_secrets_are_in_no_error_log_or_repr_whatever_is_echoed(caplog):
    secret = "pat-na1-0/SECRET+123"
    echo = {"status": "error", "message": f"no such token {secret}", "category": "INVALID_AUTHENTICATION"}

    def answer(line, head, body):
        assert secret in head
        if "/account-info/" in line:
            return http(200, {"portalId": 1, "accountType": "STANDARD"})
        return http(200, {"results": []}) if "/owners" in line else http(400, echo | {"category": "VALIDATION_ERROR"})

    caplog.set_level(logging.DEBUG)
    async with server(answer) as (url, _):
        given = {"type": "hubspot", "url": url, "allow_private": True, "map": {"email": "email"}}
        settings = Destination.model_validate(given)
        destination = open_hubspot("hub", settings, {}, token=secret)
        try:
            await destination.org()
            [one] = (await destination.write(batch(outgoing(1, None)))).outcomes
        finally:
            await destination.close()
    assert isinstance(one, Refused)
    assert "***" in one.message
    tools = destination._tools
    told = [repr(one), repr(destination), repr(tools), repr(tools.door._login), caplog.text]
    told += [repr(tools.door._login._credentials), repr(tools.door._login._session)]
    assert not [text for text in told if "SECRET" in text]
