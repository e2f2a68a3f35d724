"""The time that a write takes, and the locks it holds meanwhile.

A request reaches its rows one after the other, `per_record` apart; it takes a row's locks when it reaches the row and
holds them until its commit, `fixed` seconds after the last row. So a request of one account holds it from start to
end, the strictest reading for whoever sends two requests of one account at once. Two requests that take the same two
accounts in different order wait for each other until one's time is over, as in the real org.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from crmsim.clock import stamp
from crmsim.evidence import RowNote, digest
from crmsim.salesforce import automation, coercion, ids, intents
from crmsim.salesforce import commit as commits
from crmsim.salesforce.answers import ApiError
from crmsim.salesforce.commit import Committed, locked_out
from crmsim.salesforce.exchange import Exchange
from crmsim.salesforce.intents import Intent, Job, Row
from crmsim.salesforce.locks import LockTable
from crmsim.salesforce.org import Org
from crmsim.salesforce.refusals import RowError
from crmsim.salesforce.rules import Look
from crmsim.salesforce.state import Salesforce
from crmsim.salesforce.transaction import Transaction


@dataclass(slots=True)
class _Held:
    """What one write holds, what it could not get, and how long it has waited."""

    locks: LockTable
    keys: list[str]  # the transaction's
    lost: set[str] = field(default_factory=set)
    waited: float = 0.0


async def write(exchange: Exchange, job: Job, rows: Sequence[Row]) -> Committed:
    """Resolve, wait, lock, apply, and leave the evidence. A write that is no part of a larger one is committed."""
    sim, entry = exchange.sim, exchange.entry
    transaction = exchange.transaction or Transaction(sim.org, sim.locks, sim.evidence, entry)
    org = transaction.org
    entry.records += len(rows)
    try:
        planned = intents.resolve(org, sim.switches, job, rows, stamp())
    except coercion.WrongType as wrong:
        raise ApiError(400, "JSON_PARSER_ERROR", f"{wrong} at [line:1, column:1]") from None
    sim.evidence.touch(entry, _accounts(org, planned))
    held = _Held(transaction.locks, transaction.held)
    limit = automation.broken(sim.switches, planned, (change.record.sobject for change in transaction.changes))
    try:
        refused = limit | await _work(exchange, planned, held)
        full = sim.switches.storage_full or (exchange.fault is not None and exchange.fault.kind == "storage_full")
        look = Look(sim.switches, job.user)
        done = commits.commit(org, look, job, planned, refused, stamp(), storage_full=full)
        notes = [
            _note(org, job, row, intent, result)
            for row, intent, result in zip(rows, planned, done.results, strict=True)
        ]
        await transaction.wrote(notes, done.changes)
        if exchange.transaction is None:
            transaction.commit()
    finally:
        if exchange.transaction is None:
            transaction.release()
    return done


async def _work(exchange: Exchange, planned: Sequence[Intent], held: _Held) -> dict[int, RowError]:
    """Spend the request's time; the rows whose locks were not to be had, by position."""
    sim, fault = exchange.sim, exchange.fault
    began, refused = sim.clock.now(), {}
    moment = began
    if fault is not None and fault.kind == "lock":
        refused = _forced(sim, planned, fault.rows)
    for position, intent in enumerate(planned):
        if intent.error is None and position not in refused:
            await sim.clock.until(moment + held.waited)
            contended = await _lock_row(exchange, intent, held)
            if contended is not None:
                refused[position] = _locked_out(sim, intent, contended)
        moment += sim.latency.per_record + automation.seconds(sim.switches, intent)
    sim.evidence.worked(sim.latency.fixed, moment - began)
    await sim.clock.until(moment + held.waited + sim.latency.fixed)
    if fault is not None and fault.kind == "slow":
        await exchange.rest(fault.seconds)
    return refused


def _forced(sim: Salesforce, planned: Sequence[Intent], count: int | None) -> dict[int, RowError]:
    """The fault `lock`: rows that fail as if another transaction held their parent, or themselves."""
    hit = list(enumerate(planned))[:count]
    return {n: _locked_out(sim, row, _keys(row)[-1] if _keys(row) else "001000000000000") for n, row in hit}


def _locked_out(sim: Salesforce, intent: Intent, contended: str) -> RowError:
    return locked_out(contended, intent.sobject.name if sim.switches.lock_wrapped else "")


def _keys(intent: Intent) -> list[str]:
    """What the row locks: its own record, then its parents."""
    return [*((intent.record,) if intent.record else ()), *intent.parents]


async def _lock_row(exchange: Exchange, intent: Intent, held: _Held) -> str | None:
    """Take the row's locks, its own first; the key that was not to be had, or None.

    A key that timed out once in this request is lost to its other rows at once: they do not wait 10 seconds each.
    """
    sim, entry = exchange.sim, exchange.entry
    for key in _keys(intent):
        if key in held.lost:
            return key
        holder = held.locks.holder(key)
        if holder == entry.n:
            continue
        since = sim.clock.now()
        sim.evidence.bell.ring()
        got = await held.locks.take(key, entry.n, sim.clock.real(sim.switches.lock_timeout))
        if holder is not None:
            waited = sim.clock.now() - since
            held.waited += waited
            wait = {"record": ids.to18(key), "holder": holder, "waited": round(waited, 4), "timed_out": not got}
            sim.evidence.lock_wait(entry, wait)
        if not got:
            held.lost.add(key)
            return key
        held.keys.append(key)
    return None


def _accounts(org: Org, planned: Sequence[Intent]) -> list[str]:
    """18-character ids of the accounts that the request will lock, as parents or as the records themselves."""
    found: dict[str, None] = {}
    for intent in planned:
        for key in _keys(intent):
            if intent.error is None and org.records[key].sobject.name == "Account":
                found[ids.to18(key)] = None
    return list(found)


def _note(org: Org, job: Job, row: Row, intent: Intent, result: commits.RowResult) -> RowNote:
    done = "deleted" if job.verb == "delete" else "created" if result.created else "updated"
    outcome = result.error.code if result.error else done
    account = None
    record = org.get(result.id) if result.id else None
    if record is not None and record.sobject.parents:
        account = record.values.get(record.sobject.parents[0].name)
    body = {name: value for name, value in row.raw.items() if name != "attributes"}
    return RowNote(intent.key, result.id, outcome, account, digest(body), row.sobject.name)
