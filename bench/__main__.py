"""python -m bench [intake | flow | crm | page]: without a word a short run of everything, in under two minutes."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import Any

import orjson

from bench import crm, flow, intake, page
from bench.house import Failed


def arguments() -> argparse.ArgumentParser:
    ask = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    verbs = ask.add_subparsers(dest="verb", metavar="VERB")
    door = verbs.add_parser("intake", help="webhooks answered durably per second, against the server's bare echo")
    door.add_argument("--seconds", type=float, default=5, help="of each round (5)")
    door.add_argument("--clients", type=int, default=64, help="connections (64)")
    door.add_argument("--rounds", type=int, default=3, help="of each server, taking turns; medians count (3)")
    whole = verbs.add_parser("flow", help="leads assigned per second, from the webhook to the ledger")
    whole.add_argument("--leads", type=int, default=30_000, help="of each of the two parts (30,000)")
    there = verbs.add_parser("crm", help="the demo into both simulated CRMs: calls, seconds, and who was there")
    there.add_argument("--leads", type=int, default=500, help="of each CRM (500)")
    there.add_argument("--seconds", type=float, default=60, help="of the burst (60)")
    for verb in (door, whole, there):
        verb.add_argument("--json", type=Path, metavar="F", help="write the figures to this file")
    verbs.add_parser("page", help="write docs/explanation/measured.md from bench/results")
    return ask


def main() -> int:
    args = arguments().parse_args()
    try:
        match args.verb:
            case "intake":
                show(asyncio.run(intake.measure(args.seconds, args.clients, args.rounds)), args.json)
            case "flow":
                show(asyncio.run(flow.measure(args.leads)), args.json)
            case "crm":
                show(crm.measure(args.leads, args.seconds), args.json)
            case "page":
                page.write()
            case _:
                show(asyncio.run(intake.measure(3, 64, 3)), None)
                print()
                show(asyncio.run(flow.measure(10_000)), None)
                print()
                show(crm.measure(60, 5), None)
    except Failed as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    return 0


def show(found: dict[str, Any], file: Path | None) -> None:
    print(page.table(found))
    if file is not None:
        file.write_bytes(orjson.dumps(found, option=orjson.OPT_INDENT_2) + b"\n")


if __name__ == "__main__":
    sys.exit(main())
