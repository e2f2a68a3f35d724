"""From what a form shows to people to names that a mapping can write."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final
from urllib.parse import parse_qsl, urlsplit

LONGEST: Final = 80
CAMPAIGN: Final = ("source", "medium", "campaign", "term", "content", "id")
CLICKS: Final = ("gclid", "fbclid", "msclkid", "li_fat_id", "ttclid")


def slug(label: str) -> str:
    """work_email for "Work Email *", grosse for "Größe?", "" for what has no letter."""
    bare = unicodedata.normalize("NFKD", label[: 4 * LONGEST]).casefold()
    bare = "".join(char for char in bare if not unicodedata.combining(char))
    return re.sub(r"[\W_]+", "_", bare).strip("_")[:LONGEST].rstrip("_")


def campaign(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    """{"source": ..., "medium": ..., "gclid": ...} out of named values such as utm_source."""
    found: dict[str, object] = {}
    for name, value in pairs:
        low = name.lower()
        short = low.removeprefix("utm_")
        if value and ((low.startswith("utm_") and short in CAMPAIGN) or low in CLICKS):
            found.setdefault(short, value)
    return found


def campaign_of(url: object) -> dict[str, object]:
    """The same, out of the address of the page that a form stood on."""
    if not isinstance(url, str) or "?" not in url:
        return {}
    try:
        return campaign(parse_qsl(urlsplit(url).query, max_num_fields=200))
    except ValueError:  # a broken address, or a query made to be large
        return {}
