"""Leads in a file that somebody exported: CSV as spreadsheets and CRMs of all countries write it."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fairturn.errors import ConfigError, Fault

DELIMITERS: Final = (",", ";", "\t", "|")
MAX_BYTES: Final = 512 * 1_048_576
MAX_CELL: Final = 1_048_576
BOMS: Final = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table with headings. Cells are trimmed text; an empty cell is no key of its row."""

    headings: tuple[str, ...]
    rows: tuple[Mapping[str, str], ...]


def read_sheet(path: Path) -> Sheet:
    """UTF-8, UTF-16 or Windows' Latin; parted by comma, semicolon, tab or bar. Raises ConfigError, naming the line."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise refused(path, "the file is larger than 512 MiB", "Split it")
        data = path.read_bytes()
    except FileNotFoundError:
        raise refused(path, "there is no such file", "Correct the path") from None
    except OSError as error:
        raise refused(path, f"the file cannot be read ({error.strerror})", "Name a file that you may read") from None
    return parse_sheet(decode(data), path)


def parse_sheet(text: str, path: Path) -> Sheet:
    text = text.replace("\0", "")
    delimiter, text = delimited(text)
    csv.field_size_limit(MAX_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        lines = [cells for cells in reader if any(cell.strip() for cell in cells)]
    except csv.Error as error:
        raise refused(path, f"the table breaks off ({error})", "Is a quote not closed?", reader.line_num) from None
    if not lines:
        raise refused(path, "the file is empty", "Export it again, with headings")
    headings = named(lines[0])
    if not any(headings):
        raise refused(path, "the first line holds no headings", "Export it again, with headings", 1)
    return Sheet(tuple(filter(None, headings)), tuple(rows(headings, lines[1:])))


def rows(headings: list[str], lines: list[list[str]]) -> Iterator[Mapping[str, str]]:
    for cells in lines:
        yield {name: cell.strip() for name, cell in zip(headings, cells, strict=False) if name and cell.strip()}


def named(cells: list[str]) -> list[str]:
    """Headings without blanks around; of two that are the same the second gets a number."""
    seen: dict[str, int] = {}
    headings = []
    for cell in cells:
        name = " ".join(cell.replace("\ufeff", "").split())
        seen[name] = seen.get(name, 0) + 1
        headings.append(f"{name} ({seen[name]})" if name and seen[name] > 1 else name)
    return headings


def decode(data: bytes) -> str:
    for mark, encoding in BOMS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    head = data[:4000]
    if head.count(0) * 3 > len(head):  # UTF-16 without its mark: every other byte of Latin text is zero
        return data.decode("utf-16-le" if head[1:2] == b"\0" else "utf-16-be", "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def delimited(text: str) -> tuple[str, str]:
    """The delimiter, and the text without the line `sep=;` by which Excel is told of it."""
    if told := re.match(r"\s*\"?sep=(.)\"?[^\S\n]*\r?\n", text, re.IGNORECASE):
        return told[1], text[told.end() :]
    first = next((line for line in text.splitlines() if line.strip()), "")
    bare = re.sub(r"\"[^\"]*\"", "", first)
    return max(DELIMITERS, key=bare.count), text


def refused(path: Path, message: str, remedy: str, line: int | None = None) -> ConfigError:
    return ConfigError((Fault(message, remedy, str(path), line),))
