"""What a contact and a company have: properties as the properties API shows them, and those that every account has."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Options = tuple[tuple[str, str], ...]  # (label, value), in order of display

# Forward only, in this order (HS-docs contacts guide: lifecyclestage).
STAGES: Options = (
    ("Subscriber", "subscriber"), ("Lead", "lead"), ("Marketing Qualified Lead", "marketingqualifiedlead"),
    ("Sales Qualified Lead", "salesqualifiedlead"), ("Opportunity", "opportunity"), ("Customer", "customer"),
    ("Evangelist", "evangelist"), ("Other", "other"),
)  # fmt: skip
LEAD_STATUS: Options = (
    ("New", "NEW"), ("Open", "OPEN"), ("In Progress", "IN_PROGRESS"), ("Open Deal", "OPEN_DEAL"),
    ("Unqualified", "UNQUALIFIED"), ("Attempted to Contact", "ATTEMPTED_TO_CONTACT"), ("Connected", "CONNECTED"),
    ("Bad Timing", "BAD_TIMING"),
)  # fmt: skip
INDUSTRY: Options = (
    ("Accounting", "ACCOUNTING"), ("Automotive", "AUTOMOTIVE"), ("Banking", "BANKING"),
    ("Computer Software", "COMPUTER_SOFTWARE"), ("Construction", "CONSTRUCTION"),
    ("Financial Services", "FINANCIAL_SERVICES"), ("Hospital & Health Care", "HOSPITAL_HEALTH_CARE"),
    ("Information Technology and Services", "INFORMATION_TECHNOLOGY_AND_SERVICES"), ("Retail", "RETAIL"),
)  # fmt: skip
YES_NO: Options = (("Yes", "true"), ("No", "false"))


@dataclass(frozen=True, slots=True)
class Property:
    """One property. `kind` is HubSpot's `type`; `read_only`: HubSpot alone sets its value."""

    name: str
    label: str
    kind: str = "string"  # string, number, enumeration, bool, datetime, date, phone_number
    field_type: str = "text"
    group: str = "contactinformation"
    options: Options = ()
    unique: bool = False
    read_only: bool = False
    description: str = ""
    own: bool = True  # HubSpot's own, not made by the account
    born: str = "2019-08-06T02:41:08.029Z"

    @property
    def is_owner(self) -> bool:
        return self.name == "hubspot_owner_id"

    def json(self) -> dict[str, Any]:
        """As `GET /crm/v3/properties/{object}/{name}` answers."""
        shown = [
            {"label": label, "value": value, "displayOrder": place, "hidden": False}
            for place, (label, value) in enumerate(self.options)
        ]
        more = {"referencedObjectType": "OWNER"} if self.is_owner else {}
        return {
            "updatedAt": self.born, "createdAt": self.born, "name": self.name, "label": self.label, "type": self.kind,
            "fieldType": self.field_type, "description": self.description, "groupName": self.group, "options": shown,
            "displayOrder": -1, "calculated": False, "externalOptions": self.is_owner, "archived": False,
            "hasUniqueValue": self.unique, "hidden": False, "hubspotDefined": self.own,
            "modificationMetadata": {
                "archivable": not self.own, "readOnlyDefinition": self.own, "readOnlyValue": self.read_only,
            },
            "formField": not self.read_only, **more,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class ObjectType:
    """Contacts or companies: every name that the paths know them by, and their properties."""

    name: str
    type_id: str
    singular: str  # as error texts say it
    aliases: frozenset[str]
    default: tuple[str, ...]  # properties that answers hold when none are asked for
    modified: str  # the property of the last change
    properties: dict[str, Property] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)

    def add(self, item: Property) -> None:
        self.properties[item.name] = item

    @property
    def unique(self) -> list[str]:
        return [item.name for item in self.properties.values() if item.unique or self.is_email(item.name)]

    def is_email(self, name: str) -> bool:
        """The e-mail of a contact is unique without saying so in `hasUniqueValue`."""
        return self.name == "contacts" and name == "email"


def made(document: Mapping[str, Any], born: str) -> Property:
    """A property as an account makes it. Raises ValueError for what is missing."""
    for name in ("name", "label", "type", "fieldType", "groupName"):
        if not isinstance(document.get(name), str) or not document[name]:
            raise ValueError(name)
    return Property(
        name=document["name"],
        label=document["label"],
        kind=document["type"],
        field_type=document["fieldType"],
        group=document["groupName"],
        options=_options(document.get("options") or []),
        unique=bool(document.get("hasUniqueValue")),
        description=str(document.get("description") or ""),
        own=False,
        born=born,
    )


def _options(given: Any) -> Options:
    if not isinstance(given, list) or not all(isinstance(item, dict) and "value" in item for item in given):
        raise ValueError("options")
    return tuple((str(item.get("label", item["value"])), str(item["value"])) for item in given)


def _texts(group: str, names: Mapping[str, str]) -> Iterable[Property]:
    return (Property(name, label, group=group) for name, label in names.items())


def _given(group: str, names: Mapping[str, str], kind: str = "string") -> Iterable[Property]:
    """Read-only ones."""
    return (Property(name, label, kind, group=group, read_only=True) for name, label in names.items())


def _shared(group: str) -> list[Property]:
    """What contacts and companies have alike."""
    return [
        Property("hubspot_owner_id", "Owner", "enumeration", "select", group),
        Property("lifecyclestage", "Lifecycle Stage", "enumeration", "radio", group, STAGES),
        Property("hs_lead_status", "Lead Status", "enumeration", "radio", group, LEAD_STATUS),
        *_texts(group, {
            "address": "Street Address", "city": "City", "state": "State/Region", "zip": "Postal Code",
            "country": "Country/Region", "website": "Website URL",
        }),
        Property("phone", "Phone Number", "string", "phonenumber", group),
        Property("numemployees" if group == "contactinformation" else "numberofemployees", "Number of Employees",
                 "string" if group == "contactinformation" else "number", "number", group),
        *_given(group, {
            "createdate": "Create Date", "hubspot_owner_assigneddate": "Owner Assigned Date",
        }, "datetime"),
        *_given(group, {"hs_object_id": "Record ID"}, "number"),
        *_given(group, {"hs_merged_object_ids": "Merged record IDs", "hs_object_source_label": "Record source"}),
    ]  # fmt: skip


def _contacts() -> ObjectType:
    group = "contactinformation"
    found = ObjectType(
        "contacts", "0-1", "Contact", frozenset({"contacts", "contact", "0-1"}),
        ("createdate", "email", "firstname", "hs_object_id", "lastmodifieddate", "lastname"), "lastmodifieddate",
        groups={group: "Contact information", "emailinformation": "Email information"},
    )  # fmt: skip
    for item in (
        *_shared(group),
        *_texts(group, {
            "email": "Email", "firstname": "First Name", "lastname": "Last Name", "company": "Company Name",
            "jobtitle": "Job Title", "message": "Message", "salutation": "Salutation", "hs_language": "Language",
            "hs_additional_emails": "Additional email addresses", "hs_timezone": "Time Zone",
            "utm_source": "UTM Source", "utm_campaign": "UTM Campaign",
        }),
        Property("mobilephone", "Mobile Phone Number", "string", "phonenumber", group),
        Property("industry", "Industry", group=group),
        Property("annualrevenue", "Annual Revenue", group=group),
        Property("hs_email_optout", "Unsubscribed from all email", "bool", "booleancheckbox", "emailinformation",
                 YES_NO),
        Property("score", "Score", "number", "number", group, own=False),
        Property("segment", "Segment", "enumeration", "select", group,
                 (("SMB", "smb"), ("Mid-market", "mid"), ("Enterprise", "enterprise")), own=False),
        *_given(group, {"lastmodifieddate": "Last Modified Date"}, "datetime"),
        *_given(group, {"associatedcompanyid": "Primary Associated Company ID"}, "number"),
        *_given(group, {"hs_email_domain": "Email Domain", "hs_all_contact_vids": "Merged vids"}),
    ):  # fmt: skip
        found.add(item)
    return found


def _companies() -> ObjectType:
    group = "companyinformation"
    found = ObjectType(
        "companies", "0-2", "Company", frozenset({"companies", "company", "0-2"}),
        ("createdate", "domain", "hs_lastmodifieddate", "hs_object_id", "name"), "hs_lastmodifieddate",
        groups={group: "Company information"},
    )  # fmt: skip
    for item in (
        *_shared(group),
        *_texts(group, {"name": "Company name", "domain": "Company Domain Name", "description": "Description"}),
        Property("industry", "Industry", "enumeration", "select", group, INDUSTRY),
        Property("annualrevenue", "Annual Revenue", "number", "number", group),
        *_given(group, {"hs_lastmodifieddate": "Last Modified Date"}, "datetime"),
    ):
        found.add(item)
    return found


def standard() -> dict[str, ObjectType]:
    """The objects of a new account, by name. The account's own: `score`, `segment`, `utm_…` on contacts."""
    return {found.name: found for found in (_contacts(), _companies())}
