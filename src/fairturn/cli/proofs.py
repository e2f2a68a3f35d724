"""fairturn audit, fairturn reconcile: proofs on the user's own data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from fairturn.cli import paper
from fairturn.cli.progress import bar
from fairturn.cli.running import NO, Config, Json, run

if TYPE_CHECKING:
    from fairturn.assemble.operator import Operator
    from fairturn.operate.audit import Audit


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
