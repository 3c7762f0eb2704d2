"""Each pattern of INRIA technical report 7610, written as chemical services, runs from its text to its end.

A service is called by its number and tells what it was called with, so a result shows how it came about:
`4(2(1), 3(1))` is what ChWS4 made of ChWS2 and ChWS3. Statements hold in every order (see `solvent.runs.causality`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from solvent.runs.causality import violations
from solvent.runs.embedded import run_workflow
from solvent.runs.exploration import explore_workflow
from solvent.workflows.checks import check
from solvent.workflows.formats.files import load_text
from tests.conformance.patterns.figures import FOLDER

SERVICES = ", ".join(
    f'SERVICE : {name} : <PYTHON : "services:{name}">'
    for name in ("told", "taken", "paired", "total", "refused", "counted")
)
GENERIC = "invokeServ, preparePass, passInfo"


@dataclass
class Case:
    """A workflow in the paper's notation, and what must come of it."""

    name: str
    text: str
    results: list[dict[str, Any]]
    """The results that a run may have."""
    calls: dict[str, int]
    """How often each service is called; one that is not named is not called."""
    holds: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    """What holds in some orders and not in others."""
    inputs: dict[str, Any] = field(default_factory=dict)
    ends: str = "done"

    @property
    def title(self) -> str:
        """The name and the inputs."""
        return " ".join([self.name, *map(str, self.inputs.values())])


def told(number: int, inside: str) -> str:
    """Write a service that tells what it is called with."""
    return f'ChWS{number} : <CALL : told, PARAM : <"{number}">, {inside}>'


def first(inside: str) -> str:
    """Write a first service that gives a number, which is an input."""
    return f"INPUT : n : 5, ChWS1 : <CALL : taken, PARAM : <n>, {inside}>"


def way(number: int, least: int, variable: str = "value", more: str = "") -> str:
    """Write a rule that leads to a service if the result is above a number."""
    return f"(replace-one {variable} by COND_PASS : 1, DEST : ChWS{number}{more} if {variable} > {least})"


def branches(prepare: str) -> str:
    """Write ChWS2 and ChWS3, which pass to ChWS4."""
    return ", ".join(told(number, f"DEST : ChWS4, invokeServ, passInfo, {prepare}") for number in (2, 3))


def calls(*names: int, **more: int) -> dict[str, int]:
    """Say which services are called, once each or so often."""
    return {f"ChWS{number}": 1 for number in names} | more


SPLIT = told(1, f"DEST : ChWS2, DEST : ChWS3, {GENERIC}")
CHOICE = first(
    f"invokeServ, preparePass, passInfoCond, {way(2, 3)}, (replace-one value by COND_PASS : 1, DEST : ChWS3)"
)
MULTI = first(f"invokeServ, preparePass, passInfoCond, {way(2, 3, 'one')}, {way(3, 1, 'two')}")
ACTIVE = first(
    f"invokeServ, preparePass, passInfoCond, {way(2, 3, 'one', ', SYNCMG_SRC : <ChWS2>')},"
    f" {way(3, 1, 'two', ', SYNCMG_SRC : <ChWS3>')}"
)
IN_ORDER = ["ChWS1 before ChWS2", "ChWS1 before ChWS3"]
AFTER_BOTH = ["ChWS2 before ChWS4", "ChWS3 before ChWS4"]
OTHERWISE = "(replace-one value by COND_PASS : 1, DEST : ChWS{0})"
MERGES = "RESET : <ω>, LOCKED : 0, mm_reset"

DISCRIMINATOR = f"{SPLIT}, {branches('discr_preparePass')}, {told(4, 'invokeServ, discr_setFlag')}"
SYNC_MERGE = (
    f"{ACTIVE}, {branches('syncMg_preparePass')},"
    ' ChWS4 : <CALL : told, PARAM : <"4">, SYNCMG_SRC : <>, SYNCMG_INBOX : <>, invokeServ, syncMerge, syncMg_setFlag>'
)
MULTI_MERGE = (
    f"{MULTI}, {branches(f'preparePass, {MERGES}, mm_lockReset')},"
    f" {told(4, f'DEST : ChWS5, {GENERIC}, {MERGES}, lockReset_End')}, {told(5, 'invokeServ')}"
)
SIMPLE = "invokeServ, sm_preparePass, passInfo"
LOOP = (
    "ChWS1 : <CALL : taken, PARAM : <0>, DEST : ChWS2, {start}>,"
    f" ChWS2 : <CALL : counted, invokeServ, preparePass, passInfoCond, {{merge}}, {way(4, 2)}, {OTHERWISE.format(3)}>,"
    " ChWS3 : <CALL : taken, DEST : ChWS2, {back}>,"
    f" {told(4, 'invokeServ')}"
)

CASES = [
    Case(
        "parallel split",
        f"{SPLIT}, {told(2, 'invokeServ')}, {told(3, 'invokeServ')}",
        [{"ChWS2": "2(1)", "ChWS3": "3(1)"}],
        calls(1, 2, 3),
        [*IN_ORDER, "ChWS2 once", "ChWS3 once"],
        ["ChWS2 before ChWS3", "ChWS3 before ChWS2"],
    ),
    Case(
        "synchronization",
        f"{SPLIT}, {branches('preparePass')},"
        f" {told(4, 'SYNC_SRC : <ChWS2, ChWS3>, SYNC_INBOX : <>, synchronize, sync_setFlag, invokeServ')}",
        [{"ChWS4": "4(2(1), 3(1))"}],
        calls(1, 2, 3, 4),
        [*IN_ORDER, *AFTER_BOTH, "ChWS4 once"],
    ),
    Case(
        "figure 5",
        f'{SPLIT}, ChWS2 : <DEST : ChWS4, replace RESULT : ChWS1 : v by CALL : told, PARAM : <"2", v>>,'
        ' ChWS3 : <DEST : ChWS4, replace RESULT : ChWS1 : v by CALL : told, PARAM : <"3", v>>,'
        " ChWS4 : <replace RESULT : ChWS2 : v, RESULT : ChWS3 : w by CALL : told, PARAM : <v>>",
        [{"ChWS4": "2(1)"}],
        calls(1, 2, 3, 4),
        [*IN_ORDER, *AFTER_BOTH, "ChWS4 once"],
    ),
    Case(
        "exclusive choice",
        f"{CHOICE}, {told(2, 'invokeServ')}, {told(3, 'invokeServ')}",
        [{"ChWS2": "2(5)"}],
        calls(1, 2),
        ["ChWS1 before ChWS2", "ChWS2 once", "ChWS3 never"],
        inputs={"n": 5},
    ),
    Case(
        "exclusive choice",
        f"{CHOICE}, {told(2, 'invokeServ')}, {told(3, 'invokeServ')}",
        [{"ChWS3": "3(1)"}],
        calls(1, 3),
        ["ChWS1 before ChWS3", "ChWS3 once", "ChWS2 never"],
        inputs={"n": 1},
    ),
    *(
        Case(
            "multi-choice",
            f"{MULTI}, {told(2, 'invokeServ')}, {told(3, 'invokeServ')}",
            [{f"ChWS{number}": f"{number}({n})" for number in chosen}],
            calls(1, *chosen),
            [f"ChWS1 before ChWS{number}" for number in chosen],
            inputs={"n": n},
            ends="done" if chosen else "failed",
        )
        for n, chosen in ((5, (2, 3)), (2, (3,)), (0, ()))
    ),
    Case(
        "discriminator",
        DISCRIMINATOR,
        [{"ChWS4": "4(2(1))"}, {"ChWS4": "4(3(1))"}],
        calls(1, 2, 3, 4),
        [*IN_ORDER, "ChWS4 once", "ChWS2 once", "ChWS3 once"],
        ["ChWS2 before ChWS4", "ChWS3 before ChWS4"],
    ),
    Case(
        "simple merge after a choice",
        f"{CHOICE}, {branches('sm_preparePass')}, {told(4, 'invokeServ, sm_setFlag')}",
        [{"ChWS4": "4(2(5))"}],
        calls(1, 2, 4),
        ["ChWS2 before ChWS4", "ChWS4 once", "ChWS3 never"],
        inputs={"n": 5},
    ),
    Case(
        "simple merge of both branches",
        f"{SPLIT}, {branches('sm_preparePass')}, {told(4, 'invokeServ, sm_setFlag')}",
        [{"ChWS4": "4(2(1))"}, {"ChWS4": "4(3(1))"}],
        calls(1, 2, 3, 4),
        [*IN_ORDER, "ChWS4 once"],
        ["ChWS2 before ChWS4", "ChWS3 before ChWS4"],
    ),
    *(
        Case(
            "synchronization merge",
            SYNC_MERGE,
            [{"ChWS4": f"4({[f'{number}({n})' for number in chosen]})"}],
            calls(1, *chosen, 4),
            [*(f"ChWS{number} before ChWS4" for number in chosen), "ChWS4 once"],
            inputs={"n": n},
        )
        for n, chosen in ((5, (2, 3)), (2, (3,)))
    ),
    *(
        Case(
            "multi merge",
            MULTI_MERGE,
            [{"ChWS5": f"5(4({number}({n})))"} for number in chosen],
            calls(1, *chosen, ChWS4=len(chosen), ChWS5=len(chosen)),
            [f"ChWS4 runs {len(chosen)}", f"ChWS5 runs {len(chosen)}", "ChWS4 before each ChWS5"],
            inputs={"n": n},
        )
        for n, chosen in ((5, (2, 3)), (2, (3,)))
    ),
    Case(
        "cancel activity",
        f"ChWS1 : <CALL : refused, PARAM : <7>, DEST : ChWS2, {GENERIC}, passInfoCancel, CANCEL_CHWS : ChWS9,"
        f' CANCEL : <ERROR : "lost">>, {told(2, "invokeServ")}, ChWS9 : <CALL : told, invokeServ>',
        [{}],
        calls(1, 9),
        ["ChWS2 never"],
        ends="cancelled",
    ),
    Case(
        "cancel activity that is not needed",
        f"ChWS1 : <CALL : taken, PARAM : <7>, DEST : ChWS2, {GENERIC}, passInfoCancel, CANCEL_CHWS : ChWS9,"
        f' CANCEL : <ERROR : "lost">>, {told(2, "invokeServ")}, ChWS9 : <CALL : told, invokeServ>',
        [{"ChWS2": "2(7)"}],
        calls(1, 2),
        ["ChWS1 before ChWS2"],
    ),
    Case(
        "loop by a multi merge",
        LOOP.format(start=GENERIC, merge=f"{MERGES}, mm_lockReset", back=f"{GENERIC}, {MERGES}, mm_lockReset"),
        [{"ChWS4": "4(3)"}],
        calls(1, 4, ChWS2=3, ChWS3=2),
        ["ChWS2 runs 3", "ChWS3 runs 2", "ChWS4 once", "ChWS2 before each ChWS3"],
    ),
    Case(
        "loop by a simple merge, which takes nothing after the first",
        LOOP.format(start=SIMPLE, merge="sm_setFlag", back=SIMPLE),
        [{}],
        calls(1, 2, 3),
        ["ChWS2 once", "ChWS3 once", "ChWS4 never"],
    ),
    Case(
        "synchronization in a loop",
        f"ChWS1 : <CALL : taken, PARAM : <0>, DEST : ChWS2, {GENERIC}>,"
        f" ChWS2 : <CALL : counted, DEST : ChWS3, DEST : ChWS4, {GENERIC}, {MERGES}, mm_lockReset>,"
        f" ChWS3 : <CALL : taken, DEST : ChWS5, {GENERIC}>, ChWS4 : <CALL : taken, DEST : ChWS5, {GENERIC}>,"
        " ChWS5 : <CALL : total, SYNC_SRC : <ChWS3, ChWS4>, SYNC_INBOX : <>, synchronize, sync_setFlag, invokeServ,"
        f" preparePass, passInfoCond, {way(6, 6)}, {OTHERWISE.format(2)}>, {told(6, 'invokeServ')}",
        [{"ChWS6": "6(14)"}],
        calls(1, 6, ChWS2=3, ChWS3=3, ChWS4=3, ChWS5=3),
        ["ChWS3 before each ChWS5", "ChWS4 before each ChWS5", "ChWS6 once"],
    ),
    Case(
        "dot product",
        'ChWS1 : <CALL : paired, LIST1 : <"a", "b", "c">, LIST2 : <1, 2, 3>, DOTPRODUCT : <>, dotProduct, invokeServ>',
        [{"ChWS1": ["a-1", "b-2", "c-3"]}],
        {"ChWS1": 3},
    ),
    Case(
        "cross product",
        'ChWS1 : <CALL : paired, LIST1 : <"a", "b", "c", "d">, LIST2 : <1, 2, 3, 4>, crossProduct_start, crossProduct,'
        " crossProduct_list2End, crossProduct_end, invokeServ>",
        [{"ChWS1": [f"{one}-{other}" for one in "abcd" for other in range(1, 5)]}],
        {"ChWS1": 16},
    ),
    Case(
        "global variable",
        f"LIMIT : 3 ^ inf, (RATE : 4) ^ 1, ChWS1 : <CALL : total, PARAM : <LIMIT, 10>, DEST : ChWS2, {GENERIC}>,"
        " ChWS2 : <replace RESULT : ChWS1 : v, LIMIT : l, RATE : r by CALL : total, PARAM : <v, l, r>>",
        [{"ChWS2": 20}],
        calls(1, 2),
        ["ChWS1 before ChWS2"],
    ),
    Case(
        "global variable that is given",
        f"LIMIT : 3 ^ inf, ChWS1 : <CALL : total, PARAM : <LIMIT, 10>, DEST : ChWS2, {GENERIC}>,"
        " ChWS2 : <CALL : total, PARAM : <LIMIT>, invokeServ>",
        [{"ChWS2": 210}],
        calls(1, 2),
        inputs={"LIMIT": 100},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_pattern_runs(case: Case) -> None:
    """A run gives a result that is right, calls each service as often as it should, and ends as it should."""
    loaded = load_text(f"<{SERVICES}, {case.text}>", name="w.hocl")
    assert check(loaded.workflow, loaded.places) == []
    report = run_workflow(loaded.workflow, case.inputs, folder=FOLDER)
    assert report.error is None
    assert {name: number for name, number in report.calls.items() if number} == case.calls
    assert report.results in case.results
    assert report.stuck == []
    assert bool(report.failures) is (case.ends == "failed")
    assert report.is_cancelled is (case.ends == "cancelled")


@pytest.mark.parametrize("case", [case for case in CASES if "product" not in case.name], ids=lambda case: case.title)
def test_pattern_holds_in_every_order(case: Case) -> None:
    """What must hold holds in every order, and what is left open is open."""
    workflow = load_text(f"<{SERVICES}, {case.text}>", name="w.hocl").workflow
    orders = explore_workflow(workflow, case.inputs, folder=FOLDER)
    assert orders.is_complete
    assert violations(orders, [*case.holds, f"ends {case.ends}"]) == []
    assert [one for one in case.open if not violations(orders, [one])] == []
