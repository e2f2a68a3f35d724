"""The org's objects and fields: labels, lengths, requirements, from recorded describes of Lead, Contact, Account."""

from dataclasses import replace

from crmsim.salesforce import places
from crmsim.salesforce.schema import Field, Sobject

STATUSES = ("Open - Not Contacted", "Working - Contacted", "Closed - Converted", "Closed - Not Converted", "Recycled")
SOURCES = ("Web", "Phone Inquiry", "Partner Referral", "Purchased List", "Other")
INDUSTRIES = ("Agriculture", "Banking", "Biotechnology", "Education", "Energy", "Healthcare", "Manufacturing", "Retail",
              "Technology", "Other")  # fmt: skip

RECORD_TYPE = Field(
    "RecordTypeId", "reference", 18, "Record Type ID", targets=("RecordType",), relationship="RecordType"
)
LEAD_ACCOUNT = Field(
    "Account__c", "reference", 18, "Account", targets=("Account",), relationship="Account__r"
)  # no standard org has it: a plain Lead knows no account before conversion


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


def _person(name: str, *, owners: tuple[str, ...], email_label: str) -> list[Field]:
    return [
        Field("LastName", length=80, label="Last Name", required=True),
        Field("FirstName", length=40, label="First Name"),
        Field("Salutation", "picklist", 40),
        Field("Name", length=121, label="Full Name", writable=False),
        Field("Title", length=128),
        Field("Email", "email", 80, email_label, id_lookup=True),
        Field("Phone", "phone", 40, "Business Phone"),
        Field("MobilePhone", "phone", 40, "Mobile Phone"),
        Field("LeadSource", "picklist", 255, "Lead Source", values=SOURCES),
        Field("Description", "textarea", 32000),
        Field("HasOptedOutOfEmail", "boolean", label="Email Opt Out", default=False),
        Field("DoNotCall", "boolean", label="Do Not Call", default=False),
        Field(
            "MasterRecordId",
            "reference",
            18,
            "Master Record ID",
            writable=False,
            targets=(name,),
            relationship="MasterRecord",
        ),
        RECORD_TYPE,
        Field("OwnerId", "reference", 18, "Owner ID", targets=owners, relationship="Owner"),
        Field("Fairturn_Id__c", label="Fairturn Id", external_id=True, unique=True),
        Field("Legacy_Id__c", label="Legacy Id", external_id=True),
        Field("Score__c", "double", label="Score"),
        Field("Segment__c", "picklist", label="Segment", values=("SMB", "Mid-Market", "Enterprise"), restricted=True),
        Field("Fairturn_Rule__c", length=80, label="Fairturn Rule"),
        Field("Fairturn_Pool__c", length=80, label="Fairturn Pool"),
        Field("Fairturn_Reason__c", length=255, label="Fairturn Reason"),
        Field("Fairturn_Assignment_Id__c", length=100, label="Fairturn Assignment Id"),
        Field("Fairturn_Assigned_At__c", "datetime", label="Fairturn Assigned At"),
        Field("Fairturn_Received_At__c", "datetime", label="Fairturn Received At"),
        Field("Notes__c", "textarea", 1000, "Notes"),
        Field("Renewal__c", "date", label="Renewal"),
    ]


def _address(prefix: str = "") -> list[Field]:
    """The parts of an address; the two codes are there where the org has state and country picklists."""
    parts = (
        ("Street", 255, "Street"), ("City", 40, "City"), ("State", 80, "State/Province"),
        ("PostalCode", 20, "Zip/Postal Code"), ("Country", 80, "Country"),
    )  # fmt: skip
    spoken = f"{prefix} " if prefix else ""
    texts = [Field(f"{prefix}{name}", length=length, label=f"{spoken}{label}") for name, length, label in parts]
    texts[0] = replace(texts[0], kind="textarea")
    codes = [
        Field(f"{prefix}StateCode", "picklist", 10, f"{spoken}State/Province Code", values=places.STATE_CODES),
        Field(f"{prefix}CountryCode", "picklist", 10, f"{spoken}Country Code", values=tuple(places.COUNTRIES)),
    ]
    return [*texts, *(replace(code, restricted=True) for code in codes)]


def _lead() -> Sobject:
    lead = Sobject("Lead", "00Q")
    own = [
        Field("Company", length=255, required=True),
        Field("Status", "picklist", 255, "Lead Status", values=STATUSES, default=STATUSES[0]),
        Field("Website", "url"),
        Field("Industry", "picklist", values=INDUSTRIES),
        Field("Rating", "picklist", values=("Hot", "Warm", "Cold")),
        Field("NumberOfEmployees", "int", label="Employees"),
        Field("AnnualRevenue", "double", label="Annual Revenue"),
        Field("IsUnreadByOwner", "boolean", label="Unread By Owner", default=True),
        Field("ConvertedDate", "date", label="Converted Date", writable=False),
        Field("IsConverted", "boolean", label="Converted", writable=False, default=False),
        Field(
            "ConvertedAccountId", "reference", 18, writable=False, targets=("Account",), relationship="ConvertedAccount"
        ),
        Field(
            "ConvertedContactId", "reference", 18, writable=False, targets=("Contact",), relationship="ConvertedContact"
        ),
        Field("ConvertedOpportunityId", "reference", 18, writable=False, targets=("Opportunity",)),
    ]
    for item in [*_system(), *_person("Lead", owners=("Group", "User"), email_label="Email"), *_address(), *own]:
        lead.add(item)
    lead.add(LEAD_ACCOUNT, locks=True)
    return lead


def _contact() -> Sobject:
    contact = Sobject("Contact", "003")
    for item in [*_system(), *_person("Contact", owners=("User",), email_label="Email"), *_address("Mailing")]:
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
        Field("Industry", "picklist", values=INDUSTRIES),
        Field("Type", "picklist", 255, "Account Type", values=("Customer", "Prospect", "Partner", "Other")),
        RECORD_TYPE,
        Field("NumberOfEmployees", "int", label="Employees"),
        Field("Description", "textarea", 32000, "Account Description"),
        Field("OwnerId", "reference", 18, "Owner ID", targets=("User",), relationship="Owner"),
        Field("Fairturn_Key__c", label="Fairturn Key", external_id=True, unique=True),
        Field("Legacy_Id__c", label="Legacy Id", external_id=True),
    ]
    for item in [*_system(), *own, *_address("Billing")]:
        account.add(item)
    return account


def _read_only(name: str, prefix: str, own: list[Field], *, tooling: bool = False) -> Sobject:
    sobject = Sobject(name, prefix, read_only=True, tooling=tooling)
    for item in [*_system(), *own]:
        sobject.add(item)
    return sobject


def _people() -> list[Sobject]:
    """Who may own records."""
    user = [
        Field("Name", length=121),
        Field("FirstName", length=40),
        Field("LastName", length=80),
        Field("Username", length=80),
        Field("Email", "email", 128),
        Field("Alias", length=8),
        Field("IsActive", "boolean"),
        Field("UserType", "picklist", 40),
        Field("FederationIdentifier", length=512),
        Field("ProfileId", "reference", 18, targets=("Profile",)),
        Field("UserRoleId", "reference", 18, targets=("UserRole",)),
    ]
    group = [Field("Name", length=40), Field("DeveloperName", length=80), Field("Type"), Field("Email", "email", 80)]
    queue = [
        Field("QueueId", "reference", 18, targets=("Group",), relationship="Queue"),
        Field("SobjectType", "picklist", 40),
    ]
    return [
        _read_only("User", "005", user),
        _read_only("Group", "00G", group),
        _read_only("QueueSobject", "03g", queue),
    ]


def _set_up() -> list[Sobject]:
    """How the org is set up: what a check before the first write asks for."""
    named = [Field("Name", length=80), Field("DeveloperName", length=80), Field("SobjectType", "picklist", 40)]
    organization = [
        Field("Name", length=80), Field("IsSandbox", "boolean"), Field("InstanceName", length=5),
        Field("OrganizationType", "picklist", 40), Field("TrialExpirationDate", "datetime"),
    ]  # fmt: skip
    rule = [
        Field("ValidationName", length=80), Field("Active", "boolean"), Field("ErrorMessage", length=255),
        Field("ErrorDisplayField", length=80), Field("Description", "textarea", 1000),
        Field("EntityDefinitionId", "reference", 18, targets=("EntityDefinition",), relationship="EntityDefinition"),
    ]  # fmt: skip
    entity = [Field("DurableId", length=80), Field("QualifiedApiName", length=80), Field("Label", length=80)]
    status = [
        Field("MasterLabel", length=255), Field("ApiName", length=255), Field("IsDefault", "boolean"),
        Field("IsConverted", "boolean"), Field("SortOrder", "int"),
    ]  # fmt: skip
    duplicates = [
        Field("MasterLabel", length=80),
        Field("DeveloperName", length=80),
        Field("SobjectType", "picklist", 40),
    ]
    return [
        _read_only("Organization", "00D", organization),
        _read_only("RecordType", "012", [*named, Field("IsActive", "boolean")]),
        _read_only("AssignmentRule", "01Q", [named[0], named[2], Field("Active", "boolean")]),
        _read_only("DuplicateRule", "0Bm", [*duplicates, Field("IsActive", "boolean")]),
        _read_only("LeadStatus", "01J", status),
        _read_only("EntityDefinition", "4ie", entity, tooling=True),
        _read_only("ValidationRule", "03d", rule, tooling=True),
    ]


def standard() -> dict[str, Sobject]:
    """The org as it starts, by lower-cased name."""
    return {item.name.lower(): item for item in (_lead(), _contact(), _account(), *_people(), *_set_up())}
