"""The connected app, and its tokens: they expire, and can be revoked in the middle of a run."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

from crmsim.salesforce import ids


@dataclass(frozen=True, slots=True)
class App:
    """The connected app, and what every user of the org logs in with; `jwt_key` is a public key or certificate, PEM."""

    client_id: str = "crmsim-client"
    client_secret: str = field(default="crmsim-secret", repr=False)
    password: str = field(default="crmsim-password", repr=False)
    security_token: str = field(default="crmsim-token", repr=False)
    refresh_token: str = field(default="crmsim-refresh", repr=False)
    jwt_key: str = ""

    def changed(self, values: Mapping[str, object]) -> "App":
        """Raises ValueError for a name that is none, or a value that is no text."""
        names = {item.name for item in fields(self)}
        if set(values) - names or not all(isinstance(value, str) for value in values.values()):
            raise ValueError(f"an app has {', '.join(sorted(names))}, each a text")
        return replace(self, **values)  # type: ignore[arg-type]  # looked at above


@dataclass(slots=True)
class Session:
    """One access token; `used` is the simulated moment of its last use."""

    user: str
    used: float


@dataclass(slots=True)
class Sessions:
    """The connected app and its live tokens."""

    app: App
    user: str = ""  # 18-character id of the run-as user
    org: str = ""
    live: dict[str, Session] = field(default_factory=dict)
    issued: int = 0

    def issue(self, now: float, user: str) -> str:
        """A token that looks like one: the org's id, an exclamation mark, noise. Deterministic by order of issue."""
        self.issued += 1
        noise = hashlib.sha256(f"{self.org}:{self.app.client_secret}:{self.issued}".encode()).hexdigest()
        token = f"{ids.to15(self.org) or self.org}!AQ{noise}"
        self.live[token] = Session(user, now)
        return token

    def check(self, token: str, now: float, lifetime: float) -> Session | None:
        """The session, if it lives; using it prolongs it."""
        session = self.live.get(token)
        if session is None:
            return None
        if now - session.used > lifetime:
            del self.live[token]
            return None
        session.used = now
        return session

    def revoke(self, token: str | None = None) -> int:
        """Kill one token or all; how many died."""
        if token is not None:
            return 1 if self.live.pop(token, None) else 0
        count = len(self.live)
        self.live.clear()
        return count
