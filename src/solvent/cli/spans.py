"""Whether a command sends spans to OpenTelemetry: `--otel`, or the environment says where they go."""

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
    """Give where spans go; nothing, and nothing is imported, unless somebody wants them.

    `tell` hears what goes wrong with them.
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
            # The variables may be there for other programs.
            return None
        said = f"spans need a package that is not installed: {error.name}"
        raise Misuse("H354", said, hint=install_hint("otel")) from None
    _listen(tell)
    return Tracing(agent=agent, version=__version__, clean=redacted)


def _listen(tell: Callable[[str], None]) -> None:
    """Have the errors of OpenTelemetry told in our words; that it tries again is nobody's business."""
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
