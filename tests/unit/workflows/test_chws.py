"""Chemical services: each pattern of the paper is read into the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from solvent.cli.workflows import is_workflow
from solvent.errors import SolventError
from solvent.source import Source
from solvent.workflows.formats.chws import is_chws, read
from solvent.workflows.formats.files import load_text
from solvent.workflows.model import (
    Arrived,
    Control,
    Each,
    Result,
    Route,
    Task,
    Test,
    Value,
    Workflow,
)

EXAMPLE = Path(__file__).parents[3] / "examples/patterns/coordination.hocl"
PASSES = "invokeServ, preparePass, passInfo"
FIGURE_5 = """
ChWS1 : ⟨DEST : ChWS2, DEST : ChWS3⟩,
ChWS2 : ⟨DEST : ChWS4, replace RESULT : ChWS1 : value1 by CALL : S2, PARAM : ⟨(value1)⟩⟩,
ChWS3 : ⟨DEST : ChWS4, replace RESULT : ChWS1 : value1 by CALL : S3, PARAM : ⟨(value1)⟩⟩,
ChWS4 : ⟨replace RESULT : ChWS2 : value2, RESULT : ChWS3 : value3
         by CALL : S4, PARAM : ⟨(value2)⟩⟩
"""


def read_text(text: str) -> Workflow:
    """Read a workflow from chemical services."""
    return read(Source(text, "w.hocl"), name="w").workflow


def tasks_of(text: str) -> dict[str, Task]:
    """Read the tasks, by name."""
    return {task.name: task for task in read_text(f"<{text}>").tasks}


def control_of(inside: str, others: str) -> Control | None:
    """Read the control of ChWS1, which holds more than the rules every service has."""
    return tasks_of(f"ChWS1 : <invokeServ, preparePass, passInfoCond, {inside}>, {others}")["ChWS1"].control


# --- The paper's patterns.


def test_figure_5() -> None:
    """The paper's first workflow: one rule says whom a service waits for and what it is called with."""
    assert read_text(FIGURE_5).tasks == (
        Task("ChWS1", "S1"),
        Task("ChWS2", "S2", (Result("ChWS1"),)),
        Task("ChWS3", "S3", (Result("ChWS1"),)),
        Task("ChWS4", "S4", (Result("ChWS2"),), after=("ChWS3",)),
    )


def joined(inside: str, prepare: str) -> Task:
    """Read a service that joins two others."""
    source = f"<DEST : ChWS3, invokeServ, passInfo, {prepare}>"
    return tasks_of(f"ChWS1 : {source}, ChWS2 : {source}, ChWS3 : <invokeServ, {inside}>")["ChWS3"]


def test_synchronization() -> None:
    """It waits for all, in the order of SYNC_SRC."""
    inside = "synchronize, sync_setFlag, SYNC_SRC : <ChWS2, ChWS1>, SYNC_INBOX : <ω>"
    assert joined(inside, "preparePass") == Task("ChWS3", "S3", (Result("ChWS2"), Result("ChWS1")))


def test_rules_that_take_one_result_each() -> None:
    """A service that each of two results can call is called for each."""
    inside = ", ".join(f"(replace RESULT : ChWS{n} : <v> by CALL : S3, PARAM : <v>)" for n in (1, 2))
    expected = Task("ChWS3", "S3", (Arrived(),), after=("ChWS1", "ChWS2"), control=Control(join="any"))
    assert joined(inside, "preparePass") == expected


OTHERS = "A : <CALL : F>, B : <CALL : F>, C : <CALL : F>"


def test_exclusive_choice_to_several() -> None:
    """A rule may send to several services; the other one then holds where it does not."""
    found = control_of(
        "(replace-one p by COND_PASS : 1, DEST : A, DEST : B if p > 3), (replace-one p by DEST : C if p > 1)", OTHERS
    )
    apart = Test("!(result > 3) && result > 1")
    routes = (Route("A", Test("result > 3")), Route("B", Test("result > 3")), Route("C", apart))
    assert found == Control(split="some", routes=routes)


@pytest.mark.parametrize(
    "one, other",
    [
        (
            "(replace-one p1 by COND_PASS : 1, DEST : A if p1 > 3)",
            "(replace-one p2 by COND_PASS : 1, DEST : B if p2 > 1)",
        ),
        ("(replace-one p by COND_PASS : A : 1, p if p > 3)", "(replace-one p by COND_PASS : B : 1, p if p > 1)"),
        (
            "(inject COND_PASS : A : 1 with RESULT : ChWS1 : <v> if v > 3)",
            "(inject COND_PASS : B : 1 with RESULT : ChWS1 : <v> if v > 1)",
        ),
    ],
    ids=["molecules of their own", "given back", "only looked at"],
)
def test_multi_choice(one: str, other: str) -> None:
    """Rules that do not take each other's molecule may all apply."""
    routes = (Route("A", Test("result > 3")), Route("B", Test("result > 1")))
    assert control_of(f"{one}, {other}", OTHERS) == Control(split="some", routes=routes)


def test_destinations_beside_conditions() -> None:
    """A DEST beside conditional rules passes where one of them holds, and always with `passInfo`."""
    rule = "(replace-one p by COND_PASS : 1, DEST : A if p > 3), DEST : B"
    routes = (Route("A", Test("result > 3")), Route("B", Test("result > 3")))
    assert control_of(rule, OTHERS) == Control(split="some", routes=routes)
    routes = (Route("A", Test("result > 3")), Route("B", Test("true")))
    assert control_of(f"{rule}, passInfo", OTHERS) == Control(split="some", routes=routes)


def test_multi_merge_area() -> None:
    """Every service of the area can run again, also one with a single source."""
    resets = "RESET : <DEST : ChWS2>, mm_reset, mm_lockReset"
    tasks = tasks_of(f"ChWS1 : <DEST : ChWS2, {PASSES}, {resets}>, ChWS2 : <invokeServ, mm_reset, lockReset_End>")
    assert tasks["ChWS1"].control is None
    assert tasks["ChWS2"] == Task("ChWS2", "S2", (Arrived(),), after=("ChWS1",), control=Control(join="any"))


def test_a_service_that_cancels_may_lead_on() -> None:
    """A CANCEL service with a DEST takes the place of what failed."""
    tasks = tasks_of("ChWS1 : <CANCEL_CHWS : ChWS2>, ChWS2 : <DEST : ChWS3>, ChWS3 : <>")
    assert tasks["ChWS2"].control is None


@pytest.mark.parametrize("how, rules", [("dot", "dotProduct"), ("cross", "crossProduct_start, crossProduct")])
def test_iteration_strategies(how: str, rules: str) -> None:
    """Lists that stand in a service, or that arrive, are combined."""
    lists = f'LIST1 : <"a", "b">, LIST2 : <1, 2>, {how.upper()}PRODUCT : <>'
    each = Each("dot", (1, 2)) if how == "dot" else Each("cross", (1, 2))
    (task,) = tasks_of(f"ChWS1 : <PARAM : <7>, {lists}, {rules}, invokeServ>").values()
    assert task == Task("ChWS1", "S1", (Value(7), Value(["a", "b"]), Value([1, 2])), each=each)
    inside = f"synchronize, sync_setFlag, SYNC_SRC : <{how.upper()}, ChWS1, ChWS2>"
    each = Each("dot", (0, 1)) if how == "dot" else Each("cross", (0, 1))
    assert joined(inside, "preparePass").each == each


# --- The example of section 5, and files.


def test_a_file_is_recognised() -> None:
    """Chemical services, HOCLflow and programs are told apart."""
    assert is_workflow(str(EXAMPLE))
    assert is_chws(Source(FIGURE_5))
    assert is_chws(Source("<A : <CALL : F, invokeServ>>"))
    assert not is_chws(Source("<ChWS1 : <SRC : <>, SRV : s1>>"))
    assert not is_chws(Source("let invokeServ = replace 1 by 2 in <ChWS1 : <invokeServ>>"))
    assert not is_chws(Source("<ChWS1 : <, >"))
    assert not is_chws(Source("<1, 2>"))
    assert load_text("<ChWS1 : <SRC : <>, SRV : s1>>", name="w.hocl").workflow.tasks == (Task("ChWS1", "s1"),)


def test_words_as_the_paper_prints_them() -> None:
    """Small capitals may be written as capitals or with one."""
    tasks = tasks_of(f"ChWS1 : <Dest : ChWS2, Call : F, Param : <1>, {PASSES}>, ChWS2 : <Flag_Invoke : 0, invokeServ>")
    assert tasks == {"ChWS1": Task("ChWS1", "F", (Value(1),)), "ChWS2": Task("ChWS2", "S2", (Result("ChWS1"),))}


# --- Problems.


@pytest.mark.parametrize(
    "text, problem",
    [
        ("<A : <1>>", "W107 1:1 this is no solution of chemical services"),
        ("<ChWS1 : <DESTS : A>>", "W103 1:11 `ChWS1` has no molecule `DESTS`"),
        ("<ChWS1 : <invokServ>>", "W103 1:11 `ChWS1` holds `invokServ`, which is not a rule of the library"),
        ("<ChWS1 : <PASS : ChWS2 : <>>>",
         "W105 1:11 `PASS` comes up while a workflow runs, and does not stand in its text"),
        ("<ChWS1 : <DEST : ChWS2>>", "W121 1:18 `ChWS1` passes to `ChWS2`, which is not a chemical service"),
        ("<ChWS1 : <DEST : ChWS2, DEST : ChWS2>, ChWS2 : <>>", "W102 1:32 `DEST : ChWS2` stands here a second time"),
        ("<ChWS1 : <>, ChWS1 : <>>", "W102 1:14 a second task is called `ChWS1`"),
        ("<ChWS1 : <FLAG_INVOKE : 2>>", "W105 1:25 `FLAG_INVOKE` is 1 or 0"),
        ("<ChWS1 : <MERGE : 1>>", "W105 1:19 `MERGE` is `Yes` or `No`"),
        ("<A : <DEST : B, invokeServ, preparePass, passInfo>, B : <invokeServ>>",
         "W104 1:2 `A` does not say what it calls"),
        ("<ChWS1 : <preparePass>>", "W107 1:2 `ChWS1` never calls its service"),
        ("<ChWS1 : <DEST : ChWS2, invokeServ>, ChWS2 : <>>", "W107 1:2 `ChWS1` prepares nothing to pass on"),
        ("<ChWS1 : <DEST : ChWS2, invokeServ, preparePass>, ChWS2 : <>>", "W107 1:2 `ChWS1` passes nothing on"),
        ("<ChWS1 : <invokeServ, passInfoCancel>>",
         "W107 1:2 in `ChWS1`, `passInfoCancel` and `CANCEL_CHWS` stand together or not at all"),
        (f"<ChWS1 : <DEST : ChWS2, {PASSES}>, ChWS2 : <invokeServ, discr_setFlag>>",
         "W108 1:2 `ChWS2` waits for what `discr_preparePass` sends, but `ChWS1` does not hold it"),
        (f"<ChWS1 : <DEST : ChWS2, sm_preparePass, {PASSES}>, ChWS2 : <invokeServ>>",
         "W108 1:25 `ChWS1` holds `sm_preparePass`, but passes to nobody who holds `sm_setFlag`"),
        ("<ChWS1 : <DEST : ChWS3>, ChWS2 : <DEST : ChWS3>, ChWS3 : <>>",
         "W104 1:50 `ChWS3` does not say how it joins ChWS1, ChWS2"),
        ("<ChWS1 : <invokeServ, sm_setFlag, discr_setFlag>>",
         "W105 1:23 `ChWS1` joins in two ways, by `discr_setFlag` and by `sm_setFlag`"),
        ("<ChWS1 : <invokeServ, synchronize, SYNC_SRC : <>>>",
         "W107 1:2 in `ChWS1`, `synchronize` and `sync_setFlag` stand together or not at all"),
        ("<ChWS1 : <invokeServ, synchronize, sync_setFlag>>", "W107 1:2 `ChWS1` does not say whom it waits for"),
        ("<ChWS1 : <invokeServ, synchronize, sync_setFlag, SYNC_SRC : <ChWS2>>, ChWS2 : <>>",
         "W108 1:61 `ChWS1` waits for `ChWS2`, but `ChWS2` has no `DEST : ChWS1`"),
        ("<ChWS1 : <DEST : ChWS2>, ChWS2 : <invokeServ, synchronize, sync_setFlag, SYNC_SRC : <>>>",
         "W108 1:85 `ChWS1` passes to `ChWS2`, but `SYNC_SRC` does not name it"),
        ("<ChWS1 : <>, ChWS2 : <(replace RESULT : ChWS1 : v by CALL : S2)>>",
         "W108 1:24 `ChWS2` takes from `ChWS1`, but `ChWS1` has no `DEST : ChWS2`"),
        ("<ChWS1 : <DEST : ChWS2>, ChWS2 : <(replace RESULT : ChWS1 : v, LIMIT : l by CALL : S2)>>",
         "W122 1:36 `LIMIT` is no global variable"),
        ("<ChWS1 : <(replace x by 1)>>",
         "W107 1:12 this rule of `ChWS1` neither sends its result on nor says what it is called with"),
        ("<ChWS1 : <(replace RESULT : ChWS2 : v by DEST : ChWS2 if v > 1)>, ChWS2 : <>>",
         "W107 1:20 a way onwards depends on the result of `ChWS1` itself"),
        ("<LIMIT : 3, ChWS1 : <PARAM : <LIMIT>>, ChWS2 : <PARAM : <LIMIT>>>",
         "W105 1:2 `LIMIT` can be read once, but these read it: ChWS1, ChWS2"),
        ("<3 ^ 4, ChWS1 : <>>", "W107 1:2 a global variable is written `name : value`"),
    ],
)  # fmt: skip
def test_problems(text: str, problem: str) -> None:
    """A wrong text is told what is wrong and where."""
    with pytest.raises(SolventError) as caught:
        read_text(text)
    found = caught.value
    assert f"{found.code} {found.place.removeprefix('w.hocl:')} {found.message}" == problem
