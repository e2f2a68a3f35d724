"""Answers that no simulator of an honest CRM gives: echoes of our secrets, redirects, addresses of other machines."""

import asyncio
import contextlib
from urllib.parse import quote

import httpx2
import orjson
import pytest

from fairturn.config import Destination, Rep
from fairturn.destinations.http import open_client
from fairturn.destinations.salesforce import Credentials, open_salesforce
from fairturn.destinations.salesforce.auth import Login
from fairturn.errors import DestinationError, LoginRefused
from fairturn.model import Batch, Later, Refused
from tests.destinations.test_salesforce import NOW, outgoing


@contextlib.asynccontextmanager
async def server(answer):
    """`answer(line, head, body) -> bytes` of a whole HTTP answer. Yields its URL and the request lines it saw."""
    seen = []

    async def serve(reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next((int(line[15:]) for line in head.split("\r\n") if line.lower().startswith("content-length:")), 0)
        body = await reader.readexactly(length)
        seen.append(head.split("\r\n")[0])
        writer.write(answer(seen[-1], head, body))
        await writer.drain()
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}", seen


def http(status, body, *headers):
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(raw)}", "Connection: close", *headers, "", ""]
    return "\r\n".join(lines).encode() + raw


def token(url="", secret="TOKEN123"):
    identity = "https://login.salesforce.com/id/00D000000000001/005000000000001"
    return http(200, {"access_token": secret, "instance_url": url, "id": identity})


@contextlib.asynccontextmanager
async def salesforce(url, secret="SECRET123", **changes):
    given = {
        "type": "salesforce",
        "url": url,
        "allow_private": True,
        "map": {"Email": "email"},
        "request_timeout": "5s",
    }
    settings = Destination.model_validate(given | changes)
    made = open_salesforce(
        "crm",
        settings,
        {"ann": Rep(name="Ann", ids={"crm": "005000000000001"})},
        client_id="ID123",
        client_secret=secret,
    )
    yield made
    await made.close()


async def test_secrets_that_the_crm_echoes_are_not_kept_case_123():
    """Case 123: the words of a refusal are stored, shown and logged."""

    def answer(line, head, _):
        if "oauth2" in line:
            return token(
                f"http://{next(x[6:] for x in head.split(chr(13) + chr(10)) if x.lower().startswith('host:'))}"
            )
        return http(400, [{"errorCode": "BAD", "message": f"you sent {head} with SECRET123 of ID123"}])

    async with server(answer) as (url, _), salesforce(url) as destination:
        (outcome,) = (await destination.write(Batch(1, "crm", (outgoing(1),), NOW))).outcomes
    assert isinstance(outcome, Refused)
    assert "you sent" in outcome.message
    assert not [secret for secret in ("TOKEN123", "SECRET123", "ID123") if secret in outcome.message]


async def test_secrets_that_the_login_echoes_are_not_kept_case_123():
    echo = http(400, {"error": "invalid_client", "error_description": "no such secret: SECRET123 of ID123"})
    async with server(lambda *_: echo) as (url, _), salesforce(url) as destination:
        with pytest.raises(LoginRefused, match="no such secret") as caught:
            await destination.org()
    assert "SECRET123" not in str(caught.value)
    assert "ID123" not in str(caught.value)


@pytest.mark.parametrize("secret", ["SECRET123", 'a/b+c="d\\e', "ünïcödé/9"])
async def test_secrets_that_are_echoed_in_another_spelling_are_not_kept_case_123(secret):
    """The header of the login, a form's spelling, a JSON text with escaped slashes."""
    seen = []

    def answer(line, head, _):
        header = next(x for x in head.split("\r\n") if x.lower().startswith("authorization"))
        seen.append(header.split()[-1])
        words = orjson.dumps(f"refused: {header} {quote(secret, safe='')} {secret}").replace(b"/", b"\\/")
        return http(400, b'{"error":"invalid_client","error_description":' + words + b"}")

    async with server(answer) as (url, _), salesforce(url, secret) as destination:
        with pytest.raises(LoginRefused, match="refused: ") as caught:
            await destination.org()
    for form in (secret, quote(secret, safe=""), *seen):
        assert form not in str(caught.value)


async def test_nobody_is_followed_to_another_address_case_122():
    """Case 122: a redirect of the login or of a write, to an address of the machine's own."""
    elsewhere = http(302, b"", "Location: http://127.0.0.1:1/steal")
    async with server(lambda *_: elsewhere) as (url, seen), salesforce(url) as destination:
        with pytest.raises(DestinationError):
            await destination.org()
        assert len(seen) == 1

    def answer(line, head, _):
        host = next(x[6:] for x in head.split("\r\n") if x.lower().startswith("host:"))
        return token(f"http://{host}") if "oauth2" in line else elsewhere

    async with server(answer) as (url, seen), salesforce(url) as destination:
        (outcome,) = (await destination.write(Batch(1, "crm", (outgoing(1),), NOW))).outcomes
        assert len(seen) == 2
    assert isinstance(outcome, Later)
    assert outcome.scope == "destination"


@pytest.mark.parametrize(
    "instance",
    [
        "http://acme.my.salesforce.com",
        "https://169.254.169.254",
        "https://127.0.0.1",
        "https://evil.test",
        "https://salesforce.com.evil.test",
        "https://evilsalesforce.com",
        "https://user:pw@acme.my.salesforce.com",
        "file:///etc/passwd",
        "nonsense",
    ],
)
async def test_a_token_goes_to_salesforce_only_case_122(instance):
    """Case 122: the token answer names an internal host."""
    client = open_client(timeout=1, allow_private=False, connections=1)
    login = Login(client, Credentials(httpx2.URL("https://acme.my.salesforce.com"), "ID", "S"), "crm")
    identity = "https://login.salesforce.com/id/00D000000000001/005000000000001"
    with pytest.raises(LoginRefused, match="nothing was sent there"):
        login._judge({"access_token": "T", "instance_url": instance, "id": identity})
    found = login._judge({"access_token": "T", "instance_url": "https://acme.my.salesforce.com", "id": identity})
    assert found.base.host == "acme.my.salesforce.com"
    assert "token" not in repr(found)
    await client.aclose()


@pytest.mark.parametrize(
    "body",
    [{}, {"access_token": "T"}, {"access_token": "T", "instance_url": "https://x.salesforce.com"}, [], "x", None],
)
async def test_a_login_answer_that_is_none(body):
    async with server(lambda *_: http(200, body)) as (url, _), salesforce(url) as destination:
        with pytest.raises(DestinationError):
            await destination.org()
