"""fairturn holds"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fairturn.cli import paper
from fairturn.cli.running import Actor, Because, Config, Json, by, login, run

if TYPE_CHECKING:
    from fairturn.assemble.operator import Operator
    from fairturn.operate.holds import Released
    from fairturn.views import By

group = typer.Typer(help="Leads that nobody can take now: list, release.", no_args_is_help=True)


@group.command("list", epilog="Example: fairturn holds list --pool emea")
def list_holds(
    pool: Annotated[str | None, typer.Option(help="Only of this pool.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many, oldest first.")] = 100,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Held leads, oldest first: in which pool, for how long, and why nobody could take them."""
    from fairturn.operate import holds, leads

    async def work(op: Operator) -> None:
        lines = await holds.holds(op.reads, pool, limit)
        if as_json:
            paper.as_json([leads.line_json(line) for line in lines])
        elif not lines:
            paper.say("No lead is held.")
        else:
            paper.table(
                ("Lead", "Name", "Pool", "For", "Why"),
                (
                    (
                        line.lead.id,
                        paper.clean(leads.name(line.lead.fields), 30),
                        line.lead.pool,
                        paper.ago(line.held_at),
                        line.lead.reason,
                    )
                    for line in lines
                ),
            )

    run(config, work)


@group.command("release", epilog="Example: fairturn holds release 17 jane@acme.com --to ann --reason 'she knows them'")
def release(
    *,
    reason: Because,
    leads: Annotated[list[str] | None, typer.Argument(help="Leads, by address or number.", metavar="[LEAD]...")] = None,
    pool: Annotated[str | None, typer.Option(help="All leads held in this pool.")] = None,
    to: Annotated[str | None, typer.Option("--to", metavar="REP", help="Give them to this rep.")] = None,
    park: Annotated[str | None, typer.Option(metavar="QUEUE", help="Park them under this queue of the CRM.")] = None,
    actor: Actor = login(),
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Try held leads again now, in their turn; or give them to a rep; or park them under a queue.

    Without --to and --park the pools take their held leads oldest first, so that no lead overtakes another.
    A lead given to a member of its pool is paid for with one of their later turns.
    """
    if bool(leads) == bool(pool):
        raise typer.BadParameter("name leads, or a pool with --pool", param_hint="LEAD")
    if to and park:
        raise typer.BadParameter("either to a rep or to a queue", param_hint="--to / --park")
    who = by(actor, reason)

    async def work(op: Operator) -> None:
        done = await _release(op, leads or [], pool, (to, park), who)
        if as_json:
            paper.as_json(
                {"released": {str(k): v for k, v in done.leads.items()}, "by_turn": done.tried, "held": done.held}
            )
            return
        for lead, receiver in done.leads.items():
            paper.say(f"Lead {lead}: {receiver}'s now." if to else f"Lead {lead}: parked under {receiver}.")
        if not (to or park):
            paper.say(f"{paper.many(done.tried, 'lead')} got an owner; {done.held:,} still held.")
        if done.held and not done.tried:
            paper.say("Still nobody can take them: `fairturn holds list` says why.")

    run(config, work)


async def _release(
    op: Operator, names: list[str], pool: str | None, receiver: tuple[str | None, str | None], who: By
) -> Released:
    from fairturn.errors import NotFound
    from fairturn.operate import holds
    from fairturn.operate.leads import locate, show

    plan, (to, park) = op.plan(), receiver
    if pool is not None and pool not in plan.shapes:
        raise NotFound("pool", pool, tuple(plan.shapes))
    found = [await locate(op.reads, name, plan.settings) for name in names]
    if to or park:
        if pool is not None:
            found = [line.lead.id for line in await holds.holds(op.reads, pool, holds.MOST)]
        if to:
            return await holds.give(op.acts, plan, found, to, who)
        return await holds.park(op.acts, plan, found, park or "", who)
    pools = [pool] if pool else [(await show(op.reads, lead)).line.lead.pool for lead in found]
    return await holds.try_again(op.reads, op.acts, plan, [name for name in pools if name], who)
