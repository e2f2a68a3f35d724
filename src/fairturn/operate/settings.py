"""Reading the settings: a TOML file, its lines, what it says, and everything that is wrong with it."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fairturn.config import Settings
from fairturn.errors import ConfigError, Fault
from fairturn.operate.check import judge
from fairturn.operate.lines import scan
from fairturn.operate.loaded import Loaded
from fairturn.operate.secrets import beside, judge_secrets, secret
from fairturn.operate.shapes import shape_faults
from fairturn.operate.syntax import syntax_fault

MAX_BYTES = 8 * 1_048_576


def load(path: Path, env: Mapping[str, str], *, secrets: bool = True, formats: Collection[str] = ()) -> Loaded:
    """Settings that stand, with warnings in `faults`. Raises ConfigError with every fault found, warnings included.

    `secrets=False` leaves out whether each secret is there: for commands that read and reckon (audit, why, simulate)
    in a shell that has none. `formats` are the webhook formats that there are; without them they are not judged.
    """
    return parse(read(path), path, beside(path, env), secrets=secrets, formats=formats)


def parse(
    text: str, path: Path, env: Mapping[str, str], *, secrets: bool = True, formats: Collection[str] = ()
) -> Loaded:
    """The same for a text that is already here; `path` is what its faults name."""
    text = text.removeprefix("\ufeff")  # some editors begin UTF-8 with a byte order mark
    try:
        raw: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError((syntax_fault(error, text, str(path)),)) from None
    except ValueError as error:  # not TOML's own: a number of more digits than Python reads
        raise ConfigError((Fault(f"a number is too long ({error})", "Quote it, if it is a text", str(path)),)) from None
    except RecursionError:
        fault = Fault("lists and tables are nested too deeply", "Write them flatter", str(path))
        raise ConfigError((fault,)) from None
    lines = scan(text)
    try:
        settings = Settings.model_validate(raw)
    except ValidationError as error:
        # `from None`: pydantic's own text repeats the input, and a secret may stand in it by mistake.
        raise ConfigError(shape_faults(error, raw, lines, str(path))) from None
    loaded = Loaded(settings, text, path, lines)
    faults = [*judge(loaded, formats), *(judge_secrets(loaded, env) if secrets else ())]
    faults.sort(key=lambda fault: (fault.line or 0, fault.key or ""))
    if any(fault.severity == "error" for fault in faults):
        raise ConfigError(tuple(faults))
    return Loaded(settings, text, path, lines, tuple(faults))


def read(path: Path) -> str:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        fault = Fault("there is no such file", "Write one with `fairturn init`, or name yours with --config", str(path))
        raise ConfigError((fault,)) from None
    except OSError as error:
        fault = Fault(f"the file cannot be read ({error.strerror})", "Name a file that Fairturn may read", str(path))
        raise ConfigError((fault,)) from None
    if len(data) > MAX_BYTES:
        raise ConfigError((Fault("the file is larger than 8 MiB", "Is it the right one?", str(path)),))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        fault = Fault("the file is not UTF-8 from here on", "Save it as UTF-8 in your editor", str(path), line)
        raise ConfigError((fault,)) from None


__all__ = ["Loaded", "load", "parse", "read", "secret"]
