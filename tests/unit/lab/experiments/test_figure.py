"""Figures as data."""

from __future__ import annotations

from solvent_lab.experiments.figure import Figure, Panel, Series, csv_of, over_steps


def test_a_figure_is_a_table() -> None:
    """A row for each x, a column for each series, and nothing where a series has ended."""
    panel = Panel("reactions left", (over_steps("fast", [4, 0]), Series("slow", [0, 2], [4, 1.25])), log_y=True)
    assert csv_of(Figure(3, "Title", "step", (panel,))) == "step,fast,slow\n0,4,4\n1,0,\n2,,1.25\n"


def test_columns_of_several_panels_say_what_they_are() -> None:
    """Where a figure has several panels, a column is named by series and panel."""
    panels = Panel("nodes", (over_steps("R0", [1]),)), Panel("molecules", (over_steps("T0", [9]),))
    assert csv_of(Figure(15, "Title", "step", panels)).splitlines()[0] == "step,R0 (nodes),T0 (molecules)"


def test_an_interval_has_columns_of_its_own() -> None:
    """Where it is known how sure a value is, the ends of its interval stand beside it."""
    sure = Series("ring", [8, 16], [3, 7], lows=[2.5, 6.5], highs=[3.5, 7.5])
    table = csv_of(Figure(9, "Title", "nodes", (Panel("time", (sure, Series("log2", [8, 16], [3, 4]))),)))
    assert table == 'nodes,ring,"ring, low","ring, high",log2\n8,3,2.5,3.5,3\n16,7,6.5,7.5,4\n'
