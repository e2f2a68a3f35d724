"""States and countries of an org whose addresses take picklist values (SF-help: State and Country/Territory Picklists).

The texts take a name, the code fields its ISO code; one fills the other. A part of the world is enough: an org's
administrator chooses the list. Messages as recorded by integrations (FIELD_INTEGRITY_EXCEPTION).
"""

from collections.abc import Mapping
from typing import Any

COUNTRIES: Mapping[str, str] = {
    "US": "United States", "CA": "Canada", "MX": "Mexico", "BR": "Brazil", "AR": "Argentina", "GB": "United Kingdom",
    "IE": "Ireland", "DE": "Germany", "AT": "Austria", "CH": "Switzerland", "FR": "France", "BE": "Belgium",
    "NL": "Netherlands", "LU": "Luxembourg", "ES": "Spain", "PT": "Portugal", "IT": "Italy", "PL": "Poland",
    "CZ": "Czechia", "SE": "Sweden", "NO": "Norway", "DK": "Denmark", "FI": "Finland", "GR": "Greece", "TR": "Turkey",
    "IL": "Israel", "AE": "United Arab Emirates", "ZA": "South Africa", "NG": "Nigeria", "KE": "Kenya", "EG": "Egypt",
    "IN": "India", "CN": "China", "JP": "Japan", "KR": "Korea, Republic of", "SG": "Singapore", "PH": "Philippines",
    "AU": "Australia", "NZ": "New Zealand", "UA": "Ukraine", "RO": "Romania", "HU": "Hungary", "CL": "Chile",
    "CO": "Colombia",
}  # fmt: skip
_US = (
    "AL Alabama,AK Alaska,AZ Arizona,AR Arkansas,CA California,CO Colorado,CT Connecticut,DE Delaware,"
    "DC District of Columbia,FL Florida,GA Georgia,HI Hawaii,ID Idaho,IL Illinois,IN Indiana,IA Iowa,KS Kansas,"
    "KY Kentucky,LA Louisiana,ME Maine,MD Maryland,MA Massachusetts,MI Michigan,MN Minnesota,MS Mississippi,"
    "MO Missouri,MT Montana,NE Nebraska,NV Nevada,NH New Hampshire,NJ New Jersey,NM New Mexico,NY New York,"
    "NC North Carolina,ND North Dakota,OH Ohio,OK Oklahoma,OR Oregon,PA Pennsylvania,RI Rhode Island,"
    "SC South Carolina,SD South Dakota,TN Tennessee,TX Texas,UT Utah,VT Vermont,VA Virginia,WA Washington,"
    "WV West Virginia,WI Wisconsin,WY Wyoming"
)
_CA = (
    "AB Alberta,BC British Columbia,MB Manitoba,NB New Brunswick,NL Newfoundland and Labrador,NS Nova Scotia,"
    "NT Northwest Territories,NU Nunavut,ON Ontario,PE Prince Edward Island,QC Quebec,SK Saskatchewan,"
    "YT Yukon Territories"
)
_AU = (
    "ACT Australian Capital Territory,NSW New South Wales,NT Northern Territory,QLD Queensland,SA South Australia,"
    "TAS Tasmania,VIC Victoria,WA Western Australia"
)


def _states(text: str) -> dict[str, str]:
    return {code: name for code, _, name in (part.partition(" ") for part in text.split(","))}


STATES: Mapping[str, Mapping[str, str]] = {"US": _states(_US), "CA": _states(_CA), "AU": _states(_AU)}
STATE_CODES = tuple(sorted({code for states in STATES.values() for code in states}))


class Unplaced(Exception):
    """A state or country that the org's lists do not have; `field` is the API name of the text field."""

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.field = field


def complete(prefix: str, spoken: str, before: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """What the four fields of one address become; empty if the write touches none of them. Raises Unplaced.

    `prefix` is that of the fields' names, `spoken` that of their labels; `before` is the record as it stands.
    """
    names = [f"{prefix}{part}" for part in ("Country", "CountryCode", "State", "StateCode")]
    if not any(name in values for name in names):
        return {}
    country, country_code, state, state_code = names
    code = _country(before, values, country, country_code, f"{spoken}Country")
    given = _given(before, values, state, state_code)
    found = {country: COUNTRIES[code] if code else None, country_code: code, state: None, state_code: None}
    if given is None:
        return found
    if code is None:
        message = "A country/territory must be specified before specifying a state value for field: "
        raise Unplaced(f"{message}{spoken}State/Province", state)
    for key, name in STATES.get(code, {}).items():
        if given in (("code", key.casefold()), ("name", name.casefold())):
            return found | {state: name, state_code: key}
    message = (
        "There's a problem with this state, even though it may appear correct. Please select a state from the list "
    )
    raise Unplaced(f"{message}of valid states.: {spoken}State/Province", state)


def _given(before: Mapping[str, Any], values: Mapping[str, Any], text: str, code: str) -> tuple[str, str] | None:
    """The text or the code that the write sets, else what stands; folded."""
    for source in (values, before):
        for kind, name in (("code", code), ("name", text)):
            if source.get(name):
                return kind, str(source[name]).casefold()
        if source is values and (text in values or code in values):
            return None
    return None


def _country(before: Mapping[str, Any], values: Mapping[str, Any], text: str, code: str, label: str) -> str | None:
    given = _given(before, values, text, code)
    if given is None:
        return None
    for key, name in COUNTRIES.items():
        if given in (("code", key.casefold()), ("name", name.casefold())):
            return key
    message = (
        "There's a problem with this country, even though it may appear correct. Please select a country/territory "
    )
    raise Unplaced(f"{message}from the list of valid countries.: {label}", text)
