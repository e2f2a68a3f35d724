"""The evidence as one reads it: summary, people, records, locks."""

from dataclasses import asdict
from typing import Any

from crmsim import proof
from crmsim.salesforce import ids, ownership
from crmsim.salesforce.org import Org, Record
from crmsim.salesforce.state import Salesforce


def summary(sim: Salesforce) -> dict[str, Any]:
    """The numbers of a run. `duplicated`: people beyond one per e-mail; `repeats`: versions resent after success."""
    evidence, totals = sim.evidence, sim.evidence.totals
    found = people(sim.org)
    return {
        "org": sim.org.id18,
        "time_scale": sim.clock.scale,
        "latency": asdict(sim.latency),
        "requests": evidence.count,
        "requests_dropped": evidence.dropped,
        "token_requests": totals["token_requests"],
        "data_requests": totals["read_requests"] + totals["write_requests"],
        "write_requests": totals["write_requests"],
        "read_requests": totals["read_requests"],
        "error_answers": totals["error_answers"],
        "undelivered": totals["undelivered"],
        "in_flight": len(evidence.open),
        "peak_concurrent": evidence.peak,
        "rows": {name: totals[f"rows_{name}"] for name in ("created", "updated", "refused")},
        "work": evidence.work(),
        "lock_waits": totals["lock_waits"],
        "lock_timeouts": totals["lock_timeouts"],
        "overlaps": totals["overlaps"],
        "repeats": totals["repeats"],
        "versions": sim.org.version_count,
        "records": {name: len(sim.org.live(name)) for name in ("Lead", "Contact", "Account", "User", "Group")},
        "people": found["emails"],
        "duplicated": found["duplicated"],
        "owners": proof.numbers(ownership.moves(sim.org)),
        "second_writer": {"turns": sim.writers.turns, "changes": sim.writers.changes},
        "usage": {"used": sim.usage.used, "max": sim.usage.maximum},
        "faults": sim.plan.report(),
    }


def numbers(sim: Salesforce) -> dict[str, int]:
    """What `wait` can wait for. Running totals since the start or the last reset, and what stands now."""
    totals = sim.evidence.totals
    running = ("token_requests", "read_requests", "write_requests", "committed", "answered", "delivered", "undelivered")
    return {name: totals[name] for name in running} | {
        "lock_waits": totals["lock_waits"],
        "lock_timeouts": totals["lock_timeouts"],
        "in_flight": len(sim.evidence.open),
        "lock_waiting": sum(len(lock.waiters) for lock in sim.locks.held.values()),
        "locks_held": len(sim.locks.held),
        "resting": len(sim.gate.resting),
        "leads": len(sim.org.by_object["Lead"]),
        "versions": sim.org.version_count,
        "hand_turns": sim.writers.turns,
    }


def people(org: Org) -> dict[str, Any]:
    """A converted Lead and its Contact are one person, the Contact."""
    records = [record for name in ownership.PEOPLE for record in org.live(name) if not _is_contact_too(org, record)]
    return proof.people((record.id18, [str(record.values.get("Email") or "")]) for record in records)


def _is_contact_too(org: Org, record: Record) -> bool:
    if not record.values.get("IsConverted"):
        return False
    contact = org.get(record.values.get("ConvertedContactId") or "")
    email = str(record.values.get("Email")).casefold()
    return contact is not None and not contact.deleted and str(contact.values.get("Email")).casefold() == email


def records(org: Org, name: str) -> list[dict[str, Any]]:
    """Current values, with `_version` and `_deleted`. Raises ValueError for an unknown object."""
    sobject = org.sobject(name)
    if sobject is None:
        raise ValueError(f"no object {name!r}")
    return [
        record.values | {"_version": record.version, "_deleted": record.deleted}
        for record in org.by_object[sobject.name].values()
    ]


def locks(sim: Salesforce) -> dict[str, Any]:
    """Who holds what now, and who waits."""
    return {
        "held": [
            {"record": ids.to18(key), "request": lock.holder, "waiting": [waiter.holder for waiter in lock.waiters]}
            for key, lock in sim.locks.held.items()
        ]
    }
