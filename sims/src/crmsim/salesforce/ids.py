"""Record ids: 15 characters whose case counts, or 18 whose last three carry that case (SF-docs: ID field type)."""

from collections.abc import Iterator
from functools import lru_cache

SUFFIX = "ABCDEFGHIJKLMNOPQRSTUVWXYZ012345"
BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@lru_cache(100_000)  # a row of a request names the same few ids again and again
def suffix(id15: str) -> str:
    """Three characters, one for each five of the id; bit n of a character says that letter n is a capital."""
    chunks = (id15[start : start + 5] for start in (0, 5, 10))
    return "".join(SUFFIX[sum(1 << n for n, letter in enumerate(chunk) if "A" <= letter <= "Z")] for chunk in chunks)


def to18(id15: str) -> str:
    return id15 + suffix(id15)


@lru_cache(100_000)
def to15(text: str) -> str | None:
    """The 15-character form of either form, or None if it is no id.

    An 18-character id is read without regard to case, as Salesforce does: the suffix restores it.
    """
    if len(text) not in (15, 18) or not (text.isascii() and text.isalnum()):
        return None
    if len(text) == 15:
        return text
    restored = []
    for start, check in zip((0, 5, 10), text[15:].upper(), strict=True):
        bits = SUFFIX.find(check)
        if bits < 0:
            return None
        for n, letter in enumerate(text[start : start + 5]):
            capital = bool(bits >> n & 1)
            if capital and not letter.isalpha():
                return None
            restored.append(letter.upper() if capital else letter.lower())
    return "".join(restored)


def sequence(prefix: str, seed: int) -> Iterator[str]:
    """Ids in the order of creation: prefix, pod, a reserved 0, then a base-62 number that the seed starts."""
    pod = BASE62[10 + seed % 26] + BASE62[36 + seed // 26 % 26]
    number = (seed * 7919 + 4_477_457) % 62**6
    while True:
        yield f"{prefix}{pod}0{_base62(number, 9)}"
        number += 1


def _base62(number: int, width: int) -> str:
    digits = ""
    for _ in range(width):
        number, digit = divmod(number, 62)
        digits = BASE62[digit] + digits
    return digits
