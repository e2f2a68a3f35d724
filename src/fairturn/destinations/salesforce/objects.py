"""What the same thing is called in another object: a person is a Lead, or a Contact once it was converted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fairturn.config import MapTo

LEAD: Final = "Lead"
CONTACT: Final = "Contact"
OTHER: Final[Mapping[str, str]] = {LEAD: CONTACT, CONTACT: LEAD}

SAME: Final = (
    "FirstName", "LastName", "Salutation", "Email", "Phone", "MobilePhone", "Fax", "Title", "Description",
    "LeadSource", "HasOptedOutOfEmail", "HasOptedOutOfFax", "DoNotCall",
)  # fmt: skip
ADDRESS: Final = ("Street", "City", "State", "PostalCode", "Country", "StateCode", "CountryCode")
# Lead -> Contact. What is not here (Company, Status, Rating, Industry, NumberOfEmployees, Website, a record type) is of
# the lead alone, or of the account.
TO_CONTACT: Final[Mapping[str, str]] = {name: name for name in SAME} | {name: f"Mailing{name}" for name in ADDRESS}
TO_LEAD: Final[Mapping[str, str]] = {there: here for here, there in TO_CONTACT.items()}

OURS: Final = "fairturn_"  # how the fields that our package makes on both objects begin


def translated(fields: Mapping[str, MapTo], external_id: str, *, to: str) -> dict[str, MapTo]:
    """The mapping of one object for the other. Custom fields of its own are left out: an object with the same field has
    it in a mapping of its own (`contact_map`).
    """
    names = {name.lower(): other for name, other in (TO_CONTACT if to == CONTACT else TO_LEAD).items()}
    found = {}
    for name, way in fields.items():
        if (other := names.get(name.lower())) is not None:
            found[other] = way
        elif name.lower().startswith(OURS) or name.lower() == external_id.lower():
            found[name] = way
    return found
