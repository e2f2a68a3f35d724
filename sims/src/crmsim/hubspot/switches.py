"""What no public source settles, and what accounts differ in: switches, the defaults stricter for a client."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crmsim import switching


@dataclass(slots=True)
class Switches:
    """Every switch of the simulated account; the fidelity table says what each rests on."""

    partial_upsert: str = "keep"  # upsert by e-mail: "keep" what was not sent, or "clear" it
    update_trace: bool = False  # batch/update with trace ids: a bad property fails its row alone
    update_by_email: bool = False  # batch/update takes idProperty=email
    create_twins: str = "reject"  # one new e-mail twice in batch/create: "reject" the batch, or "conflict" the second
    fold_duplicates: bool = True  # A@x.co and a@x.co in one batch are duplicate ids
    conflict_id: bool = True  # the text of a 409 ends with `. Existing ID: …`
    owner_check: str = "archived"  # refuse owners that are "unknown" only, "archived" ones too, or none ("off")
    owner_code: str = "INVALID_OWNER_ID"
    owner_text: str = "{value} is not a valid owner id"
    lifecycle_backward: str = "ignore"  # an earlier lifecyclestage: "ignore" it, or "error"
    default_lifecycle: str = "lead"  # of a contact that is created without one; "" for none
    secondary_email: str = "keep"  # a write of a contact's additional e-mail as its e-mail: "keep" the first, or "swap"
    merged_write: str = "survivor"  # batch/update of a merged id: write the "survivor", or leave it "left_out"
    merge_new_id: bool = False  # a merge makes a new record id that both old ones resolve to
    delete_unknown: int = 204  # status of DELETE for an id that never was; 404
    tld_check: bool = True  # an e-mail of an unknown top-level domain is INVALID_EMAIL
    extra_tlds: str = "test example invalid localhost"  # believed in beside the list
    index_lag_least: float = 2.0  # seconds until search sees a change, at least
    index_lag_most: float = 5.0
    archived_quirk: bool = True  # search counts records archived within the lag in `total`, and lists none of them
    search_groups: int = 5  # filterGroups of a search, filters in a group, filters in all
    search_filters: int = 6
    search_filters_all: int = 18
    retry_after: bool = False  # 429 carry Retry-After
    limit_headers: bool = True  # X-HubSpot-RateLimit-*
    secondly_headers: bool = True  # the two deprecated ones
    scope_error: str = "granular"  # the shape of 403 MISSING_SCOPES: "granular" or "errors"
    missing_scopes: str = ""  # scopes that no app was granted, parted by blanks; a seed's `apps` say it of one app
    result_trace: bool = True  # results repeat the objectWriteTraceId of their input
    token_seconds: float = 1800.0  # of an OAuth access token
    association_ids: str = "number"  # ids in association results: "number" (recorded) or "string" (HubSpot's spec)

    def change(self, values: Mapping[str, Any]) -> None:
        """Set some. Raises ValueError."""
        switching.change(self, values, CHOICES)


CHOICES: switching.Choices = {
    "partial_upsert": ("keep", "clear"),
    "create_twins": ("reject", "conflict"),
    "owner_check": ("archived", "unknown", "off"),
    "lifecycle_backward": ("ignore", "error"),
    "secondary_email": ("keep", "swap"),
    "merged_write": ("survivor", "left_out"),
    "delete_unknown": (204, 404),
    "scope_error": ("granular", "errors"),
    "association_ids": ("number", "string"),
}
