"""OAuth by client credentials: tokens that expire, and that can be revoked in the middle of a run."""

import hashlib
from dataclasses import dataclass, field

from crmsim.salesforce import ids


@dataclass(slots=True)
class Session:
    """One access token; `used` is the simulated moment of its last use."""

    user: str
    used: float


@dataclass(slots=True)
class Sessions:
    """The connected app and its live tokens."""

    client_id: str
    client_secret: str = field(repr=False)
    user: str = ""  # 18-character id of the run-as user
    org: str = ""
    live: dict[str, Session] = field(default_factory=dict)
    issued: int = 0

    def issue(self, now: float) -> str:
        """A token that looks like one: the org's id, an exclamation mark, noise. Deterministic by order of issue."""
        self.issued += 1
        noise = hashlib.sha256(f"{self.org}:{self.client_secret}:{self.issued}".encode()).hexdigest()
        token = f"{ids.to15(self.org) or self.org}!AQ{noise}"
        self.live[token] = Session(self.user, now)
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
