"""Figures 9 and 10 of the paper on token passing, run again; its variants, full load, and two other protocols beside.

Reading order: cells (what is run), measurement (what is kept of it), figures, claims, statements and variants (what the
paper says beside what we measure), tables, reproduction.
"""

__all__: list[str] = []
