"""Countries to ISO 3166-1 alpha-2, from a file of names: English, the country's own, and what people write."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from importlib import resources
from typing import Final

DROPPED: Final = re.compile(r"[.'’`´]")
PARTED: Final = re.compile(r"[\W_]+")


LONGEST: Final = 100  # characters of a country's name


def country(text: str) -> str:
    """DE for Germany, Deutschland, DEU, de. What is no country's name is given back as it is: a person can mend it.

    A name that two countries share (Congo) is no country's name.
    """
    return found(text) if len(text) <= LONGEST else text


@lru_cache(maxsize=4096)
def found(text: str) -> str:
    return countries().get(folded(text), text)


def folded(text: str) -> str:
    """Letter case, accents, dots, hyphens and a leading "the" make no difference."""
    bare = unicodedata.normalize("NFKD", DROPPED.sub("", text).replace("&", " and ")).casefold()
    bare = "".join(char for char in bare if not unicodedata.combining(char))
    return PARTED.sub(" ", bare).strip().removeprefix("the ")


@lru_cache(maxsize=1)
def countries() -> dict[str, str]:
    """Folded name or code -> alpha-2."""
    codes: dict[str, str] = {}
    shared: set[str] = set()
    for line in resources.files("fairturn.decide").joinpath("countries.txt").read_text("utf-8").splitlines():
        if line.startswith("#") or not line:
            continue
        code, *names = line.split("|")
        for name in map(folded, (code, *names)):
            if name and codes.setdefault(name, code) != code:
                shared.add(name)
    return {name: code for name, code in codes.items() if name not in shared}
