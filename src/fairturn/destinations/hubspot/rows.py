"""A record on its way to HubSpot, and how records are laid into requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from fairturn.destinations.hubspot.limits import MAX_RECORDS
from fairturn.model import Outgoing

Record = Mapping[str, object]

OWNER: Final = "hubspot_owner_id"
EMAIL: Final = "email"
COMPANY: Final = "associatedcompanyid"  # the contact's first company: read as a property, written as an association
MORE_EMAILS: Final = "hs_additional_emails"
MERGED: Final = "hs_merged_object_ids"


@dataclass(frozen=True, slots=True)
class Contact:
    """A record as HubSpot has it, as far as it was asked for."""

    id: str
    properties: Mapping[str, str | None]

    @property
    def owner(self) -> str | None:
        return self.properties.get(OWNER) or None

    @property
    def emails(self) -> tuple[str, ...]:
        """Casefolded, the first one first."""
        texts = (self.properties.get(EMAIL), *(self.properties.get(MORE_EMAILS) or "").split(";"))
        return tuple(text.strip().casefold() for text in texts if text and text.strip())

    @property
    def ids(self) -> tuple[str, ...]:
        """Its own, and those of records that were merged into it."""
        merged = (self.properties.get(MERGED) or "").split(";")
        return (self.id, *(text.strip() for text in merged if text.strip()))


@dataclass(frozen=True, slots=True)
class Row:
    outgoing: Outgoing
    record: Record  # as it is sent, the owner included
    record_id: str | None  # None: by the unique property
    contact: Contact | None = None  # as read in this write
    read_at: float = 0.0  # monotonic: when that was
    without: Mapping[str, str] = field(default_factory=dict)  # property -> why it is not sent
    refused: Mapping[str, object] = field(default_factory=dict)  # property -> the value not taken
    stands: str | None = None  # an owner set by somebody else
    part: int = 1  # rows of one part travel together: a request that is refused as a whole is halved
    turns: int = 0  # how often it was sent again for a reason of its own

    @property
    def key(self) -> str:
        return self.outgoing.key

    @property
    def email(self) -> str | None:
        found = self.record.get(EMAIL) or self.outgoing.fields.get("email")
        return found.strip().casefold() if isinstance(found, str) and found.strip() else None

    def ident(self, external_id: str) -> str:
        """By what HubSpot finds it: no request may name the same twice."""
        return self.record_id or (self.email or "" if external_id == EMAIL else self.key)

    def shed(self, fields: Mapping[str, str]) -> Row:
        """Without these. fields: property -> HubSpot's words."""
        gone = {name: self.record[name] for name in fields if name in self.record}
        kept = {name: value for name, value in self.record.items() if name not in fields}
        said = {name: words for name, words in fields.items() if name in gone}
        return replace(self, record=kept, without={**self.without, **said}, refused={**self.refused, **gone})

    def again(self, part: int | None = None) -> Row:
        return replace(self, turns=self.turns + 1, part=self.part if part is None else part)

    def properties(self, external_id: str) -> dict[str, str]:
        """As JSON: text; "" clears. What the record is found by stands beside it, not among them: as a property, a
        second address would replace the first.
        """
        aside = {COMPANY} if self.record_id else {COMPANY, external_id}
        return {name: text(value) for name, value in self.record.items() if name not in aside}

    def payload(self, external_id: str) -> dict[str, object]:
        found: dict[str, object] = {"id": self.ident(external_id), "objectWriteTraceId": self.key}
        if self.record_id is None:
            found["idProperty"] = external_id
        return found | {"properties": self.properties(external_id)}


def text(value: object) -> str:
    """All values travel as text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def requests(rows: Sequence[Row], external_id: str) -> list[list[Row]]:
    """At most 100 in each, updates apart from upserts; in none the same record, key or address twice: HubSpot refuses
    such a request as a whole.
    """
    laid: dict[tuple[bool, int], list[tuple[list[Row], set[str]]]] = {}
    for row in rows:
        waves = laid.setdefault((row.record_id is None, row.part), [])
        marks = {f"id {row.ident(external_id)}"} | ({f"email {row.email}"} if row.email else set())
        for wave, taken in waves:
            if len(wave) < MAX_RECORDS and not taken & marks:
                wave.append(row)
                taken.update(marks)
                break
        else:
            waves.append(([row], set(marks)))
    return [wave for waves in laid.values() for wave, _ in waves]
