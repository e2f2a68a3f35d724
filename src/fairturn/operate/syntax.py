"""What tomllib says of a text that is no TOML, in words that tell what to write instead."""

from __future__ import annotations

import re

from fairturn.errors import Fault
from fairturn.operate.lines import scan

PLACE = re.compile(r"\(at (?:line (\d+), column (\d+)|end of document)\)")
# What stands on the line that tomllib stopped at, tried in this order.
HABITS = (
    (r"^\s*-\s+\S", "a list is not written with dashes", 'Write it in one line: names = ["acme.com", "acme.de"]'),
    (r"[“”„‘’]", "typographic quotes are not quotes here", 'Write straight ones: name = "Ann"'),
    (r"^\s*[\w.-]+\s*:", "a key and its value are parted by '=', not by ':'", "Write key = value"),
    (r"=\s*(True|False|TRUE|FALSE|[Yy]es|[Nn]o|[Oo]n|[Oo]ff)\s*(#|$)", "a switch is true or false, written small",
     'Write true or false; the country Norway is text: "NO"'),
    (r"=\s*(None|null|nil|NULL)\s*(#|$)", "there is no null in TOML", "Leave the line out"),
    (r"=\s*[+-]?0\d", "a number does not begin with 0", 'If it is a postal code or a phone number, quote it: "01234"'),
    (r"=\s*\d+(?:\.\d+)?\s*(ms|s|m|h|d|min|sec|hours?|days?)\b", "a duration is text", 'Put it in quotes: "15m"'),
    (r"=\s*(env|file):", "the name of a secret is text", 'Put it in quotes: "env:SALESFORCE_CLIENT_SECRET"'),
    (r"=\s*$", "the value is missing", "Write it behind the '=', on the same line"),
    (r"=\s*[A-Za-z@/.]", "a text stands in quotes", 'Write it as key = "value"'),
    (r"^\s*\[[^\]]*$", "the name of a table is not closed", "Add the ']'"),
)  # fmt: skip

# What tomllib itself says, where the line shows no habit.
SENTENCES = (
    (
        "Illegal character '\\n'",
        "a text is not closed with a quote",
        "End it on its line, with the same quote",
    ),
    ("Unterminated string", "a text is not closed with a quote", "End it with the quotes that it began with"),
    ("Unescaped '\\'", "a backslash means something in double quotes", "Use single quotes, where it is itself: '...'"),
    ("hex", "a backslash means something in double quotes", "Use single quotes, where it is itself: '...'"),
    ("Unclosed array", "a list is not closed", "Add the ']', and a comma between entries"),
    ("nline table", "the braces { } are not right", "Write { ann = 1, bob = 2 }: on one line, no comma at the end"),
    ("Expected newline", "something stands behind the value", "One key per line; a text with quotes in it: '...\"...'"),
    ("Expected '='", "a '=' is missing behind the key", "Write key = value; a key with blanks or dots is quoted"),
    ("of a table declaration", "the name of a table is not right", "Write it as [pools.emea]; odd names are quoted"),
    (
        "of an array declaration",
        "the name of a table is not right",
        "Write it with two brackets on each side: [[rules]]",
    ),
    ("Invalid initial character", "a key is not right", "A key is letters, digits, - and _; others stand in quotes"),
    ("Invalid statement", "a line begins with a sign that begins none", "Write key = value, [table] or # comment"),
    (
        "Found invalid character",
        "a text is not closed with a quote, or holds a control character",
        "End it on its line",
    ),
    ('Expected "\'"', "a text is not closed with a quote", "End it with the quote that it began with"),
    ("Invalid value", "the value cannot be read", "Write a text in quotes, a number, true, false, [ ... ] or { ... }"),
)


def syntax_fault(error: Exception, text: str, file: str) -> Fault:
    said = str(error)
    found = PLACE.search(said)
    lines = text.splitlines()
    number = int(found[1]) if found and found[1] else max(len(lines), 1)
    bare = PLACE.sub("", said).strip()
    line = lines[number - 1] if number <= len(lines) else ""
    message, remedy = explain(bare, line, text, number)
    return Fault(message=message, remedy=remedy, file=file, line=number)


def explain(said: str, line: str, text: str, number: int) -> tuple[str, str]:
    if "overwrite" in said or "twice" in said or "Cannot mutate" in said:
        return repeated(line, text, number)
    for pattern, message, remedy in HABITS:
        if re.search(pattern, line):
            return message, remedy
    for sign, message, remedy in SENTENCES:
        if sign in said:
            return message, remedy
    return f"this cannot be read as TOML ({said})", "Compare the line with the example that fairturn init writes"


def repeated(line: str, text: str, number: int) -> tuple[str, str]:
    before = scan("\n".join(text.splitlines()[: number - 1]))
    header = re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line)
    if header:
        name = re.sub(r"[\"']", "", header[1])
        first = before.keys.get(name)
        where = f", first on line {first}" if first else ""
        return f"the table [{name}] stands here a second time{where}", "Keep one of them, or give this one another id"
    key = line.partition("=")[0].strip()
    inside = next((found for found in reversed(text.splitlines()[: number - 1]) if found.lstrip().startswith("[")), "")
    path = ".".join(part for part in (inside.strip().strip("[]").strip(), key) if part)
    first = before.keys.get(path)
    where = f", first on line {first}" if first else ""
    return f"{key} is written a second time{where}", "Keep one of the two; neither wins by itself"
