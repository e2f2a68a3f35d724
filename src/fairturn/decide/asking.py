"""Whether a lead's person is in a CRM already: who is asked, what is open, and when it goes on without an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from fairturn.config import Destination, Settings
from fairturn.decide.addresses import EmailFacts
from fairturn.decide.record_ids import is_record_id, long_form
from fairturn.model import Existing, FieldValue, Person

FRESH = 600.0  # seconds that an answer is good for; a lead that comes back to life later is asked about anew
OBJECTS = {"00Q": "Lead", "003": "Contact"}  # Salesforce: an id tells its object by the first three characters


def asked(settings: Settings) -> dict[str, Destination]:
    """The destinations that are asked. One in shadow mode is sent nothing, so nobody there is found twice."""
    return {
        name: destination
        for name, destination in settings.destinations.items()
        if destination.type != "console"
        and destination.mode == "live"
        and destination.existing == "ask"
        and destination.object != "Account"
    }


def decider(settings: Settings) -> str | None:
    """The destination whose owners count."""
    names = list(asked(settings))
    if settings.system_of_record is not None:
        return settings.system_of_record if settings.system_of_record in names else None
    return names[0] if len(names) == 1 else None


def address_of(facts: EmailFacts) -> str | None:
    """The address that a CRM can be asked for. One that is not valid no CRM has, and noemail@acme.com is nobody."""
    return facts.shown.casefold() if facts.normalised and facts.kind != "invalid" else None


def named(settings: Settings, values: Mapping[str, FieldValue]) -> dict[str, Person]:
    """Destination -> the record that the event named itself (crm_lead_id); its owner is read before the write.

    An id does not say of which org it is: with several destinations of one vendor it is the system of record's.
    """
    text = values.get("crm_lead_id")
    if not isinstance(text, str):
        return {}
    text = text.strip()
    if is_record_id(text) and text[:3] in OBJECTS:
        vendor, record, kind = "salesforce", long_form(text), OBJECTS[text[:3]]
    elif text.isascii() and text.isdigit() and len(text) <= 18:  # beyond it may be no number that HubSpot can read
        vendor, record, kind = "hubspot", text, "contacts"
    else:
        return {}
    email = values.get("email")
    found = Person(record, kind, email.casefold() if isinstance(email, str) else "", None)
    return dict.fromkeys(meant(settings, vendor), found)


def meant(settings: Settings, vendor: str) -> tuple[str, ...]:
    """The destination of which an id of this vendor is, where nothing else is said of it."""
    live = [name for name, one in settings.destinations.items() if one.type == vendor and one.mode == "live"]
    return tuple(name for name in live if len(live) == 1 or name == settings.system_of_record)


@dataclass(frozen=True, slots=True)
class Inquiry:
    """How far the asking about one lead is."""

    ask: tuple[str, ...] = ()  # destinations to be asked from now on
    open: tuple[str, ...] = ()  # those, and others that have not answered yet
    until: datetime | None = None  # the last moment that is waited for one of them
    heard: Mapping[str, Existing] = field(default_factory=dict)  # destination -> what became of it


def inquire(
    destinations: Mapping[str, Destination],
    email: str | None,
    known: Mapping[str, Existing],
    now: datetime,
    *,
    waiting: bool,
) -> Inquiry:
    """destinations: those to be asked about this lead. known: what was asked before. waiting: the lead waits already,
    so that its answers are of this time, however long the line was.
    """
    ask, still, until, heard = [], [], [], {}
    for name, destination in destinations.items():
        old = known.get(name)
        if old is None or old.email != email or not (waiting or _fresh(old, now)):
            if email is None:
                continue
            ask.append(name)
            # Another address, while the question was open: the clock runs on, or it might never end.
            since = old.since if old is not None and old.state == "due" and waiting else now
        elif old.state == "due":
            since = old.since
        else:
            heard[name] = old
            continue
        end = since + timedelta(seconds=patience(destination))
        if end > now:
            still.append(name)
            until.append(end)
        else:
            heard[name] = Existing("unknown", email or "", since, why=silence(name, destination))
    return Inquiry(tuple(name for name in ask if name in still), tuple(still), max(until, default=None), heard)


def on_the_clock(destination: Destination) -> bool:
    """Whether questions leave with the ticks of a fixed window, and not `lookup_linger` apart."""
    return destination.window == "fixed" and "lookup_linger" not in destination.model_fields_set


def patience(destination: Destination) -> float:
    """Seconds that a lead waits for the answer. `max_wait` is for the CRM; the wait for the tick is the user's wish."""
    return destination.max_wait + (destination.every if on_the_clock(destination) else 0.0)


def silence(name: str, destination: Destination) -> str:
    seconds = f"{patience(destination):g} s"
    return f"{name} did not answer within {seconds} whether the person is there; a new record was made"


def _fresh(old: Existing, now: datetime) -> bool:
    at = old.answered_at or old.since
    return (now - at).total_seconds() < FRESH
