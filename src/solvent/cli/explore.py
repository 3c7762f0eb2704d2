"""`solvent explore`: every order of the reactions of a program, or of the tasks of a workflow.

0  every order was seen     1  a property does not hold     2  bad input     3  a limit was reached     130  Ctrl-C
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from solvent.cli.arguments import (
    add_format,
    add_max_seconds,
    add_program,
    any_file,
    at_least,
    load_program,
    parser_for,
    program_file,
)
from solvent.cli.progress import Watch, prints_to_standard_error
from solvent.cli.render import complain, counted, shortened, write, write_json, write_reaction
from solvent.cli.workflows import (
    add_inputs,
    add_scale,
    add_signals,
    inputs_of,
    is_workflow,
    load_workflow,
    refuse,
    refuse_for_program,
    refuse_for_workflow,
)
from solvent.engine.explore import MAX_STATES, Exploration, describe_state, explore
from solvent.errors import INTERRUPTED, LimitReached, Misuse
from solvent.hocl.json_fields import reaction_as_json
from solvent.hocl.process_settings import deep_stack

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from solvent.engine.properties import Never, Refines, Run
    from solvent.engine.trace import Record
    from solvent.hocl.program import Program
    from solvent.lang.functions import Functions
    from solvent.runs.exploration import Orders
    from solvent.workflows.model import Workflow

_FINALS_SHOWN = 10
_FOR_WORKFLOWS = ("input", "signal", "holds", "scale")
_FOR_PROGRAMS = ("never", "refines", "by", "max_steps")
_MAX_STATE_TEXT = 1000
_MAX_REASON = 4000
_RUNS_SHOWN = 10
_MAX_WAY = 4_000


def main(arguments: list[str]) -> int:
    """Explore a program and report whether it is confluent and always ends, or a workflow and report how it ends."""
    options = parser().parse_args(arguments)
    if is_workflow(options.file):
        refuse_for_workflow(options, (*_FOR_PROGRAMS, "functions"))
        return _explore_orders(options)
    refuse_for_program(options, _FOR_WORKFLOWS)
    with deep_stack():
        return _explore_program(options)


def _explore_program(options: Namespace) -> int:
    """Explore the program that the options name."""
    program = load_program(options)
    properties = _properties(options, program.functions)
    found, code = explored_states(program, options, properties)
    if options.format == "json":
        write_json(_as_json(found, properties))
    else:
        _write(found, properties)
    if found.violation is not None:
        complain("a property does not hold")
        return 1
    return code()


def _explore_orders(options: Namespace) -> int:
    """Explore the workflow that the options name."""
    from solvent.runs.causality import check_statements, violations

    workflow, folder = load_workflow(options.file, scale=options.scale)
    check_statements(options.holds, [task.name for task in workflow.tasks])
    found, code = explored_orders(workflow, folder, options)
    wrong = violations(found, options.holds)
    if options.format == "json":
        write_json(_orders_as_json(found, wrong))
    else:
        _write_orders(found, options.holds, wrong)
    unfinished = code()
    if wrong:
        verb = "does" if len(wrong) == 1 else "do"
        complain(f"{counted(len(wrong), 'statement')} of {len(options.holds)} {verb} not hold")
        return 1
    return unfinished


def explored_states(
    program: Program, options: Namespace, properties: Sequence[Never | Refines] = ()
) -> tuple[Exploration, Callable[[], int]]:
    """Return the states of a program, and a function that reports why some are missing and returns the exit code."""
    found, solution = Exploration(), program.solution()
    with Watch(lambda: len(found.states), noun="states") as watch:
        stop = _stopper(watch, options.max_seconds)
        explore(solution, max_states=options.max_states, should_stop=stop, properties=properties, into=found)
    return found, lambda: 0 if found.is_complete else _complain_unfinished(len(found.states), watch, options)


def explored_orders(workflow: Workflow, folder: Path, options: Namespace) -> tuple[Orders, Callable[[], int]]:
    """Return the orders of a workflow, and a function as `explored_states` does."""
    from solvent.runs.exploration import Orders, explore_workflow

    found = Orders()
    with Watch(lambda: len(found.states), noun="states") as watch, prints_to_standard_error():
        explore_workflow(
            workflow,
            inputs_of(options, workflow),
            signals=options.signal,
            max_states=options.max_states,
            should_stop=_stopper(watch, options.max_seconds),
            folder=folder,
            into=found,
        )
    return found, lambda: 0 if found.is_complete else _complain_unfinished(len(found.states), watch, options)


def _properties(options: Namespace, functions: Functions) -> list[Never | Refines]:
    if options.refines is None:
        refuse(options, ("by", "max_steps"), "needs --refines FILE")
    if not options.never and options.refines is None:
        return []
    found: list[Never | Refines] = [one for text in options.never for one in read_never(text, functions)]
    if options.refines is not None:
        found.append(read_refines(options.refines, options.by, options.max_steps or 1, functions))
    return found


def _complain_unfinished(states: int, watch: Watch, options: Namespace) -> int:
    """Report why not every state was seen, and return the exit code."""
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
        "Try every order of the reactions of a program: which final states are there, do all runs end, can they\n"
        "diverge? Of a workflow: how can it end, how often does each task run, does a statement hold in every order?\n"
        "`solvent lab explore` explores the rewriting systems of the token paper.",
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
    add_max_seconds(parser)
    add_format(parser)
    group = parser.add_argument_group("for programs")
    says = (
        "what no state may contain: a pattern, perhaps with `if`, or a file of rules that may never react (repeatable)"
    )
    group.add_argument("--never", action="append", default=[], metavar="PATTERN", help=says)
    says = "every reaction must correspond to none or one of this program"
    group.add_argument("--refines", type=program_file, metavar="FILE", help=says)
    says = "the rules that turn a state into one of that program (default: the states are the same)"
    group.add_argument("--by", type=program_file, metavar="FILE", help=says)
    says = "how many reactions of that program one reaction may correspond to (default: 1)"
    group.add_argument("--max-steps", type=at_least(1), metavar="N", help=says)
    group = parser.add_argument_group("for workflows")
    add_inputs(group)
    add_signals(group, is_timed=False)
    says = "what must hold in every order: `A before B`, `A once`, `ends done` ..."
    group.add_argument("--holds", action="append", default=[], metavar="STATEMENT", help=says)
    add_scale(group)
    return parser


def _stopper(watch: Watch, max_seconds: float | None) -> Callable[[], bool]:
    """Return a function that returns whether to stop: after Ctrl-C, or when the time is over."""
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
        write("  ", (shortened(text, _MAX_STATE_TEXT), "green"))
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
    write("  start  ", shortened(describe_state(found.states[0]), _MAX_STATE_TEXT))
    write_records(runs[0][:common])
    for name, run, state in zip(("one run", "another"), runs, (one, other), strict=True):
        write(f"  {name}:")
        write_records(run[common:])
        ends = "ends in" if not found.edges[state] else "comes to"
        write(f"  {ends}  ", (shortened(describe_state(found.states[state]), _MAX_STATE_TEXT), "green"))


def _write_cycle(found: Exploration, cycle: list[int]) -> None:
    """Write how a run gets into a cycle, and the cycle."""
    write("\n", ("a run that never ends", "bold"))
    write("  start  ", shortened(describe_state(found.states[0]), _MAX_STATE_TEXT))
    before = found.run_to(cycle[0])
    write_records(before)
    write("  then again and again:")
    write_records(found.run_round(cycle), first=len(before) + 1)


def read_never(text: str, functions: Functions | None = None) -> list[Never]:
    """Read the states that must never be: the rules of a file, or a pattern such as `A : x, B : y if x > y`."""
    from solvent.engine.properties import Never
    from solvent.hocl.program import load, rule
    from solvent.lang.rule import Rule

    if text.endswith(".hocl"):
        found = [Never(one) for one in load(text, functions=functions).solution() if isinstance(one, Rule)]
        if not found:
            raise Misuse("H322", f"{text} holds no rule", hint="its solution must hold the rules that may never react")
        return found
    # The text stands on a line of its own, so that an error shows it as it was given.
    return [Never(rule(f"inject NEVER with\n{text}\n", name="never", functions=functions), text=text)]


def read_refines(coarser: str, mapping: str | None, max_steps: int, functions: Functions | None = None) -> Refines:
    """Read the property that a program refines the one in a file, through the rules of another file, if given."""
    from solvent.engine.properties import Refines
    from solvent.hocl.program import load

    rules = () if mapping is None else load(mapping, functions=functions).solution()
    solution = load(coarser, functions=functions).solution()
    return Refines(solution, rules, name=coarser, max_steps=max_steps)


def write_property(one: Never | Refines, known: str = "") -> None:
    """Write that a property holds, as far as is known; of a refinement also the counterparts of rules."""
    kind, _, rest = one.name.partition(" ")
    write((kind, "bold"), " " * (12 - len(kind)), (rest, "green"), known)
    if kind == "refines":
        write_counterparts(one.counterparts())  # type: ignore[union-attr]


def write_counterparts(counterparts: Mapping[str, Sequence[Run]]) -> None:
    """Write for each rule its reactions in the coarser program."""
    width = max(map(len, counterparts), default=0)
    for rule, runs in counterparts.items():
        write(f"  {rule:<{width}}  ", " or ".join(map(in_words, runs)))


def in_words(run: Run) -> str:
    """Write a run by its rules."""
    return " then ".join(run) or "nothing"


def write_violation(found: Exploration) -> None:
    """Write the property that does not hold, and a shortest run to where it does not."""
    violation = found.violation
    assert violation is not None
    write(("wrong", "bold red"), "       ", (violation.property.name, "bold red"))
    write("  start  ", shortened(describe_state(found.states[0]), _MAX_STATE_TEXT))
    write_records(found.run_to_violation())
    if violation.rule is None:
        write("  state  ", (shortened(describe_state(found.states[violation.state]), _MAX_STATE_TEXT), "red"))
    if violation.property.name.startswith("refines "):
        write("  ", shortened(violation.reason, _MAX_REASON))


def properties_as_json(found: Exploration, properties: Sequence[Never | Refines]) -> dict[str, Any]:
    """Return which properties hold (null: unknown), the counterparts of rules, and the run to a violation."""
    violation = found.violation
    fields: dict[str, Any] = {"holds": {}, "violation": None}
    for one in properties:
        is_wrong = violation is not None and violation.property is one
        fields["holds"][one.name] = False if is_wrong else True if found.is_complete else None
        if one.name.startswith("refines "):
            fields["counterparts"] = {rule: list(map(list, runs)) for rule, runs in one.counterparts().items()}  # type: ignore[union-attr]
    if violation is not None:
        fields["violation"] = {
            "property": violation.property.name,
            "reason": violation.reason,
            "run": list(map(reaction_as_json, found.run_to_violation())),
            "state": describe_state(found.states[violation.state]),
        }
    return fields


def write_records(records: Sequence[Record], first: int | None = None) -> None:
    """Write reactions, numbered on from `first`."""
    for at, record in enumerate(records):
        if first is not None:
            record.number = first + at
        write_reaction(record, width=6)


def _write_ways(found: Orders, end: str) -> None:
    """Write a shortest order that ends badly."""
    from solvent.runs.causality import violations
    from solvent.runs.inspection import ENDS

    others = " or ".join(one for one in ENDS if one != end)

    (way,) = violations(found, [f"ends {others}"])
    write("\n", (f"an order that ends {end}", "bold"))
    write(f"  {shortened(way.partition(': ')[2], _MAX_WAY)}")


def _orders_as_json(found: Orders, wrong: list[str]) -> dict[str, Any]:
    from solvent.runs.inspection import ends_of, runs_of

    return {
        "states": len(found.states),
        "complete": found.is_complete,
        "ends": ends_of(found),
        "runs": runs_of(found),
        "violations": wrong,
    }


def _write_orders(found: Orders, statements: list[str], wrong: list[str]) -> None:
    from solvent.runs.inspection import ends_of, runs_of

    known = "" if found.is_complete else " so far"
    write(("states", "bold"), f"  {len(found.states):,}{known}")
    ends = ends_of(found)
    write(("ends", "bold"), f"    {', '.join(f'{many:,} {end}' for end, many in ends.items()) or 'none'}{known}")
    runs = runs_of(found)
    for at, one in enumerate(runs[:_RUNS_SHOWN]):
        # With those that did not run.
        told = ", ".join(f"{task} {many}" for task, many in one.items())
        write(("runs" if not at else "    ", "bold"), f"    {shortened(told, 1000)}")
    if len(runs) > _RUNS_SHOWN:
        write(f"        and {len(runs) - _RUNS_SHOWN:,} more")
    for end in ("failed", "stuck"):
        if end in ends and not statements:
            _write_ways(found, end)
    for statement in statements:
        # A violation begins with its statement.
        ways = [one[len(statement) + 2 :] for one in wrong if one.startswith(f"{statement}: ")]
        if not ways:
            write(("holds", "bold"), "   ", (statement, "green"), "" if found.is_complete else " so far")
            continue
        write(("wrong", "bold red"), "   ", (statement, "bold red"))
        write(f"  {shortened(ways[0], _MAX_WAY)}")
