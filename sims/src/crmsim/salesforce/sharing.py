"""Who may see and edit what: the API user with View All and Modify All, or without (switch `sharing`).

A record that is given to somebody else leaves the sight of an API user who may see only its own: queries do not return
it, an upsert by its key finds nothing and runs into the key's uniqueness, an update by id is refused.
"""

from crmsim.salesforce.org import Record
from crmsim.salesforce.refusals import RowError
from crmsim.salesforce.switches import Switches

SHARED = ("Lead", "Contact")
TEXTS = {
    "INSUFFICIENT_ACCESS_ON_CROSS_REFERENCE_ENTITY": "insufficient access rights on cross-reference id: {id}",
    "INSUFFICIENT_ACCESS_OR_READONLY": "insufficient access rights on object id",
    "ENTITY_IS_DELETED": "entity is deleted",
    "NOT_FOUND": "The requested resource does not exist",
}


def sees(switches: Switches, record: Record, user: str) -> bool:
    private = switches.sharing == "private" and record.sobject.name in SHARED
    return not private or record.values.get("OwnerId") == user


def refusal(switches: Switches, record: Record, user: str) -> RowError | None:
    """Why this user may not write to this record, which it has named by id."""
    if switches.sharing == "view_all" or record.sobject.name not in SHARED or record.values.get("OwnerId") == user:
        return None
    code = switches.sharing_error if switches.sharing == "private" else "INSUFFICIENT_ACCESS_OR_READONLY"
    return RowError(code, TEXTS[code].format(id=record.id))
