"""Runs and explorations as a notebook shows them: reactions as a table, states as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.engine.explore import describe_state
from solvent.pictures.tables import table

if TYPE_CHECKING:
    from solvent.engine.explore import Exploration
    from solvent.engine.trace import Record, Recorder

MAX_REACTIONS = 50
MAX_STATES = 40
"""With more states than this a picture shows nothing; then it is a table of the final ones."""
_MAX_FINALS = 20
_KNOWN = {True: "yes", False: "no", None: "not known"}


def reactions_html(recorder: Recorder) -> str:
    """Give the reactions of a run; of many, the first and the last."""
    records = recorder.records
    half = MAX_REACTIONS // 2
    count = len(records)
    shown = records if count <= MAX_REACTIONS else [*records[:half], None, *records[-half:]]
    rows = [_row(one) if one is not None else ("…", f"{count - 2 * half:,} more", "", "") for one in shown]
    state = "inert" if recorder.solution.inert else "not inert"
    says = f"{state} after {count:,} reaction{'' if count == 1 else 's'}"
    return table(("", "rule", "found", "left"), rows, says=says)


def _row(record: Record) -> tuple[object, ...]:
    return record.number, record.rule, ", ".join(record.before) or "nothing", ", ".join(record.after) or "nothing"


def exploration_bundle(found: Exploration) -> dict[str, Any]:
    """Give the states of a program as a picture, or, where there are too many, what is known of them."""
    if 0 < len(found.states) <= MAX_STATES:
        from solvent.engine.picturing import graph_of_states
        from solvent.pictures import drawn, svg

        return {"image/svg+xml": svg(drawn(graph_of_states(found, repr(found))))}
    finals = found.finals
    rows = [(state, describe_state(found.states[state])) for state in finals[:_MAX_FINALS]]
    more = f"and {len(finals) - _MAX_FINALS:,} more final states" if len(finals) > _MAX_FINALS else ""
    says = f"{len(found.states):,} states{'' if found.is_complete else ' so far'}, {len(finals):,} of them final"
    says += f"; confluent: {_KNOWN[found.confluent]}; every run ends: {_KNOWN[found.terminates]}"
    return {"text/html": table(("state", "final"), rows, says=says, below=more)}


__all__ = ["exploration_bundle", "reactions_html"]
