"""People of a CRM, as they are kept in a row."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from fairturn.model import Existing, Owner, Person
from fairturn.stores.postgres.answers import storable


def person_json(person: Person) -> dict[str, object]:
    owner = person.owner
    row = {
        "record_id": person.record_id,
        "object_type": person.object_type,
        "email": person.email,
        "owner": None
        if owner is None
        else {
            "id": owner.id,
            "kind": owner.kind,
            "active": owner.active,
            "name": owner.name,
            "email": owner.email,
        },
        "created_at": person.created_at,
        "status": person.status,
        "converted": person.converted,
        "converted_to": person.converted_to,
        "key": person.key,
        "values": person.values,
    }
    return {name: storable(value) for name, value in row.items()}


def person_of(row: Mapping[str, Any]) -> Person:
    created = row["created_at"]
    return Person(
        **{name: value for name, value in row.items() if name not in {"owner", "created_at"}},
        owner=owner_of(row["owner"]),
        created_at=datetime.fromisoformat(created) if created else None,
    )


def owner_of(row: Mapping[str, Any] | None) -> Owner | None:
    return Owner(**row) if row else None


def existing_of(row: Any) -> Existing:
    return Existing(
        state=row["state"],
        email=row["email"],
        since=row["since"],
        people=tuple(map(person_of, row["people"])),
        why=row["why"],
        answered_at=row["answered_at"],
        ours=row["ours"] or {},
    )
