"""An object as Salesforce describes it to the integration user: fields, rights, lists, record types.

GET /services/data/vXX.X/sobjects/{Object}/describe
https://developer.salesforce.com/docs/platform/api-rest/guide/resources-sobject-describe.html
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

TEXT: Final = frozenset({
    "string", "textarea", "email", "phone", "url", "picklist", "multipicklist", "combobox", "encryptedstring",
})  # fmt: skip
NUMBERS: Final = frozenset({"int", "double", "currency", "percent", "long"})
LISTS: Final = frozenset({"picklist", "multipicklist"})


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    label: str
    kind: str
    length: int
    nillable: bool
    createable: bool
    updateable: bool
    defaulted: bool  # a new record gets a value all the same
    external_id: bool
    unique: bool
    restricted: bool  # a list that refuses all other values
    values: tuple[str, ...]  # active ones of a list
    relationship: str | None
    targets: tuple[str, ...]

    def takes(self, value: str) -> bool:
        """Lists compare without regard to case."""
        return value.casefold() in {one.casefold() for one in self.values}


@dataclass(frozen=True, slots=True)
class RecordType:
    name: str
    developer_name: str
    usable: bool  # active, and assigned to this user


@dataclass(frozen=True, slots=True)
class Described:
    name: str
    createable: bool
    updateable: bool
    fields: Mapping[str, Field]  # by name in lower case
    record_types: tuple[RecordType, ...]

    def field(self, name: str) -> Field | None:
        return self.fields.get(name.lower())

    def relation(self, name: str) -> Field | None:
        """By what a lookup is called from the record: Account__r"""
        return next((one for one in self.fields.values() if (one.relationship or "").lower() == name.lower()), None)


def described(body: Mapping[str, Any]) -> Described:
    fields = [_field(row) for row in _rows(body.get("fields")) if isinstance(row.get("name"), str)]
    return Described(
        str(body.get("name")),
        body.get("createable") is not False,
        body.get("updateable") is not False,
        {one.name.lower(): one for one in fields},
        tuple(_record_type(row) for row in _rows(body.get("recordTypeInfos"))),
    )


def _field(row: Mapping[str, Any]) -> Field:
    values = [one.get("value") for one in _rows(row.get("picklistValues")) if one.get("active") is not False]
    length = row.get("length")
    return Field(
        name=str(row["name"]),
        label=str(row.get("label") or row["name"]),
        kind=str(row.get("type") or ""),
        length=length if isinstance(length, int) else 0,
        nillable=row.get("nillable") is not False,
        createable=row.get("createable") is not False,
        updateable=row.get("updateable") is not False,
        defaulted=row.get("defaultedOnCreate") is True,
        external_id=row.get("externalId") is True,
        unique=row.get("unique") is True,
        restricted=row.get("restrictedPicklist") is True,
        values=tuple(one for one in values if isinstance(one, str)),
        relationship=row.get("relationshipName") or None,
        targets=tuple(map(str, row.get("referenceTo") or ())),
    )


def _record_type(row: Mapping[str, Any]) -> RecordType:
    usable = row.get("active") is not False and row.get("available") is not False
    return RecordType(str(row.get("name")), str(row.get("developerName")), usable)


def _rows(found: Any) -> list[dict[str, Any]]:
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
