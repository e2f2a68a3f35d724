"""The pictures of the measurements. What is drawn is plain data, made of the results; how it is drawn is matplotlib's.

A picture carries the digest of its data, so that a test can tell whether it is the one of the committed figures without
drawing: two versions of a font do not draw the same bytes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

DIGEST = re.compile(r"figures:([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Plot:
    name: str  # of the file, without .svg, and of the module that draws it up to the first hyphen
    alt: str  # what it shows, in a sentence
    data: Mapping[str, Any]  # everything that is drawn, ready for JSON; numbers rounded to what can be seen

    @property
    def digest(self) -> str:
        told = orjson.dumps({"name": self.name, "data": self.data}, option=orjson.OPT_SORT_KEYS)
        return hashlib.sha256(told).hexdigest()

    def image(self, folder: str = "plots") -> str:
        return f"![{self.alt}]({folder}/{self.name}.svg)"


def digest_in(svg: str) -> str | None:
    """The digest that a picture carries."""
    found = DIGEST.search(svg)
    return found[1] if found else None
