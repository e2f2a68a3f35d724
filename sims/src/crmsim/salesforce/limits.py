"""The org's limits: requests a day, requests that run long, storage (SF-docs: API request limits, resources_limits)."""

from typing import Any

from crmsim.clock import stamp
from crmsim.evidence import Entry
from crmsim.salesforce.answers import ApiError
from crmsim.salesforce.state import Salesforce

RECORD_KB = 2  # what a record takes of the data storage (SF-help: data and file storage)
STORAGE_MB = 1024


def take(sim: Salesforce, entry: Entry, calls: int = 1) -> None:
    """Count calls toward the limits. Raises ApiError 403: its message alone tells the two limits apart."""
    if sim.usage.used + calls > sim.usage.maximum:
        raise ApiError(403, "REQUEST_LIMIT_EXCEEDED", "TotalRequests Limit exceeded.")
    if long_running(sim, entry) >= sim.switches.concurrent_limit:
        raise ApiError(403, "REQUEST_LIMIT_EXCEEDED", "ConcurrentRequests (Concurrent API Requests) Limit exceeded.")
    sim.usage.used += calls
    entry.calls += calls


def long_running(sim: Salesforce, entry: Entry) -> int:
    """Other requests in work that have run for `long_request` simulated seconds or more: only those are counted."""
    since = stamp().mono - sim.clock.real(sim.switches.long_request)
    others = (other for other in sim.evidence.open.values() if other is not entry)
    return sum(other.kind in ("read", "write") and other.arrived.mono <= since for other in others)


def report(sim: Salesforce) -> dict[str, Any]:
    """The body of `GET /limits`, as far as a client that writes records reads it."""
    usage, kept = sim.usage, len(sim.org.records) * RECORD_KB // 1024
    return {
        "DailyApiRequests": {"Max": usage.maximum, "Remaining": max(0, usage.maximum - usage.used)},
        "DataStorageMB": {"Max": STORAGE_MB, "Remaining": 0 if sim.switches.storage_full else STORAGE_MB - kept},
        "DailyBulkV2QueryJobs": {"Max": 10_000, "Remaining": 10_000},
        "HourlyTimeBasedWorkflow": {"Max": 1000, "Remaining": 1000},
        "SingleEmail": {"Max": 5000, "Remaining": 5000},
    }
