"""Who is in the tables, and who comes: plain arithmetic on a lead's number, so that one of long ago is known again."""

from __future__ import annotations

from bisect import bisect
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate
from typing import Final, NamedTuple

from bench.leads import COMPANIES, FREE, FREE_SHARE, SOURCE, body
from fairturn.decide.matching import digest

LEADS_PER_COMPANY: Final = 5  # a company more for so many leads; their sizes follow Zipf's law
ROUND: Final = 2**64


class Came(NamedTuple):
    """One request of one event, and what is made of it before it is stored."""

    number: int
    body: bytes
    delivery: bytes
    event: bytes


class Person(NamedTuple):
    """What the settings of bench/settings.py make of a lead."""

    number: int
    company: int
    email: str
    mailbox: str  # the address without what does not tell mailboxes apart: dots in Gmail's
    key: bytes
    account: str | None
    employees: int
    country: str
    pool: str


@lru_cache(maxsize=4)
def weights(base: int) -> list[float]:
    """Of the companies that so many leads come from, added up, to 1."""
    parts = list(accumulate(1 / rank for rank in range(1, max(COMPANIES, base // LEADS_PER_COMPANY) + 1)))
    return [part / parts[-1] for part in parts]


def drawn(number: int, base: int) -> tuple[int, bool]:
    """The company of lead `number`, and whether it writes from free mail. `base`: leads in the tables."""
    mixed = (number + 1) * 0x9E3779B97F4A7C15 % ROUND  # splitmix64
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 % ROUND
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB % ROUND
    mixed ^= mixed >> 31
    return bisect(weights(base), (mixed >> 32) / 2**32), (mixed & 0xFFFFFFFF) / 2**32 < FREE_SHARE


def first_of(number: int, base: int) -> bytes:
    """The body by which the lead comes."""
    company, alone = drawn(number, base)
    return body(number, company, alone=alone)


def again_of(number: int, base: int, turn: int = 0) -> bytes:
    """The body of a later event of the same person, another for each `turn`."""
    first = first_of(number, base).replace(b'"submission":"s-%d"' % number, b'"submission":"u-%d-%d"' % (number, turn))
    return first.replace(b'"campaign":"spring"', b'"campaign":"renewal-%d"' % turn)


def came(number: int, content: bytes, submission: bytes) -> Came:
    source = SOURCE.encode()
    delivery = blake2b(source + b"\0" + content, digest_size=16).digest()
    event = blake2b(source + b'\0key\0"' + submission + b'"', digest_size=16).digest()
    return Came(number, content, delivery, event)


def person(number: int, base: int, large: str, everyone: str, countries: tuple[str, ...]) -> Person:
    company, alone = drawn(number, base)
    domain = FREE[number % len(FREE)] if alone else f"company-{company}.com"
    email = f"lead.{number}@{domain}"
    mailbox = email.replace("lead.", "lead") if domain == "gmail.com" else email
    employees = 1000 if company % 5 == 0 and company >= 50 else 5 + company % 400
    return Person(
        number,
        company,
        email,
        mailbox,
        digest("email", mailbox),
        None if alone else f"domain:{domain}",
        employees,
        countries[number % len(countries)],
        large if employees >= 500 else everyone,
    )
