"""Owners in time: who owned each record, who changed that, and whether somebody's record was taken.

`taken`: over the API, the owner of a record that a person owned who is active (and is not the API user) became another.
"""

from collections.abc import Iterator
from typing import Any

from crmsim.salesforce.org import Org, Version

PEOPLE = ("Lead", "Contact")


def _moves(org: Org) -> Iterator[tuple[Version, str | None, str | None]]:
    """Every version that set an owner: the version, the owner before, the owner after."""
    for version in org.versions:
        if version.object in PEOPLE and "OwnerId" in version.changed:
            before, after = version.changed["OwnerId"]
            yield version, before, after


def _taken(org: Org, version: Version, before: str | None) -> bool:
    holder = org.get(before or "")
    active = holder is not None and holder.sobject.name == "User" and bool(holder.values.get("IsActive"))
    return version.source == "api" and active and before != version.by


def numbers(org: Org) -> dict[str, int]:
    """`moved`: changes of an owner after the record's birth."""
    moves = [(version, before) for version, before, _ in _moves(org) if before is not None]
    return {
        "moved": len(moves),
        "moved_by_api": sum(version.source == "api" for version, _ in moves),
        "moved_by_hand": sum(version.source == "hand" for version, _ in moves),
        "taken_by_api": sum(_taken(org, version, before) for version, before in moves),
    }


def report(org: Org, email: str | None = None) -> dict[str, Any]:
    """Each Lead's and Contact's owners in time, and of each e-mail known from the seed what became of it.

    `known`: e-mails that the seed brought, with the ids `there` and those the API `added`. `added` and `taken` at the
    top are the e-mails and record ids of all such cases: both empty is the proof that nobody was doubled or taken.
    """
    records: dict[str, dict[str, Any]] = {}
    taken = []
    for version, before, after in _moves(org):
        record = org.get(version.id)
        mail = str(record.values.get("Email") or "").casefold() if record else ""
        if email and mail != email.casefold():
            continue
        row = records.setdefault(version.id, {"object": version.object, "email": mail, "born": "seed", "owners": []})
        if before is None:
            row["born"] = version.source
        took = _taken(org, version, before)
        row["owners"].append({
            "owner": after, "name": _name(org, after), "at": version.stamp.wall, "by": version.by,
            "source": version.source, "request": version.request, "taken": took,
        })  # fmt: skip
        if took:
            taken.append(version.id)
    known = _known(records)
    return {
        "records": records, "known": known, "added": [mail for mail, row in known.items() if row["added"]],
        "taken": taken, "numbers": numbers(org),
    }  # fmt: skip


def _name(org: Org, id18: str | None) -> str | None:
    record = org.get(id18 or "")
    return str(record.values.get("Name")) if record else None


def _known(records: dict[str, dict[str, Any]]) -> dict[str, dict[str, list[str]]]:
    known: dict[str, dict[str, list[str]]] = {}
    for born in ("seed", "api"):
        for id18, row in records.items():
            if row["born"] == born and row["email"] and (born == "seed" or row["email"] in known):
                entry = known.setdefault(row["email"], {"there": [], "added": []})
                entry["there" if born == "seed" else "added"].append(id18)
    return known
