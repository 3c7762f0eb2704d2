"""What runs tell to those who watch many of them: metrics for Prometheus, spans for OpenTelemetry.

Nothing here is imported until a run needs it.

Reading order: `tasks` (when one begins and ends); `metrics` (numbers, and how they are written), `endpoint` (where they
are read), `hosts` (who may read them), `agent` (the numbers of an agent); `tracing` (spans).
"""

__all__: list[str] = []
