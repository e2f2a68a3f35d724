"""python -m bench [VERB]: without a word a short run of everything, in under five minutes."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import orjson

from bench import crm, flow, growth, intake, page, race, tail
from bench.house import Failed


class Verb(Protocol):
    """A module of this package that measures one thing."""

    HELP: str
    SHORT: Sequence[str]  # its arguments in the short run of everything

    def options(self, ask: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> dict[str, Any]:
        """What was found: `bench`, `machine`, `conditions` and the figures. Raises Failed."""

    def table(self, found: dict[str, Any]) -> str:
        """The figures as Markdown."""


VERBS: Mapping[str, Verb] = {"race": race, "tail": tail, "intake": intake, "flow": flow, "crm": crm, "growth": growth}
BARE = ("race", "tail")  # whose JSON is the list of rows alone


def arguments() -> argparse.ArgumentParser:
    ask = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    verbs = ask.add_subparsers(dest="verb", metavar="VERB")
    for name, verb in VERBS.items():
        one = verbs.add_parser(name, help=verb.HELP)
        verb.options(one)
        one.add_argument("--json", type=Path, metavar="F", help="write the figures to this file")
        one.add_argument(
            "--keep", nargs="?", type=Path, const=page.RESULTS, metavar="FOLDER",
            help="write all of it, with machine and versions, to FOLDER/VERB.json (without FOLDER: results/)",
        )  # fmt: skip
    page.options(verbs.add_parser("page", help=page.HELP))
    return ask


def main() -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C does: servers and their data go with us
    ask = arguments()
    args = ask.parse_args()
    try:
        if args.verb == "page":
            for written in page.write(args.source, args.to):
                print(written)
        elif args.verb is not None:
            writable(args)
            measure(args)
        else:
            for name, verb in VERBS.items():
                print(f"## {name} {' '.join(verb.SHORT)}\n")
                measure(ask.parse_args([name, *verb.SHORT]))
                print()
    except Failed as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("bench: interrupted; what was running is ended, and no figures were written", file=sys.stderr)
        return 130
    return 0


def writable(args: argparse.Namespace) -> None:
    """Before minutes of measuring, not after them. Raises Failed."""
    if args.json is not None and (args.json.is_dir() or not os.access(args.json.parent, os.W_OK)):
        raise Failed(f"--json {args.json}: no file can be written there")
    if args.keep is not None:
        try:
            args.keep.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Failed(f"--keep {args.keep}: {error.strerror}") from error


def measure(args: argparse.Namespace) -> None:
    verb = VERBS[args.verb]
    found = verb.run(args)
    print(verb.table(found), flush=True)
    if args.json is not None:
        write(args.json, found["rows"] if args.verb in BARE else found)
    if args.keep is not None:
        write(args.keep / f"{args.verb}.json", found)


def write(file: Path, found: object) -> None:
    try:
        file.write_bytes(orjson.dumps(found, option=orjson.OPT_INDENT_2) + b"\n")
    except OSError as error:
        raise Failed(f"{file}: {error.strerror}") from error


if __name__ == "__main__":
    sys.exit(main())
