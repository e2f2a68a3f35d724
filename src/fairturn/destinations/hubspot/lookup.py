"""Whom HubSpot has with these addresses: a contact has one first address and any number of further ones."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime

from fairturn.destinations.hubspot.directory import Directory
from fairturn.destinations.hubspot.rows import EMAIL, Contact
from fairturn.model import Person

STATUS = "hs_lead_status"
CREATED = "createdate"


@dataclass(frozen=True, slots=True)
class People:
    """Makes persons of contacts. `written`: the properties that we write."""

    directory: Directory
    object_type: str
    external_id: str
    status_field: str
    written: Collection[str]

    def person(self, email: str, contact: Contact) -> Person:
        """email: casefolded, as asked for: one of the contact's."""
        properties = contact.properties
        return Person(
            contact.id,
            self.object_type,
            email,
            self.directory.owner(contact.owner),
            created_at=moment(properties.get(CREATED)),
            status=properties.get(self.status_field) or None,
            key=(properties.get(self.external_id) or None) if self.external_id != EMAIL else None,
            values={name: value for name, value in properties.items() if name in self.written},
        )


def moment(text: str | None) -> datetime | None:
    """2026-01-03T23:36:13.632Z; older accounts answer in milliseconds since 1970."""
    if not text:
        return None
    try:
        if text.isascii() and text.isdigit():
            return datetime.fromtimestamp(int(text) / 1000.0, UTC)
        found = datetime.fromisoformat(text)
    except (ValueError, OverflowError, OSError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
