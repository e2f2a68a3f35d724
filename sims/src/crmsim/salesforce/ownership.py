"""Who owned each Lead and Contact in time."""

from collections.abc import Iterator

from crmsim.proof import Move
from crmsim.salesforce.org import Org, Version

PEOPLE = ("Lead", "Contact")


def moves(org: Org) -> Iterator[Move]:
    """Every version that set an owner."""
    for version in org.versions:
        if version.object not in PEOPLE or "OwnerId" not in version.changed:
            continue
        before, after = version.changed["OwnerId"]
        record, owner = org.get(version.id), org.get(after or "")
        yield Move(
            version.id, version.object, str(record.values.get("Email") or "").casefold() if record else "",
            before is None, _taken(org, version, before), after, str(owner.values.get("Name")) if owner else None,
            version.stamp, version.by, version.source, version.request,
        )  # fmt: skip


def _taken(org: Org, version: Version, before: str | None) -> bool:
    """From a person who is active, and is not the API user."""
    holder = org.get(before or "")
    active = holder is not None and holder.sobject.name == "User" and bool(holder.values.get("IsActive"))
    return version.source == "api" and active and before != version.by
