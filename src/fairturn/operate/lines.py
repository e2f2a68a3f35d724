"""On which line of a TOML text each key stands, so that a fault about a value can say where it was written.

tomllib keeps no positions. This scanner walks the same text, knows tables, arrays of tables, dotted keys, inline
tables, arrays and all four kinds of strings, and interprets no value. It is run on texts that tomllib took; on others
it stops where it is lost and keeps what it has.

Paths are dotted, entries of arrays counted from 1: `rules.2.when`, `pools.emea.members.ann`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

BARE = re.compile(r"[A-Za-z0-9_-]+")
BLANK = re.compile(r"[ \t]*")
SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
SCALAR = re.compile(r"[^,\]}\n#]+")
STRINGS = (
    re.compile(r'"""(?:\\.|[^\\])*?"{3,5}(?!")', re.DOTALL),
    re.compile(r"'''.*?'{3,5}(?!')", re.DOTALL),
    re.compile(r'"(?:\\.|[^"\\\n])*"'),
    re.compile(r"'[^'\n]*'"),
)


@dataclass(frozen=True, slots=True)
class Lines:
    """`keys`: path -> line of its first mention. `texts`: path -> line on which the text of a string value begins."""

    keys: Mapping[str, int] = field(default_factory=dict)
    texts: Mapping[str, int] = field(default_factory=dict)

    def of(self, key: str) -> int | None:
        """The line of the key, or of the nearest thing around it that is written."""
        while key:
            if key in self.keys:
                return self.keys[key]
            key = key.rpartition(".")[0]
        return None


def scan(text: str) -> Lines:
    scanner = _Scanner(text.replace("\r\n", "\n"))
    scanner.document()
    return Lines(scanner.keys, scanner.texts)


class _LostError(Exception):
    """The text is no TOML from here on."""


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.keys: dict[str, int] = {}
        self.texts: dict[str, int] = {}
        self.counts: dict[str, int] = {}  # array of tables -> its entries so far
        self._counted = (0, 1)  # offset and line up to which newlines are counted

    def document(self) -> None:
        table = ""
        try:
            while self.skip(SPACE) < len(self.text):
                table = self.header() if self.text[self.at] == "[" else self.pair(table)
        except _LostError:
            return

    def header(self) -> str:
        line, double = self.line(), self.text.startswith("[[", self.at)
        self.at += 2 if double else 1
        parts = self.dotted()
        path = join(self.resolve(parts[:-1], line), parts[-1])
        if double:
            self.note(path, line)
            self.counts[path] = self.counts.get(path, 0) + 1
        path = self.inside(path)
        self.note(path, line)
        self.expect("]]" if double else "]")
        return path

    def pair(self, table: str) -> str:
        self.assignment(table)
        return table

    def assignment(self, table: str) -> None:
        line, path = self.line(), table
        for part in self.dotted():
            path = join(path, part)
            self.note(path, line)
        self.expect("=")
        self.value(path)

    def value(self, path: str) -> None:
        self.skip(BLANK)
        start = self.text[self.at : self.at + 1]
        if start == "[":
            self.array(path)
        elif start == "{":
            self.inline(path)
        elif start in {'"', "'"}:
            opening = self.line()
            found = self.string()
            self.texts[path] = opening + (1 if found[3:4] == "\n" and found[:3] in {'"""', "'''"} else 0)
        else:
            self.take(SCALAR)

    def array(self, path: str) -> None:
        self.at += 1
        entry = 0
        while self.peek() != "]":
            entry += 1
            self.note(join(path, str(entry)), self.line())
            self.value(join(path, str(entry)))
            if self.peek() == ",":
                self.at += 1
        self.at += 1

    def inline(self, path: str) -> None:
        self.at += 1
        while self.peek() != "}":
            self.assignment(path)
            if self.peek() == ",":
                self.at += 1
        self.at += 1

    def dotted(self) -> list[str]:
        parts = []
        while True:
            self.skip(BLANK)
            quoted = self.text[self.at : self.at + 1] in {'"', "'"}
            parts.append(self.string()[1:-1] if quoted else self.take(BARE))
            self.skip(BLANK)
            if self.text[self.at : self.at + 1] != ".":
                return parts
            self.at += 1

    def string(self) -> str:
        for pattern in STRINGS:
            if found := pattern.match(self.text, self.at):
                self.at = found.end()
                return found[0]
        raise _LostError

    def resolve(self, parts: list[str], line: int) -> str:
        path = ""
        for part in parts:
            self.note(join(path, part), line)
            path = self.inside(join(path, part))
        return path

    def inside(self, path: str) -> str:
        """An array of tables stands for its latest entry."""
        return join(path, str(self.counts[path])) if path in self.counts else path

    def note(self, path: str, line: int) -> None:
        self.keys.setdefault(path, line)

    def peek(self) -> str:
        if self.skip(SPACE) >= len(self.text):
            raise _LostError
        return self.text[self.at]

    def skip(self, pattern: re.Pattern[str]) -> int:
        found = pattern.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.at

    def take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if not found:
            raise _LostError
        self.at = found.end()
        return found[0]

    def expect(self, mark: str) -> None:
        self.skip(BLANK)
        if not self.text.startswith(mark, self.at):
            raise _LostError
        self.at += len(mark)

    def line(self) -> int:
        offset, line = self._counted
        line += self.text.count("\n", offset, self.at)
        self._counted = (self.at, line)
        return line


def join(path: str, part: str) -> str:
    return f"{path}.{part}" if path else part
