"""Where log lines go: stderr, one line each, JSON unless a person watches."""

from __future__ import annotations

import logging
import sys

import structlog


def configure(role: str) -> None:
    structlog.contextvars.bind_contextvars(role=role)
    # Its pool tells of every attempt during an outage, with a traceback; our own stations say it in a line.
    logging.getLogger("asyncpg").setLevel(logging.CRITICAL)
    renderer: structlog.typing.Processor
    if sys.stderr.isatty():
        renderer = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    else:
        renderer = structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
