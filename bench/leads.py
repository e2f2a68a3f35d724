"""The leads of a measurement: people of companies whose sizes follow Zipf's law, and people with free mail.

Plain arithmetic on the lead's number, so that every run and every machine has the same ones.
"""

from __future__ import annotations

import hmac
from itertools import accumulate
from random import Random
from typing import Final

SECRET: Final = "bench-secret"  # noqa: S105  of a source that lives for one run
SOURCE: Final = "website"
COMPANIES: Final = 3000
FREE_SHARE: Final = 0.3
FREE: Final = ("gmail.com", "outlook.com", "yahoo.com", "web.de")
COUNTRIES: Final = ("DE", "US", "FR", "GB", "ES", "BR")


def requests(first: int, count: int, source: str = SOURCE) -> list[bytes]:
    """HTTP requests of leads number `first` and on, signed and ready to be written to a socket."""
    dice = Random(first)
    weights = list(accumulate(1 / rank for rank in range(1, COMPANIES + 1)))
    companies = dice.choices(range(COMPANIES), cum_weights=weights, k=count)
    free = [dice.random() < FREE_SHARE for _ in range(count)]
    return [
        request(body(first + place, company, alone=alone), source)
        for place, (company, alone) in enumerate(zip(companies, free, strict=True))
    ]


def body(number: int, company: int, *, alone: bool) -> bytes:
    domain = FREE[number % len(FREE)] if alone else f"company-{company}.com"
    # Large ones, whose people go to one rep, are not those that half of all leads come from.
    size = 1000 if company % 5 == 0 and company >= 50 else 5 + company % 400
    return (
        b'{"submission":"s-%d","email":"lead.%d@%b","first_name":"Ann","last_name":"Lee %d","company":"Company %d",'
        b'"employees":%d,"country":"%b","phone":"+1 202 555 %04d","utm":{"campaign":"spring"}}'
    ) % (
        number,
        number,
        domain.encode(),
        number,
        company,
        size,
        COUNTRIES[number % len(COUNTRIES)].encode(),
        number % 10_000,
    )


def request(content: bytes, source: str = SOURCE) -> bytes:
    signature = hmac.digest(SECRET.encode(), content, "sha256").hex().encode()
    return (
        b"POST /in/%b HTTP/1.1\r\nhost: 127.0.0.1\r\nuser-agent: bench\r\naccept: */*\r\n"
        b"content-type: application/json\r\nx-signature: sha256=%b\r\ncontent-length: %d\r\n\r\n%b"
    ) % (source.encode(), signature, len(content), content)
