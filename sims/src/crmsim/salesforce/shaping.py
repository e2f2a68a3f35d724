"""The schema as the API user sees it: what switches take away, forbid or restrict of an object's fields."""

from dataclasses import replace

from crmsim.salesforce.schema import Field, Transform
from crmsim.salesforce.switches import Switches

KEY = "Fairturn_Id__c"
CODES = ("StateCode", "CountryCode")


def transform(switches: Switches, name: str) -> Transform:
    """How the fields of the object `name` appear under these switches."""
    hidden, bare, strict = (
        {path.partition(".")[2].lower() for path in paths if path.partition(".")[0].lower() == name.lower()}
        for paths in (switches.invisible, switches.unwritable, switches.restricted_picklists)
    )

    def seen(item: Field) -> Field | None:
        lower = item.name.lower()
        if lower in hidden or (item.name.endswith(CODES) and not switches.state_picklists):
            return None
        if item.name == "Account__c" and name == "Lead" and not switches.lead_account:
            return None
        if item.name == KEY:
            if switches.key_field == "absent":
                return None
            item = replace(item, unique=switches.key_field == "unique")
        if lower in bare:
            item = replace(item, writable=False)
        return replace(item, restricted=True) if lower in strict else item

    return seen


def misspelt(switches: Switches, every: dict[str, set[str]]) -> list[str]:
    """Paths `Object.Field` of the switches that no object has; `every` is fields by object, lower-cased."""
    paths = (*switches.invisible, *switches.unwritable, *switches.restricted_picklists)
    split = [(path, *path.lower().partition(".")[::2]) for path in paths]
    return [path for path, name, item in split if item not in every.get(name, ())]
