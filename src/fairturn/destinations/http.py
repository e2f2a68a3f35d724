"""HTTP towards a CRM: one request, one answer, nothing retried, nobody redirected, no private address reached.

Proxies of the environment (HTTPS_PROXY) are not used: a request that carries a CRM's token goes where the settings
say. Certificates are checked against the system's roots, or SSL_CERT_FILE.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import httpcore2
import httpx2

from fairturn.errors import DestinationError

CONNECT = 10.0  # seconds for name, TCP and TLS
UNTRUSTED = "CERTIFICATE_VERIFY_FAILED"  # OpenSSL's word, in what httpx2 says
LONGEST_PAUSE = 3_600.0  # seconds of a Retry-After that is believed; some are asked for more
LARGEST = 32 * 1_048_576  # bytes of an answer

# Python calls these global: the IETF's own block, in which one cloud answers with its credentials (192.0.0.192).
PROTOCOLS = ipaddress.IPv4Network("192.0.0.0/24")
# What IANA has given out of IPv6. Outside are forms of IPv4 addresses (::127.0.0.1) and what was never in use.
UNICAST = ipaddress.IPv6Network("2000::/3")
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")  # a gateway's way to any IPv4 address; DNS64 answers with it


class NotSent(DestinationError):
    """The request did not reach the CRM: it may be sent again without a thought."""


class NoAnswer(DestinationError):
    """The request may have reached the CRM, and may have been carried out."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back, whole."""

    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes


class PinnedBackend(httpcore2.AsyncNetworkBackend):
    """Connects to the very address that was judged, so that a name cannot resolve to another one afterwards."""

    def __init__(self, *, allow_private: bool) -> None:
        self._allow_private = allow_private
        self._plain = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        trouble: Exception | None = None
        for address in await self._addresses(host, port):
            try:
                return await self._plain.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                trouble = error
        raise trouble or httpcore2.ConnectError(f"{host} has no address")

    async def _addresses(self, host: str, port: int) -> list[str]:
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise httpcore2.ConnectError(f"{host} does not resolve: {error}") from error
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        if not self._allow_private and (private := [one for one in addresses if not is_public(one)]):
            raise httpcore2.ConnectError(
                f"{host} resolves to {private[0]}, no public address. Set allow_private = true if that is meant"
            )
        return addresses

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def is_public(address: str) -> bool:
    """Loopback, private, link-local (169.254.169.254), shared, reserved, and what leads to them from IPv6, are not."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if parsed.is_multicast or not parsed.is_global:
        return False
    if isinstance(parsed, ipaddress.IPv4Address):
        return parsed not in PROTOCOLS
    within = parsed.sixtofour
    if parsed in NAT64:
        within = ipaddress.IPv4Address(int(parsed) & 0xFFFF_FFFF)
    elif parsed not in UNICAST:
        return False
    return within is None or is_public(str(within))


class PinnedTransport(httpx2.AsyncHTTPTransport):
    """httpx2's own transport offers no way to say where a name may lead; its pool does."""

    def __init__(self, *, allow_private: bool, connections: int) -> None:
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=_roots(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")),
            max_connections=connections,
            max_keepalive_connections=connections,
            keepalive_expiry=20.0,
            retries=0,
            network_backend=PinnedBackend(allow_private=allow_private),
        )


@lru_cache(maxsize=4)
def _roots(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    """One for all clients of a process, and for each that the environment names: it takes 40 ms of a core to read."""
    return httpx2.create_ssl_context()


def open_client(*, timeout: float, allow_private: bool, connections: int) -> httpx2.AsyncClient:
    """timeout: seconds of silence while reading. The caller bounds the whole exchange besides."""
    return httpx2.AsyncClient(
        transport=PinnedTransport(allow_private=allow_private, connections=connections),
        timeout=httpx2.Timeout(timeout, connect=min(CONNECT, timeout), pool=timeout),
        follow_redirects=False,
        trust_env=False,
        headers={"User-Agent": "fairturn"},
    )


async def exchange(client: httpx2.AsyncClient, request: httpx2.Request, seconds: float) -> Reply:
    """Raises NotSent or NoAnswer. Their words name the host and the kind of trouble, never headers or bodies."""
    host = request.url.host
    try:
        async with asyncio.timeout(seconds):
            return await _whole(client, request)
    except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol) as error:
        own = ". An authority of your own: SSL_CERT_FILE names its certificate" if UNTRUSTED in words(error) else ""
        raise NotSent(f"no connection to {host}: {words(error)}{own}") from error
    except (httpx2.TimeoutException, TimeoutError) as error:
        raise NoAnswer(f"{host} did not answer within {seconds:.0f} s") from error
    except httpx2.HTTPError as error:
        raise NoAnswer(f"the connection to {host} broke before the answer: {words(error)}") from error


def words(error: Exception) -> str:
    return str(error) or type(error).__name__


def retry_after(headers: Mapping[str, str], most: float = LONGEST_PAUSE) -> float | None:
    """Seconds. Neither CRM needs it: a gateway before it may send one. Dates and nonsense are passed over."""
    text = headers.get("retry-after", "").strip()
    return min(float(text), most) if text.isascii() and text.isdigit() and len(text) < 9 else None


async def _whole(client: httpx2.AsyncClient, request: httpx2.Request) -> Reply:
    answer = await client.send(request, stream=True)
    try:
        parts, size = [], 0
        async for part in answer.aiter_bytes():
            size += len(part)
            if size > LARGEST:
                raise NoAnswer(f"the answer of {request.url.host} is larger than {LARGEST // 1_048_576} MiB")
            parts.append(part)
    finally:
        await answer.aclose()
    return Reply(answer.status_code, {name.lower(): value for name, value in answer.headers.items()}, b"".join(parts))


def base_of(text: str | None, key: str, *, allow_private: bool) -> httpx2.URL:
    """The scheme and host of a configured URL. Raises DestinationError, which names the setting `key`."""
    try:
        url = httpx2.URL(text or "")
    except (httpx2.InvalidURL, ValueError):
        raise DestinationError(f"{key} is no URL. Write your CRM's address: https://acme.my.salesforce.com") from None
    if url.scheme not in (("https", "http") if allow_private else ("https",)) or not url.host:
        raise DestinationError(f"{key} must be an https:// address (http only with allow_private = true)")
    if url.userinfo:
        raise DestinationError(f"{key} must not hold a user name or password")
    return url.copy_with(path="/", query=None, fragment=None)
