"""The settings as they were read: what they say, and where."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from fairturn.config import Settings
from fairturn.errors import Fault
from fairturn.operate.lines import Lines


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings that stand, with their text. `faults` are warnings; errors were raised."""

    settings: Settings
    text: str
    path: Path
    lines: Lines
    faults: tuple[Fault, ...] = ()

    def line_of(self, key: str) -> int | None:
        """1-based line of a dotted key (`rules.2.when`), or of the nearest thing around it that is written."""
        return self.lines.of(key)

    def fault(self, key: str, message: str, remedy: str, severity: str = "error") -> Fault:
        return Fault(message, remedy, str(self.path), self.line_of(key), key, severity)

    def warning(self, key: str, message: str, remedy: str) -> Fault:
        return self.fault(key, message, remedy, "warning")

    def placed(self, fault: Fault) -> Fault:
        """A fault of a text within the settings, its line counted within that text, as one of this file."""
        start = self.lines.texts.get(fault.key or "") or self.line_of(fault.key or "")
        line = start + (fault.line or 1) - 1 if start else None
        return replace(fault, file=str(self.path), line=line)
