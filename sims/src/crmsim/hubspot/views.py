"""The evidence as one reads it: summary, people, owners in time, records."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from crmsim.hubspot.portal import Portal, Version
from crmsim.hubspot.state import Hubspot

OWNER = "hubspot_owner_id"


def summary(sim: Hubspot) -> dict[str, Any]:
    """The numbers of a run, in the shape that all simulators share."""
    evidence, totals = sim.evidence, sim.evidence.totals
    found = people(sim.portal)
    return {
        "portal": sim.options.portal,
        "time_scale": sim.clock.scale,
        "latency": asdict(sim.latency),
        "requests": evidence.count,
        "requests_dropped": evidence.dropped,
        "token_requests": totals["token_requests"],
        "data_requests": totals["read_requests"] + totals["write_requests"],
        "write_requests": totals["write_requests"],
        "read_requests": totals["read_requests"],
        "search_requests": totals["search_requests"],
        "error_answers": totals["error_answers"],
        "undelivered": totals["undelivered"],
        "in_flight": len(evidence.open),
        "peak_concurrent": evidence.peak,
        "rows": {name: totals[f"rows_{name}"] for name in ("created", "updated", "refused")},
        "refusals": {name: totals[f"{name}_refusals"] for name in ("burst", "search", "daily")},
        "overlaps": totals["overlaps"],
        "repeats": totals["repeats"],
        "versions": sim.portal.version_count,
        "records": {name: len(sim.portal.live(name)) for name in sim.portal.kinds} | {"owners": len(sim.portal.owners)},
        "people": found["emails"],
        "duplicated": found["duplicated"],
        "owners": owner_numbers(sim.portal),
        "usage": {"used": sim.limits.used, "max": sim.limits.daily},
        "faults": sim.plan.report(),
    }


def numbers(sim: Hubspot) -> dict[str, int]:
    """What `wait` can wait for. Running totals since the start or the last reset, and what stands now."""
    totals = sim.evidence.totals
    running = (
        "token_requests", "read_requests", "write_requests", "search_requests", "committed", "answered", "delivered",
        "undelivered", "burst_refusals", "search_refusals", "daily_refusals",
    )  # fmt: skip
    return {name: totals[name] for name in running} | {
        "in_flight": len(sim.evidence.open),
        "resting": len(sim.gate.resting),
        "contacts": len(sim.portal.by_kind["contacts"]),
        "companies": len(sim.portal.by_kind["companies"]),
        "versions": sim.portal.version_count,
    }


def people(portal: Portal) -> dict[str, Any]:
    """Ids of the live contacts of each e-mail, additional ones too; those of more than one under `twice`."""
    by_email: dict[str, list[str]] = {}
    without = 0
    for record in portal.live("contacts"):
        mails = [record.email or "", *record.values.get("hs_additional_emails", "").split(";")]
        found = list(dict.fromkeys(mail.strip().casefold() for mail in mails if mail.strip()))
        without += not found
        for mail in found:
            by_email.setdefault(mail, []).append(record.id)
    twice = {mail: found for mail, found in by_email.items() if len(found) > 1}
    return {
        "emails": len(by_email),
        "without_email": without,
        "duplicated": sum(len(found) - 1 for found in twice.values()),
        "twice": twice,
        "people": by_email,
    }


def _moves(portal: Portal) -> Iterator[tuple[Version, str | None, str | None, bool]]:
    """Every version that set an owner or bore a record: the version, the owner before, after, and whether it is new."""
    for version in portal.versions:
        born = version.number == 1
        if OWNER in version.changed or born:
            before, after = version.changed.get(OWNER, (None, None))
            yield version, before, after, born


def _taken(portal: Portal, version: Version, before: str | None) -> bool:
    """An app took a record from an owner who is active."""
    return version.author.source == "api" and portal.owner_state(before or "") == "active"


def owner_numbers(portal: Portal) -> dict[str, int]:
    """`moved`: changes of an owner after the record's birth."""
    moves = [(version, before) for version, before, _, born in _moves(portal) if not born]
    return {
        "moved": len(moves),
        "moved_by_api": sum(version.author.source == "api" for version, _ in moves),
        "moved_by_hand": sum(version.author.source == "hand" for version, _ in moves),
        "taken_by_api": sum(_taken(portal, version, before) for version, before in moves),
    }


def owners(portal: Portal, email: str | None = None) -> dict[str, Any]:
    """Each record's owners in time, and of each e-mail known from the seed what became of it.

    `known`: e-mails that the seed brought, with the ids `there` and those the API `added`. `added` and `taken` at the
    top are the e-mails and record ids of all such cases: both empty is the proof that nobody was doubled or taken.
    """
    rows: dict[str, dict[str, Any]] = {}
    taken = []
    for version, before, after, born in _moves(portal):
        record = portal.records.get(portal.survivor(version.id))
        mail = (record.email or "") if record is not None and version.object == "contacts" else ""
        if email and mail != email.casefold():
            continue
        row = rows.setdefault(version.id, {"object": version.object, "email": mail, "born": "", "owners": []})
        if born:
            row["born"] = version.author.source
        took = not born and _taken(portal, version, before)
        owner = portal.owners.get(after or "")
        author = version.author
        row["owners"].append({
            "owner": after, "name": owner.name if owner else None, "at": author.stamp.wall, "by": author.by,
            "source": author.source, "request": author.request, "taken": took,
        })  # fmt: skip
        if took:
            taken.append(version.id)
    known = _known(rows)
    return {
        "records": rows, "known": known, "added": [mail for mail, row in known.items() if row["added"]],
        "taken": taken, "numbers": owner_numbers(portal),
    }  # fmt: skip


def _known(rows: dict[str, dict[str, Any]]) -> dict[str, dict[str, list[str]]]:
    known: dict[str, dict[str, list[str]]] = {}
    for born in ("seed", "api"):
        for record_id, row in rows.items():
            if row["born"] == born and row["email"] and (born == "seed" or row["email"] in known):
                entry = known.setdefault(row["email"], {"there": [], "added": []})
                entry["there" if born == "seed" else "added"].append(record_id)
    return known


def records(portal: Portal, name: str) -> list[dict[str, Any]]:
    """Current values, with `id`, `_version` and `_archived`. Raises ValueError for an unknown object."""
    if name == "owners":
        return [asdict(item) for item in portal.owners.values()]
    kind = portal.kind(name)
    if kind is None:
        raise ValueError(f"no object {name!r}; there are owners, {', '.join(portal.kinds)}")
    return [
        {"id": record.id, **record.values, "_version": record.version, "_archived": record.archived}
        for record in portal.by_kind[kind.name].values()
    ]
