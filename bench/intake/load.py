"""The load on one server: closed for the ceiling, open for fixed rates."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import orjson

from bench.house import Failed, House, process, sender
from bench.intake.servers import Server
from bench.leads import requests

WARM: Final = 0.5  # seconds before the clock starts
FEED: Final = Path(__file__).with_name("feed.lua")
CLIENTS: Final = 64  # connections of the open loop


def tool() -> str:
    return "wrk" if shutil.which("wrk") else "bench.sender"


def ceiling(home: House, server: Server, first: int, most: int, clients: int, seconds: float) -> dict[str, Any]:
    """As many as it answers, each connection sending the next when it is answered; `most` a second. Raises Failed."""
    with server.open(clients):
        if tool() == "wrk":
            found, used = with_wrk(home, server, first, most, clients, seconds)
        else:
            found, used = with_sender(home, server, first, most, clients, seconds)
    if found["bad"] or not found["answered"]:
        raise Failed(f"{server.name}: {found['bad']} requests were not answered 2xx, {found['answered']} were")
    return {
        "server": server.name,
        "answered": found["answered"],
        "per_second": found["answered"] / found["seconds"],
        **{name: value for name, value in found.items() if name.startswith("p")},
        **{f"{what}_cpu_s_per_1000": 1000 * spent / found["answered"] for what, spent in used.items()},
    }


Outcome = tuple[dict[str, Any], dict[str, float]]


def with_wrk(home: House, server: Server, first: int, most: int, clients: int, seconds: float) -> Outcome:
    warm = feed(home, server, first, int(most * WARM) + clients)
    file = feed(home, server, first + int(most * WARM) + clients, int(most * seconds) + clients)
    wrk(warm, server, clients, WARM)
    before = server.cpu()
    found = wrk(file, server, clients, seconds)
    after = server.cpu()
    for one in {warm, file} if server.durable else ():
        one.unlink()  # nobody else sends these
    return found, {what: after[what] - was for what, was in before.items()}


def feed(home: House, server: Server, first: int, count: int) -> Path:
    """A file of requests, each with its length before it. Who keeps nothing gets those of the one before again."""
    file = home.place / (f"feed-{server.name}" if server.durable else f"feed-{count}")
    if server.durable or not file.exists():
        made = requests(first, count, server.source)
        file.write_bytes(b"".join(b"%d\n%b" % (len(one), one) for one in made))
    return file


def wrk(file: Path, server: Server, clients: int, seconds: float) -> dict[str, Any]:
    again = {} if server.durable else {"AGAIN": "1"}  # what keeps nothing takes the same ones as often as it can
    # wrk counts in whole seconds, and we do not: SIGINT is its other way to end.
    command = ["wrk", "-t", "1", "-c", str(clients), "-d", "3600", "--latency", "-s", str(FEED)]
    command += ["--timeout", "30s"]  # an answer that comes late is an answer
    running = subprocess.Popen(
        [*command, f"http://127.0.0.1:{server.port}/"], env={**os.environ, "FEED": str(file), **again}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    with suppress(subprocess.TimeoutExpired):
        running.wait(seconds)
    if running.poll() is None:
        running.send_signal(2)
    said, errors = running.communicate(timeout=60)
    if running.returncode == 3:
        raise Failed(f"{server.name}: all prepared requests were sent before the time was over: raise --most")
    lines = [line for line in said.splitlines() if line.startswith("{")]
    if not lines:
        raise Failed(f"wrk: {said[-500:]} {errors[-500:]}")
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def with_sender(home: House, server: Server, first: int, most: int, clients: int, seconds: float) -> Outcome:
    count = int(most * (seconds + WARM))
    with sender(
        server.port, home.log, first=first, requests=count, clients=clients, seconds=seconds, source=server.source
    ) as load:
        load.go()
        load.said()  # it is warm
        before = server.cpu()
        found = load.said()
        after = server.cpu()
    if found["exhausted"]:
        raise Failed(f"{server.name}: all {found['sent']} prepared requests were answered: raise --most")
    return found, {what: after[what] - was for what, was in before.items()}


def at_rates(home: House, server: Server, first: int, rates: Sequence[int], seconds: float) -> list[dict[str, Any]]:
    """One after the other, until the server does not keep up."""
    command = [sys.executable, "-m", "bench.open_loop", "--port", str(server.port), "--first", str(first)]
    command += ["--rates", ",".join(map(str, rates)), "--seconds", f"{seconds:g}", "--clients", str(CLIENTS)]
    command += ["--source", server.source]
    found: list[dict[str, Any]] = []
    with (
        server.open(CLIENTS),
        process(command, home.log, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running,
    ):
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdout.readline()  # it is ready
        for _ in rates:
            before = server.cpu()
            running.stdin.write(b"\n")
            running.stdin.flush()
            line = running.stdout.readline()
            if not line:
                raise Failed("the open loop ended; its last words are in the log")
            after = server.cpu()
            told = orjson.loads(line)
            spent = sum(after.values()) - sum(before.values())
            told["cpu_s_per_1000"] = 1000 * spent / max(1, told["answered"])
            told["keeps_up"] = not told["unanswered"] and not told["bad"] and (
                told["answered_per_second"] >= 0.95 * told["rate"]
            )  # fmt: skip
            found.append(told)
            if not told["keeps_up"]:
                break
        running.stdin.close()
    return found
