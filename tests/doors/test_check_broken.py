"""`fairturn check` on settings that do not stand: every fault with line, key and what to write instead.

Each file of broken/ has its messages beside it. After a change of words: FAIRTURN_ACCEPT=1 pytest <this file>, and read
the difference as a new user would.
"""

import os
import re
from pathlib import Path

import pytest

from fairturn.errors import ConfigError
from fairturn.operate.settings import load

BROKEN = Path(__file__).parent / "broken"
FILES = sorted(BROKEN.glob("*.toml"))
ENV = {"FAIRTURN_BLANK": "   ", "FAIRTURN_SET": "a secret long enough"}


def faults(path):
    with pytest.raises(ConfigError) as caught:
        load(path, ENV, formats=("plain", "form", "typeform"))
    return caught.value.faults


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_messages(path):
    said = "".join(f"{fault.severity}: {fault}\n" for fault in faults(path)).replace(str(path), path.name)
    expected = path.with_suffix(".txt")
    if os.environ.get("FAIRTURN_ACCEPT"):
        expected.write_text(said)
    assert said == expected.read_text()


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_every_message_has_a_line_and_a_remedy(path):
    lines = path.read_text().splitlines()
    for fault in faults(path):
        assert fault.line is not None, fault
        assert 1 <= fault.line <= len(lines)
        assert fault.remedy
        assert not re.search(r"pydantic|validation|Traceback|None\b|<input>|INVALID_ARGUMENT", str(fault)), fault


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_no_message_repeats_a_secret(path):
    """Case 123."""
    said = " ".join(map(str, faults(path)))
    for secret in ("sw0rdfish", "3MVG9nothing", "s3cr3t", "hunter2", "correct-horse"):
        assert secret not in said


def test_there_are_more_than_ten():
    assert len(FILES) > 10
