"""Orgs that are not empty: who is asked whether a person is there already, and whose owners count."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fairturn.config import Destination
from fairturn.decide.complaints import closest
from fairturn.decide.users import bare, same_id
from fairturn.errors import Fault
from fairturn.operate.check_people import judge_owner
from fairturn.operate.loaded import Loaded

ASKING: Final = (
    "on_unknown", "lookup_linger", "lookup_timeout", "parked_owners", "recycle_statuses", "status_field",
)  # fmt: skip


def judge(loaded: Loaded) -> Iterator[Fault]:
    yield from judge_record_holder(loaded)
    for name, destination in loaded.settings.destinations.items():
        key = f"destinations.{name}"
        if destination.type != "console" and destination.existing == "ask":
            yield from judge_look_up(loaded, key, destination)
            yield from judge_free(loaded, name, destination)
        else:
            yield from judge_unasked(loaded, key, destination)
    yield from judge_rules(loaded)


def judge_record_holder(loaded: Loaded) -> Iterator[Fault]:
    """Two CRMs with an owner each for one lead: one of them has to be the word that counts."""
    settings = loaded.settings
    crms = [name for name, one in settings.destinations.items() if one.type != "console"]
    live = [name for name in crms if settings.destinations[name].mode == "live"]
    named = settings.system_of_record
    if named is None:
        if len(live) > 1:
            message = f"leads are written to {', '.join(live[:-1])} and {live[-1]}, and nothing says whose owners count"
            remedy = f'Write system_of_record = "{live[0]}" at the top: owners go there, the others get none'
            yield loaded.fault(f"destinations.{live[1]}", message, remedy)
    elif named not in settings.destinations:
        yield loaded.fault(
            "system_of_record",
            f'there is no destination "{named}"',
            closest(named, settings.destinations, "Destinations are"),
        )
    elif named not in crms:
        remedy = f"Write one of {', '.join(crms)}" if crms else "Take the line out"
        yield loaded.fault("system_of_record", f'"{named}" is a console: it keeps no owners', remedy)
    elif live and named not in live:
        message = f'"{named}" is in shadow mode, so no owner is written anywhere'
        yield loaded.warning("system_of_record", message, f"Name one that is live ({', '.join(live)}), or make it live")


def judge_look_up(loaded: Loaded, key: str, destination: Destination) -> Iterator[Fault]:
    longest = destination.max_wait
    if destination.lookup_timeout < 0.5:
        message = f"a look-up would be given up after {destination.lookup_timeout:g} s"
        yield loaded.fault(f"{key}.lookup_timeout", message, 'Write "10s"')
    if destination.lookup_linger >= longest:
        message = (
            f"a lead waits at most {longest:g} s (max_wait), and is asked about after {destination.lookup_linger:g} s"
        )
        severity = "error" if "lookup_linger" in destination.model_fields_set else "warning"
        yield loaded.fault(f"{key}.lookup_linger", message, 'Make it shorter: "2s", or max_wait longer', severity)
    elif destination.on_unknown == "wait" and destination.lookup_timeout > longest:
        message = (
            f"a look-up may take {destination.lookup_timeout:g} s, and a lead waits at most {longest:g} s (max_wait): "
            "where the answer is slow, the person gets a second record"
        )
        yield loaded.warning(f"{key}.lookup_timeout", message, "Make it shorter than max_wait")


def judge_free(loaded: Loaded, name: str, destination: Destination) -> Iterator[Fault]:
    """Records that are free to be assigned although somebody owns them."""
    key = f"destinations.{name}"
    for number, owner in enumerate(destination.parked_owners, 1):
        place = f"{key}.parked_owners.{number}"
        yield from judge_owner(loaded, place, name, owner)
        if rep := rep_named(loaded, name, owner):
            message = f'"{owner}" is rep "{rep}", whose leads would be given to others when they write again'
            yield loaded.fault(place, message, "Take it out: parked owners are users who do not work their leads")
    for number, status in enumerate(destination.recycle_statuses, 1):
        if not status.strip():
            yield loaded.fault(f"{key}.recycle_statuses.{number}", "the status is empty", "Take it out")
    contact = destination.type == "salesforce" and destination.object != "Lead"
    if destination.recycle_statuses and contact and destination.status_field is None:
        message = f"a {destination.object} has no Status by itself"
        yield loaded.fault(
            f"{key}.recycle_statuses", message, 'Name the field that holds it: status_field = "Stage__c"'
        )


def rep_named(loaded: Loaded, destination: str, owner: str) -> str | None:
    """The rep who is this owner of the destination, as far as the settings can tell."""
    wanted = bare(owner)
    for rep, row in loaded.settings.reps.items():
        told = row.ids.get(destination)
        forms = (bare(row.email), bare(told), row.name.casefold())
        if wanted and (wanted in forms or (told is not None and same_id(told, owner))):
            return rep
    return None


def judge_unasked(loaded: Loaded, key: str, destination: Destination) -> Iterator[Fault]:
    """What says how to ask, where nobody is asked."""
    why = "a console knows nobody" if destination.type == "console" else 'existing = "ignore" asks nobody'
    for field in ASKING:
        if field in destination.model_fields_set:
            yield loaded.warning(f"{key}.{field}", f"{why}, so {field} says nothing", "Take it out")
    if destination.type == "console" and "existing" in destination.model_fields_set:
        yield loaded.warning(f"{key}.existing", "a console knows nobody, so existing says nothing", "Take it out")


def judge_rules(loaded: Loaded) -> Iterator[Fault]:
    destinations = loaded.settings.destinations.values()
    asked = [one for one in destinations if one.type != "console" and one.existing == "ask"]
    for number, rule in enumerate(loaded.settings.rules, 1):
        for field in ("existing", "create"):
            if field not in rule.model_fields_set:
                continue
            key = f"rules.{number}.{field}"
            if rule.ignore:
                message = f'rule "{rule.id}" ignores its leads, so {field} says nothing'
                yield loaded.fault(key, message, "Take it out")
            elif not asked:
                message = f"no destination is asked whom it has already, so {field} says nothing"
                yield loaded.warning(key, message, "Take it out, or add a CRM")
            elif field == "create" and not any(one.type == "salesforce" and one.object == "Lead" for one in asked):
                message = "create is about a Lead for somebody who is a Contact in Salesforce, and no Leads are written"
                yield loaded.warning(key, message, "Take it out")
