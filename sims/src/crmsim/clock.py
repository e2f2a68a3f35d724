"""Simulated time: every number of seconds in this package is simulated; this module alone turns it into real ones."""

import asyncio
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Stamp:
    """One moment on two clocks: wall (Unix seconds) and the machine's monotonic one (comparable between processes)."""

    wall: float
    mono: float


def stamp() -> Stamp:
    return Stamp(time.time(), time.monotonic())


def datetime_text(wall: float) -> str:
    """Salesforce's dateTime, `2026-01-03T23:36:13.000+0000`."""
    return datetime.fromtimestamp(int(wall), UTC).strftime("%Y-%m-%dT%H:%M:%S.000+0000")


@dataclass(frozen=True, slots=True)
class Clock:
    """`scale` real seconds pass for one simulated second: 0.1 runs ten times faster than life."""

    scale: float = 1.0
    started: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        if not self.scale > 0:
            raise ValueError(f"the time scale must be above 0, not {self.scale}")

    def now(self) -> float:
        """Simulated seconds since the start."""
        return (time.monotonic() - self.started) / self.scale

    def real(self, seconds: float) -> float:
        return seconds * self.scale

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds * self.scale)

    async def until(self, moment: float) -> None:
        """Wait for a moment of `now()`. Within half a millisecond is there: 200 rows must not cost 200 timers."""
        real = (moment - self.now()) * self.scale
        if real > 0.0005:
            await asyncio.sleep(real)
