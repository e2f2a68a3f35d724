"""What no public source settles, and what orgs differ in: switches, the defaults stricter for a client."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crmsim import switching


@dataclass(slots=True)
class Switches:
    """Every switch of the simulated org; README's fidelity table says what each rests on."""

    lead_account: bool = True  # the custom lookup Lead.Account__c, without which a Lead locks no account
    auto_create_accounts: bool = False  # an unknown key in Account__r makes the account, instead of INVALID_FIELD
    parent_lock: str = "write"  # "write": any write of a child locks its parent; "relation": only one that touches it
    lock_timeout: float = 10.0  # seconds a writer waits for a row
    single_lock_status: int = 500  # HTTP status of UNABLE_TO_LOCK_ROW on single-record calls; 400 also reported
    assignment_rule: bool = True  # runs when Sforce-Auto-Assign is absent or TRUE, and takes the lead's owner
    duplicate_rule: str = "off"  # "off", "alert" (allowSave=true helps), "block"; e-mails of Leads and Contacts
    length_unit: str = "utf16"  # what a field length counts: "utf16" code units or "codepoints"
    type_error: str = "request"  # a number where text belongs: 400 for the "request", or an error of the "row"
    storage_status: int = 400  # HTTP status of STORAGE_LIMIT_EXCEEDED on single-record calls
    query_page: int = 2000  # records per page of a query
    session_seconds: float = 7200.0  # a token dies so long after its last use
    composite_heavy_parts: int = 5  # queries and Collections among the 25 subrequests of a Composite
    composite_inherits_headers: bool = False  # a Composite hands all its headers on to its subrequests
    upsert_body_since: float = 46.0  # versions before it answer a single upsert that updated with 204, without a body
    client_credentials_user: bool = True  # off: 400 invalid_grant, no client credentials user enabled

    key_field: str = "unique"  # Fairturn_Id__c of Lead and Contact: "unique", "not_unique" or "absent"
    restricted_picklists: tuple[str, ...] = ()  # `Lead.Rating`: the field refuses what is not in its list
    unwritable: tuple[str, ...] = ()  # `Lead.Industry`: field-level security lets the API user read it only
    invisible: tuple[str, ...] = ()  # `Lead.Industry`: field-level security hides it from the API user
    state_picklists: bool = False  # addresses take states and countries of a list, and have the code fields
    trim_text: bool = True  # texts lose the white space around them, and are null when nothing is left
    inactive_owner_updates: bool = True  # off: a record that an inactive user keeps owning cannot be updated
    lock_wrapped: bool = False  # a lost lock comes wrapped by a trigger: CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY
    concurrent_limit: int = 25  # requests that may run longer than `long_request` seconds; 5 in a developer's org
    long_request: float = 20.0
    storage_full: bool = False  # no record can be created
    sharing: str = "view_all"  # "private": the API user sees only Leads and Contacts it owns; "read_only": edits those
    sharing_error: str = "INSUFFICIENT_ACCESS_ON_CROSS_REFERENCE_ENTITY"  # of an update by id of what it cannot see
    hidden_objects: tuple[str, ...] = ()  # `Contact`: the API user has no right to read it, and does not find it
    may_transfer: bool = True  # off: the API user cannot give records to others
    may_delete: bool = True
    automation_seconds: float = 0.0  # what triggers and flows cost for each Lead or Contact written
    automation_records: int = 0  # above so many in one transaction all of them fail; 0: no limit
    automation_error: str = "cpu"  # the limit's words: "cpu", "soql", "retries" or "flow"

    def change(self, values: Mapping[str, Any]) -> None:
        """Set some. Raises ValueError."""
        switching.change(self, values, CHOICES)


CHOICES: switching.Choices = {
    "parent_lock": ("write", "relation"),
    "single_lock_status": (500, 400),
    "duplicate_rule": ("off", "alert", "block"),
    "length_unit": ("utf16", "codepoints"),
    "type_error": ("request", "row"),
    "key_field": ("unique", "not_unique", "absent"),
    "sharing": ("view_all", "private", "read_only"),
    "sharing_error": (
        "INSUFFICIENT_ACCESS_ON_CROSS_REFERENCE_ENTITY",
        "INSUFFICIENT_ACCESS_OR_READONLY",
        "ENTITY_IS_DELETED",
        "NOT_FOUND",
    ),
    "automation_error": ("cpu", "soql", "retries", "flow"),
}
