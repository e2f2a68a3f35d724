"""Who calls: private apps with a token that lasts, one OAuth app with tokens that do not."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from crmsim.clock import stamp
from crmsim.hubspot import answers
from crmsim.hubspot.values import instant


@dataclass(frozen=True, slots=True)
class App:
    """What a burst limit is counted for. `scopes` None: all that there are."""

    id: int
    name: str
    oauth: bool
    scopes: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Grant:
    """An OAuth access token, until `ends` (simulated seconds)."""

    app: App
    ends: float


@dataclass(slots=True)
class Tokens:
    """All tokens of the account."""

    client_id: str
    client_secret: str = field(repr=False)
    refresh: set[str] = field(repr=False)
    private: dict[str, App] = field(default_factory=dict, repr=False)
    grants: dict[str, Grant] = field(default_factory=dict, repr=False)
    oauth: App = App(990_001, "OAuth app", oauth=True)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def add_private(self, token: str, name: str, scopes: frozenset[str] | None = None) -> App:
        """The token of an app that is there gives it another name and other scopes."""
        known = self.private.get(token)
        app = App(known.id if known else 880_001 + len(self.private), name, oauth=False, scopes=scopes)
        self.private[token] = app
        return app

    def grant(self, now: float, seconds: float) -> str:
        """A new access token; older ones stay good until their own end."""
        token = f"CJSIM-{next(self._numbers):06d}"
        self.grants[token] = Grant(self.oauth, now + seconds)
        return token

    def check(self, header: str | None, now: float) -> App:
        """The app of an Authorization header. Raises ApiError 401."""
        scheme, _, token = (header or "").partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            raise answers.unauthorized()
        if token in self.private:
            return self.private[token]
        grant = self.grants.get(token)
        if grant is None:
            raise answers.unauthorized()
        if now >= grant.ends:
            raise answers.expired(now - grant.ends, instant(stamp().wall - (now - grant.ends)))
        return grant.app

    def expire(self, header: str | None, now: float) -> None:
        """End the access token of a header now; a private app's token does not expire."""
        token = (header or "").partition(" ")[2].strip()
        if token in self.grants:
            self.grants[token] = Grant(self.oauth, now)

    def revoke(self, token: str | None) -> int:
        """Kill one token of any kind, or all access tokens; how many they were."""
        if token is None:
            count = len(self.grants)
            self.grants.clear()
            return count
        known = [store for store in (self.private, self.grants) if store.pop(token, None) is not None]
        was_refresh = token in self.refresh
        self.refresh.discard(token)
        return len(known) + int(was_refresh)
