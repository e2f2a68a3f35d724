"""Everything that Fairturn raises on purpose.

FairturnError
+-- ConfigError              the settings do not stand; carries one Fault per finding
+-- RefusedRequest           a request that the door answers with 4xx; carries status and a sentence for the sender
|   +-- BadSignature         401, the same words whether the source is unknown or the proof is wrong
+-- MappingProblem           an event that cannot be a lead's, whatever the mapping: it is quarantined with the sentence
+-- Overloaded               503 with Retry-After: the event could not be stored
+-- StoreError               PostgreSQL, or the Valkey before it, said no
|   +-- Unstorable           the values themselves are refused: the others can be stored
|   +-- StoreUnavailable     no connection, restart, out of disk: try again
|   +-- Contended            deadlock, lock time-out, serialisation: the same transaction may be run again
|   +-- SchemaTooNew         the database was migrated by a newer release, marked breaking for this one
|   +-- SchemaMissing        the database has not been migrated yet
|   +-- ServerTooOld         PostgreSQL older than 17
|   +-- DataInUse            another Fairturn runs on the same data directory
|   +-- UnsafeStore          a Valkey that may lose or evict what it acknowledged: its settings must change
+-- StaleConfig              the turn saw another config version than the one the decision used: load it, decide again
+-- StaleLead                a lead was merged into another while we waited for its lock: decide again
+-- DestinationError         a whole request to a CRM failed before any record was judged
|   +-- LoginRefused         the token endpoint said no: a person must act
|   +-- WrongOrg             the destination answers for another org than the one pinned
+-- NotServing               `serve` cannot start: its port is taken, or one of its processes does not come up
+-- NotFound                 the thing a person named does not exist; carries suggestions
+-- NotAllowed               the act makes no sense in the present state (retry of a delivered write, ...)

Foreign errors (asyncpg, httpx2, jmespath, orjson) are mapped at the border of the room that calls the library.
"""

from __future__ import annotations

from dataclasses import dataclass


class FairturnError(Exception):
    """Base of every error raised on purpose. The message is for a person and says what to do."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One finding about the settings."""

    message: str  # what is wrong, in a sentence
    remedy: str  # what to write instead
    file: str | None = None
    line: int | None = None  # 1-based
    key: str | None = None  # dotted path, e.g. pools.emea.members.ann
    severity: str = "error"  # error | warning

    def __str__(self) -> str:
        where = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        head = f"{where}: " if where else ""
        key = f"{self.key}: " if self.key else ""
        return f"{head}{key}{self.message}. {self.remedy}"


class ConfigError(FairturnError):
    """The settings do not stand. `faults` holds every finding, not just the first."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        super().__init__("\n".join(str(fault) for fault in faults))
        self.faults = faults


class RefusedRequest(FairturnError):
    """A request that is answered with `status` (4xx) and `message`, and leaves no event."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class BadSignature(RefusedRequest):
    """401; the same for an unknown source and a wrong proof, so that neither can be probed."""

    def __init__(self) -> None:
        super().__init__(401, "The signature or secret of this request does not verify for this source.")


class MappingProblem(FairturnError):
    """The event holds nothing that a lead could be made of; the sentence goes into the quarantine list."""


class Overloaded(FairturnError):
    """The event could not be made durable now. `retry_after` in whole seconds."""

    def __init__(self, message: str, retry_after: int = 5) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class StoreError(FairturnError):
    """A store refused, with its own words."""


class Unstorable(StoreError):
    """The values themselves are refused: trying again does not help, storing the others does."""


class StoreUnavailable(StoreError):
    """No connection, a restart, no disk: the same call may go through later."""


class Contended(StoreError):
    """Deadlock, lock time-out or serialisation failure: run the transaction again."""


class SchemaTooNew(StoreError):
    """A newer release migrated this database and marked the step as breaking for older programs."""


class SchemaMissing(StoreError):
    """The tables are not there; `fairturn db migrate` makes them."""


class ServerTooOld(StoreError):
    """A PostgreSQL without settings and statements that Fairturn relies on."""


class DataInUse(StoreError):
    """Another Fairturn holds the data directory."""


class UnsafeStore(StoreError):
    """A Valkey whose settings let it lose what it acknowledged; the message says what to set."""


class StaleConfig(FairturnError):
    """The turn saw another config version than the one decided with."""


class StaleLead(FairturnError):
    """A lead was merged into another while we waited for its lock."""


class DestinationError(FairturnError):
    """A request to a CRM failed as a whole. after: seconds for which its limits ask to be left alone, where they do."""

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


class LoginRefused(DestinationError):
    """The CRM refuses our credentials; retrying does not help."""


class WrongOrg(DestinationError):
    """The CRM that answers is not the org that the settings pin."""


class NotServing(FairturnError):
    """`serve` ends at once, with the reason, instead of trying for ever."""


class NotFound(FairturnError):
    """What a person named does not exist."""

    def __init__(self, kind: str, name: str, known: tuple[str, ...] = ()) -> None:
        hint = f" Known: {', '.join(known[:8])}." if known else ""
        super().__init__(f"There is no {kind} {name!r}.{hint}")
        self.kind = kind
        self.name = name


class NotAllowed(FairturnError):
    """The act makes no sense in the present state; the message says why."""
