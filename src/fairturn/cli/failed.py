"""fairturn failed"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from fairturn.cli import paper
from fairturn.cli.running import Actor, Because, Config, Json, Reason, by, login, run

if TYPE_CHECKING:
    from fairturn.assemble.operator import Operator
    from fairturn.desk import FailedFilter
    from fairturn.views import FailedWrite, WrittenWithout

group = typer.Typer(help="Writes that a CRM refused: list, retry, drop.", no_args_is_help=True)
Leads = Annotated[list[str] | None, typer.Argument(help="Leads, by address or number.", metavar="[LEAD]...")]
Everything = Annotated[bool, typer.Option("--all", help="All that have failed by now, not only those on screen.")]
Code = Annotated[str | None, typer.Option(help="Only those that the CRM refused with this code.")]
Destination = Annotated[str | None, typer.Option(help="Only in this destination.", metavar="D")]
Without = Annotated[
    bool, typer.Option("--without", help="Instead of failed writes: fields that the CRM did not take of what it has.")
]


@group.command("list", epilog="Example: fairturn failed list --code REQUIRED_FIELD_MISSING")
def list_failed(
    *,
    code: Code = None,
    destination: Destination = None,
    without: Without = False,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="How many, newest first.")] = 50,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """What the CRM refused, in its own words, newest first; then what it has without some field.

    With --json one of the two: failed writes, or with --without the others.
    """
    from fairturn.desk import FailedFilter
    from fairturn.operate import failed

    async def work(op: Operator) -> None:
        wanted = FailedFilter(None, code, destination)
        if as_json:
            if without:
                paper.as_json(
                    [failed.without_json(one) for one in await failed.written_without(op.reads, wanted, limit)]
                )
            else:
                paper.as_json([failed.as_json(write) for write in await failed.failed(op.reads, wanted, limit)])
            return
        if not without:
            _failed(await failed.failed(op.reads, wanted, limit), limit, every=not (code or destination))
        if without or code is None:
            _without(await failed.written_without(op.reads, wanted, limit), limit, alone=without)

    run(config, work)


def _failed(writes: Sequence[FailedWrite], limit: int, *, every: bool) -> None:
    from fairturn.operate import leads

    if not writes:
        paper.say("No write has failed." if every else "No failed write like that.")
        return
    paper.table(
        ("Lead", "Name", "Destination", "Failed", "What the CRM said"),
        (
            (
                write.lead,
                paper.clean(leads.name(write.fields), 28),
                write.destination,
                f"{paper.ago(write.failed_at)} ago",
                f"{write.code}: {write.message}",
            )
            for write in writes
        ),
    )
    counts = Counter(write.code for write in writes).most_common()
    paper.say("", "; ".join(f"{count:,} × {word}" for word, count in counts))
    if len(writes) == limit:
        paper.whisper(f"There may be more than {limit}: --limit shows them, and --all of retry and drop means them.")


def _without(found: Sequence[WrittenWithout], limit: int, *, alone: bool) -> None:
    from fairturn.operate import leads

    if not found:
        if alone:
            paper.say("No lead was written without a field.")
        return
    paper.say(*(() if alone else ("",)), "Written, without fields that the CRM did not take:")
    paper.table(
        ("Lead", "Name", "Destination", "Written", "Field", "What the CRM said"),
        (
            (
                one.lead,
                paper.clean(leads.name(one.fields), 28),
                one.destination,
                f"{paper.ago(one.written_at)} ago",
                name,
                words,
            )
            for one in found
            for name, words in one.without.items()
        ),
    )
    counts = Counter(name for one in found for name in one.without).most_common()
    paper.say("", "; ".join(f"{count:,} × {name}" for name, count in counts))
    paper.whisper("`fairturn failed retry --all --without` sends these fields again, `failed retry LEAD` one's.")
    if len(found) == limit:
        paper.whisper(f"There may be more than {limit}: --limit shows them.")


@group.command("retry", epilog="Example: fairturn failed retry --all --code UNABLE_TO_LOCK_ROW --reason 'load is over'")
def retry(
    *,
    leads: Leads = None,
    everything: Everything = False,
    without: Without = False,
    code: Code = None,
    destination: Destination = None,
    reason: Reason = None,
    actor: Actor = login(),
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Send failed writes again, with what is known of the leads by now. Asked twice, they are still sent once.

    Of leads that are named, fields that the CRM did not take are sent again too.
    """
    from fairturn.operate import failed

    _chosen(leads, everything)
    if without and code is not None:
        raise typer.BadParameter("is of failed writes; with --without name leads, or say --all", param_hint="--code")
    who = by(actor, reason)

    async def work(op: Operator) -> None:
        again = failed.retry_without if without else failed.retry
        done = await again(op.acts, await _wanted(op, leads, code, destination), who)
        if as_json:
            paper.as_json({"retried": done.writes, "under_way": done.under_way})
            return
        if done.writes:
            paper.say(f"{paper.many(done.writes, 'write')} will be sent again.")
        if done.under_way:
            verb = "is" if done.under_way == 1 else "are"
            paper.say(f"{paper.many(done.under_way, 'write')} {verb} already under way.")
        if not (done.writes or done.under_way):
            paper.say("No lead was written without a field there." if without else "Nothing has failed there.")

    run(config, work)


@group.command("drop", epilog="Example: fairturn failed drop 4711 --reason 'not a person'")
def drop(
    *,
    reason: Because,
    leads: Leads = None,
    everything: Everything = False,
    code: Code = None,
    destination: Destination = None,
    actor: Actor = login(),
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Give failed writes up. A lead that no CRM has then is nobody's, and its turn goes back to its rep."""
    from fairturn.operate import failed

    _chosen(leads, everything)
    who = by(actor, reason)

    async def work(op: Operator) -> None:
        plan = op.plan()
        wanted = await _wanted(op, leads, code, destination)
        done = await failed.drop(op.reads, op.acts, plan, wanted, who)
        if as_json:
            back = [{"lead": lead, "pool": pool, "rep": rep} for lead, pool, rep in done.returned]
            paper.as_json({"dropped": len(done.dropped), "turns_given_back": back})
            return
        paper.say(
            f"{paper.many(len(done.dropped), 'write')} given up." if done.dropped else "Nothing has failed there."
        )
        for lead, pool, rep in done.returned:
            paper.say(f"Lead {lead}: no CRM has it; its turn in pool {pool} goes back to {rep}.")
        for one in done.dropped:
            if one.elsewhere:
                paper.say(f"Lead {one.lead}: a CRM has it, or may have it, so the turn stands.")

    run(config, work)


def _chosen(leads: list[str] | None, everything: bool) -> None:
    if bool(leads) == everything:
        raise typer.BadParameter("name leads, or say --all", param_hint="LEAD / --all")


async def _wanted(op: Operator, leads: list[str] | None, code: str | None, destination: str | None) -> FailedFilter:
    from fairturn.desk import FailedFilter
    from fairturn.errors import NotFound
    from fairturn.operate.leads import locate

    settings = op.settings.settings if op.settings else None
    if destination is not None and destination not in (known := [d.id for d in await op.reads.destinations()]):
        raise NotFound("destination", destination, tuple(known))
    found = None if not leads else tuple([await locate(op.reads, name, settings) for name in leads])
    return FailedFilter(found, code, destination)
