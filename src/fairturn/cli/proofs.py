"""fairturn audit, fairturn reconcile: proofs on the user's own data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fairturn.cli import paper
from fairturn.cli.progress import bar
from fairturn.cli.running import NO, Config, Json, moment, run

if TYPE_CHECKING:
    from fairturn.assemble.operator import Operator
    from fairturn.operate.audit import Audit
    from fairturn.operate.reconcile import Reconciled

SHOWN = 20  # of the findings that are no fault


def audit(config: Config = None, as_json: Json = False) -> None:
    """Prove the rotation fair: recompute every turn from the record, and compare it with the one that was made.

    Exit code 1 if a turn differs, a number is missing, or anybody was ever a whole lead away from their share.
    """
    from fairturn.operate.audit import audit as recompute

    async def work(op: Operator) -> Audit:
        with bar("pool") as tell:
            return await recompute(op.proofs, tell)

    found = run(config, work)
    if as_json:
        paper.as_json(found.as_json())
    else:
        _show(found)
    if not found.ok:
        raise typer.Exit(NO)


def reconcile(
    since: Annotated[str, typer.Option(help="How far back, such as 90m, 24h or 7d.", metavar="TIME")] = "24h",
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Ask the CRM itself about every lead that was answered 2xx: is it there, once, with the owner we gave it?

    Exit code 1 if one is missing or there twice. Leads on their way, in a list, or older than the destination are
    counted apart, and so are second records that were there before us or that somebody else made. Another owner in the
    CRM is listed and is no fault: a person may have changed it.
    """
    from fairturn.operate.reconcile import reconcile as compare

    start = moment(since)

    async def work(op: Operator) -> Reconciled:
        from fairturn.assemble.operator import inspects

        settings = op.plan().settings
        with bar("asking") as tell:
            async with inspects(settings, op.env) as (crms, silent):
                return await compare(op.proofs, crms, silent, settings, start, tell)

    found = run(config, work)
    if as_json:
        paper.as_json(found.as_json())
    else:
        _compared(found, since)
    if not found.ok:
        raise typer.Exit(NO)


def _compared(found: Reconciled, since: str) -> None:
    for name, why in found.silent.items():
        paper.say(f"{name} was not asked: {why}.")
    for row in found.missing:
        paper.say(
            f"MISSING in {row['destination']}: lead {row['lead']} ({row['email'] or 'no address'}): {row['why']}."
        )
    for row in found.twice:
        records = ", ".join(map(str, row["records"])) if isinstance(row["records"], list) else ""
        paper.say(f"TWICE in {row['destination']}: lead {row['lead']} ({row['email'] or 'no address'}): {records}.")
    for row in found.twins_of_others[:SHOWN]:
        records = ", ".join(map(str, row["records"])) if isinstance(row["records"], list) else ""
        paper.say(
            f"Several of one person in {row['destination']}, at most one of them by us: lead {row['lead']} "
            f"({row['email'] or 'no address'}): {records}."
        )
    if len(found.twins_of_others) > SHOWN:
        paper.say(f"… and {len(found.twins_of_others) - SHOWN:,} more persons with several; --json lists them.")
    for row in found.owner_differs[:SHOWN]:
        wanted, now = row["wanted_name"] or row["wanted"], row["found_name"] or row["found"] or "nobody"
        told = "that was never sent" if row["sent"] is None else "that was sent"
        who = row["email"] or "no address"
        paper.say(f"Another owner in {row['destination']}: lead {row['lead']} ({who}): {wanted} ({told}), there {now}.")
    if len(found.owner_differs) > SHOWN:
        paper.say(f"… and {len(found.owner_differs) - SHOWN:,} more with another owner; --json lists them.")
    if not found.asked:
        return
    paper.say(
        f"{paper.many(found.checked, 'lead')} of the last {since} checked: {len(found.missing):,} missing, "
        f"{len(found.twice):,} twice, {len(found.owner_differs):,} with another owner; {found.waiting:,} on their way, "
        f"{found.listed:,} in a list (failed, held, put aside)."
    )
    for name, count in found.never_due.items():
        paper.say(
            f"{paper.many(count, 'lead')} came before {name} was in the settings, or while it was in shadow, and did "
            "not change since, so nothing was due there. To write them too: fairturn destinations backfill "
            f"{name} --since {since} --reason '...'"
        )


def _show(found: Audit) -> None:
    if not found.pools:
        paper.say("No pool has been set up yet, so there is nothing to recompute.")
        return
    for name, pool in found.pools.items():
        if pool.assignments == 0:
            paper.say(f"{name}: no leads yet.")
            continue
        worst = f"{pool.max_deviation:.2f}".rstrip("0").rstrip(".") or "0"
        paper.say(f"{name}: {paper.many(pool.assignments, 'lead')}; furthest from fair share: {worst} of a lead.")
        if pool.unmeasured:
            turns = paper.many(pool.unmeasured, "turn")
            paper.say(f"  {turns} under a filter, recomputed but outside this measure.")
        if pool.gaps:
            paper.say(f"  {paper.many(pool.gaps, 'number')} missing in its record.")
        if pool.credit:
            words = [f"{rep} {'is owed' if leads > 0 else 'owes'} {abs(leads)}" for rep, leads in pool.credit.items()]
            paper.say(f"  Still to be settled: {', '.join(words)}.")
        if name in found.differences:
            paper.say(f"  NOT as recorded: {found.differences[name]}.")
    if found.outside:
        paper.say(f"Owners named by a rule, outside any pool: {paper.many(found.outside, 'lead')}.")
    if found.ok:
        paper.say(f"OK: {paper.many(found.assignments, 'assignment')}, every turn recomputed is the one that was made.")
    else:
        paper.say("NOT OK: the record does not add up, see above.")
