"""The evidence as one reads it: summary, people, owners in time, records."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from crmsim import proof
from crmsim.hubspot.portal import Portal
from crmsim.hubspot.state import Hubspot
from crmsim.proof import Move

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
        "work": evidence.work(),
        "refusals": {name: totals[f"{name}_refusals"] for name in ("burst", "search", "daily")},
        "overlaps": totals["overlaps"],
        "repeats": totals["repeats"],
        "versions": sim.portal.version_count,
        "records": {name: len(sim.portal.live(name)) for name in sim.portal.kinds} | {"owners": len(sim.portal.owners)},
        "people": found["emails"],
        "duplicated": found["duplicated"],
        "owners": proof.numbers(moves(sim.portal)),
        "second_writer": {"turns": sim.writers.turns, "changes": sim.writers.changes},
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
        "hand_turns": sim.writers.turns,
    }


def people(portal: Portal) -> dict[str, Any]:
    """Contacts by their e-mails, additional ones too."""
    return proof.people(
        (record.id, [record.email or "", *record.values.get("hs_additional_emails", "").split(";")])
        for record in portal.live("contacts")
    )


def moves(portal: Portal) -> Iterator[Move]:
    """Every version that set an owner or bore a record, contacts and companies alike."""
    for version in portal.versions:
        author, born = version.author, version.number == 1
        if OWNER not in version.changed and not born:
            continue
        before, after = version.changed.get(OWNER, (None, None))
        record, owner = portal.records.get(portal.survivor(version.id)), portal.owners.get(after or "")
        yield Move(
            version.id, version.object, (record.email or "") if record and version.object == "contacts" else "", born,
            not born and author.source == "api" and portal.owner_state(before or "") == "active", after,
            owner.name if owner else None, author.stamp, author.by, author.source, author.request,
        )  # fmt: skip


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
