"""fairturn leads"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fairturn.cli import paper
from fairturn.cli.running import Config, Json, run

if TYPE_CHECKING:
    from fairturn.assemble.operator import Operator
    from fairturn.views import Story

group = typer.Typer(help="Leads: list, show.", no_args_is_help=True)
LEAD = "An e-mail address, the lead's number, a CRM record's id, or a source's own id."
Status = Literal["waiting", "held", "assigned", "parked", "owned", "ignored"]


@group.command("list", epilog="Example: fairturn leads list --status assigned --rep ann --limit 20")
def list_leads(
    *,
    status: Annotated[Status | None, typer.Option(help="Only those.")] = None,
    pool: Annotated[str | None, typer.Option(help="Only of this pool.")] = None,
    rep: Annotated[str | None, typer.Option(help="Only this rep's.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many, newest first.")] = 50,
    before: Annotated[int | None, typer.Option(help="Only leads older than this number: the next page.")] = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Leads, newest first: who they are, whose they are, and why."""
    from fairturn.desk import LeadFilter
    from fairturn.operate import leads

    async def work(op: Operator) -> None:
        wanted = LeadFilter(status=status, pool=pool, rep=rep, limit=limit, before=before)
        lines = [leads.line_json(line) for line in await leads.leads(op.reads, wanted)]
        if as_json:
            paper.as_json(lines)
        elif not lines:
            paper.say("No leads like that.", *_unknown(op, pool, rep))
        else:
            paper.table(
                ("Lead", "Name", "Company", "Status", "Rep", "Pool", "Why"),
                (
                    (
                        line["lead"],
                        paper.clean(line["name"], 30),
                        paper.clean(line["company"], 24),
                        line["status"],
                        line["rep"],
                        line["pool"],
                        line["reason"],
                    )
                    for line in lines
                ),
            )
            if len(lines) == limit:
                paper.whisper(f"There may be more: --before {lines[-1]['lead']}")

    run(config, work)


def _unknown(op: Operator, pool: str | None, rep: str | None) -> Iterator[str]:
    """A name that the settings do not have is rather a slip than somebody who left."""
    if op.settings is None:
        return
    settings = op.settings.settings
    for kind, name, known in (("pool", pool, settings.pools), ("rep", rep, settings.reps)):
        if name is not None and name not in known:
            yield f"The settings have no {kind} {name!r}. Known: {', '.join(known)}."


@group.command("show", epilog="Example: fairturn leads show jane@acme.com")
def show(
    lead: Annotated[str, typer.Argument(help=LEAD, metavar="LEAD")],
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Everything known of one lead: its fields and which event said each, its keys, what each CRM has of it."""
    from fairturn.operate import leads

    async def work(op: Operator) -> None:
        settings = op.settings.settings if op.settings else None
        story = await leads.show(op.reads, await leads.locate(op.reads, lead, settings))
        if as_json:
            paper.as_json(leads.story_json(story))
        else:
            _show(story)

    run(config, work)


def _show(story: Story) -> None:
    from fairturn.decide.merging import EPOCH, MICROSECOND, event_of
    from fairturn.operate.leads import change_state, name, standing
    from fairturn.operate.records import kept, mark_in_words

    lead = story.line.lead
    paper.say(f"Lead {lead.id}: {name(lead.fields)}", f"{standing(lead)}; here for {paper.ago(lead.created_at)}", "")
    sources = {event.id: event.source for event in story.events}
    paper.table(
        ("Field", "Said", "By", "Value"),
        (
            (
                field,
                paper.at(EPOCH + state.at_us * MICROSECOND),
                sources.get(event_of(state).hex(), ""),
                "(erased)" if state.value is None else state.value,
            )
            for field, state in sorted(lead.fields.items())
        ),
    )
    paper.say("")
    for key in story.keys:
        paper.say(f"Known as {key.kind} {key.value}")
    for change in story.changes:
        record = f" as {change.record_id}" if change.record_id else ""
        said = f": {change.code}: {change.message}" if change.state == "failed" else ""
        paper.say(f"{change.destination}: {change_state(change)}{record} (our key {change.key}){said}")
    marks = [(event.source, mark) for event in story.events for mark in event.marks]
    for source, mark in dict.fromkeys(marks):
        paper.say(f"Noted of an event from {source}: {mark_in_words(mark)}")
    for one in kept(story):
        _record(f"{one.destination}, as it last confirmed it", one.written)
        _record(f"{one.destination}, as it would have been sent (shadow)", one.shadow)


def _record(heading: str, record: Mapping[str, object] | None) -> None:
    from fairturn.operate.records import shown

    if record:
        paper.say("", f"{heading}:")
        paper.table(("Field", "Value"), ((name, shown(value)) for name, value in record.items()))
