"""The experiments of the paper on data handover, run again, and message counts to 10,000 processes.

Reading order: cells (what is run), measurement (what is kept of it), figures, claims (what the paper says beside what
we measure), tables, reproduction.
"""

__all__: list[str] = []
