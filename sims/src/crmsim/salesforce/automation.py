"""The org's own triggers and flows: what they cost, and how a transaction ends that is more than they can swallow.

A limit is the transaction's: when it breaks, every record that went through the automation fails, good or bad, with the
limit's words (Apex guide: execution governors; a System.LimitException cannot be caught).
"""

from collections.abc import Iterable, Sequence

from crmsim.salesforce.intents import Intent
from crmsim.salesforce.refusals import RowError
from crmsim.salesforce.schema import Sobject
from crmsim.salesforce.switches import Switches

AUTOMATED = ("Lead", "Contact")
APEX = "CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY"
WORDS = {
    "cpu": (APEX, "{object}Trigger: System.LimitException: Apex CPU time limit exceeded"),
    "soql": (APEX, "{object}Trigger: System.LimitException: Too many SOQL queries: 101"),
    "retries": (APEX, "Too many batch retries in the presence of Apex triggers and partial failures."),
    "flow": (
        "CANNOT_EXECUTE_FLOW_TRIGGER",
        (
            "We can't save this record because the “{object} Intake” process failed. Give your Salesforce admin these "
            "details. This error occurred when the flow tried to update records: LIMIT_EXCEEDED: "
            "System.LimitException: Too many SOQL queries: 101. You can look up ExceptionCode values in the SOAP API "
            "Developer Guide. Error ID: 1234567890-12345 (-1234567890)"
        ),
    ),
}


def seconds(switches: Switches, intent: Intent) -> float:
    """Simulated seconds that the automation adds to this row."""
    runs = intent.error is None and intent.sobject.name in AUTOMATED
    return switches.automation_seconds if runs else 0.0


def broken(switches: Switches, planned: Sequence[Intent], before: Iterable[Sobject]) -> dict[int, RowError]:
    """The rows that fail together, by position; `before` are the objects already written in this transaction."""
    runs = [n for n, row in enumerate(planned) if row.error is None and row.sobject.name in AUTOMATED]
    written = sum(sobject.name in AUTOMATED for sobject in before)
    if not switches.automation_records or len(runs) + written <= switches.automation_records:
        return {}
    code, words = WORDS[switches.automation_error]
    return {n: RowError(code, words.format(object=planned[n].sobject.name)) for n in runs}
