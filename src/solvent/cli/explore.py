"""`solvent explore`: every order of reactions, and two runs that diverge where there are any.

A workflow is explored task by task, by `explore_workflow`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from solvent.cli.finding import any_file
from solvent.cli.loading import add_format, add_program, at_least, load_program, parser_for, seconds
from solvent.cli.render import complain, counted, shortened, write, write_json, write_reaction
from solvent.cli.watching import Watch
from solvent.cli.workflows import add_inputs, add_scale, add_signals, is_workflow, refuse
from solvent.engine.explore import STATES_MAX, Exploration, describe_state, explore

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from solvent.engine.trace import Record

_FINALS_SHOWN = 10
_FOR_WORKFLOWS = ("input", "signal", "holds", "scale")


def main(arguments: list[str]) -> int:
    """Explore a program and say whether it is confluent and always ends, or a workflow and say how it ends."""
    options = _options(arguments)
    if is_workflow(options.file):
        from solvent.cli.explore_workflow import explore_orders

        return explore_orders(options)
    refuse(options, _FOR_WORKFLOWS, "is for workflows, and this is a program")
    solution = load_program(options).solution()
    found = Exploration()
    with Watch(lambda: len(found.states), noun="states") as watch:
        stop = stopper(watch, options.seconds_max)
        explore(solution, states_max=options.states_max, should_stop=stop, into=found)
    if options.format == "json":
        write_json(_as_json(found))
    else:
        _write(found)
    if found.is_complete:
        return 0
    complain_unfinished(len(found.states), watch, options)
    return 3


def complain_unfinished(states: int, watch: Watch, options: Namespace) -> None:
    """Say why not every state was seen."""
    if watch.is_interrupted:
        complain(f"interrupted after {counted(states, 'state')}")
    elif states >= options.states_max:
        complain(f"stopped after {counted(states, 'state')}", hint="raise --states-max")
    else:
        complain(f"stopped after {options.seconds_max:g} seconds", hint="raise --seconds-max")


def _options(arguments: list[str]) -> Namespace:
    parser = parser_for(
        "explore",
        "Try every order of reactions: which final states are there, do all runs end, can they diverge?\n"
        "Of a workflow: how can it end, how often does each task run, does what you say hold in every order?",
        example="solvent explore philosophers.hocl --states-max 10000\n"
        '  solvent explore orders.yaml --holds "pay before send" --holds "ends done"',
    )
    what = "a program (`-`: standard input), or a workflow: .yaml, .json, .hocl, .py[:NAME]"
    add_program(parser, what=what, find=any_file)
    parser.add_argument(
        "--states-max",
        type=at_least(1),
        default=STATES_MAX,
        metavar="N",
        help=f"stop after so many states (default: {STATES_MAX})",
    )
    parser.add_argument("--seconds-max", type=seconds, metavar="S", help="stop after so many seconds")
    add_format(parser)
    group = parser.add_argument_group("for workflows")
    add_inputs(group)
    add_signals(group, is_timed=False)
    says = "what must hold in every order: `A before B`, `A once`, `ends done` ..."
    group.add_argument("--holds", action="append", default=[], metavar="STATEMENT", help=says)
    add_scale(group)
    return parser.parse_args(arguments)


def stopper(watch: Watch, seconds_max: float | None) -> Callable[[], bool]:
    """Give what says whether an exploration is to stop: Ctrl-C, or the time is over."""
    started = time.monotonic()

    def should_stop() -> bool:
        is_late = seconds_max is not None and time.monotonic() - started > seconds_max
        return watch.should_stop() or is_late

    return should_stop


def _as_json(found: Exploration) -> dict[str, Any]:
    return {
        "states": len(found.states),
        "finals": sorted(describe_state(found.states[state]) for state in found.finals),
        "confluent": found.confluent,
        "terminates": found.terminates,
    }


def _write(found: Exploration) -> None:
    known = "" if found.is_complete else " so far"
    write(("states", "bold"), f"      {len(found.states):,}{known}")
    finals = sorted(describe_state(found.states[state]) for state in found.finals)
    write(("finals", "bold"), f"      {len(finals):,}{known}")
    for text in finals[:_FINALS_SHOWN]:
        write("  ", (shortened(text, 1000), "green"))
    if len(finals) > _FINALS_SHOWN:
        write(f"  and {len(finals) - _FINALS_SHOWN:,} more")
    write(("confluent", "bold"), "   ", _CONFLUENT[found.confluent])
    write(("terminates", "bold"), "  ", _TERMINATES[found.terminates])
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
    _write_records(runs[0][:common])
    for name, run, state in zip(("one run", "another"), runs, (one, other), strict=True):
        write(f"  {name}:")
        _write_records(run[common:])
        ends = "ends in" if not found.edges[state] else "comes to"
        write(f"  {ends}  ", (shortened(describe_state(found.states[state]), 1000), "green"))


def _write_cycle(found: Exploration, cycle: list[int]) -> None:
    """Write how a run gets into a cycle, and the cycle."""
    write("\n", ("a run that never ends", "bold"))
    write("  start  ", shortened(describe_state(found.states[0]), 1000))
    before = found.run_to(cycle[0])
    _write_records(before)
    write("  then again and again:")
    _write_records(found.run_round(cycle), first=len(before) + 1)


def _write_records(records: list[Record], first: int | None = None) -> None:
    for at, record in enumerate(records):
        if first is not None:
            record.number = first + at
        write_reaction(record, width=6)
