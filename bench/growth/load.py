"""The load of a round: people never seen before, and updates of those of before. A process of its own.

python -m bench.growth.load --port 8080 --base 10000 --first 10000 --fresh 4000 --updates 1000 --clients 64
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from subprocess import PIPE

import orjson
import uvloop

from bench import sender
from bench.growth.people import again_of, first_of
from bench.house import Sender, process
from bench.leads import request

NUMBERS = ("port", "base", "first", "fresh", "updates", "clients")
CLIENTS = 64


def requests(base: int, first: int, fresh: int, updates: int) -> list[bytes]:
    """`fresh` people from number `first` on, and `updates` of people below `base`, each of another, shuffled."""
    dice = Random(first)
    bodies = [first_of(number, base) for number in range(first, first + fresh)]
    bodies += [again_of(number, base, first) for number in dice.sample(range(base), updates)]
    dice.shuffle(bodies)
    return [request(content) for content in bodies]


@contextmanager
def load(port: int, log: Path, **numbers: int) -> Iterator[Sender]:
    """Prepared when it is entered."""
    command = [sys.executable, "-m", "bench.growth.load", "--port", str(port), "--clients", str(CLIENTS)]
    for name, number in numbers.items():
        command += [f"--{name}", str(number)]
    with process(command, log, stdin=PIPE, stdout=PIPE) as running:
        yield Sender(running)


def main() -> None:
    ask = argparse.ArgumentParser()
    for name in NUMBERS:
        ask.add_argument(f"--{name}", type=int, required=True)
    args = ask.parse_args()
    prepared = requests(args.base, args.first, args.fresh, args.updates)
    print(orjson.dumps({"ready": len(prepared)}).decode(), flush=True)
    sys.stdin.readline()
    found = uvloop.run(asyncio.wait_for(sender.run(args.port, prepared, args.clients, None), sender.PATIENCE))
    print(orjson.dumps(found).decode(), flush=True)


if __name__ == "__main__":
    main()
