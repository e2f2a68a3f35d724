"""The end of a write: every row is checked against the org as it is now, then applied; all or none if asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crmsim.clock import Stamp
from crmsim.salesforce import ids, rules
from crmsim.salesforce.intents import Intent, Job
from crmsim.salesforce.org import Author, Change, Org
from crmsim.salesforce.refusals import RowError

ROLLED_BACK = RowError(
    "ALL_OR_NONE_OPERATION_ROLLED_BACK",
    "Record rolled back because not all records were valid and the request was using AllOrNone header",
)
STORAGE_FULL = RowError("STORAGE_LIMIT_EXCEEDED", "storage limit exceeded")


@dataclass(frozen=True, slots=True)
class RowResult:
    """What became of a row: an id and whether it is new, or an error."""

    id: str | None
    created: bool
    error: RowError | None = None


@dataclass(frozen=True, slots=True)
class Committed:
    """The rows' results, and the changes that stand: history once the transaction is over."""

    results: list[RowResult]
    changes: list[Change]


def locked_out(contended: str, wrapped_by: str = "") -> RowError:
    """`contended` is the 15-character id of the record whose lock was not to be had.

    `wrapped_by`: the object whose trigger ran into it; the code is then the trigger's and the lock's is in its words.
    """
    words = f"unable to obtain exclusive access to this record or 1 records: {ids.to18(contended)}"
    if not wrapped_by:
        return RowError("UNABLE_TO_LOCK_ROW", words)
    cause = f"System.DmlException: Update failed. First exception on row 0 with id {ids.to18(contended)}"
    return RowError(
        "CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY",
        f"{wrapped_by}Trigger: execution of AfterInsert\n\ncaused by: {cause}; first error: UNABLE_TO_LOCK_ROW, "
        f"{words}: []\n\nTrigger.{wrapped_by}Trigger: line 7, column 1",
    )


def commit(
    org: Org,
    look: rules.Look,
    job: Job,
    intents: Sequence[Intent],
    refused: Mapping[int, RowError],
    stamp: Stamp,
    *,
    storage_full: bool = False,
) -> Committed:
    """Apply what may be applied. `refused`: rows that the work has already lost, by position (locks)."""
    author = Author(job.user, "api", job.request, stamp)
    results: list[RowResult] = []
    changes: list[Change] = []
    for position, intent in enumerate(intents):
        error = intent.error or refused.get(position)
        change = None
        if error is None:
            error, change = _apply(org, look, job, intent, author, storage_full=storage_full)
        if change is None:
            results.append(RowResult(None, created=False, error=error))
        else:
            changes.append(change)
            results.append(RowResult(change.record.id18, created=change.before is None))
    if job.all_or_none and len(changes) < len(intents):
        for change in reversed(changes):
            org.revert(change)
        return Committed([result if result.error else RowResult(None, False, ROLLED_BACK) for result in results], [])
    return Committed(results, changes)


def _apply(
    org: Org, look: rules.Look, job: Job, intent: Intent, author: Author, *, storage_full: bool
) -> tuple[RowError | None, Change | None]:
    sobject, values = intent.sobject, dict(intent.values)
    record = org.records.get(intent.record) if intent.record else None
    if job.verb == "delete" and record is not None:
        if record.deleted:
            return RowError("ENTITY_IS_DELETED", "entity is deleted"), None
        return None, org.update(record, values, author)
    if intent.record and record is None:  # the transaction that made it has been undone since
        if job.key is None or job.by_id:
            return RowError("ENTITY_IS_DELETED", "entity is deleted"), None
        values = {job.key.name: intent.key} | values
        error = rules.check(org, look, sobject, None, values)
    else:
        error = rules.check_again(org, look, sobject, record, values)
    if error is not None:
        return error, None
    if record is None and storage_full:
        return STORAGE_FULL, None
    if record is None and "OwnerId" not in values and "ownerid" in sobject.fields:
        values["OwnerId"] = job.user
    if job.assign_rule and sobject.name == "Lead" and org.rule_owner:
        values["OwnerId"] = org.rule_owner
    if record is None:
        return None, org.insert(sobject, values, author)
    return None, org.update(record, values, author)
