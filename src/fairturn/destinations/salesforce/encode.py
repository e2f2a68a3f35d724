"""A lead as a Salesforce record: the mapping, its defaults and lengths, the owner, the account."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fairturn.config import MapTo
from fairturn.decide.record_ids import is_record_id, long_form
from fairturn.model import FieldValue, Outgoing, Refused

Record = Mapping[str, object]

# Characters that standard text fields hold (the describe of a real org, v42). An address is never cut: half of one is
# another one.
LENGTHS: Final[Mapping[str, int]] = {
    "FirstName": 40, "LastName": 80, "Company": 255, "Name": 255, "Title": 128, "Phone": 40, "MobilePhone": 40,
    "Website": 255, "Street": 255, "City": 40, "State": 80, "PostalCode": 20, "Country": 80, "Description": 32_000,
    "MailingStreet": 255, "MailingCity": 40, "MailingState": 80, "MailingPostalCode": 20, "MailingCountry": 80,
}  # fmt: skip
QUEUE: Final = "00G"  # a queue owns Leads and custom objects; the owner of a Contact or an Account is a user


@dataclass(frozen=True, slots=True)
class Encoder:
    """Pure: the same lead gives the same record. `users`: rep id -> Salesforce user id."""

    destination: str
    sobject: str  # Lead, Contact ...
    external_id: str
    fields: Mapping[str, MapTo]  # Salesforce field -> where its value comes from
    users: Mapping[str, str]
    account_lookup: str | None = None  # e.g. Account__r.Fairturn_Key__c
    reps: frozenset[str] = frozenset()  # all in the settings, with a user id or without

    def draft(self, outgoing: Outgoing) -> Record | Refused:
        """The fields that are sent. Without the external id, which every record carries."""
        record: dict[str, object] = {}
        for name, source in self.fields.items():
            if source.value is None and source.field not in outgoing.fields and source.default is None:
                continue  # missing never touches what the CRM has
            record[name] = self._value(name, source, outgoing.fields)
        record |= self._account(outgoing)
        if outgoing.owner is not None:
            owner = self._owner(outgoing)
            if isinstance(owner, Refused):
                return owner
            record |= owner
        return record

    def payload(
        self, records: Sequence[tuple[Outgoing, Record]], *, plain: frozenset[str] = frozenset()
    ) -> Mapping[str, Any]:
        """The body of one upsert. plain: keys of records that go without their account."""
        relation = self._relation()
        return {
            "allOrNone": False,
            "records": [
                {
                    "attributes": {"type": self.sobject},
                    self.external_id: outgoing.key,
                    **{
                        name: value
                        for name, value in record.items()
                        if not (outgoing.key in plain and name == relation)
                    },
                }
                for outgoing, record in records
            ],
        }

    def without_account(self, record: Record) -> Record:
        relation = self._relation()
        names = () if relation is None else (relation, id_field(relation))
        return {name: value for name, value in record.items() if name not in names}

    def account_of(self, record: Record) -> str | None:
        """The id or key by which the record names its account."""
        relation = self._relation()
        if relation is None:
            return None
        named = record.get(id_field(relation), record.get(relation))
        if isinstance(named, Mapping):
            return next((str(key) for key in named.values()), None)
        return None if named is None else str(named)

    def _value(self, name: str, source: MapTo, fields: Mapping[str, FieldValue]) -> FieldValue:
        value = source.value if source.value is not None else fields.get(source.field or "")
        if value is None or value == "":
            value = source.default
        limit = source.max_length or LENGTHS.get(name)
        return cut(value, limit) if isinstance(value, str) and limit else value

    def _owner(self, outgoing: Outgoing) -> Record | Refused:
        owner = str(outgoing.owner)
        if outgoing.owner_kind == "rep":
            user = self.users.get(owner)
            if user is None and self.reps and owner not in self.reps:
                gone = f"rep {owner} is no longer in the settings"
                return Refused(outgoing.key, "OWNER_GONE", gone, ("OwnerId",), owner_fault=True)
            if user is None:
                message = f"rep {owner} has no Salesforce user id. Add {self.destination} to reps.{owner}.ids"
                return Refused(outgoing.key, "OWNER_WITHOUT_ID", message, ("OwnerId",))
            owner = user
        if owner.startswith(QUEUE) and self.sobject in ("Contact", "Account"):
            return {}  # no queue may own these; the person is in the CRM, its owner follows with the assignment
        return {"OwnerId": long_form(owner) if is_record_id(owner) else owner}

    def _relation(self) -> str | None:
        return self.account_lookup.partition(".")[0] if self.account_lookup else None

    def _account(self, outgoing: Outgoing) -> Record:
        """By the account's record id where the lead knows it, else by the key of the lookup (a domain)."""
        if self.account_lookup is None:
            return {}
        relation, _, key_field = self.account_lookup.partition(".")
        known = outgoing.fields.get("crm_account_id")
        kind, _, key = (outgoing.account_key or "").partition(":")
        if isinstance(known, str) and known.startswith("001") and is_record_id(known):
            return {id_field(relation): long_form(known)}
        if kind == "crm" and key.startswith("001") and is_record_id(key):
            return {id_field(relation): long_form(key)}
        return {relation: {key_field: key}} if kind == "domain" and key and key_field else {}


def only_id_is_the_owners(record: Record) -> bool:
    """Whether nothing else that the record carries could be the id of another record."""
    ids = [name for name, value in record.items() if isinstance(value, str) and is_record_id(value)]
    return ids == ["OwnerId"]


def id_field(relation: str) -> str:
    """Account__r -> Account__c, Account -> AccountId."""
    return f"{relation[:-3]}__c" if relation.endswith("__r") else f"{relation}Id"


def sources(mapping: Mapping[str, str | MapTo]) -> Mapping[str, MapTo]:
    return {name: MapTo(field=way) if isinstance(way, str) else way for name, way in mapping.items()}


def cut(text: str, limit: int) -> str:
    """At most `limit` UTF-16 units, cut between code points.

    Salesforce does not say whether an emoji counts once or twice; counted twice it fits either way.
    """
    if len(text) * 2 <= limit:
        return text
    room = limit
    for place, char in enumerate(text):
        room -= 2 if ord(char) > 0xFFFF else 1
        if room < 0:
            return text[:place]
    return text
