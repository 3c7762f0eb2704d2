"""`solvent explore`: every order of reactions, two runs that diverge where there are any, and what does not hold.

A workflow is explored task by task, by `explore_workflow`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from solvent.cli.arguments import add_format, add_program, at_least, load_program, parser_for, seconds
from solvent.cli.explore_properties import (
    properties_as_json,
    read_never,
    read_refines,
    write_property,
    write_records,
    write_violation,
)
from solvent.cli.finding import any_file, program_file
from solvent.cli.render import complain, counted, shortened, write, write_json
from solvent.cli.watch import Watch
from solvent.cli.workflows import add_inputs, add_scale, add_signals, is_workflow, refuse
from solvent.engine.explore import MAX_STATES, Exploration, describe_state, explore
from solvent.errors import INTERRUPTED, LimitReached

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Sequence

    from solvent.engine.properties import Never, Refines
    from solvent.lang.functions import Functions

_FINALS_SHOWN = 10
_FOR_WORKFLOWS = ("input", "signal", "holds", "scale")
_FOR_PROGRAMS = ("never", "refines", "by", "max_steps")


def main(arguments: list[str]) -> int:
    """Explore a program and say whether it is confluent and always ends, or a workflow and say how it ends."""
    options = parser().parse_args(arguments)
    if is_workflow(options.file):
        from solvent.cli.explore_workflow import explore_orders

        refuse(options, _FOR_PROGRAMS, "is for programs, and this is a workflow")
        return explore_orders(options)
    refuse(options, _FOR_WORKFLOWS, "is for workflows, and this is a program")
    program = load_program(options)
    properties = _properties(options, program.functions)
    solution = program.solution()
    found = Exploration()
    with Watch(lambda: len(found.states), noun="states") as watch:
        stop = stopper(watch, options.max_seconds)
        explore(solution, max_states=options.max_states, should_stop=stop, properties=properties, into=found)
    if options.format == "json":
        write_json(_as_json(found, properties))
    else:
        _write(found, properties)
    if found.violation is not None:
        complain("a property does not hold")
        return 1
    if found.is_complete:
        return 0
    return complain_unfinished(len(found.states), watch, options)


def _properties(options: Namespace, functions: Functions) -> list[Never | Refines]:
    if options.refines is None:
        refuse(options, ("by", "max_steps"), "says how a program refines another: `--refines FILE`")
    if not options.never and options.refines is None:
        return []
    found: list[Never | Refines] = [one for text in options.never for one in read_never(text, functions)]
    if options.refines is not None:
        found.append(read_refines(options.refines, options.by, options.max_steps or 1, functions))
    return found


def complain_unfinished(states: int, watch: Watch, options: Namespace) -> int:
    """Say why not every state was seen, and return the exit code."""
    if watch.is_interrupted:
        complain(f"interrupted after {counted(states, 'state')}")
        return INTERRUPTED
    if states >= options.max_states:
        complain(f"stopped after {counted(states, 'state')}", hint="raise --max-states")
    else:
        complain(f"stopped after {options.max_seconds:g} seconds", hint="raise --max-seconds")
    return LimitReached.exit_code


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    parser = parser_for(
        "explore",
        "Try every order of reactions: which final states are there, do all runs end, can they diverge?\n"
        "Of a workflow: how can it end, how often does each task run, does what you say hold in every order?\n"
        "`solvent lab explore`: the rewriting systems of the token paper.",
        example="solvent explore philosophers.hocl --max-states 10000\n"
        "  solvent explore philosophers.hocl --never 'EATS : 1, EATS : 2'\n"
        "  solvent explore ring.hocl --refines token.hocl --by mapping.hocl\n"
        '  solvent explore orders.yaml --holds "pay before send" --holds "ends done"',
    )
    what = "a program (`-`: standard input), or a workflow: .yaml, .json, .hocl, .py[:NAME]"
    add_program(parser, what=what, find=any_file)
    parser.add_argument(
        "--max-states",
        type=at_least(1),
        default=MAX_STATES,
        metavar="N",
        help=f"stop after so many states (default: {MAX_STATES})",
    )
    parser.add_argument("--max-seconds", type=seconds, metavar="S", help="stop after so many seconds")
    add_format(parser)
    group = parser.add_argument_group("for programs")
    says = "what may be in no state: a pattern, perhaps with `if`, or a file of rules that may never react (repeatable)"
    group.add_argument("--never", action="append", default=[], metavar="PATTERN", help=says)
    says = "every reaction must be none or one of this program"
    group.add_argument("--refines", type=program_file, metavar="FILE", help=says)
    says = "the rules that turn a state into one of that program (default: states are the same)"
    group.add_argument("--by", type=program_file, metavar="FILE", help=says)
    says = "how many reactions of that program one reaction may be (default: 1)"
    group.add_argument("--max-steps", type=at_least(1), metavar="N", help=says)
    group = parser.add_argument_group("for workflows")
    add_inputs(group)
    add_signals(group, is_timed=False)
    says = "what must hold in every order: `A before B`, `A once`, `ends done` ..."
    group.add_argument("--holds", action="append", default=[], metavar="STATEMENT", help=says)
    add_scale(group)
    return parser


def stopper(watch: Watch, max_seconds: float | None) -> Callable[[], bool]:
    """Give what says whether an exploration is to stop: Ctrl-C, or the time is over."""
    started = time.monotonic()

    def should_stop() -> bool:
        is_late = max_seconds is not None and time.monotonic() - started > max_seconds
        return watch.should_stop() or is_late

    return should_stop


def _as_json(found: Exploration, properties: Sequence[Never | Refines]) -> dict[str, Any]:
    fields = {
        "states": len(found.states),
        "finals": sorted(describe_state(found.states[state]) for state in found.finals),
        "confluent": found.confluent,
        "terminates": found.terminates,
    }
    return fields | properties_as_json(found, properties) if properties else fields


def _write(found: Exploration, properties: Sequence[Never | Refines]) -> None:
    known = "" if found.is_complete else " so far"
    write(("states", "bold"), f"      {len(found.states):,}{known}")
    if found.violation is not None:
        write_violation(found)
        return
    finals = sorted(describe_state(found.states[state]) for state in found.finals)
    write(("finals", "bold"), f"      {len(finals):,}{known}")
    for text in finals[:_FINALS_SHOWN]:
        write("  ", (shortened(text, 1000), "green"))
    if len(finals) > _FINALS_SHOWN:
        write(f"  and {len(finals) - _FINALS_SHOWN:,} more")
    write(("confluent", "bold"), "   ", _CONFLUENT[found.confluent])
    write(("terminates", "bold"), "  ", _TERMINATES[found.terminates])
    for one in properties:
        write_property(one, known)
    if found.confluent is False:
        _write_divergence(found)
    cycle = found.cycle()
    if cycle is not None:
        _write_cycle(found, cycle)


_CONFLUENT = {
    True: "yes: whatever happens first, all runs can still meet",
    False: "no: two runs can end differently",
    None: "unknown: not all states were seen",
}
_TERMINATES = {
    True: "yes: every run ends",
    False: "no: a run can go on for ever",
    None: "unknown: not all states were seen",
}


def _write_divergence(found: Exploration) -> None:
    """Write two runs that can never meet again: their common beginning once, then each."""
    one, other = found.divergence()
    runs = [found.run_to(one), found.run_to(other)]
    paths = [found.path(one), found.path(other)]
    common = 0
    while common < min(map(len, paths)) and paths[0][common] == paths[1][common]:
        common += 1
    write("\n", ("two runs that diverge", "bold"))
    write("  start  ", shortened(describe_state(found.states[0]), 1000))
    write_records(runs[0][:common])
    for name, run, state in zip(("one run", "another"), runs, (one, other), strict=True):
        write(f"  {name}:")
        write_records(run[common:])
        ends = "ends in" if not found.edges[state] else "comes to"
        write(f"  {ends}  ", (shortened(describe_state(found.states[state]), 1000), "green"))


def _write_cycle(found: Exploration, cycle: list[int]) -> None:
    """Write how a run gets into a cycle, and the cycle."""
    write("\n", ("a run that never ends", "bold"))
    write("  start  ", shortened(describe_state(found.states[0]), 1000))
    before = found.run_to(cycle[0])
    write_records(before)
    write("  then again and again:")
    write_records(found.run_round(cycle), first=len(before) + 1)
