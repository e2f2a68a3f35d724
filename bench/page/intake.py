"""The door: section, table and picture of results/intake.json."""

from __future__ import annotations

from typing import Any, Final

from bench.page.rows import Found, Row, hundredths, milliseconds, notes, one, whole
from bench.paper import cpu, markdown
from bench.plots import Plot

SERVERS: Final = {
    "echo": "bare echo, nothing kept",
    "echo_fast": "bare echo on our fast lane",
    "echo_starlette": "bare echo, Starlette on uvicorn",
    "insert": "one INSERT per request",
    "skip_locked": "one SKIP LOCKED transaction per request",
    "skip_locked_kept": "the same, and the webhook is kept",
    "fairturn": "Fairturn, batch lane",
    "fairturn_valkey": "Fairturn, batch lane, Valkey journal",
    "fairturn_sync": "Fairturn, sync lane: owner in the answer",
}


def servers(found: Found) -> list[tuple[str, Row]]:
    return [(words, row) for name, words in SERVERS.items() if (row := one(found["rows"], server=name))]


def ceiling_table(found: Found) -> str:
    base = one(found["rows"], server="echo")
    head = ("", "answered / s", "of the echo", "p50 ms", "p95", "p99", "CPU ms / 1,000, server", "database")
    lines = [
        (
            words,
            whole(row["per_second"]),
            hundredths(row["per_second"] / base["per_second"]) if base else "",
            *(milliseconds(row[f"p{q}_ms"]) for q in (50, 95, 99)),
            cpu(row.get("server_cpu_s_per_1000")),
            cpu(database(row)),
        )
        for words, row in servers(found)
    ]
    return markdown(head, lines)


def database(row: Row) -> float | None:
    """Processor seconds of PostgreSQL or Valkey, whichever the answer waits for."""
    spent = [row[name] for name in ("postgresql_cpu_s_per_1000", "valkey_cpu_s_per_1000") if name in row]
    return sum(spent) if spent else None


def rates(found: Found) -> list[int]:
    return sorted({round(at["rate"]) for row in found["rows"] for at in row.get("rates", ())})


def rate_table(found: Found) -> str:
    """p50 / p99 ms at each rate."""
    at = rates(found)
    lines = [(words, *(at_rate(row, rate) for rate in at)) for words, row in servers(found) if row.get("rates")]
    return markdown(("p50 / p99, ms", *(f"{rate:,} / s" for rate in at)), lines)


def at_rate(row: Row, rate: int) -> str:
    point = one(row["rates"], rate=rate)
    if point is None:
        return ""
    told = f"{milliseconds(point['p50_ms'])} / {milliseconds(point['p99_ms'])}"
    return told if point.get("keeps_up", True) else f"{told} *"


def plot(found: Found) -> Plot | None:
    lines: list[dict[str, Any]] = [
        {
            "server": words,
            "key": row["server"],
            "per_second": round(row["per_second"]),
            "rates": [[round(at["rate"]), round(at["p99_ms"], 1)] for at in row.get("rates", ()) if at.get("p99_ms")],
        }
        for words, row in servers(found)
    ]
    words = "Webhooks answered per second at the ceiling, and p99 in milliseconds at fixed rates, for each server"
    return Plot("intake", words, {"servers": lines}) if lines else None


def plots(found: Found) -> list[Plot]:
    drawn = plot(found)
    return [drawn] if drawn else []


def blocks(found: Found) -> dict[str, str]:
    return {"intake": ceiling_table(found), "intake rates": rate_table(found)}


def section(found: Found) -> str:
    drawn = plot(found)
    told = found["conditions"]
    intro = INTRO.format(clients=told["clients"], rounds=told["rounds"], load=told.get("load", "our own"))
    parts = [intro, drawn.image() if drawn else "", ceiling_table(found)]
    if rates(found):
        parts += [RATES, rate_table(found)]
    return "\n\n".join(part for part in [*parts, notes(found)] if part) + "\n"


INTRO = """\
## The door

    python -m bench intake --keep

How many webhooks are answered in a second by {clients} connections, each sending its next request when it is answered.
Servers take turns; medians of the rounds ({rounds}). The load ({load}) is a process of its own; it and PostgreSQL share
the cores with the server."""

RATES = """\
At fixed rates, as far as the server goes. The time counts from when the request was to be sent, so a server that stands
still for a moment pays for all who would have come meanwhile. An asterisk: it does not keep up."""
