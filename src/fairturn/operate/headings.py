"""What the columns of an export are called, in the field's many ways, and which lead fields they are."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

# Folded to small letters and digits; the first lead field that claims a heading has it.
NAMES: Final[dict[str, tuple[str, ...]]] = {
    "email": ("email", "emailaddress", "mail", "workemail", "businessemail", "contactemail", "email1", "emailid",
              "emailadresse"),
    "first_name": ("firstname", "givenname", "vorname", "prenom", "nombre", "first"),
    "last_name": ("lastname", "surname", "familyname", "nachname", "nom", "apellido", "apellidos", "last"),
    "full_name": ("fullname", "name", "contactname", "leadname", "yourname", "vollstandigername"),
    "company": ("company", "companyname", "organization", "organisation", "account", "accountname", "firma",
                "employer", "business", "associatedcompany", "entreprise", "empresa"),
    "title": ("title", "jobtitle", "position", "role", "function", "jobrole"),
    "phone": ("phone", "phonenumber", "telephone", "tel", "mobile", "mobilephone", "mobilephonenumber", "telefon"),
    "website": ("website", "websiteurl", "url", "web", "companydomainname", "domain", "companywebsite"),
    "street": ("street", "streetaddress", "address", "addressline1", "mailingstreet"),
    "city": ("city", "town", "mailingcity", "ort", "ville"),
    "state": ("state", "stateprovince", "stateregion", "province", "mailingstate"),
    "postal_code": ("postalcode", "zip", "zipcode", "zippostalcode", "postcode", "plz", "mailingzippostalcode"),
    "country": ("country", "countryregion", "countrycode", "mailingcountry", "land", "pays", "ipcountry"),
    "language": ("language", "preferredlanguage", "lang", "sprache", "locale"),
    "employees": ("employees", "numberofemployees", "noofemployees", "numemployees", "companysize", "headcount",
                  "employeecount"),
    "score": ("score", "leadscore", "hubspotscore", "leadrating"),
    "lead_source": ("leadsource", "originalsource", "source", "latestsource", "utmsource"),
    "campaign": ("campaign", "campaignname", "utmcampaign"),
    "message": ("message", "comments", "comment", "description", "notes", "howcanwehelp"),
}  # fmt: skip
OWNERS: Final = (
    "leadowner", "owner", "ownername", "contactowner", "leadownername", "recordowner", "accountowner", "hubspotowner",
    "owneremail", "leadowneremail", "assignedto", "assignee", "salesrep", "rep", "representative", "accountexecutive",
)  # fmt: skip
NOBODY: Final = {"", "none", "unassigned", "noowner", "na", "null", "nobody", "unknown"}


def fold(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]", "", plain.lower())


def lead_fields(headings: Iterable[str]) -> dict[str, str]:
    """Lead field -> the heading that means it. Of several the one whose name stands first in our list wins."""
    folded: dict[str, str] = {}
    for heading in headings:
        folded.setdefault(fold(heading), heading)
    return {
        field: folded[name]
        for field, names in NAMES.items()
        for name in [next((name for name in names if name in folded), None)]
        if name is not None
    }


def owner_heading(headings: Iterable[str]) -> str | None:
    folded = {fold(heading): heading for heading in reversed(list(headings))}
    return next((folded[name] for name in OWNERS if name in folded), None)


def people(owners: Iterable[str], most: int = 200) -> list[tuple[str, str, str | None]]:
    """(rep id, name, address or None) of every owner named, in order of first mention; ids are made unique."""
    found: list[tuple[str, str, str | None]] = []
    seen: set[str] = set()
    ids: set[str] = set()
    for owner in owners:
        text = "".join(sign for sign in " ".join(owner.split()) if sign.isprintable())[:200]
        if re.sub(r"[\W_]", "", text.lower()) in NOBODY or text.casefold() in seen or len(found) >= most:
            continue
        seen.add(text.casefold())
        is_address = re.fullmatch(r"[^\s@]+@[^\s@]+\.[^\s@]+", text) is not None
        name = spoken_name(text) if is_address else text
        found.append((unused(slug(name), ids), name, text if is_address else None))
    return found


def spoken_name(address: str) -> str:
    return " ".join(part.capitalize() for part in re.split(r"[._+-]+", address.partition("@")[0]) if part)


def slug(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:40].strip("-") or "rep"


def unused(wanted: str, taken: set[str]) -> str:
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}-{number}"
    taken.add(name)
    return name


def left_over(headings: Sequence[str], fields: dict[str, str]) -> list[str]:
    """Headings that are no lead field and no owner."""
    used = {*fields.values(), owner_heading(headings)}
    return [heading for heading in headings if heading not in used]
