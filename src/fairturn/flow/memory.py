"""What was asked lately need not be asked again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from fairturn.model import Person

KEPT = 600.0  # seconds that an answer is remembered
MOST = 20_000  # addresses remembered


class Memory:
    """Answers of the last minutes by address, those that found nobody among them. Times are monotonic seconds."""

    def __init__(self, most: int = MOST, kept: float = KEPT) -> None:
        self._most = most
        self._kept = kept
        self._known: OrderedDict[str, tuple[float, tuple[Person, ...]]] = OrderedDict()

    def of(self, email: str, now: float) -> tuple[Person, ...] | None:
        """None: not asked for lately."""
        found = self._known.get(email)
        return found[1] if found is not None and now - found[0] < self._kept else None

    def keep(self, emails: Sequence[str], people: Sequence[Person], now: float) -> None:
        there: dict[str, list[Person]] = {email: [] for email in emails}
        for person in people:
            if person.email in there:
                there[person.email].append(person)
        for email, found in there.items():
            self._known[email] = (now, tuple(found))
            self._known.move_to_end(email)
        while len(self._known) > self._most:
            self._known.popitem(last=False)
