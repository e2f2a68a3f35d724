"""The server's settings: ours, over those of postgresql.conf, under those of ALTER SYSTEM."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from fairturn.errors import StoreError
from fairturn.stores.postgres.server.binaries import Binaries

_NAME = re.compile(r"[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?")

_DEFAULTS: Mapping[str, str] = {
    "listen_addresses": "",  # the socket is the only door
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "max_wal_size": "2GB",  # a burst must not force checkpoints
    "checkpoint_timeout": "15min",
    # A lead touches a random page of each index by digest, and the first touch after a checkpoint logs the page whole.
    # Digests do not compress: pglz took 0.8 of PostgreSQL's 1.0 ms for a lead among a million, to write 30 KB, not 41.
    "wal_compression": "off",
    "random_page_cost": "1.1",
    "jit": "off",  # all our queries are short
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",  # `embedded` reads one message
    # A ring of seven files, one a weekday, each emptied when its day comes round again.
    "logging_collector": "on",
    "log_directory": "log",
    "log_filename": "server-%a.log",
    "log_truncate_on_rotation": "on",
    "log_rotation_age": "1d",
    "log_rotation_size": "0",
    "log_line_prefix": "%m [%p] %q%d ",
    # Statements and the DETAIL of a unique violation quote leads' addresses, which `leads erase` could not reach here.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}


def render(settings: Mapping[str, str], binaries: Binaries) -> str:
    """The text of fairturn.conf. It names the programs too: if it changes, a running server is started anew.

    Raises:
        StoreError: a name that cannot be a setting's, or a value with a line break.
    """
    merged = {**_DEFAULTS, **settings}
    lines = [
        "# Written by Fairturn at each start. Lasting changes of your own: ALTER SYSTEM SET ...",
        f"# PostgreSQL of {binaries.bin} ({binaries.release})",
        "include_if_exists = 'pgdata/postgresql.conf'",
    ]
    for name, value in merged.items():
        if not _NAME.fullmatch(name) or re.search(r"[\r\n\0]", value):
            raise StoreError(f"{name!r} = {value!r} is not a PostgreSQL setting. See `SHOW ALL` for the names.")
        escaped = value.replace("\\", "\\\\").replace("'", "''")
        lines.append(f"{name} = '{escaped}'")
    return "\n".join(lines) + "\n"


def same(path: Path, text: str) -> bool:
    """Whether the file of the last start says just this."""
    try:
        return path.read_text() == text
    except FileNotFoundError:
        return False


def write(path: Path, text: str) -> None:
    """Replace the file at one stroke. It holds no secret: the server's account must be able to read it."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".conf-", delete=False) as file:
        file.write(text)
    new = Path(file.name)
    new.chmod(0o644)
    new.replace(path)
