"""Secrets are named in the settings ("env:NAME", "file:/path") and live elsewhere.

An empty secret is an error, never a reason to skip a check: with an empty key anybody can sign (case 53).
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from fairturn.config import Hmac, SharedSecret
from fairturn.errors import ConfigError, Fault
from fairturn.operate import check_journal
from fairturn.operate.loaded import Loaded

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
FORM = 'Write "env:NAME" and set that variable, or "file:/path" to a file that only Fairturn may read'
MAX_BYTES = 65_536
FOLDER = "FAIRTURN_FOLDER"  # where relative paths of the settings begin: the folder of their file


def beside(path: Path, env: Mapping[str, str]) -> dict[str, str]:
    """The environment of settings that were read from `path`. Not resolved: a link's own folder is meant."""
    return {**env, FOLDER: str(path.expanduser().absolute().parent)}


def located(place: str, env: Mapping[str, str]) -> Path:
    """A path of the settings; relative ones begin at the settings' file, whatever folder a command is given in."""
    return Path(env.get(FOLDER, "")) / Path(place).expanduser()


def secret(ref: str, env: Mapping[str, str]) -> str:
    """The secret that `ref` names. Raises ConfigError with one fault, which never holds the secret."""
    kind, _, place = ref.partition(":")
    if kind == "env" and NAME.fullmatch(place):
        value = env.get(place)
        if value is None:
            raise _refusal(f"the environment has no {place}", f"Set it: export {place}=...")
        if not value.strip():
            raise _refusal(f"the environment's {place} is empty", f"Set it to the secret: export {place}=...")
        return value.strip()
    if kind == "file" and place:
        return _from_file(located(place, env))
    raise _refusal("this is no name of a secret", FORM)


def _from_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            value = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise _refusal(f"there is no file {path}", "Write the secret into it, or correct the path") from None
    except OSError as error:
        raise _refusal(f"{path} cannot be read ({error.strerror})", "Let Fairturn's user read it") from None
    try:
        text = value.decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        raise _refusal(f"{path} is no text", "Write the secret into it as plain text") from None
    if len(value) > MAX_BYTES:
        raise _refusal(f"{path} is too large for a secret", "Write only the secret into it")
    if not text:
        raise _refusal(f"{path} is empty", "Write the secret into it")
    return text


def _refusal(message: str, remedy: str) -> ConfigError:
    return ConfigError((Fault(message, remedy),))


def references(loaded: Loaded) -> Iterator[tuple[str, str]]:
    """Every secret that the settings name, as (key, reference)."""
    settings = loaded.settings
    for name, source in settings.sources.items():
        if isinstance(source.verify, Hmac | SharedSecret):
            for number, ref in enumerate(source.verify.secrets, 1):
                yield f"sources.{name}.verify.secrets.{number}", ref
    for name, destination in settings.destinations.items():
        for field in ("token", "refresh_token", "client_id", "client_secret"):
            ref = getattr(destination, field)
            if ref is not None:
                yield f"destinations.{name}.{field}", ref
    for key, url in (("database_url", settings.database_url), ("valkey_url", settings.valkey_url)):
        if url is not None and url.startswith(("env:", "file:")):
            yield key, url


def judge_references(loaded: Loaded) -> Iterator[Fault]:
    """A secret written into the text itself is refused, and not repeated in the message."""
    for key, ref in references(loaded):
        kind, _, place = ref.partition(":")
        if kind == "env" and not NAME.fullmatch(place):
            yield loaded.fault(key, "the name behind env: is no name of a variable", "Write letters, digits and _")
        elif kind not in {"env", "file"} or not place:
            yield loaded.fault(key, "the secret itself must not stand in the settings", FORM)


def judge_secrets(loaded: Loaded, env: Mapping[str, str]) -> Iterator[Fault]:
    """Whether every secret is there and fit for its use; who else can read the files.

    Those of a destination in shadow mode are not used yet: that one is missing is a warning.
    """
    shadows = {f"destinations.{name}" for name, mine in loaded.settings.destinations.items() if mine.mode == "shadow"}
    for key, ref in references(loaded):
        severity = "warning" if key.rpartition(".")[0] in shadows else "error"
        try:
            value = secret(ref, env)
        except ConfigError as error:
            if ref.startswith(("env:", "file:")):
                yield from (loaded.fault(key, fault.message, fault.remedy, severity) for fault in error.faults)
            continue
        yield from _fit(loaded, key, value)
        yield from _exposed(loaded, key, ref, env)


def _fit(loaded: Loaded, key: str, value: str) -> Iterator[Fault]:
    if key == "valkey_url" and (problem := check_journal.problem_of(value)):
        yield loaded.fault(key, f"what it names: {problem}", check_journal.FORM)
    parts = key.split(".")
    verify = loaded.settings.sources[parts[1]].verify if parts[0] == "sources" else None
    if isinstance(verify, Hmac) and verify.key == "base64":
        try:
            raw = base64.b64decode(value.removeprefix(verify.key_prefix), validate=True)
        except (binascii.Error, ValueError):
            raw = b""
        if not raw:
            yield loaded.fault(key, "the secret is no base64", 'Copy it whole, or write key = "text"')
    if verify is not None and len(value) < 8:  # so few are tried out in minutes
        yield loaded.warning(key, "the secret has fewer than 8 characters", "Make a longer one: openssl rand -hex 32")


def _exposed(loaded: Loaded, key: str, ref: str, env: Mapping[str, str]) -> Iterator[Fault]:
    if not ref.startswith("file:") or os.name != "posix":
        return
    path = located(ref.removeprefix("file:"), env)
    mode = path.stat().st_mode
    # Secrets mounted by a container runtime are often 0444 in a directory of their own; hence no error.
    if mode & (stat.S_IRGRP | stat.S_IROTH | stat.S_IWGRP | stat.S_IWOTH):
        yield loaded.warning(key, f"other users of this machine may read {path}", f"Close it: chmod 600 {path}")
