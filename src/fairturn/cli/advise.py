"""fairturn advise"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from fairturn.cli import paper
from fairturn.cli.running import Json

if TYPE_CHECKING:
    from fairturn.decide.advice import Advice


class Crm(StrEnum):
    """The CRMs that were measured."""

    salesforce = "salesforce"
    hubspot = "hubspot"


def advise(
    *,
    leads_per_minute: Annotated[
        float, typer.Option(help="How many leads come in a usual minute; 0.0035 is five a day.", metavar="N")
    ],
    reps: Annotated[int, typer.Option(help="How many people share them.", metavar="N")],
    enrichment_seconds: Annotated[
        float, typer.Option(help="What is asked outside before the rep is chosen, in seconds.", metavar="S")
    ] = 0.0,
    burst: Annotated[
        int | None, typer.Option(help="Leads that may come in one second. Default: as the minute says.", metavar="N")
    ] = None,
    events_per_lead: Annotated[int, typer.Option(help="A form, then enrichment, then a score are 3.", metavar="N")] = 1,
    crm: Annotated[Crm | None, typer.Option(help="Where the leads are written.")] = None,
    crm_calls_per_day: Annotated[
        int | None, typer.Option(help="How many API calls a day it leaves you for leads.", metavar="N")
    ] = None,
    caller_waits: Annotated[
        bool, typer.Option("--caller-waits", help="Somebody looks at the screen until the rep is named.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Lock, queue or batch? The answer for your leads, each reason with the measurement that it rests on.

    Reads no settings and no database: it works before anything is set up.
    """
    from fairturn.decide.advice import Question, complaints
    from fairturn.decide.advising import advise as answer
    from fairturn.operate import advise as known

    question = Question(
        leads_per_minute=leads_per_minute,
        reps=reps,
        enrichment_seconds=enrichment_seconds,
        burst=burst,
        events_per_lead=events_per_lead,
        crm=crm.value if crm is not None else None,
        crm_calls_per_day=crm_calls_per_day,
        caller_waits=caller_waits,
    )
    for option, says in complaints(question):
        raise typer.BadParameter(says, param_hint=option)
    found = answer(question, known.measured())
    if as_json:
        paper.as_json(known.as_json(question, found))
    else:
        _show(found)


def _show(found: Advice) -> None:
    paper.say(found.says, "")
    paper.say("Why:")
    paper.say(*(f"  {reason.says} [{reason.source}]" for reason in found.reasons))
    paper.say("", "What Fairturn would do:")
    paper.say(*(f"  {line}" for line in found.fairturn))
    if found.not_measured:
        paper.say("", f"Not measured, so nothing was said of it: {'; '.join(found.not_measured)}.")
