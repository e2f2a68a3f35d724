"""Who of a CRM's users is meant: reps, queues and owners are named by people, ids are the CRM's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from fairturn.config import Rep, Settings
from fairturn.model import Owner

SANDBOX = ".invalid"  # Salesforce appends it to every user's address when a sandbox is made


@dataclass(frozen=True, slots=True)
class User:
    """A user or queue as the CRM lists it."""

    id: str
    kind: Literal["user", "queue"]
    name: str
    email: str | None = None
    username: str | None = None  # queue: its developer name
    active: bool = True
    objects: tuple[str, ...] | None = None  # what a queue may own; None = not known


def bare(email: str | None) -> str | None:
    """An address to compare: letter case aside, and without what a sandbox appends (ann@acme.com.invalid)."""
    return None if email is None else email.strip().casefold().removesuffix(SANDBOX) or None


def same_id(one: str, other: str) -> bool:
    """Salesforce ids come in 15 and 18 characters; the first 15 are the id. Of other CRMs they are shorter."""
    return one == other or (len(one) in (15, 18) and len(other) in (15, 18) and one[:15] == other[:15])


class Roster:
    """A CRM's users, found without a walk through all of them: some accounts have twenty thousand."""

    __slots__ = ("_index", "_users")

    def __init__(self, users: Iterable[User]) -> None:
        self._users = tuple(users)
        self._index: dict[str, dict[int, User]] = defaultdict(dict)
        for place, user in enumerate(self._users):
            for key in (_id_key(user.id), bare(user.email), bare(user.username), user.name.casefold()):
                if key:
                    self._index[key][place] = user

    def __iter__(self) -> Iterator[User]:
        return iter(self._users)

    def near(self, text: str) -> tuple[User, ...]:
        """All whom `named` could mean by it, and perhaps others."""
        keys = dict.fromkeys((_id_key(text), bare(text) or "", text.strip().casefold()))
        return tuple(dict.fromkeys(user for key in keys for user in self._index.get(key, {}).values()))

    def by_id(self, text: str) -> User | None:
        return next((user for user in self._index.get(_id_key(text), {}).values() if user.id == text), None)


def _id_key(text: str) -> str:
    return text[:15] if len(text) in (15, 18) else text


def named(text: str, users: Iterable[User], kind: Literal["user", "queue"] | None = None) -> tuple[User, ...]:
    """Those that `text` names: by id, else by username or e-mail, else by name. One is an answer, several are none.

    Of several with one address the active ones are meant.
    """
    likely = users.near(text) if isinstance(users, Roster) else users
    able = [user for user in likely if kind is None or user.kind == kind]
    if by_id := [user for user in able if same_id(user.id, text)]:
        return tuple(by_id)
    wanted = bare(text)
    if wanted is None:
        return ()
    found = [user for user in able if wanted in (bare(user.email), bare(user.username))] or [
        user for user in able if user.name.casefold() == text.strip().casefold()
    ]
    return tuple([user for user in found if user.active] or found)


def user_of(rep: str, reps: Mapping[str, Rep], destination: str, users: Iterable[User]) -> tuple[User, ...]:
    """The users that are this rep: by what `ids` says for the destination, else by the rep's e-mail."""
    row = reps.get(rep)
    if row is None:
        return ()
    text = row.ids.get(destination) or row.email
    return named(text, users, "user") if text else ()


def rep_of(owner: Owner, reps: Mapping[str, Rep], destination: str) -> str | None:
    """The rep who is this owner; None: somebody whom the settings do not know."""
    for rep, row in reps.items():
        told = row.ids.get(destination)
        if told is not None and (
            same_id(told, owner.id)
            or bare(told) == bare(owner.email)
            or told.casefold() == (owner.name or "").casefold()
        ):
            return rep
    mail = bare(owner.email)
    return next(
        (rep for rep, row in reps.items() if mail and not row.ids.get(destination) and bare(row.email) == mail), None
    )


def owners_named(settings: Settings, destination: str) -> tuple[str, ...]:
    """Queues and users that own leads there without being a rep: of pools, and of rules that park."""
    held = [pool.hold_owner.get(destination) for pool in settings.pools.values()]
    parks = [rule.park for rule in settings.rules]
    parked = [park.get(destination) if isinstance(park, dict) else park for park in parks]
    return tuple(dict.fromkeys(one for one in (*held, *parked) if one))
