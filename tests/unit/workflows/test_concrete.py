"""The examples of the paper reaction by reaction, and what its rules as printed would do."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import solvent
from solvent.lang.molecule import Symbol
from solvent.lang.printer import print_molecule
from solvent.runs.embedded import run_workflow
from solvent.runs.functions import FUNCTIONS
from solvent.workflows.model import Alternative, Each, Result, Service, Task, Value, Workflow
from solvent.workflows.translate import concretise
from tests.property.changed_rules import run_changed

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.engine.reaction import Reaction
    from solvent.lang.solution import Solution
    from solvent.runs.report import Report
T1, T2, T3 = Result("T1"), Result("T2"), Result("T3")
FIGURE_1 = (Task("T1", "s1", (Value("input"),)), Task("T2", "s2", (T1,)), Task("T3", "s3", (T1,)))
DIAMOND = (*FIGURE_1, Task("T4", "s4", (T2, T3)))


def flow(*tasks: Task, alternatives: tuple[Alternative, ...] = (), **functions: Callable[..., Any]) -> Workflow:
    """Give a workflow; a service without a function puts its name around its arguments."""
    names = dict.fromkeys(task.service for task in tasks)
    services = [Service(name, function=functions.get(name, lambda *given, name=name: [name, *given])) for name in names]
    return Workflow("figure", tasks, tuple(services), alternatives)


def fail(*_: Any) -> None:
    """Fail, as a service may."""
    raise ValueError


def steps(workflow: Workflow) -> dict[str, list[str]]:
    """Run a workflow and give the rules that reacted, in order, for each task and for the workflow itself."""
    found: dict[str, list[str]] = {}

    def observe(reaction: Reaction) -> None:
        found.setdefault(_owner(reaction.solution), []).append(str(reaction.rule.name))

    run_workflow(workflow, jobs=1, observe=observe)
    return found


def _owner(solution: Solution) -> str:
    for molecule in solution:
        if type(molecule) is tuple and molecule[0] is Symbol("ARG"):
            return print_molecule(molecule[1])
        if type(molecule) is tuple and molecule[0] is Symbol("ALL"):
            return "MIX"
    return "workflow"


def test_figure_4_has_the_solutions_of_figure_2() -> None:
    """A task that can be replaced is a solution with the rules for its call, as published."""
    solution = concretise(figure_4(), functions=FUNCTIONS).solution
    (shown,) = [print_molecule(one) for one in solution if type(one) is tuple and one[0] is Symbol("T2")]
    assert shown == (
        'T2:<OPEN, ARG:T2:list(FROM:T1), DST:<T3>, DST\':<>, IN:<>, RUN:0, SRC:<T1>, SRV:"s2", gw_call, gw_setup>'
    )


def test_figure_2_runs_step_by_step() -> None:
    """Each task is called once; each result is passed on and taken once for each destination."""
    found = steps(flow(*DIAMOND))
    assert Counter(found.pop("workflow")) == {"ft_pass": 4, "ft_take": 1, "ft_last": 3, "ft_call": 4}
    assert found == {}


def figure_3() -> Workflow:
    """Give the diamond with the third item of a result in one branch, and a dot product at the end."""
    tasks = (
        FIGURE_1[0],
        Task("T2", "s2", (Result("T1", 3),)),
        FIGURE_1[2],
        Task("T4", "s4", (T2, T3), each=Each("dot", (0, 1))),
    )
    return flow(*tasks, s1=lambda given: [given, 2, [3, 4]], s2=lambda items: items, s3=lambda items: items[:2])


def test_figure_3_filters_and_combines() -> None:
    """A filter comes before the call, and a dot product makes a call for each pair, in their order."""
    found = steps(figure_3())
    assert found["T4"][:2] == ["gw_mix", "gw_each"]
    assert found["workflow"][-1] == "ft_each_done"
    assert Counter(found["MIX"])["dp_cons"] == 2
    assert Counter(found["T4"])["gw_call_each"] == 2
    assert run_workflow(figure_3()).results == {"T4": [["s4", 3, "input"], ["s4", 4, 2]]}


def figure_4(**functions: Callable[..., Any]) -> Workflow:
    """Give the chain T1, T2, T3 with T4 in the place of T2 if it fails."""
    tasks = (FIGURE_1[0], FIGURE_1[1], Task("T3", "s3", (T2,)), Task("T4", "s4", (T1,)))
    return flow(*tasks, alternatives=(Alternative("spare", {"T2": "T4"}),), **functions)


def test_figure_4_adapts_step_by_step() -> None:
    """The failure wakes T4, T1 serves it too, T2 is given up, and T3 waits for T4 instead; nothing is called again."""
    found = steps(figure_4(s2=fail))
    called = ["gw_setup", "gw_call"]
    workflow = found.pop("workflow")
    assert found == {"T1": called, "T2": called, "T3": ["wa_update_SRC", *called], "T4": called}
    assert workflow[:3] == ["wa_pass", "wa_take", "wa_when"]
    assert Counter(workflow) == {
        "wa_pass": 3,
        "wa_take": 3,
        "wa_when": 1,
        "wa_wake": 1,
        "wa_replace_failed": 1,
        "wa_move": 1,
        "wa_trigger_SRC": 2,
        "wa_trigger_DST": 1,
    }
    report = run_workflow(figure_4(s2=fail))
    assert report.results == {"T3": ["s3", ["s4", ["s1", "input"]]]}
    assert report.calls == {"T1": 1, "T2": 1, "T3": 1, "T4": 1}


def test_figure_4_without_a_failure_stays_as_it_is() -> None:
    """An alternative that is not needed is not called, and no rule of adaptation reacts but those that pass."""
    assert set(steps(figure_4())["workflow"]) == {"wa_pass", "wa_take"}
    assert run_workflow(figure_4()).calls == {"T1": 1, "T2": 1, "T3": 1}


# --- What the rules as printed would do. Each change puts the printed form in the place of the repaired one.


def late() -> Workflow:
    """Give a chain whose last task rejects what the first gave, so that T2 and T3 are opened again."""

    def s3(given: Any) -> Any:
        return fail() if "s1" in str(given) else given

    tasks = (FIGURE_1[0], Task("T2", "s2", (Result("T1", 1),)), Task("T3", "s3", (T2,)), Task("T4", "s4"))
    return flow(*tasks, alternatives=(Alternative("spare", {"T1": "T4"}, watch=("T3",)),), s3=s3)


def result_of(report: Report) -> Any:
    """Give the one result of a run, if it has one."""
    return next(iter(report.results.values()), None)


def test_a_task_can_be_called_again() -> None:
    """A task that is opened again calls again; `gw_call` as printed is gone after one call."""
    assert result_of(run_workflow(late())) == ["s2", "s4"]
    assert result_of(run_changed(late(), "generic", "replace PAR : t : p, SRV", "replace-one PAR : t : p, SRV")) is None


def test_a_task_is_called_for_each_parameter() -> None:
    """A task with several parameters makes as many calls; with a one-shot rule it makes one."""
    report = run_changed(figure_3(), "data", "replace CALL : k : p", "replace-one CALL : k : p")
    assert run_workflow(figure_3()).calls["T4"] == 2
    assert report.calls["T4"] == 1
    assert result_of(report) is None


def test_products_begin_by_themselves() -> None:
    """Something makes the parameters of a product; the printed rules wait for a PAR that nothing makes."""
    report = run_changed(figure_3(), "data", "replace PAR : t : p, EACH", "replace PAR : t : p, PAR : q, EACH")
    assert "T4" not in report.calls
    assert result_of(report) is None


def test_cross_product_with_an_empty_first_list() -> None:
    """A cross product with an empty list has no calls; `cp_cons` as printed asks for the first item of nothing."""
    tasks = (Task("T1", "s1"), Task("T2", "s2"), Task("T3", "s3", (T1, T2), each=Each("cross", (0, 1))))
    assert result_of(run_workflow(flow(*tasks, s1=list, s2=lambda: [1, 2]))) == []
    printed = """
        let cp_cons =
          replace SRC : <CROSS>, IN : l::list : m::list, PAR : p
          by SRC : <CROSS>, IN : l : rest(m), PAR : cons(first(l) : first(m), p) if m != () in
        <SRC : <CROSS>, IN : () : (1, 2), PAR : (), cp_cons>"""
    with pytest.raises(solvent.SolventError, match="first"):
        solvent.hocl.react(solvent.hocl.parse(printed).solution())


def test_arguments_keep_their_order() -> None:
    """Arguments come in the order they are written in, whoever answers first; IN as printed forgets who sent what."""
    tasks = (Task("T1", "s1"), Task("T2", "s2"), Task("T3", "s3", (T2, T1)))
    assert result_of(run_workflow(flow(*tasks))) == ["s3", ["s2"], ["s1"]]
    spare = (Alternative("spare", {"T1": "T4"}),)
    replaceable = flow(*tasks, Task("T4", "s4"), alternatives=spare)
    assert result_of(run_workflow(replaceable)) == ["s3", ["s2"], ["s1"]]
    report = run_changed(replaceable, "adaptation", "IN : <ti : n : r, i>, w> in\n\n", "IN : <r, i>, w> in\n\n")
    assert result_of(report) is None


def test_filters_work_again() -> None:
    """A task that is opened again filters again; `df_init` as printed is gone after one time."""
    assert result_of(run_workflow(late())) == ["s2", "s4"]
    assert result_of(run_changed(late(), "data", "replace OPEN, SRC", "replace-one OPEN, SRC")) is None


def test_several_filters_of_several_sources() -> None:
    """Each filter takes from its own source."""
    last = Task("T4", "s4", (Result("T3", 2), Result("T2", 1), Result("T3", 1)))
    assert result_of(run_workflow(flow(*FIGURE_1, last))) == ["s4", ["s1", "input"], "s2", "s3"]


def test_passing_takes_the_place_of_passing() -> None:
    """`wa_pass` notes to whom it passed; with `gw_pass` beside it, what went that way is never called off."""
    beside = (
        "let gw_pass = replace ti : <RES : r, DST : <tj, ?d>, ?w> "
        "by ti : <RES : r, DST : <d>, w>, PASS : tj : ti : 0 : r in\n<gw_pass, wa_when"
    )
    found = {str(result_of(run_changed(late(), "adaptation", "<wa_when", beside))) for _ in range(3)}
    assert found == {"None"}


def test_a_source_that_was_used_is_replaced() -> None:
    """A replaced result is called off where it was used; `wa_update` as printed finds its name in SRC only."""
    assert result_of(run_changed(late(), "adaptation", ", w>, OFFS : ti : n : <e> in", ", w> in")) is None


def test_an_alternative_may_take_from_anyone() -> None:
    """Whoever serves an alternative need not have served what it replaces; `wa_update_DST` as printed asks for that."""
    tasks = (*FIGURE_1, Task("T4", "s4", (T3,)))
    workflow = flow(*tasks, alternatives=(Alternative("spare", {"T2": "T4"}),), s2=fail)
    assert result_of(run_workflow(workflow)) == ["s4", ["s3", ["s1", "input"]]]
    printed = "tk : <RUN : n, DST : <?d>, DST' : <ti, ?e>, ?w>"
    changed = run_changed(workflow, "adaptation", "tj, tk : <RUN : n, DST : <?d>, ?w>", f"tj, {printed}")
    assert "T4" not in changed.calls


def test_an_alternative_without_sources_waits() -> None:
    """A task that needs nothing would run at once; as an alternative it waits until it is woken."""
    tasks = (Task("T1", "s1"), Task("T2", "s2"))
    spare = (Alternative("spare", {"T1": "T2"}),)
    assert run_workflow(flow(*tasks, alternatives=spare)).calls == {"T1": 1}
    assert run_workflow(flow(*tasks, alternatives=spare, s1=fail)).calls == {"T1": 1, "T2": 1}


def test_nothing_is_called_with_a_mixture() -> None:
    """When a source is replaced late, whoever is below waits for all of the new results."""

    def s5(given: Any) -> Any:
        return fail() if "s1" in str(given) else given

    tasks = (*DIAMOND, Task("T5", "s5", (Result("T4"),)), Task("T6", "s6"))
    workflow = flow(*tasks, alternatives=(Alternative("spare", {"T1": "T6"}, watch=("T5",)),), s5=s5)
    report = run_workflow(workflow)
    assert result_of(report) == ["s4", ["s2", ["s6"]], ["s3", ["s6"]]]
    assert report.calls == {"T1": 1, "T2": 2, "T3": 2, "T4": 2, "T5": 2, "T6": 1}


def test_a_preparation_that_two_alternatives_share() -> None:
    """A task that leads to the exits of two alternatives runs when either applies, and once when both do."""
    tasks = (Task("T1", "s1"), Task("P", "p"), Task("E1", "e1", (Result("P"),)), Task("E2", "e2", (Result("P"),)))
    chain = (Alternative("first", {"T1": "E1"}), Alternative("second", {"E1": "E2"}))
    one = run_workflow(flow(*tasks, alternatives=chain, s1=fail))
    both = run_workflow(flow(*tasks, alternatives=chain, s1=fail, e1=fail))
    assert (one.results, one.calls) == ({"T1": ["e1", ["p"]]}, {"T1": 1, "P": 1, "E1": 1})
    assert (both.results, both.calls) == ({"T1": ["e2", ["p"]]}, {"T1": 1, "P": 1, "E1": 1, "E2": 1})
