"""docs/tutorial/first-lead.md, run as it stands: every `sh` block in one shell, each `text` block what it printed."""

import asyncio
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fairturn.stores.postgres import embedded

PAGE = Path(__file__).parents[2] / "docs/tutorial/first-lead.md"
FENCED = re.compile(r"^```(sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PORTS = ("port=8080", "crm_port=8091")  # the page says that any free ones will do
MARK = "\x1e"
# What differs from run to run, and is therefore not compared.
VARIES = (
    (re.compile(r"\b[0-9a-f]{32}\b"), "<id>"),
    (re.compile(r"\bft-<id>"), "<key>"),
    (re.compile(r"\b00Q\w{12,15}\b"), "<record>"),
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?( ?[A-Z]{1,5})?"), "<time>"),
    (re.compile(r"\b\d+(\.\d+)? (ms|s|min)\b"), "<duration>"),
    (re.compile(r"/\S*/first-lead\b"), "<folder>"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
)


@dataclass(frozen=True)
class Block:
    line: int
    commands: str
    promised: str | None  # what the page shows below it


def blocks() -> list[Block]:
    text = PAGE.read_text()
    found: list[Block] = []
    for fence in FENCED.finditer(text):
        kind, inner = fence.groups()
        if kind == "sh":
            found.append(Block(text.count("\n", 0, fence.start()) + 2, inner, None))
        else:
            before = found.pop()
            assert before.promised is None, f"two outputs below the commands of line {before.line}"
            found.append(Block(before.line, before.commands, inner))
    return found


def settled(text: str) -> str:
    for pattern, word in VARIES:
        text = pattern.sub(word, text)
    return text.strip()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def script() -> str:
    parts = [f"printf '{MARK}%s{MARK}' {number}\n{block.commands}" for number, block in enumerate(blocks())]
    text = "\n".join(parts)
    for assigned in PORTS:
        assert text.count(f"{assigned}\n") == 1, f"the page sets {assigned} once"
        text = text.replace(f"{assigned}\n", f"{assigned.partition('=')[0]}={free_port()}\n")
    return text


@contextlib.contextmanager
def shell(folder: Path) -> Iterator[subprocess.Popen[str]]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("FAIRTURN_", "SALESFORCE_"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = kept | {"PATH": path, "TZ": "UTC", "COLUMNS": "100"}  # as wide as the page is
    process = subprocess.Popen(
        ["bash"],
        cwd=folder,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)  # what the page started and, failing half-way, did not stop
        asyncio.run(embedded.stop(folder / "first-lead/data"))
        asyncio.run(embedded.discard(folder / "first-lead/data"))


def printed(folder: Path) -> list[str]:
    """What each block printed."""
    with shell(folder) as process:
        said, _ = process.communicate(script(), timeout=180)
    pieces = said.split(MARK)
    by_number = {int(number): text for number, text in zip(pieces[1::2], pieces[2::2], strict=True)}
    return [by_number.get(number, "") for number in range(len(blocks()))]


def test_the_page_does_what_it_says(tmp_path: Path) -> None:
    wrong = [
        f"{PAGE.name}:{block.line}: promised\n{block.promised}\nand printed\n{text}"
        for block, text in zip(blocks(), printed(tmp_path), strict=True)
        if block.promised is not None and settled(block.promised) != settled(text)
    ]
    assert not wrong, "\n\n".join(
        [*wrong, "If the program is right, python -m tests.journeys.test_tutorial mends the page."]
    )


def test_the_page_ends_with_nothing_running() -> None:
    text = "".join(block.commands for block in blocks())
    assert text.count(" & ") == len(re.findall(r"\$\w+", " ".join(re.findall(r"kill (.*);", text))))


def mend() -> None:
    """Write into the page what its commands print now; for whoever changed the words of a command."""
    with tempfile.TemporaryDirectory() as folder:
        texts = iter(printed(Path(folder)))
    text = ""

    def filled(fence: re.Match[str]) -> str:
        nonlocal text
        if fence[1] == "sh":
            text = next(texts)
            return fence[0]
        shown = "\n".join(line.rstrip() for line in text.strip().splitlines())
        return f"```text\n{shown}\n```"

    PAGE.write_text(FENCED.sub(filled, PAGE.read_text()))


if __name__ == "__main__":
    mend()
