"""The example of section 5 of INRIA technical report 7610 runs as its figures 15 and 16 show.

What the figures show is one order of many. Three things are compared: the states of the figures are reached one after
the other by the rules (`figures.Program`); a run that calls the services has the same reactions, in an order that keeps
who waits for whom; and what must hold, holds in every order.
"""

from __future__ import annotations

import threading
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from solvent.engine.explore import explore
from solvent.runs.causality import violations
from solvent.runs.embedded import EmbeddedRun
from solvent.runs.exploration import explore_workflow, gated
from tests.conformance.patterns.figures import AFTERWARDS, FOLDER, PAGE, STEPS, Program, section_5, seen, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solvent.engine.reaction import Reaction
    from solvent.runs.report import Report
    from solvent.workflows.model import Workflow

BEGIN, END = "<!-- the table of the figures: pytest --rewrite makes it -->\n", "<!-- the end of the table -->\n"


# --- The states of the figures.


@pytest.fixture(scope="module")
def reached() -> list[tuple[tuple[str, ...], dict[str, set[str]]]]:
    """Give the rules before each state of the figures, and the state."""
    return Program(section_5()).steps()


@pytest.mark.parametrize("at", range(len(STEPS)), ids=[f"{one.number} {one.lines}" for one in STEPS])
def test_state_of_the_figures_is_reached(reached: list[tuple[tuple[str, ...], dict[str, set[str]]]], at: int) -> None:
    """From the state before, these rules and no others lead to the next: each service holds what the figure shows."""
    rules, state = reached[at]
    assert STEPS[at].fits(state)
    assert Counter(rules) == Counter(STEPS[at].rules)


def test_the_other_branch_is_ignored(reached: list[tuple[tuple[str, ...], dict[str, set[str]]]]) -> None:
    """After the last state of the figures the second branch arrives and starts nothing."""
    rules, _ = reached[-1]
    assert Counter(rules) == Counter(AFTERWARDS)


def test_every_order_of_reactions_ends_alike() -> None:
    """Whatever reacts first, the program ends, in one and the same solution: no token and no instance is left."""
    found = explore(Program(section_5()).solution)
    assert (found.is_complete, found.terminates, found.confluent) == (True, True, True)
    (end,) = found.finals
    held = {name: molecules for name, molecules in seen(found.states[end]).items() if molecules}
    assert held == {"ChWS4": {"SYNC_SRC:⟨ChWS2, ChWS3⟩", "SYNC_INBOX:⟨⟩"}}


def test_page_shows_the_figures_beside_the_run(*, rewrite: bool) -> None:
    """The table of the page is the one that these tests check."""
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    shown, after = rest.split(END)
    if rewrite:
        PAGE.write_text(f"{before}{BEGIN}\n{table()}\n{END}{after}", encoding="utf-8")
    else:
        assert shown.strip() == table().strip()


# --- A run that calls the services.


class Watch:
    """Notes which rules react in a run, and when each molecule of a service is first there."""

    def __init__(self) -> None:
        self.rules: list[str] = []
        self.first: dict[tuple[str, str], int] = {}
        self.look: Callable[[], Iterator[tuple[str, str]]] = lambda: iter(())

    def __call__(self, reaction: Reaction) -> None:
        """Note a reaction and what is there after it."""
        self.rules.append(str(reaction.rule.name))
        for where in self.look():
            self.first.setdefault(where, len(self.rules))


def watched(workflow: Workflow, **options: Any) -> tuple[Report, Watch]:
    """Run a workflow, and watch it."""
    watch = Watch()
    run = EmbeddedRun(workflow, folder=FOLDER, observe=watch, **options)
    watch.look = lambda: ((name, one) for name, molecules in seen(run.solution).items() for one in molecules)
    return run.run(), watch


NUMBERS = "RESULT:ChWS1:⟨(1, 2, 3, 4, 5, 6, 7)⟩"
CHAINS = [
    [
        ("ChWS1", NUMBERS),
        ("ChWS1", f"PASS:{branch}:⟨COMPLETED:ChWS1⟩"),
        (branch, f"RESULT:{branch}:⟨{value}⟩"),
        (branch, f"PASS:ChWS4:⟨COMPLETED:{branch}⟩"),
        ("ChWS4", "SYNC_SRC:⟨⟩"),
        ("ChWS4", "FLAG_INVOKE:1"),
        ("ChWS4", "RESULT:ChWS4:⟨6⟩"),
    ]
    for branch, value in (("ChWS2", 1), ("ChWS3", 7))
]
CHAINS += [
    [
        ("ChWS4", "RESULT:ChWS4:⟨6⟩"),
        ("ChWS4", f"PASS:{branch}:⟨COMPLETED:ChWS4⟩"),
        (branch, "FLAG_INVOKE:1"),
        (branch, f"RESULT:{branch}:⟨12⟩"),
        (branch, f"PASS:ChWS7:⟨COMPLETED:{branch}⟩"),
    ]
    for branch in ("ChWS5", "ChWS6")
]
LAST = [("ChWS7", "FLAG_INVOKE:1"), ("ChWS7", 'RESULT:ChWS7:⟨"the result is 12"⟩')]


@pytest.mark.parametrize("jobs", [1, 4])
def test_run_has_the_reactions_of_the_figures(jobs: int) -> None:
    """A run in which each service is a gate has the reactions of the figures, and keeps the order of each branch."""
    report, watch = watched(gated(section_5()), jobs=jobs)
    assert report.results == {"ChWS7": "the result is 12"}
    assert Counter(watch.rules) == Counter(rule for step in STEPS for rule in step.rules) + Counter(AFTERWARDS)
    for chain in [*CHAINS, LAST]:
        when = [watch.first[one] for one in chain]
        assert all(one < other for one, other in pairwise(when)), list(zip(chain, when, strict=True))
    passed = [watch.first["ChWS7", f"COMPLETED:{branch}"] for branch in ("ChWS5", "ChWS6") if _came(watch, branch)]
    assert len(passed) == 1
    assert passed[0] < watch.first[LAST[0]]


def _came(watch: Watch, branch: str) -> bool:
    """Tell whether what a branch passed was taken by the discriminator."""
    return ("ChWS7", f"COMPLETED:{branch}") in watch.first


def with_services(**functions: Callable[..., Any]) -> Workflow:
    """Give the example with other services."""
    workflow = section_5()
    services = tuple(
        replace(one, function=functions[one.name]) if one.name in functions else one for one in workflow.services
    )
    return replace(workflow, services=services)


def test_branches_run_at_the_same_time() -> None:
    """ChWS2 and ChWS3 run side by side, and so do ChWS5 and ChWS6: each waits until the other has begun."""
    first, second = threading.Barrier(2, timeout=200), threading.Barrier(2, timeout=200)

    def met(barrier: threading.Barrier, value: int) -> int:
        barrier.wait()
        return value

    workflow = with_services(
        S2=lambda _: met(first, 2),
        S3=lambda _: met(first, 9),
        S5=lambda _: met(second, 5),
        S6=lambda _: met(second, 5),
    )
    report, _ = watched(workflow, jobs=4)
    assert report.results == {"ChWS7": "the result is 5"}


@pytest.mark.parametrize("slow,fast", [("S5", "S6"), ("S6", "S5")])
def test_the_first_is_whoever_comes_first(slow: str, fast: str) -> None:
    """ChWS7 takes what comes first and does not wait for the other, which comes later and is ignored."""
    is_called = threading.Event()

    def late(_: int) -> str:
        assert is_called.wait(200)
        return slow

    def last(value: str) -> str:
        is_called.set()
        return value

    report, watch = watched(with_services(**{slow: late, fast: lambda _: fast, "S7": last}), jobs=4)
    assert report.results == {"ChWS7": fast}
    assert report.calls == dict.fromkeys([f"ChWS{number}" for number in range(1, 8)], 1)
    assert watch.rules.count("discr_ignore") == 1


# --- Every order.


def test_what_holds_in_every_order() -> None:
    """Each service is called once; ChWS4 after both branches, ChWS7 after one of them."""
    orders = explore_workflow(section_5(), folder=FOLDER)
    assert orders.is_complete
    statements = [f"ChWS{number} once" for number in range(1, 8)]
    statements += ["ChWS1 before ChWS2", "ChWS1 before ChWS3", "ChWS2 before ChWS4", "ChWS3 before ChWS4"]
    statements += ["ChWS4 before ChWS5", "ChWS4 before ChWS6", "ChWS4 before ChWS7", "ends done"]
    assert violations(orders, statements) == []
    # Which branch comes first is open: neither always does, and one of them does always.
    for open_one in ("ChWS5 before ChWS7", "ChWS6 before ChWS7", "ChWS2 before ChWS3", "ChWS3 before ChWS2"):
        assert violations(orders, [open_one]) != []
    assert all(state.done["ChWS5"] + state.done["ChWS6"] >= 1 for state in orders.states if state.started["ChWS7"])


# --- The condition does not hold.


def test_condition_that_does_not_hold_is_reported() -> None:
    """ChWS4 has no way onwards for 3: nobody after it is called, and the run says why it did not get further.

    The paper says nothing about that. By its rules no PASS is ever made and the solution becomes inert, which from
    outside is the same as an end; a choice that chooses nothing has no meaning in the catalogue, so it is a failure.
    """
    report, watch = watched(section_5(4))
    assert report.results == {}
    assert report.calls == dict.fromkeys(("ChWS1", "ChWS2", "ChWS3", "ChWS4"), 1)
    assert {name: report.states[name] for name in ("ChWS4", "ChWS5", "ChWS6", "ChWS7")} == {
        "ChWS4": "failed",
        "ChWS5": "unused",
        "ChWS6": "unused",
        "ChWS7": "unused",
    }
    assert [(one.task, one.kind, one.cause) for one in report.failures] == [
        ("ChWS4", "UNROUTED", "none of its routes holds for its result")
    ]
    assert watch.rules[-1] == "passNowhere"
    assert "passInfoCond" not in watch.rules


def test_condition_that_does_not_hold_ends_every_order_alike() -> None:
    """In every order ChWS4 is called once, after both, and nothing follows."""
    orders = explore_workflow(section_5(4), folder=FOLDER)
    nobody = [f"{name} never" for name in ("ChWS5", "ChWS6", "ChWS7")]
    assert violations(orders, ["ChWS2 before ChWS4", "ChWS3 before ChWS4", "ChWS4 once", *nobody, "ends failed"]) == []
