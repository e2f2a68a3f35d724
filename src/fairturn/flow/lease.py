"""What a lease allows, on this process's own monotonic clock: the ledger's times are PostgreSQL's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from fairturn.decide.verdicts import request_heard
from fairturn.model import Answer, Failed, LookUp, Verdict
from fairturn.ports import Lease

MARGIN = 0.2  # of the lease's time, in which we take nothing more


@dataclass(frozen=True, slots=True)
class Standing:
    """The lease as the ledger told it. `at`: monotonic seconds just before we asked, so never too late."""

    lease: Lease
    at: float
    seconds: float

    def usable(self, now: float) -> bool:
        """Whether the lease is surely still ours: after a SIGSTOP it is not, whatever we were about to do."""
        return self.lease.held and now < self.at + self.seconds * (1.0 - MARGIN)

    def blocked(self, now: float) -> float:
        """Seconds until somebody may send again; 0 = now."""
        if self.lease.blocked_until is None:
            return 0.0
        return max(0.0, (self.lease.blocked_until - self.lease.now).total_seconds() - (now - self.at))

    def time(self, now: float) -> datetime:
        """PostgreSQL's time, reckoned on from the last answer."""
        return self.lease.now + timedelta(seconds=now - self.at)

    def blocked_for(self, now: float, seconds: float) -> Standing:
        until = self.time(now) + timedelta(seconds=max(seconds, self.blocked(now)))
        return replace(self, lease=replace(self.lease, blocked_until=until, failures=self.lease.failures + 1))

    def after(self, answer: Answer | LookUp, found: tuple[Verdict, ...] = ()) -> Standing:
        """With what one answer adds to the counts, until the ledger tells them anew."""
        failed = sum(isinstance(verdict, Failed) for verdict in found)
        heard = isinstance(answer, Answer) and request_heard(answer)
        return replace(
            self,
            lease=replace(
                self.lease,
                failures=0 if heard else self.lease.failures,
                failed_hour=self.lease.failed_hour + failed,
                calls_day=self.lease.calls_day + answer.calls,
            ),
        )
