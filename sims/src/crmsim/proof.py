"""Whether anybody was doubled, and whose record was taken: owners in time, people by their e-mails.

`taken`: over the API, the owner of a record that an active person owned became another.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from crmsim.clock import Stamp


@dataclass(frozen=True, slots=True)
class Move:
    """A version that bore a record (`born`) or changed its owner; `name` is the new owner's.

    `email`: that of the record as it is now, lower-cased; "" for none.
    """

    id: str
    object: str
    email: str
    born: bool
    taken: bool
    owner: str | None
    name: str | None
    stamp: Stamp
    by: str
    source: str
    request: int | None


def numbers(moves: Iterable[Move]) -> dict[str, int]:
    """`moved`: changes of an owner after the record's birth."""
    moved = [move for move in moves if not move.born]
    return {
        "moved": len(moved),
        "moved_by_api": sum(move.source == "api" for move in moved),
        "moved_by_hand": sum(move.source == "hand" for move in moved),
        "taken_by_api": sum(move.taken for move in moved),
    }


def owners(moves: Iterable[Move], email: str | None = None) -> dict[str, Any]:
    """Each record's owners in time, and of each e-mail known from the seed what became of it; `email` is one of them.

    `known`: e-mails that the seed brought, with the ids `there` and those the API `added`. `added` and `taken` at the
    top are the e-mails and record ids of all such cases: both empty is the proof that nobody was doubled or taken.
    A record whose birth is no longer kept counts as the seed's, which is what goes first.
    """
    moves = list(moves)
    records: dict[str, dict[str, Any]] = {}
    taken = []
    for move in moves:
        if email and move.email != email.casefold():
            continue
        row = records.setdefault(move.id, {"object": move.object, "email": move.email, "born": "seed", "owners": []})
        if move.born:
            row["born"] = move.source
        row["owners"].append({
            "owner": move.owner, "name": move.name, "at": move.stamp.wall, "by": move.by,
            "source": move.source, "request": move.request, "taken": move.taken,
        })  # fmt: skip
        if move.taken:
            taken.append(move.id)
    known = _known(records)
    return {
        "records": records, "known": known, "added": [mail for mail, row in known.items() if row["added"]],
        "taken": taken, "numbers": numbers(moves),
    }  # fmt: skip


def _known(records: dict[str, dict[str, Any]]) -> dict[str, dict[str, list[str]]]:
    known: dict[str, dict[str, list[str]]] = {}
    for born in ("seed", "api"):
        for record_id, row in records.items():
            if row["born"] == born and row["email"] and (born == "seed" or row["email"] in known):
                entry = known.setdefault(row["email"], {"there": [], "added": []})
                entry["there" if born == "seed" else "added"].append(record_id)
    return known


def people(records: Iterable[tuple[str, Iterable[str]]]) -> dict[str, Any]:
    """Of live records' ids and e-mails: the ids of each e-mail, lower-cased; those of more than one under `twice`."""
    by_email: dict[str, list[str]] = {}
    without = 0
    for record_id, mails in records:
        found = dict.fromkeys(mail.strip().casefold() for mail in mails if mail.strip())
        without += not found
        for mail in found:
            by_email.setdefault(mail, []).append(record_id)
    twice = {mail: found for mail, found in by_email.items() if len(found) > 1}
    return {
        "emails": len(by_email),
        "without_email": without,
        "duplicated": sum(len(found) - 1 for found in twice.values()),
        "twice": twice,
        "people": by_email,
    }
