"""`solvent explore` with a workflow: every order in which its tasks can happen, how they end, and what does not hold.

0  every order was seen     1  a statement does not hold     2  bad input     3  a limit was reached, or Ctrl-C
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from solvent.cli.explore import complain_unfinished, stopper
from solvent.cli.render import complain, counted, shortened, write, write_json
from solvent.cli.watch import Watch, prints_to_standard_error
from solvent.cli.workflows import inputs_of, load_workflow, refuse
from solvent.runs.causality import check_statements, violations
from solvent.runs.exploring import Orders, explore_workflow

if TYPE_CHECKING:
    from argparse import Namespace

_RUNS_SHOWN = 10
_MAX_WAY = 4_000
_ENDS = ("done", "cancelled", "failed", "stuck")


def explore_orders(options: Namespace) -> int:
    """Explore the workflow that the options name."""
    refuse(options, ("functions",), "is for programs, not for workflows")
    workflow, folder = load_workflow(options.file, scale=options.scale)
    check_statements(options.holds, [task.name for task in workflow.tasks])
    found = Orders()
    with Watch(lambda: len(found.states), noun="states") as watch, prints_to_standard_error():
        explore_workflow(
            workflow,
            inputs_of(options),
            signals=options.signal,
            max_states=options.max_states,
            should_stop=stopper(watch, options.max_seconds),
            folder=folder,
            into=found,
        )
    wrong = violations(found, options.holds)
    if options.format == "json":
        write_json(_as_json(found, wrong))
    else:
        _write(found, options.holds, wrong)
    code = 0 if found.is_complete else complain_unfinished(len(found.states), watch, options)
    if wrong:
        complain(f"{counted(len(wrong), 'statement')} of {len(options.holds)} {_verb(len(wrong))} not hold")
        return 1
    return code


def _verb(number: int) -> str:
    return "does" if number == 1 else "do"


def _ends(found: Orders) -> dict[str, int]:
    """Give how many final states there are of each kind."""
    ends = Counter(state.end for state in found.finals)
    return {end: ends[end] for end in _ENDS if ends[end]}


def _runs(found: Orders) -> list[dict[str, int]]:
    """Give how often the tasks have run in the end: every outcome that there is, once."""
    tasks = [*found.states[0].done]
    counts = sorted({tuple(state.started[task] for task in tasks) for state in found.finals})
    return [dict(zip(tasks, one, strict=True)) for one in counts]


def _as_json(found: Orders, wrong: list[str]) -> dict[str, Any]:
    return {
        "states": len(found.states),
        "complete": found.is_complete,
        "ends": _ends(found),
        "runs": _runs(found),
        "violations": wrong,
    }


def _write(found: Orders, statements: list[str], wrong: list[str]) -> None:
    known = "" if found.is_complete else " so far"
    write(("states", "bold"), f"  {len(found.states):,}{known}")
    ends = _ends(found)
    write(("ends", "bold"), f"    {', '.join(f'{many:,} {end}' for end, many in ends.items()) or 'none'}{known}")
    runs = _runs(found)
    for at, one in enumerate(runs[:_RUNS_SHOWN]):
        # What did not run is what one looks for.
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


def _write_ways(found: Orders, end: str) -> None:
    """Write a shortest way to an end that nobody wants, where it was not asked for."""
    others = " or ".join(one for one in _ENDS if one != end)
    (way,) = violations(found, [f"ends {others}"])
    write("\n", (f"an order that ends {end}", "bold"))
    write(f"  {shortened(way.partition(': ')[2], _MAX_WAY)}")


__all__ = ["explore_orders"]
