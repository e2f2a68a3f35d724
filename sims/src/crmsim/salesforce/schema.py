"""The org's objects and fields: labels, lengths, requirements, from recorded describes of Lead, Contact, Account."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

TEXT_KINDS = ("string", "textarea", "email", "phone", "url", "picklist")
KINDS = (*TEXT_KINDS, "boolean", "int", "double", "date", "datetime", "reference", "id")


@dataclass(frozen=True, slots=True)
class Field:
    """One field. `external_id` and `id_lookup` fields can be upsert keys; `unique` ones refuse a second record."""

    name: str
    kind: str = "string"
    length: int = 255
    label: str = ""
    required: bool = False
    writable: bool = True
    external_id: bool = False
    unique: bool = False
    id_lookup: bool = False
    case_sensitive: bool = False
    targets: tuple[str, ...] = ()  # objects a reference may point to
    relationship: str = ""  # `Account__r`
    values: tuple[str, ...] = ()  # of a restricted picklist
    default: Any = None

    @property
    def title(self) -> str:
        return self.label or self.name.removesuffix("__c").replace("_", " ")

    @property
    def is_key(self) -> bool:
        return self.external_id or self.id_lookup

    def fold(self, value: object) -> str:
        """How two values of a key field compare. Text external ids ignore case unless defined otherwise (SF-help)."""
        return str(value) if self.case_sensitive else str(value).casefold()


@dataclass(slots=True)
class Sobject:
    """An object type. Names of fields and relationships are looked up without regard to case, as the API does."""

    name: str
    prefix: str
    fields: dict[str, Field] = field(default_factory=dict)
    relationships: dict[str, Field] = field(default_factory=dict)
    read_only: bool = False
    parents: list[Field] = field(default_factory=list)  # references whose targets a write locks
    keys: list[Field] = field(default_factory=list)  # fields with an index
    born: dict[str, Any] = field(default_factory=dict)  # what a new record has unless told otherwise

    def add(self, item: Field, *, locks: bool = False) -> None:
        self.fields[item.name.lower()] = item
        if item.relationship:
            self.relationships[item.relationship.lower()] = item
        if locks:
            self.parents = [old for old in self.parents if old.name != item.name] + [item]
        self._derive()

    def remove(self, name: str) -> None:
        gone = self.fields.pop(name.lower(), None)
        if gone:
            self.relationships.pop(gone.relationship.lower(), None)
            self.parents = [old for old in self.parents if old.name != name]
        self._derive()

    def _derive(self) -> None:
        self.keys = [item for item in self.fields.values() if item.is_key or item.unique]
        self.born = {item.name: item.default for item in self.fields.values() if item.default is not None}


def _system() -> list[Field]:
    return [
        Field("Id", "id", 18, "Record ID", writable=False, case_sensitive=True),
        Field("IsDeleted", "boolean", writable=False, default=False),
        Field("CreatedDate", "datetime", writable=False),
        Field("CreatedById", "reference", 18, writable=False, targets=("User",), relationship="CreatedBy"),
        Field("LastModifiedDate", "datetime", writable=False),
        Field("LastModifiedById", "reference", 18, writable=False, targets=("User",), relationship="LastModifiedBy"),
        Field("SystemModstamp", "datetime", writable=False),
    ]


def _person(*, owners: tuple[str, ...], email_label: str) -> list[Field]:
    return [
        Field("LastName", length=80, label="Last Name", required=True),
        Field("FirstName", length=40, label="First Name"),
        Field("Salutation", "picklist", 40),
        Field("Name", length=121, label="Full Name", writable=False),
        Field("Title", length=128),
        Field("Email", "email", 80, email_label, id_lookup=True),
        Field("Phone", "phone", 40, "Business Phone"),
        Field("MobilePhone", "phone", 40, "Mobile Phone"),
        Field("LeadSource", "picklist", 255, "Lead Source"),
        Field("Description", "textarea", 32000),
        Field("HasOptedOutOfEmail", "boolean", label="Email Opt Out", default=False),
        Field("OwnerId", "reference", 18, "Owner ID", targets=owners, relationship="Owner"),
        Field("Fairturn_Id__c", label="Fairturn Id", external_id=True, unique=True),
        Field("Legacy_Id__c", label="Legacy Id", external_id=True),
        Field("Score__c", "double", label="Score"),
        Field("Segment__c", "picklist", label="Segment", values=("SMB", "Mid-Market", "Enterprise")),
    ]


def _address(prefix: str = "") -> list[Field]:
    lengths = {"Street": 255, "City": 40, "State": 80, "PostalCode": 20, "Country": 80}
    return [Field(f"{prefix}{part}", length=length) for part, length in lengths.items()]


def _lead() -> Sobject:
    lead = Sobject("Lead", "00Q")
    own = [
        Field("Company", length=255, required=True),
        Field("Status", "picklist", 255, "Lead Status", default="Open - Not Contacted"),
        Field("Website", "url"),
        Field("Industry", "picklist"),
        Field("Rating", "picklist"),
        Field("NumberOfEmployees", "int", label="Employees"),
        Field("AnnualRevenue", "double", label="Annual Revenue"),
        Field("IsConverted", "boolean", label="Converted", writable=False, default=False),
        Field("ConvertedAccountId", "reference", 18, writable=False, targets=("Account",)),
        Field("ConvertedContactId", "reference", 18, writable=False, targets=("Contact",)),
        Field("ConvertedOpportunityId", "reference", 18, writable=False, targets=("Opportunity",)),
    ]
    for item in [*_system(), *_person(owners=("Group", "User"), email_label="Email"), *_address(), *own]:
        lead.add(item)
    return lead


def _contact() -> Sobject:
    contact = Sobject("Contact", "003")
    for item in [*_system(), *_person(owners=("User",), email_label="Email"), *_address("Mailing")]:
        contact.add(item)
    contact.add(
        Field("AccountId", "reference", 18, "Account ID", targets=("Account",), relationship="Account"), locks=True
    )
    return contact


def _account() -> Sobject:
    account = Sobject("Account", "001")
    own = [
        Field("Name", length=255, label="Account Name", required=True),
        Field("Website", "url"),
        Field("Phone", "phone", 40, "Account Phone"),
        Field("Industry", "picklist"),
        Field("NumberOfEmployees", "int", label="Employees"),
        Field("Description", "textarea", 32000, "Account Description"),
        Field("OwnerId", "reference", 18, "Owner ID", targets=("User",), relationship="Owner"),
        Field("Fairturn_Key__c", label="Fairturn Key", external_id=True, unique=True),
        Field("Legacy_Id__c", label="Legacy Id", external_id=True),
    ]
    for item in [*_system(), *own, *_address("Billing")]:
        account.add(item)
    return account


def _read_only(name: str, prefix: str, own: list[Field]) -> Sobject:
    sobject = Sobject(name, prefix, read_only=True)
    for item in [*_system(), *own]:
        sobject.add(item)
    return sobject


LEAD_ACCOUNT = Field(
    "Account__c", "reference", 18, "Account", targets=("Account",), relationship="Account__r"
)  # no standard org has it: a plain Lead knows no account before conversion


def standard() -> dict[str, Sobject]:
    """The org as it starts, by lower-cased name."""
    objects = [
        _lead(),
        _contact(),
        _account(),
        _read_only(
            "User",
            "005",
            [
                Field("Name", length=121),
                Field("Username", length=80),
                Field("Email", "email", 128),
                Field("IsActive", "boolean"),
            ],
        ),
        _read_only("Group", "00G", [Field("Name", length=40), Field("DeveloperName", length=80), Field("Type")]),
        _read_only("Organization", "00D", [Field("Name", length=80), Field("IsSandbox", "boolean")]),
    ]
    return {item.name.lower(): item for item in objects}


def custom_field(entry: Mapping[str, Any]) -> Field:
    """A field from a seed. Raises ValueError that says what is wrong."""
    values = {name: value for name, value in entry.items() if name not in ("object", "locks")}
    unknown = set(values) - {known.name for known in fields(Field)}
    if unknown or not values.get("name"):
        raise ValueError(f"field {entry.get('name')!r}: needs a name; unknown keys {sorted(unknown)}")
    for name in ("targets", "values"):
        values[name] = tuple(values.get(name, ()))
    item = Field(**values)
    if item.kind not in KINDS:
        raise ValueError(f"field {item.name}: kind must be one of {', '.join(KINDS)}")
    return item
