"""Dataclasses of which one lead makes a dozen: frozen for the type checker, and quick to make.

At run time a frozen dataclass sets each field through object.__setattr__: 1.7 us for a Lead where plain slots take
0.45, in all a tenth of what routing a lead took. Equality, hash and slots are those of a frozen one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

__all__ = ["quick"]

if TYPE_CHECKING:
    from dataclasses import dataclass as quick
else:

    def quick(*, frozen: bool, slots: bool) -> Callable[[type], type]:
        """`@quick(frozen=True, slots=True)`: mypy reads it as dataclass."""
        return dataclass(slots=slots, unsafe_hash=frozen)
