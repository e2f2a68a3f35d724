"""The account's limits: a rolling ten seconds per app, five searches a second and a day's calls per account."""

from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from crmsim.hubspot import answers
from crmsim.hubspot.options import HubspotOptions
from crmsim.hubspot.switches import Switches
from crmsim.hubspot.tokens import App
from crmsim.wire import Answer

WINDOW = 10  # seconds; `TEN_SECONDLY_ROLLING`
NAMES = ("burst", "oauth_burst", "search", "daily", "used", "window")


def zone(name: str) -> tzinfo:
    """Raises ValueError for a zone that this machine does not know."""
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise ValueError(f"no time zone {name!r} on this machine") from None


@dataclass(slots=True)
class Limits:
    """What was used. Moments are simulated seconds; the day is that of the account's time zone.

    `window`: the seconds in which an app may make `burst` calls. The header tells them, and clients wait real ones.
    """

    burst: int
    oauth_burst: int
    search: int
    daily: int
    zone: tzinfo
    used: int = 0
    window: int = WINDOW
    day: str = ""
    calls: dict[int, deque[float]] = field(default_factory=lambda: defaultdict(deque))
    searches: deque[float] = field(default_factory=deque)

    @classmethod
    def of(cls, options: HubspotOptions) -> "Limits":
        return cls(
            options.burst_limit,
            options.oauth_burst_limit,
            options.search_limit,
            options.daily_limit,
            zone(options.time_zone),
        )

    def most(self, app: App) -> int:
        return self.oauth_burst if app.oauth else self.burst

    def roll(self, wall: float) -> None:
        """A new day in the account's time zone gives the day's calls back."""
        today = datetime.fromtimestamp(wall, self.zone).strftime("%Y-%m-%d")
        if today != self.day:
            self.day, self.used = today, 0

    def midnight(self, wall: float) -> datetime:
        """When the day's calls come back."""
        here = datetime.fromtimestamp(wall, self.zone)
        return (here + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0).astimezone(UTC)

    def take(self, app: App, now: float, wall: float, *, search: bool) -> str | None:
        """Count one call; `daily`, `search` or `burst` if it may not be made (it is not counted then)."""
        self.roll(wall)
        if self.used >= self.daily:
            return "daily"
        window, span, most = (
            (self.searches, 1.0, self.search) if search else (self.calls[app.id], float(self.window), self.most(app))
        )
        while window and window[0] <= now - span:
            window.popleft()
        if len(window) >= most:
            return "search" if search else "burst"
        window.append(now)
        self.used += 1
        return None

    def headers(self, app: App, now: float, switches: Switches, *, search: bool) -> dict[str, str]:
        """The daily two not for OAuth apps; the burst's not on searches (recorded)."""
        if not switches.limit_headers:
            return {}
        found: dict[str, str] = {}
        if not app.oauth:
            left = max(0, self.daily - self.used)
            found |= {"X-HubSpot-RateLimit-Daily": str(self.daily), "X-HubSpot-RateLimit-Daily-Remaining": str(left)}
        if search:
            return found
        most, window = self.most(app), self.calls[app.id]
        recent = sum(1 for moment in window if moment > now - self.window)
        found |= {
            "X-HubSpot-RateLimit-Interval-Milliseconds": str(self.window * 1000),
            "X-HubSpot-RateLimit-Max": str(most),
            "X-HubSpot-RateLimit-Remaining": str(max(0, most - recent)),
        }
        if switches.secondly_headers:
            second = sum(1 for moment in window if moment > now - 1)
            found |= {
                "X-HubSpot-RateLimit-Secondly": str(most // 10),
                "X-HubSpot-RateLimit-Secondly-Remaining": str(max(0, most // 10 - second)),
            }
        return found

    def report(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in NAMES} | {
            "recent": {str(app): len(window) for app, window in self.calls.items()}
        }

    def change(self, values: Mapping[str, Any]) -> None:
        """Raises ValueError for an unknown name or no whole number of 0 or more."""
        for name, value in values.items():
            if name not in NAMES or isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ValueError(f"limits are {', '.join(NAMES)}, whole numbers of 0 or more; not {name}={value!r}")
        for name, value in values.items():
            setattr(self, name, value)


def refusal(which: str, portal: int, app: App, switches: Switches, until_midnight: float) -> Answer:
    """The recorded bodies: three shapes, told apart by `policyName`, or by the message of a search."""
    waits = {"daily": max(1, int(until_midnight)), "search": 1, "burst": 10}
    headers = {"Retry-After": str(waits[which])} if switches.retry_after else {}
    spent = {"burst": "X-HubSpot-RateLimit-Remaining", "daily": "X-HubSpot-RateLimit-Daily-Remaining"}.get(which)
    if spent is not None and switches.limit_headers and not (which == "daily" and app.oauth):
        headers[spent] = "0"
    if which == "search":
        return answers.error(429, "You have reached your secondly limit.", "RATE_LIMITS", headers=headers)
    more: dict[str, Any] = {"errorType": "RATE_LIMIT"}
    if which == "daily":
        more |= {"policyName": "DAILY", "requestId": "00000000-0000-0000-0000-000000000000"}
        return answers.error(429, "You have reached your daily limit.", headers=headers, **more)
    group = "oauth" if app.oauth else "private_app"
    more |= {
        "policyName": "TEN_SECONDLY_ROLLING",
        "groupName": f"publicapi:{group}-api-calls-ten-secondly:{portal}:{app.id}",
    }
    return answers.error(429, "You have reached your ten_secondly_rolling limit.", headers=headers, **more)
