"""Blocks of a page that are made of figures, in a text that is written by hand.

<!-- figures: race speed -->
... replaced ...
<!-- end -->
"""

from __future__ import annotations

import re
from collections.abc import Mapping

BLOCK = re.compile(
    r"(?P<head><!-- figures: (?P<name>[^>]+?) -->\n).*?(?P<foot>^<!-- end -->$)", re.DOTALL | re.MULTILINE
)
NOT_YET = "*Not measured yet.*"


def names(text: str) -> list[str]:
    return [found["name"] for found in BLOCK.finditer(text)]


def filled(text: str, blocks: Mapping[str, str]) -> str:
    """`text`, with every block as `blocks` says; one that nothing is known of says so."""

    def block(found: re.Match[str]) -> str:
        inner = blocks.get(found["name"], "").strip() or NOT_YET
        return f"{found['head']}\n{inner}\n\n{found['foot']}"

    return BLOCK.sub(block, text)
