"""Spans of a command for OpenTelemetry: sent with `--otel`, or if the environment names a receiver."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from solvent.errors import Misuse, install_hint

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from solvent.runs.observing.tracing import Tracing

_WHERE = ("OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def tracing_for(options: Namespace, *, tell: Callable[[str], None], agent: str = "") -> Tracing | None:
    """Return where spans go; None, without importing anything, if they are not wanted.

    `tell` gets the errors of OpenTelemetry.
    """
    wanted = options.otel
    if _is_off() or not (wanted or any(os.environ.get(name) for name in _WHERE)):
        return None
    from solvent import __version__
    from solvent.cli.secrecy import redacted

    try:
        from solvent.runs.observing.tracing import Tracing
    except ModuleNotFoundError as error:
        if not wanted:
            # The variables may be set for other programs.
            return None
        said = f"spans need a package that is not installed: {error.name}"
        raise Misuse("H354", said, hint=install_hint("otel")) from None
    _listen(tell)
    return Tracing(agent=agent, version=__version__, clean=redacted)


def _listen(tell: Callable[[str], None]) -> None:
    """Report errors of OpenTelemetry, but not its retries."""
    import logging

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            tell(record.getMessage())

    logger = logging.getLogger("opentelemetry")
    logger.propagate = False
    logger.handlers = [Handler(logging.ERROR)]


def _is_off() -> bool:
    is_disabled = os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    return is_disabled or os.environ.get("OTEL_TRACES_EXPORTER", "").strip() == "none"
