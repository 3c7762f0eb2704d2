"""`solvent lab explore`: every state of the token paper's six systems, what must never be, and each refinement.

Without options, all of them for two nodes. `--printed` turns to the figures as they are printed, and looks at each
property by itself, so that one sees all that is wrong with them.

0  all hold, or the figures were looked at     1  something does not hold     3  a limit was reached, or Ctrl-C
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from solvent.cli.arguments import add_format, at_least, parser_for
from solvent.cli.explore import properties_as_json, write_counterparts, write_violation
from solvent.cli.progress import Watch
from solvent.cli.render import complain, counted, write, write_json
from solvent.engine.explore import MAX_STATES, Exploration
from solvent.engine.properties import Never, Refines
from solvent.errors import ReactionFailed
from solvent_lab.token_systems import SYSTEMS, Bounds, program
from solvent_lab.token_systems.exploration import explore_system, properties_of

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Sequence

_HEADS = ("system", "nodes", "data", "searches", "passes", "states", "reactions", "verdict")
_PRINTED = tuple(name for name in SYSTEMS if name != "ring")


class _Row(NamedTuple):
    """One exploration: of what, with which properties, and what it found."""

    system: str
    bounds: Bounds
    properties: Sequence[Never | Refines]
    found: Exploration
    failure: str = ""

    @property
    def is_unfinished(self) -> bool:
        return not self.found.is_complete and self.found.violation is None and not self.failure


def main(arguments: list[str]) -> int:
    """Explore the systems; 1 if something does not hold, 3 if not all states were seen."""
    options = parser().parse_args(arguments)
    names = [*dict.fromkeys(options.system)] or list(_PRINTED if options.printed else SYSTEMS)
    if options.text:
        for name in names:
            write(program(name, _bounds(name, options), printed=options.printed).rstrip())
        return 0
    rows = [row for name in names for row in _explored(name, options)]
    if options.format == "json":
        write_json({"systems": list(map(_as_json, rows))})
    else:
        _write(rows, is_apart=options.printed)
    if any(row.is_unfinished for row in rows):
        complain(f"stopped after {counted(options.max_states, 'state')}", hint="raise --max-states")
        return 3
    is_wrong = any(row.found.violation is not None or row.failure for row in rows)
    return 1 if is_wrong and not options.printed else 0


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    parser = parser_for(
        "lab explore",
        "Explore the rewriting systems of the token paper, from the specification to the protocol:\n"
        f"{', '.join(SYSTEMS)}.\n"
        "In every state the prefix property holds and there is one token; each system refines the one before.",
        example="solvent lab explore --nodes 3\n"
        "  solvent lab explore --system search --nodes 4 --data 1 --searches 1 --text > search.hocl",
    )
    says = "only this one (repeatable)"
    parser.add_argument("--system", action="append", default=[], choices=SYSTEMS, metavar="NAME", help=says)
    parser.add_argument("--nodes", type=at_least(2), default=2, metavar="N", help="how many nodes (default: 2)")
    parser.add_argument("--data", type=at_least(0), metavar="N", help="how much the nodes will say in all")
    parser.add_argument("--searches", type=at_least(0), metavar="N", help="how many search messages there may be")
    parser.add_argument(
        "--passes", type=at_least(0), metavar="N", help="how often the token may go on in binary_search"
    )
    parser.add_argument("--printed", action="store_true", help="as the figures are printed, with what is wrong in them")
    parser.add_argument("--text", action="store_true", help="print the programs and explore nothing")
    says = f"stop each exploration after so many states (default: {MAX_STATES})"
    parser.add_argument("--max-states", type=at_least(1), default=MAX_STATES, metavar="N", help=says)
    add_format(parser)
    return parser


def _bounds(system: str, options: Namespace) -> Bounds:
    """Return the bounds that were asked for; for the rest those that are soon exhausted."""
    known = {bounds.nodes: bounds for bounds in SYSTEMS[system].bounds}
    bounds = known.get(options.nodes, Bounds(options.nodes, 1, 1, 1))
    given = {name: getattr(options, name) for name in ("data", "searches", "passes")}
    return bounds._replace(**{name: value for name, value in given.items() if value is not None})


def _explored(system: str, options: Namespace) -> Iterator[_Row]:
    bounds = _bounds(system, options)
    properties = properties_of(system, bounds, printed=options.printed)
    for group in [[one] for one in properties] or [[]] if options.printed else [properties]:
        found, failure = Exploration(), ""
        with Watch(lambda: len(found.states), noun=f"states of {system}") as watch:  # noqa: B023 - read while it is bound
            try:
                explore_system(
                    system,
                    bounds,
                    group,
                    printed=options.printed,
                    max_states=options.max_states,
                    should_stop=watch.should_stop,
                    into=found,
                )
            except ReactionFailed as error:
                # As printed, a trap that is taken for a token ends up where a history is wanted.
                found.is_complete = False
                failure = f"`{error.rule}` fails: {error.message}"
        if watch.is_interrupted:
            raise KeyboardInterrupt
        yield _Row(system, bounds, group, found, failure)


# ------------------------------------------------------------------------------------------------------- words


def _verdict(row: _Row) -> str:
    if row.found.violation is not None:
        return f"violated: {row.found.violation.property.name}"
    if row.failure:
        return row.failure
    if row.is_unfinished:
        return "limit reached"
    return ", ".join(["holds", *(one.name for one in row.properties if isinstance(one, Refines))])


def _cells(row: _Row, *, is_apart: bool) -> tuple[str, ...]:
    bounds = row.bounds
    used = [True, True, row.system in ("search", "binary_search"), row.system == "binary_search"]
    sizes = [str(size) if is_used else "-" for size, is_used in zip(bounds, used, strict=True)]
    said = _verdict(row)
    if is_apart and said.startswith(("holds", "limit")) and row.properties:
        said = f"{said.partition(',')[0]}: {row.properties[0].name}"
    reactions = sum(map(len, row.found.edges))
    return row.system, *sizes, f"{len(row.found.states):,}", f"{reactions:,}", said


def _write(rows: Sequence[_Row], *, is_apart: bool) -> None:
    table = [_HEADS, *(_cells(row, is_apart=is_apart) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for name, *numbers, said in table:
        cells = [cell.rjust(width) for cell, width in zip(numbers, widths[1:-1], strict=True)]
        style = "bold" if said == "verdict" else "green" if said.startswith("holds") else "red"
        write(f"{name:<{widths[0]}}  {'  '.join(cells)}  ", (said, style))
    for row in rows:
        if row.found.violation is not None:
            write("\n", (row.system, "bold"))
            write_violation(row.found)
            continue
        for one in row.properties:
            if isinstance(one, Refines) and not row.failure:
                write("\n", (f"{row.system} {one.name}", "bold"))
                write_counterparts(one.counterparts())


def _as_json(row: _Row) -> dict[str, Any]:
    fields = {"system": row.system, **row.bounds._asdict(), "states": len(row.found.states)}
    fields |= {"reactions": sum(map(len, row.found.edges)), "complete": row.found.is_complete}
    if row.failure:
        fields["failure"] = row.failure
    return fields | properties_as_json(row.found, row.properties)


__all__ = ["main", "parser"]
