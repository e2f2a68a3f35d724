"""A check may be switched off for a line, with a reason that the next reader can weigh."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODULES = sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "sims/src").rglob("*.py")])
EXEMPTION = re.compile(
    r"#\s*(?:noqa|type: ignore)"
    r"(?P<codes>\[[\w,\s-]+\]|:\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*)?"
    r"(?P<reason>.*)"
)


def test_exemptions_name_their_rule_and_their_reason():
    """The reason stands behind the mark, in a comment above, or at an earlier mark of the same rule in the module."""
    bare = []
    for path in MODULES:
        reasoned: set[str] = set()
        lines = path.read_text().splitlines()
        for number, line in enumerate(lines):
            if not (mark := EXEMPTION.search(line)):
                continue
            codes = mark["codes"] or ""
            if mark["reason"].strip(" -#") or (number and lines[number - 1].lstrip().startswith("#")):
                reasoned.add(codes)
            if not codes or codes not in reasoned:
                bare.append(f"{path.relative_to(ROOT)}:{number + 1}: {mark.group().strip()}")
    assert not bare, "say which rule, and why it is wrong here:\n" + "\n".join(bare)


def test_each_rule_that_is_off_says_why():
    """In pyproject.toml a comment stands on the line of each rule that is off, or above its group."""
    text = (ROOT / "pyproject.toml").read_text()
    ignored = text.split("\nignore = [\n")[1].split("\n]\n")[0].splitlines()
    bare = [line for above, line in zip(["", *ignored], ignored, strict=False) if "#" not in line and "#" not in above]
    assert not bare
    assert tomllib.loads(text)["tool"]["ruff"]["lint"]["select"] == ["ALL"]
