"""What was refused for a reason that can be mended, made ready to be sent once more in the same write.

An account that the CRM does not have, fields that it does not take, a record that is gone or was converted. Everything
else stays refused, with what a person can do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal

from fairturn.destinations.salesforce.decode import Problem, lacks_parent, names_nobody, overloaded
from fairturn.destinations.salesforce.drafting import Drafter
from fairturn.destinations.salesforce.encode import Encoder, only_id_is_the_owners
from fairturn.destinations.salesforce.finding import Finder, There
from fairturn.destinations.salesforce.mending import TWICE, mend
from fairturn.destinations.salesforce.objects import CONTACT, LEAD
from fairturn.destinations.salesforce.rows import Row, Writing
from fairturn.errors import DestinationError
from fairturn.model import Later, Refused, Written

Fate = Literal["final", "account", "fields", "gone", "converted"]
GONE: Final = ("ENTITY_IS_DELETED", "NOT_FOUND")
CONVERTED: Final = "CANNOT_UPDATE_CONVERTED_LEAD"
REMEDIES: Final[Mapping[str, str]] = {
    "INSUFFICIENT": "Give the integration user View All and Modify All on Leads and Contacts",
    "INVALID_TYPE": "Give the integration user the right to create and edit this object",
    "DUPLICATES_DETECTED": "A duplicate rule blocks it: let the rule allow it to the integration user, or merge them",
    CONVERTED: "The Lead was converted, and its Contact is not to be seen: give the integration user the right to",
}
UNSEEN: Final = "That record is not to be seen. Give the integration user View All and Modify All on Leads and Contacts"
DELETED: Final = (
    "The record was deleted in Salesforce, and is not made again. Restore it from the recycle bin and retry, or drop "
    "this write"
)


class SecondLook:
    def __init__(self, drafter: Drafter, finder: Finder, encoder: Encoder) -> None:
        self._drafter = drafter
        self._finder = finder
        self._encoder = encoder

    async def mended(self, run: Writing, rows: Sequence[Row], user: str | None) -> list[Row]:
        """Those of the rows just sent that are worth another try. user: who we are."""
        fates = {row.key: self._fate(row, run) for row in rows}
        some: dict[Fate, list[Row]] = {}
        for row in rows:
            some.setdefault(fates[row.key], []).append(row)
        again = [self._drafter.without_account(row) for row in some.get("account", ())]
        for row in some.get("fields", ()):
            found = mend(row.record, run.problems[row.key], self._encoder.external_id)
            again += [self._drafter.mended(row, found)] if found else []
        try:
            again += await self._heirs(run, some.get("gone", []), user)
            again += await self._contacts(run, some.get("converted", []), user)
        except DestinationError as error:
            for row in (*some.get("gone", ()), *some.get("converted", ())):
                words = f"it is not known where the record is now: {error}"
                run.outcomes[row.key] = Later(row.key, None, "record", "NOT_FOUND_OUT", words)
        return again

    def settle(self, run: Writing) -> None:
        """What only the whole story tells: whose fault an id is that is nobody's, and what a person can do."""
        bare = [row for row in run.rows.values() if row.bare and isinstance(run.outcomes[row.key], Written)]
        whole = {row.key: self._encoder.compose(row.out, row.sobject) for row in bare}
        # Only what went through without its account says that the account was at fault, and not the owner.
        self._drafter.note_missing(one for record in whole.values() if (one := self._encoder.account_of(record)))
        for key, row in run.rows.items():
            outcome = run.outcomes[key]
            if names_nobody(outcome, row.out) and only_id_is_the_owners(row.record):
                run.outcomes[key] = outcome = replace(outcome, owner_fault=True)
            if isinstance(outcome, Refused) and not outcome.owner_fault and (remedy := _remedy(outcome)):
                run.outcomes[key] = replace(outcome, message=f"{outcome.message}. {remedy}")

    def _fate(self, row: Row, run: Writing) -> Fate:
        outcome, problems = run.outcomes[row.key], run.problems.get(row.key, ())
        if overloaded(problems):
            return "final"
        if self._is_marked_elsewhere(problems) and not row.moved and (row.out.record_id or row.out.attempt > 1):
            return "gone"
        if problems and all(problem.code == "DUPLICATE_VALUE" for problem in problems):
            # Another unique field than our key: no race of two upserts, though it reads like one.
            return "fields" if mend(row.record, problems, self._encoder.external_id) else "final"
        if not isinstance(outcome, Refused) or outcome.owner_fault:
            return "final"
        if any(problem.code == CONVERTED for problem in problems):
            return "converted" if row.sobject == LEAD and not row.moved else "final"
        if lacks_parent(outcome) and not row.bare and self._encoder.account_of(row.record):
            new_contact = row.sobject == CONTACT and row.out.record_id is None
            return "final" if new_contact else "account"
        if row.out.record_id is not None and not row.moved and _is_gone(problems):
            return "gone"
        return "fields" if mend(row.record, problems, self._encoder.external_id) else "final"

    def _is_marked_elsewhere(self, problems: Sequence[Problem]) -> bool:
        """Another record bears our key."""
        key = self._encoder.external_id.lower()
        return any(
            problem.code == "DUPLICATE_VALUE"
            and (found := TWICE.search(problem.message)) is not None
            and found[1].lower() == key
            for problem in problems
        )

    async def _heirs(self, run: Writing, rows: Sequence[Row], user: str | None) -> list[Row]:
        if not rows:
            return []
        marked = {row.key for row in rows if self._is_marked_elsewhere(run.problems[row.key])}
        outs = [(replace(row.out, record_id=None) if row.key in marked else row.out, row.sobject) for row in rows]
        there = await self._finder.moved(run, outs)
        again: list[Row] = []
        for row in rows:
            found, outcome = there.get(row.key), run.outcomes[row.key]
            if found is not None and not found.same:
                again += self._moved(run, row, found, user)
            elif found is None and isinstance(outcome, Refused) and row.key in marked:
                run.outcomes[row.key] = replace(outcome, message=f"{outcome.message}. {UNSEEN}")
            elif found is None and isinstance(outcome, Refused):
                run.outcomes[row.key] = replace(outcome, code=GONE[0], message=f"{outcome.message}. {DELETED}")
        return again

    async def _contacts(self, run: Writing, rows: Sequence[Row], user: str | None) -> list[Row]:
        there = await self._finder.contacts(run, [row.out for row in rows]) if rows else {}
        return [one for row in rows if row.key in there for one in self._moved(run, row, there[row.key], user)]

    def _moved(self, run: Writing, row: Row, there: There, user: str | None) -> list[Row]:
        run.found[row.key] = there.values
        if there.owner is not None:
            run.owners[row.key] = there.owner
        made = self._drafter.row(row.out, there, user)
        if isinstance(made, Refused):
            run.outcomes[row.key] = made
            return []
        return [replace(made, moved=True)]


def _is_gone(problems: Sequence[Problem]) -> bool:
    """Of a record named by its id. An id that is nobody's may be the record's own."""
    return any(
        problem.code in GONE or (problem.code == "INVALID_CROSS_REFERENCE_KEY" and not problem.fields)
        for problem in problems
    )


def _remedy(outcome: Refused) -> str | None:
    return next((words for code, words in REMEDIES.items() if outcome.code.startswith(code)), None)
