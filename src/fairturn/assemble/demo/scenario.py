"""The burst as data: who writes, from which company, and what each system sends about them when.

Companies follow Zipf's law, as the customers of a real site do: a few send many people, most send one or two. The same
seed gives the same burst.
"""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import urlencode

import orjson

COMPANIES: Final = 120
ZIPF: Final = 0.8  # the exponent: the largest company sends 6 % of the people, the smallest 0.1 %
FREE: Final = 0.15  # of the people write from a free mailbox, and so belong to no company
JUNK: Final = 0.06  # of the leads, on top of them
FORGED: Final = 0.01
AGAIN: Final = 0.04  # of the events are delivered a second time
EARLY: Final = 0.03  # of the enrichments arrive before the form
COUNTRIES: Final = (
    ("Germany", "+49 30 901820"), ("Austria", "+43 1 534530"), ("France", "+33 1 709390"), ("Spain", "+34 91 78901"),
    ("United Kingdom", "+44 20 794600"), ("United States", "+1 415 555 0"), ("Canada", "+1 416 555 0"),
    ("Brazil", "+55 11 39990"),
)  # fmt: skip
COUNTRY_WEIGHTS: Final = (18, 4, 9, 5, 12, 40, 8, 4)
FIRST: Final = (
    "Anna", "Ben", "Chloé", "David", "Elena", "Felix", "Grace", "Hiro", "Inês", "Jack", "Karim", "Léa", "Marta",
    "Noah", "Olga", "Priya", "Quentin", "Rosa", "Samuel", "Tove", "Uma", "Viktor", "Wei", "Ximena", "Yusuf", "Zoë",
)  # fmt: skip
LAST: Final = (
    "Adler", "Brown", "Castillo", "Dubois", "Eriksen", "Fischer", "García", "Hansen", "Ito", "Jensen", "Kowalski",
    "Lindqvist", "Müller", "Nakamura", "Okafor", "Petrov", "Quinn", "Rossi", "Santos", "Tanaka", "Ueda", "Vogel",
    "Walker", "Xu", "Young", "Zimmermann",
)  # fmt: skip
NAMES: Final = (
    "Alder", "Bright", "Cedar", "Delta", "Ember", "Fjord", "Granite", "Harbour", "Iron", "Juniper", "Kestrel", "Lumen",
    "Meridian", "North", "Orchard", "Pioneer", "Quarry", "Ridge", "Summit", "Tidal",
)  # fmt: skip
TRADES: Final = ("Analytics", "Energy", "Foods", "Freight", "Health", "Robotics")
TITLES: Final = ("Head of Operations", "VP Sales", "Founder", "RevOps Manager", "CTO", "Marketing Lead", "Buyer")
FREE_MAIL: Final = ("gmail.com", "outlook.com", "gmx.de", "yahoo.com", "proton.me")
SIZES: Final = (8, 25, 60, 140, 320, 750, 2400, 9000)
SIZE_WEIGHTS: Final = (14, 20, 20, 16, 10, 9, 7, 4)
OWN: Final = "acme-software.com"
RIVAL: Final = "rival-crm.com"
JUNK_ADDRESSES: Final = (f"colleague{{}}@{OWN}", "test{}@example.com", "throwaway{}@mailinator.com", f"spy{{}}@{RIVAL}")

Kind = Literal["event", "again", "junk", "forged"]


@dataclass(frozen=True, slots=True)
class Company:
    name: str
    domain: str
    employees: int
    country: str
    phone: str


@dataclass(frozen=True, slots=True)
class Address:
    """Somebody, as they write themselves."""

    first: str
    last: str
    email: str
    company: Company  # without a name: a free mailbox


@dataclass(frozen=True, slots=True)
class Person:
    """A lead that must reach the CRM, and what its record must say in the end. None: whatever it says is right."""

    email: str  # lower case, as CRMs store it
    title: str | None
    score: float | None


@dataclass(frozen=True, slots=True)
class Post:
    """One webhook: `at` seconds after the start. `again` is a second delivery of the same bytes."""

    at: float
    source: str
    content_type: str
    body: bytes
    kind: Kind = "event"


@dataclass(frozen=True, slots=True)
class Scenario:
    companies: tuple[Company, ...]
    people: tuple[Person, ...]
    posts: tuple[Post, ...]  # by time
    addresses: tuple[Address, ...]  # of the people, in their order

    def count(self, kind: Kind) -> int:
        return sum(post.kind == kind for post in self.posts)


def scenario(leads: int, seconds: float, events: int, seed: int) -> Scenario:
    """`leads` people with `events` each (a form, then enrichment, then scores) within `seconds`, and some junk."""
    dice = random.Random(seed)
    known = companies(dice)
    weights = [1 / rank**ZIPF for rank in range(1, len(known) + 1)]
    people: list[Person] = []
    posts: list[Post] = []
    written: list[Address] = []
    spread = min(5.0, seconds / 3) if events > 1 else 0.0  # the events of one lead lie this close together
    for number, address in zip(range(leads), addresses(dice, known, weights), strict=False):
        start = dice.uniform(0, max(0.0, seconds - spread))
        person, mine = _lead(dice, number, address, start, spread, events)
        people.append(person)
        written.append(address)
        posts += mine
        posts += [
            Post(post.at + dice.uniform(0.05, 0.4) * spread, post.source, post.content_type, post.body, "again")
            for post in mine
            if dice.random() < AGAIN
        ]
    posts += _junk(dice, leads, seconds)
    return Scenario(known, tuple(people), tuple(sorted(posts, key=lambda post: post.at)), tuple(written))


def companies(dice: random.Random) -> tuple[Company, ...]:
    """Largest sender first."""
    names = [f"{name} {trade}" for name in NAMES for trade in TRADES][:COMPANIES]
    dice.shuffle(names)
    found = []
    for name in names:
        country, phone = dice.choices(COUNTRIES, COUNTRY_WEIGHTS)[0]
        size = dice.choices(SIZES, SIZE_WEIGHTS)[0]
        found.append(Company(name, f"{name.lower().replace(' ', '-')}.com", size, country, phone))
    return tuple(found)


def addresses(dice: random.Random, known: Sequence[Company], weights: Sequence[float]) -> Iterator[Address]:
    """People without end, no two of them one mailbox (dots mean nothing at gmail.com)."""
    taken: set[str] = set()
    while True:
        first, last = dice.choice(FIRST), dice.choice(LAST)
        if dice.random() < FREE:
            country, phone = dice.choices(COUNTRIES, COUNTRY_WEIGHTS)[0]
            company = Company("", dice.choice(FREE_MAIL), 1, country, phone)
        else:
            company = dice.choices(known, weights)[0]
        local = f"{ascii_letters(first)}.{ascii_letters(last)}"
        email, twin = f"{local}@{company.domain}", 2
        while email.replace(".", "") in taken:
            email, twin = f"{local}{twin}@{company.domain}", twin + 1
        taken.add(email.replace(".", ""))
        yield Address(first, last, email, company)


def ascii_letters(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    return plain.encode("ascii", "ignore").decode().lower()


def _lead(
    dice: random.Random, number: int, who: Address, start: float, spread: float, events: int
) -> tuple[Person, list[Post]]:
    company, title = who.company, dice.choice(TITLES)
    form = {
        "submission_id": f"sub-{number:06}",
        "first_name": who.first,
        "last_name": who.last,
        "email": who.email,
        "company": company.name,
        "company_size": f"{company.employees:,}",
        "phone": f"{company.phone}{dice.randrange(10, 100)}",
        "country": company.country,
        "message": f"We would like to see a demo for {dice.randrange(2, 40)} people.",
        "page_url": "https://www.acme-software.com/demo?utm_source=newsletter&utm_campaign=autumn",
    }
    posts = [Post(start, "website", "application/x-www-form-urlencoded", urlencode(form).encode())]
    score = None
    # One after the other within the spread; the last one ends within the burst.
    for step in range(1, events):
        low, high = spread * (step - 1) / (events - 1), spread * step / (events - 1)
        at = start + dice.uniform(low + 0.1 * (high - low), high)
        if step == 1:
            if dice.random() < EARLY:
                at = max(0.0, start - dice.uniform(0.05, 0.5))
            # Other systems spell an address their own way.
            body = {"id": f"enr-{number}", "person": {"email": who.email.title(), "job_title": title},
                    "company": {"employees": company.employees, "city": "n/a"}}  # fmt: skip
            posts.append(_json(at, "enrichment", body))
        else:
            score = float(dice.randrange(5 * step, 5 * step + 80))
            posts.append(_json(at, "scoring", {"event": f"sc-{number}-{step}", "email": who.email, "score": score}))
    return Person(who.email, title if events > 1 else None, score), posts


def _json(at: float, source: str, body: object) -> Post:
    return Post(at, source, "application/json", orjson.dumps(body))


def _junk(dice: random.Random, leads: int, seconds: float) -> list[Post]:
    """Colleagues, test entries, throw-away mailboxes and competitors; and forged requests, whose signature is wrong."""
    posts = []
    for number in range(round(leads * JUNK)):
        form = {
            "submission_id": f"junk-{number}",
            "first_name": "Test",
            "last_name": dice.choice(LAST),
            "email": JUNK_ADDRESSES[number % len(JUNK_ADDRESSES)].format(number),
            "country": "Germany",
        }
        at = dice.uniform(0, seconds)
        posts.append(Post(at, "website", "application/x-www-form-urlencoded", urlencode(form).encode(), "junk"))
    for number in range(round(leads * FORGED)):
        body = urlencode({"submission_id": f"forged-{number}", "email": f"forged{number}@{RIVAL}"}).encode()
        form_type = "application/x-www-form-urlencoded"
        posts.append(Post(dice.uniform(0, seconds), "website", form_type, body, "forged"))
    return posts
