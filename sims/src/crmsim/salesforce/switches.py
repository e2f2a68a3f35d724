"""What no public source settles, and what orgs differ in: switches, the defaults stricter for a client."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(slots=True)
class Switches:
    """Every switch of the simulated org; README's fidelity table says what each rests on."""

    lead_account: bool = True  # the custom lookup Lead.Account__c, without which a Lead locks no account
    auto_create_accounts: bool = False  # an unknown key in Account__r makes the account, instead of INVALID_FIELD
    parent_lock: str = "write"  # "write": any write of a child locks its parent; "relation": only one that touches it
    lock_timeout: float = 10.0  # seconds a writer waits for a row
    single_lock_status: int = 500  # HTTP status of UNABLE_TO_LOCK_ROW on single-record calls; 400 also reported
    assignment_rule: bool = True  # runs when Sforce-Auto-Assign is absent or TRUE, and takes the lead's owner
    duplicate_rule: str = "off"  # "off", "alert" (allowSave=true helps), "block"; matches e-mail of Leads
    length_unit: str = "utf16"  # what a field length counts: "utf16" code units or "codepoints"
    type_error: str = "request"  # a number where text belongs: 400 for the "request", or an error of the "row"
    storage_status: int = 400  # HTTP status of STORAGE_LIMIT_EXCEEDED on single-record calls
    query_page: int = 2000  # records per page of a query
    session_seconds: float = 7200.0  # a token dies so long after its last use
    client_credentials_user: bool = True  # off: 400 invalid_grant, no client credentials user enabled

    def change(self, values: Mapping[str, Any]) -> None:
        """Set some. Raises ValueError for an unknown name, a wrong type or a word that is no choice."""
        known = {item.name: type(getattr(self, item.name)) for item in fields(self)}
        for name, value in values.items():
            if name not in known:
                raise ValueError(f"no switch {name!r}; there are {', '.join(known)}")
            kind = known[name]
            allowed = (int, float) if kind is float else (kind,)
            if not isinstance(value, allowed) or (kind is not bool and isinstance(value, bool)):
                raise ValueError(f"switch {name} takes a {kind.__name__}, not {value!r}")
            if value not in CHOICES.get(name, (value,)):
                raise ValueError(f"switch {name} must be one of {', '.join(map(str, CHOICES[name]))}")
        for name, value in values.items():
            setattr(self, name, value)


CHOICES: Mapping[str, tuple[Any, ...]] = {
    "parent_lock": ("write", "relation"),
    "single_lock_status": (500, 400),
    "duplicate_rule": ("off", "alert", "block"),
    "length_unit": ("utf16", "codepoints"),
    "type_error": ("request", "row"),
}
