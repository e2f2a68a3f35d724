"""First and last name out of a full name, as simply as can be explained. The full name stays the truth."""

from __future__ import annotations


def split_name(full: str) -> tuple[str | None, str]:
    """(first, last). The last word is the last name; before a comma stands the last name; one word is a last name, as
    that is what a CRM requires.
    "van der Berg, Anna" -> Anna / van der Berg; "Anna van der Berg" -> Anna van der / Berg.
    """
    last, comma, first = full.partition(",")
    if comma and first.strip() and last.strip():
        return " ".join(first.split()), " ".join(last.split())
    words = full.replace(",", " ").split()
    return " ".join(words[:-1]) or None, words[-1] if words else full
