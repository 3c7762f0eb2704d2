"""The words of workflow files for control flow: what they mean, how they are written, what is said about wrong ones."""

from __future__ import annotations

import json
from typing import Any

import pytest

from solvent.errors import WorkflowProblem
from solvent.source import Source
from solvent.workflows.formats.files import load_text
from solvent.workflows.formats.yaml.tree import tree_of
from solvent.workflows.formats.yaml.writer import plain_workflow, write_json, write_yaml
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
from tests.repo.project import ROOT
from tests.repo.snippets import blocks_of
from tests.unit.workflows.schema import VALIDATOR

HEAD = "patterns: {majority: majority.hocl}\n"
PAGE = ROOT / "docs" / "reference" / "workflow-files.md"
CONSTANT = "(a constant that looks like this is written `{value: ...}`)"
CONDITION = '(HOCL in quotes, such as "result > 3", or {predicate: "module:function"})'

NOT_FIRST = (
    "`cancel` ends the branches that are left after the `first`, not after `any` (`join: {first: 1, cancel: true}`)"
)
KEPT_OR_LOST = "(one that comes too early is kept if it is persistent, and lost if it is transient)"
COUNT_OR_OVER = '(`{count: "$n"}`: so many; `{over: 0}`: one for each item of the first argument)'


def read(words: str) -> Task:
    """Read a task with some words, in a workflow that has a pattern."""
    return load_text(f"{HEAD}tasks:\n  T: {{service: s, with: {{k: [1]}}, {words}}}\n").workflow.tasks[0]


def written(control: Control) -> dict[str, Any]:
    """Give the words for a control."""
    words: dict[str, Any] = plain_workflow(Workflow("w", (Task("T", "s", control=control),)))["tasks"]["T"]
    return {key: word for key, word in words.items() if key != "service"}


def is_valid(words: str) -> bool:
    """Say whether the schema accepts a task with some words."""
    data = tree_of(Source(f"tasks: {{T: {{service: s, {words}}}}}", "w.yaml")).data
    return bool(VALIDATOR.is_valid(data))


OVER_THREE = Test("result > 3")
PREDICATE = Test(predicate="m:f")
WRITTEN = [
    ("join: any", Control("any")),
    ("join: first", Control("first")),
    ("join: active", Control("active")),
    ("join: majority", Control("majority")),
    ("join: {first: 2}", Control("first", 2)),
    ("join: {first: 1, cancel: true}", Control("first", cancels_rest=True)),
    ("join: {first: 2, cancel: true, threads: 2}", Control("first", 2, cancels_rest=True, threads=2)),
    ("join: {threads: 3}", Control(threads=3)),
    ("join: {any: true, threads: 3}", Control("any", threads=3)),
    ("join: {majority: 2}", Control("majority", 2)),
    ("split: one", Control(split="one")),
    ("split: some", Control(split="some")),
    ("split: deferred", Control(split="deferred")),
    ("to: [B, C]", Control(routes=(Route("B"), Route("C")))),
    ('to: {B: "result > 3", C: null}', Control(routes=(Route("B", OVER_THREE), Route("C")))),
    ('to: {B: {predicate: "m:f"}}', Control(routes=(Route("B", PREDICATE),))),
    ('to: {B: {when: "a", predicate: "m:f"}}', Control(routes=(Route("B", Test("a", "m:f")),))),
    ('to: [{B: "result > 3"}, C, B]', Control(routes=(Route("B", OVER_THREE), Route("C"), Route("B")))),
    ('again: {to: H, when: "result > 3"}', Control(again=Route("H", OVER_THREE))),
    ('again: {to: H, predicate: "m:f"}', Control(again=Route("H", PREDICATE))),
    ("again: {to: H}", Control(again=Route("H"))),
    ("threads: 3", Control(copies=3)),
    ("lock: L", Control(takes=("L",), gives=("L",))),
    ("lock: [L, M]", Control(takes=("L", "M"), gives=("L", "M"))),
    ("takes: L", Control(takes=("L",))),
    ("takes: [L, M], gives: M", Control(takes=("L", "M"), gives=("M",))),
    ("signal: go", Control(signal="go")),
    ("signal: {transient: go}", Control(signal="go", is_transient=True)),
    ("sends: go", Control(sends=("go",))),
    ("sends: [go, stop]", Control(sends=("go", "stop"))),
    ("during: [A, C]", Control(during=("A", "C"))),
    ("cancels: A", Control(cancels=("A",))),
    ("completes: [A, B]", Control(completes=("A", "B"))),
    ("ends: true", Control(ends="case")),
    ("ends: cancelled", Control(ends="cancelled")),
    ("instances: 3", Control(many=Many(Value(3)))),
    ('instances: {count: "$n", need: 2, cancel: true}', Control(many=Many(Input("n"), need=2, cancels=True))),
    ("instances: {count: {from: A}, apart: true}", Control(many=Many(Result("A"), apart=True))),
    ("instances: {over: 0}", Control(many=Many(over=0))),
    ('instances: {count: 1, more: "result > 3"}', Control(many=Many(Value(1), more=OVER_THREE))),
    ('instances: {over: 1, enough: {predicate: "m:f"}}', Control(many=Many(over=1, enough=PREDICATE))),
]  # fmt: skip


@pytest.mark.parametrize("words, control", WRITTEN)
def test_words_are_read(words: str, control: Control) -> None:
    """Each word means what it says."""
    assert read(words).control == control


@pytest.mark.parametrize("words, control", WRITTEN)
def test_words_are_written(words: str, control: Control) -> None:
    """A control is written in the shortest words for it, and they follow the schema."""
    assert written(control) == tree_of(Source(f"{{{words}}}", "w.yaml")).data
    assert is_valid(words)


@pytest.mark.parametrize(
    "words, same",
    [
        ("join: {any: true}", Control("any")),
        ("join: {all: true, threads: 3}", Control(threads=3)),
        ("join: {majority: null}", Control("majority")),
        ("to: B", Control(routes=(Route("B"),))),
        ("to: [{B: null}, 3]", Control(routes=(Route("B"), Route("3")))),
        ('to: {B: {when: "result > 3"}}', Control(routes=(Route("B", OVER_THREE),))),
        ("again: {to: H, when: null}", Control(again=Route("H"))),
        ("signal: {persistent: go}", Control(signal="go")),
        ("lock: L, takes: M", Control(takes=("L", "M"), gives=("L",))),
        ("instances: {count: 3}", Control(many=Many(Value(3)))),
        ("instances: {over: k}", Control(many=Many(over=0))),
    ],
)
def test_other_ways_to_say_it(words: str, same: Control) -> None:
    """What can be said in several ways means the same in each of them."""
    assert read(words).control == same
    assert is_valid(words)


@pytest.mark.parametrize(
    "words",
    [
        "join: all", "join: null", "join: {}", "split: all", "to: []", "again: null", "threads: 1", "lock: []",
        "signal: null", "during: null", "ends: false", "instances: null", "join: {all: true, cancel: false}",
    ],
)  # fmt: skip
def test_what_is_usual_is_nothing(words: str) -> None:
    """A task that says only what holds without saying so has no control."""
    assert read(words).control is None
    assert is_valid(words)


@pytest.mark.parametrize(
    "text, argument",
    [
        ("{arrived: one}", Arrived("one")),
        ("{arrived: all}", Arrived("all")),
        ("{signal: value}", Signalled()),
        ("{value: {arrived: all}}", Value({"arrived": "all"})),
        ("{value: {signal: 9}}", Value({"signal": 9})),
        ("{signal: 9, name: a}", Value({"signal": 9, "name": "a"})),
    ],
)
def test_arguments(text: str, argument: Any) -> None:
    """What arrived and what a signal brought are arguments; constants that look like them are wrapped."""
    task = load_text(f"tasks: {{T: {{service: s, in: [{text}]}}}}").workflow.tasks[0]
    assert task.arguments == (argument,)
    data = plain_workflow(Workflow("w", (task,)))
    assert data["tasks"]["T"]["in"] == tree_of(Source(f"[{text}]", "w.yaml")).data
    VALIDATOR.validate(data)


def test_locks_and_patterns_of_a_workflow() -> None:
    """A workflow says how many may hold a lock, and where its own rule libraries are; each on a line of its own."""
    workflow = Workflow("w", (Task("T", "s"),), locks={"L": 2}, patterns={"majority": "majority.hocl"})
    text = "workflow: w\nlocks: {L: 2}\npatterns: {majority: majority.hocl}\ntasks:\n  T: {service: s}\n"
    assert write_yaml(workflow) == text
    assert load_text(text).workflow == workflow
    assert load_text(write_json(workflow), name="w.json").workflow == workflow


@pytest.mark.parametrize(
    "words, problem",
    [
        ("join: frist", "W105 w.yaml:3:19 `frist` is no way to join (did you mean `first`?)"),
        ("join: majorty", "W105 w.yaml:3:19 `majorty` is no way to join (did you mean `majority`?)"),
        ("join: [any]", "W104 w.yaml:3:19 `join` is a text, not a list"),
        ("join: {frist: 2}", "W103 w.yaml:3:26 `join` has no key `frist` (did you mean `first`?)"),
        ("join: {first: 0}", "W105 w.yaml:3:26 the number of `first` cannot be 0 (1, 2, 3 ...)"),
        ("join: {first: two}", "W104 w.yaml:3:26 the number of `first` is a whole number, not a text (1, 2, 3 ...)"),
        ("join: {majority: 1.5}", "W104 w.yaml:3:26 the number of `majority` is a whole number, not 1.5 (1, 2, 3 ...)"),
        ("join: {any: 2}", "W105 w.yaml:3:26 `any` takes no number (`any: true`)"),
        ("join: {first: 1, any: true}",
         "W105 w.yaml:3:19 a task joins in one way, not by both `first` and `any` (keep one of them: `join: first`)"),
        ("join: {any: true, cancel: true}",
         f"W105 w.yaml:3:37 {NOT_FIRST}"),
        ("join: {first: 1, cancel: 1}", "W104 w.yaml:3:36 `cancel` is true or false, not a number"),
        ("split: two", "W105 w.yaml:3:19 `two` is no way to split (known: all, one, some, deferred)"),
        ("split: {one: 1}", "W104 w.yaml:3:19 `split` is a text, not a mapping"),
        ("to: 3", "W104 w.yaml:3:19 `to` is a list, not a number (write `[...]`)"),
        ("to: [B, 2.5]", "W104 w.yaml:3:27 a name in `to` is a text, not a number"),
        ("to: {B: true}", f"W104 w.yaml:3:24 the condition of `B` is no condition {CONDITION}"),
        ("to: {B: {predicat: a}}",
         "W103 w.yaml:3:28 the condition of `B` has no key `predicat` (did you mean `predicate`?)"),
        ("to: {B: {}}", "W104 w.yaml:3:24 the condition of `B` needs the key `when` or `predicate`"),
        ("again: H", "W104 w.yaml:3:19 `again` must be a mapping, not a text"),
        ("again: {when: a}", "W104 w.yaml:3:19 `again` needs the key `to`"),
        ("again: {to: H, wen: a}", "W103 w.yaml:3:34 `again` has no key `wen` (did you mean `when`?)"),
        ("threads: 0", "W105 w.yaml:3:19 `threads` cannot be 0 (1, 2, 3 ...)"),
        ("threads: true", "W104 w.yaml:3:19 `threads` is a whole number, not true or false (1, 2, 3 ...)"),
        ("lock: {L: 1}", "W104 w.yaml:3:19 `lock` is a list, not a mapping (write `[...]`)"),
        ("signal: {lasting: go}",
         "W103 w.yaml:3:28 `signal` has no key `lasting` (known: persistent, transient, timeout)"),
        ("signal: {transient: null}", "W104 w.yaml:3:28 the name of a signal is a text, not nothing"),
        ("signal: {persistent: a, transient: b}",
         f"W105 w.yaml:3:19 `signal` is either `persistent` or `transient` {KEPT_OR_LOST}"),
        ("during: [A]",
         "W105 w.yaml:3:19 `during` names two tasks (`[A, C]`: A is done and C has not started)"),
        ("ends: canceled", "W105 w.yaml:3:19 a case cannot end as `canceled` (did you mean `cancelled`?)"),
        ("ends: [a]", "W104 w.yaml:3:19 `ends` is a text, not a list"),
        ("instances: many", "W104 w.yaml:3:19 `instances` is a whole number, not a text (1, 2, 3 ...)"),
        ("instances: {need: 2}",
         f"W104 w.yaml:3:19 `instances` needs either `count` or `over` {COUNT_OR_OVER}"),
        ("instances: {cuont: 2}", "W103 w.yaml:3:31 `instances` has no key `cuont` (did you mean `count`?)"),
        ("instances: {count: no}", "W104 w.yaml:3:31 `count` is a whole number, not a text (1, 2, 3 ...)"),
        ("instances: {over: l}", "W105 w.yaml:3:31 no argument is called `l` (known: k)"),
        ("instances: {over: [0]}",
         "W104 w.yaml:3:31 arguments are named by their positions, from 0, or by their keywords"),
        ("instances: {over: 0, more: 1.5}", f"W104 w.yaml:3:40 `more` is no condition {CONDITION}"),
        ("in: [{arrived: two}]", f"W105 w.yaml:3:25 what has arrived is `one` or `all` {CONSTANT}"),
        ("in: [{signal: 9}]", f"W105 w.yaml:3:25 of a signal there is only its `value` {CONSTANT}"),
        ("joins: any", "W103 w.yaml:3:19 the task `A` has no key `joins` (did you mean `join`?)"),
    ],
)  # fmt: skip
def test_wrong_words(words: str, problem: str) -> None:
    """A wrong word is told what is wrong, where, and what was probably meant."""
    assert problem_of(f"{HEAD}tasks:\n  A: {{service: s, {words}, with: {{k: [1]}}}}\n") == problem


@pytest.mark.parametrize(
    "text, problem",
    [
        ("locks: [L]", "W104 w.yaml:1:1 `locks` must be a mapping, not a list"),
        ("locks: {L: 0}", "W105 w.yaml:1:9 the lock `L` cannot be 0 (1, 2, 3 ...)"),
        ("patterns: {a: null}", "W104 w.yaml:1:12 the path of the pattern `a` is a text, not nothing"),
        ("patterns: {any: a.hocl}",
         "W105 w.yaml:1:12 a pattern cannot be called `any`, which means something in `join` (give it another name)"),
    ],
)  # fmt: skip
def test_wrong_locks_and_patterns(text: str, problem: str) -> None:
    """What a workflow says wrongly about locks and patterns is told too."""
    assert problem_of(f"{text}\ntasks: {{}}\n") == problem


def problem_of(text: str) -> str:
    """Give the code, the place, the message and the hint that reading a text ends in."""
    with pytest.raises(WorkflowProblem) as caught:
        load_text(text, name="w.yaml")
    problem = caught.value
    return f"{problem.code} {problem.place} {problem.message}" + (f" ({problem.hint})" if problem.hint else "")


@pytest.mark.parametrize(
    "words",
    [
        "join: [any]", "join: {first: 0}", "join: {any: 2}", "join: {first: 1, any: true}",
        "join: {any: true, cancel: true}", "join: {a: 1, b: 2}", "split: two", "to: 3", "to: {B: true}", "to: {B: {}}",
        "again: H", "again: {when: a}", "threads: 0", "lock: {L: 1}", "signal: {persistent: a, transient: b}",
        "during: [A]", "ends: canceled", "instances: many", "instances: {need: 2}", "instances: {count: 1, over: 0}",
        "in: [{arrived: two}]", "in: [{signal: 9}]",
    ],
)  # fmt: skip
def test_the_schema_refuses_wrong_words(words: str) -> None:
    """The schema refuses what the reader refuses."""
    assert not is_valid(words)


def test_a_function_as_condition_is_written_by_its_name() -> None:
    """A function of a module becomes `module:name`; one without a name is refused, as is a condition of nothing."""
    assert written(Control(again=Route("H", Test(predicate=json.dumps)))) == {
        "again": {"to": "H", "predicate": "json:dumps"}
    }
    with pytest.raises(WorkflowProblem, match="has no name by which a file could call it"):
        written(Control(routes=(Route("B", Test(predicate=lambda _: True)),)))
    with pytest.raises(WorkflowProblem, match="a condition asks nothing"):
        written(Control(routes=(Route("B", Test()),)))


def test_the_documented_words_are_read() -> None:
    """The page about workflow files shows control flow that reads, with every word."""
    shown, *_ = [block for block in blocks_of(PAGE.read_text(encoding="utf-8")) if "join:" in block.text]
    workflow = load_text(shown.text).workflow
    used = {
        field
        for task in workflow.tasks
        for field in Control.__struct_fields__
        if task.control is not None and getattr(task.control, field) != getattr(Control(), field)
    }
    assert used == set(Control.__struct_fields__)
    assert workflow.locks
    assert workflow.patterns
