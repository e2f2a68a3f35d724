"""examples/salesforce: metadata that deploys as one, and says the same as the pages, the settings and the simulator."""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any, get_args

import pytest

from crmsim.salesforce.objects import standard
from fairturn.config import Destination, MapTo

ROOT = Path(__file__).parents[2]
HERE = ROOT / "examples/salesforce"
MAIN = HERE / "force-app/main/default"
FILES = sorted(MAIN.rglob("*.xml"))
FIELDS = sorted((MAIN / "objects/Lead/fields").glob("*.xml"))
NAMESPACE = "{http://soap.sforce.com/2006/04/metadata}"
KINDS = {"Text": "string", "DateTime": "datetime"}


def read(path: Path) -> ET.Element:
    return ET.parse(path).getroot()


def facts(path: Path) -> dict[str, str]:
    return {child.tag.removeprefix(NAMESPACE): (child.text or "").strip() for child in read(path)}


def entries(name: str, kind: str) -> list[dict[str, str]]:
    found = read(MAIN / f"permissionsets/{name}.permissionset-meta.xml").findall(f"{NAMESPACE}{kind}")
    return [{one.tag.removeprefix(NAMESPACE): one.text or "" for one in row} for row in found]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.parent.name}-{path.stem}")
def test_it_is_metadata(path):
    root = read(path)
    kind = "CustomField" if path.name.endswith(".field-meta.xml") else "PermissionSet"
    assert root.tag == NAMESPACE + kind
    if kind == "CustomField":
        assert facts(path)["fullName"] == path.name.removesuffix(".field-meta.xml")


def test_the_project():
    project = json.loads((HERE / "sfdx-project.json").read_text())
    assert project["sourceApiVersion"] == Destination(type="salesforce").api_version
    assert [package["path"] for package in project["packageDirectories"]] == ["force-app"]
    assert MAIN.is_relative_to(HERE / "force-app")


def test_lead_and_contact_have_the_same_fields():
    contact = MAIN / "objects/Contact/fields"
    assert {path.name: path.read_text() for path in FIELDS} == {
        path.name: path.read_text() for path in contact.glob("*.xml")
    }


def test_the_key_is_what_an_upsert_needs():
    key = facts(MAIN / f"objects/Lead/fields/{Destination(type='salesforce').external_id}.field-meta.xml")
    assert (key["type"], key["externalId"], key["unique"], key["caseSensitive"]) == ("Text", "true", "true", "true")
    assert int(key["length"]) >= len("ft-") + 32


@pytest.mark.parametrize("sobject", ["Lead", "Contact"])
def test_the_simulator_has_these_fields(sobject):
    there = standard()[sobject.lower()].every
    for path in FIELDS:
        found, ours = there[facts(path)["fullName"].lower()], facts(path)
        assert found.kind == KINDS[ours["type"]]
        assert (found.external_id, found.unique) == (ours["externalId"] == "true", ours.get("unique") == "true")
        assert found.external_id or ours["type"] != "Text" or found.length == int(ours["length"])


def test_every_assignment_field_has_one():
    """And the page maps each of them."""
    page = (HERE / "README.md").read_text()
    mapped: dict[str, Any] = dict(re.findall(r'^(\w+__c) = \{ assignment = "(\w+)" \}$', page, re.MULTILINE))
    assert set(mapped.values()) == assignments()
    names = {facts(path)["fullName"] for path in FIELDS}
    assert names == {*mapped, "Fairturn_Id__c"}
    assert all(f"| `{name}` |" in page for name in names)


def assignments() -> set[str]:
    return {word for kind in get_args(MapTo.model_fields["assignment"].annotation) for word in get_args(kind)}


def test_rights():
    """Every field of ours may be written; no required field is named, which Salesforce would refuse to deploy."""
    granted = {row["field"]: row for row in entries("Fairturn", "fieldPermissions")}
    for sobject in ("Lead", "Contact"):
        for path in FIELDS:
            row = granted[f"{sobject}.{facts(path)['fullName']}"]
            assert (row["editable"], row["readable"]) == ("true", "true")
    required = {"Lead.LastName", "Lead.Company", "Lead.Status", "Lead.OwnerId", "Contact.LastName", "Contact.OwnerId"}
    assert not required & set(granted)
    addresses = {"Lead.Address", "Contact.MailingAddress"}  # of which the parts are written
    for name in set(granted) - addresses:
        sobject, _, field = name.partition(".")
        assert field.lower() in standard()[sobject.lower()].every, name


def test_rights_are_no_more_than_needed():
    objects = {row["object"]: row for row in entries("Fairturn", "objectPermissions")}
    assert set(objects) == {"Lead", "Contact", "Account"}
    assert all(row["allowDelete"] == row["modifyAllRecords"] == "false" for row in objects.values())
    assert all(row["viewAllRecords"] == "true" for row in objects.values())
    assert {row["name"] for row in entries("Fairturn", "userPermissions")} == {"ApiEnabled", "TransferAnyLead"}
    private = {row["object"]: row for row in entries("Fairturn_Private_Sharing", "objectPermissions")}
    assert {name for name, row in private.items() if row["modifyAllRecords"] == "true"} == {"Lead", "Contact"}
