"""How a task joins, splits, waits and cancels, in the words of HOCLflow."""

from __future__ import annotations

import pytest

from solvent.errors import SolventError
from solvent.source import Source
from solvent.workflows.formats.hoclflow import is_hoclflow, read, write
from solvent.workflows.model import (
    Arrived,
    Control,
    Input,
    Many,
    Result,
    Route,
    Signalled,
    Task,
    Test,
    Value,
    Workflow,
)


def read_text(text: str) -> Workflow:
    """Read a workflow from HOCLflow."""
    return read(Source(text, "w.hocl"), name="w").workflow


def control_of(text: str) -> Control | None:
    """Read the control of a task from what stands in it beside its service."""
    return read_text(f"<T : <SRV : s, {text}>>").tasks[0].control


@pytest.mark.parametrize(
    "text, control",
    [
        ("JOIN : ALL", Control()),
        ("JOIN : ANY", Control(join="any")),
        ("JOIN : FIRST", Control(join="first")),
        ("JOIN : FIRST : 2", Control(join="first", need=2)),
        ("JOIN : FIRST : 2 : CANCEL", Control(join="first", need=2, cancels_rest=True)),
        ("JOIN : FIRST : CANCEL", Control(join="first", cancels_rest=True)),
        ("JOIN : ACTIVE", Control(join="active")),
        ("JOIN : THREADS : 3", Control(threads=3)),
        ("JOIN : ANY : THREADS : 3", Control(join="any", threads=3)),
        ('JOIN : "majority"', Control(join="majority")),
        ("JOIN : majority : 2", Control(join="majority", need=2)),
        ("SPLIT : ONE", Control(split="one")),
        ("SPLIT : SOME", Control(split="some")),
        ("SPLIT : DEFERRED", Control(split="deferred")),
        ("ROUTES : T5", Control(routes=(Route("T5"),))),
        ("ROUTES : (T5 : (result > 3), T6)", Control(routes=(Route("T5", Test("result > 3")), Route("T6")))),
        ('ROUTES : (T5 : "result>3")', Control(routes=(Route("T5", Test("result>3")),))),
        ('ROUTES : list(T5 : PREDICATE : "m:f")', Control(routes=(Route("T5", Test(predicate="m:f")),))),
        ('AGAIN : T5 : (result < 3) : PREDICATE : "m:f"', Control(again=Route("T5", Test("result < 3", "m:f")))),
        ("THREADS : 3", Control(copies=3)),
        ("TAKES : <l, m>, GIVES : <l>", Control(takes=("l", "m"), gives=("l",))),
        ("LOCK : <l>", Control(takes=("l",), gives=("l",))),
        ("LOCK : <l>, TAKES : <m>", Control(takes=("l", "m"), gives=("l",))),
        ("SIGNAL : go", Control(signal="go")),
        ("SIGNAL : TRANSIENT : go", Control(signal="go", is_transient=True)),
        ("SENDS : <go>", Control(sends=("go",))),
        ("DURING : (T1 : T3)", Control(during=("T1", "T3"))),
        ("CANCELS : <T2>, COMPLETES : <T3>", Control(cancels=("T2",), completes=("T3",))),
        ("ENDS : CASE", Control(ends="case")),
        ("ENDS : CANCELLED", Control(ends="cancelled")),
        ("INSTANCES : 3", Control(many=Many(Value(3)))),
        ("INSTANCES : n", Control(many=Many(Input("n")))),
        ("INSTANCES : T1", Control(many=Many(Result("T1")))),
        ("INSTANCES : <OVER : 0, NEED : 2, CANCEL, APART>",
         Control(many=Many(over=0, need=2, cancels=True, apart=True))),
        ('INSTANCES : <COUNT : 2, MORE : (result < 3), ENOUGH : PREDICATE : "m:f">',
         Control(many=Many(Value(2), more=Test("result < 3"), enough=Test(predicate="m:f")))),
    ],
)  # fmt: skip
def test_words(text: str, control: Control) -> None:
    """Each word means one part of a control."""
    assert control_of(text) == control


def test_a_task_without_such_words_has_no_control() -> None:
    """Nothing said is nothing more to do."""
    assert control_of("IN : <>") is None


def test_arguments_that_arrive() -> None:
    """What started a task, and what came with a signal, stand in IN and ARG."""
    (one,) = read_text("<T : <SRV : s, IN : <ARRIVED, SIGNALLED, RED>>>").tasks
    assert one.arguments[:2] == (Arrived(), Signalled())
    (one,) = read_text("<T : <SRV : s, ARG : (ARRIVED : ALL, 3), SIGNAL : go>>").tasks
    assert one.arguments == (Arrived("all"), Value(3))


def test_the_layout() -> None:
    """Controls follow what the paper says of a task, and locks and libraries stand before the tasks."""
    workflow = Workflow(
        "w",
        (
            Task("T1", "s1", control=Control(split="one", routes=(Route("T2", Test("result > 3")), Route("T3")))),
            Task("T2", "s2", (Arrived(),), control=Control(takes=("l",), gives=("l",))),
            Task("T3", "s3", (Result("T1"),)),
        ),
        locks={"l": 2},
        patterns={"majority": "majority.hocl"},
    )
    text = write(workflow)
    assert text == (
        "<\n"
        '  WORKFLOW : "w",\n'
        "  LOCKS : <l : 2>,\n"
        '  PATTERNS : <majority : "majority.hocl">,\n'
        "  T1 : <SRC : <>, SRV : s1, IN : <>, DST : <T2, T3>, SPLIT : ONE, ROUTES : (T2 : (result > 3), T3)>,\n"
        "  T2 : <SRC : <>, SRV : s2, IN : <ARRIVED>, DST : <>, LOCK : <l>>,\n"
        "  T3 : <SRC : <T1>, SRV : s3, IN : <>, DST : <>>\n"
        ">\n"
    )
    assert is_hoclflow(Source(text))
    assert read_text(text) == workflow


@pytest.mark.parametrize(
    "text, problem",
    [
        ("JOIN : FRIST", "W105 w.hocl:1:23 no task joins by `FRIST`"),
        ("JOIN : FIRST : CANCEL : 2", "W105 w.hocl:1:40 this says nothing of a join"),
        ("SPLIT : TWO", "W105 w.hocl:1:24 a task splits by `ALL`, `ONE`, `SOME` or `DEFERRED`"),
        ("ROUTES : (T1 : 3, T2)", "W107 w.hocl:1:31 this is no condition on a result"),
        ("ROUTES : (T1 : (result > 3) : 4, T2)", "W107 w.hocl:1:26 this is no condition on a result"),
        ("ROUTES : (3, T2)", "W107 w.hocl:1:26 the task of a route is a name"),
        ("THREADS : 2.5", "W105 w.hocl:1:26 THREADS is a whole number"),
        ("DURING : T1", "W107 w.hocl:1:25 a milestone is written `DURING : (T1 : T3)`: T1 is done, T3 has not started"),
        ("SIGNAL : a : b", "W107 w.hocl:1:25 a signal is written `SIGNAL : go`, or `SIGNAL : TRANSIENT : go`"),
        ("ENDS : NEVER", "W105 w.hocl:1:23 a task ends `CASE` or `CANCELLED`"),
        ("INSTANCES : <NEDE : 3>", "W103 w.hocl:1:29 `INSTANCES` has no molecule `NEDE`"),
        ("INSTANCES : <NEED : 3, NEED : 3>", "W102 w.hocl:1:39 `NEED` stands here a second time"),
        ("IN : <ARRIVED : 3>", "W107 w.hocl:1:32 what arrived is written `ARRIVED`, or `ARRIVED : ALL`"),
        ("DST : <>, AGAIN : T1 : (result < 3)",
         "W108 w.hocl:1:22 `T` may pass on to `T1`, but `DST` of `T` does not name `T1`"),
    ],
)  # fmt: skip
def test_problems(text: str, problem: str) -> None:
    """A wrong word is told what is wrong and where."""
    with pytest.raises(SolventError) as caught:
        control_of(text)
    assert f"{caught.value.code} {caught.value.place} {caught.value.message}" == problem


@pytest.mark.parametrize(
    "text, problem",
    [
        ('<LOCKS : <l : "two">>', "W105 w.hocl:1:15 an entry of LOCKS is a whole number"),
        ("<LOCKS : <l : 2, l : 3>>", "W102 w.hocl:1:18 `l` stands here a second time"),
        ("<PATTERNS : <m : 3>>", "W105 w.hocl:1:18 an entry of PATTERNS is the path of a rule library, in quotes"),
    ],
)
def test_problems_at_the_top(text: str, problem: str) -> None:
    """Locks have numbers, libraries have paths."""
    with pytest.raises(SolventError) as caught:
        read_text(text)
    assert f"{caught.value.code} {caught.value.place} {caught.value.message}" == problem
