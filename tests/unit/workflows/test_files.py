"""Workflow files in YAML and JSON: what they say, and what is said about wrong ones."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from solvent.errors import WorkflowProblem
from solvent.workflows.formats.files import load, load_text, write
from solvent.workflows.formats.yaml.writer import plain_workflow, write_json, write_yaml
from solvent.workflows.model import Each, Input, Result, Service, Task, Value, Workflow
from tests.unit.workflows.diamond import DIAMOND, YAML

if TYPE_CHECKING:
    from pathlib import Path

ONE_OF = "one of: python, shell, http, hocl, workflow, replay, delay"


def task_of(text: str) -> Task:
    """Read one task from what stands after its name."""
    return load_text(f"tasks:\n  T: {text}\n").workflow.tasks[0]


def problem_of(text: str, name: str = "w.yaml") -> str:
    """Give the code, the place and the message that reading a text ends in."""
    with pytest.raises(WorkflowProblem) as caught:
        load_text(text, name=name)
    problem = caught.value
    return f"{problem.code} {problem.place} {problem.message}" + (f" ({problem.hint})" if problem.hint else "")


def test_a_yaml_file_says_everything_the_model_can() -> None:
    """A file that uses every key gives the workflow that uses every field."""
    assert load_text(YAML).workflow == DIAMOND


def test_writing_yaml_gives_one_line_for_each_part() -> None:
    """YAML is written as a person would lay it out."""
    assert write_yaml(DIAMOND) == YAML


@pytest.mark.parametrize("name", ["w.yaml", "w.json"])
def test_places_of_parts(name: str) -> None:
    """Every part of a workflow has a place in its file."""
    text = write(DIAMOND, suffix=name[1:])
    places = load_text(text, name=name).places
    lines = text.splitlines()
    found = {key: lines[span.line - 1] for key, span in places.items()}
    assert all(name in found[part, name] for part, name in found if part not in ("alternative", "condition"))
    assert all("when" in found[part, name] for part, name in found if part == "condition")
    assert {part for part, _ in found} == {"task", "service", "alternative", "condition", "input", "result"}


def test_a_workflow_without_a_name_is_called_as_its_file() -> None:
    """The file's name without its suffix is the name of a workflow that has none."""
    assert load_text("tasks: {}", name="some/mosaic.yaml").workflow == Workflow("mosaic", ())


@pytest.mark.parametrize(
    "text, argument",
    [
        ("3", Value(3)),
        ('"$x"', Input("x")),
        ('"$$x"', Value("$x")),
        ("{input: $x}", Input("$x")),
        ("{from: A}", Result("A")),
        ("{from: A, item: 2}", Result("A", 2)),
        ("{value: {from: A}}", Value({"from": "A"})),
        ("{a: 1}", Value({"a": 1})),
        ("[$x]", Value(["$x"])),
        ("null", Value(None)),
        ("no", Value("no")),
        ("1:30", Value("1:30")),
        ("2026-01-01", Value("2026-01-01")),
        ("0o17", Value(15)),
        ("1e3", Value(1000.0)),
        ("-.inf", Value(float("-inf"))),
        ("!!str 3", Value("3")),
        ("'3'", Value("3")),
        ("~", Value(None)),
    ],
)
def test_arguments(text: str, argument: object) -> None:
    """An argument is a constant, an input or a result, and words mean what they mean in YAML 1.2."""
    assert task_of(f"{{service: s, in: [{text}]}}").arguments == (argument,)


def test_from_is_short_for_results() -> None:
    """`from` names tasks whose results are the arguments."""
    assert task_of("{service: s, from: [A, B]}").arguments == (Result("A"), Result("B"))


def test_each_goes_over_all_results() -> None:
    """`each: cross` combines all arguments that are results, keywords too."""
    task = task_of("{service: s, in: [{from: A}, 1], with: {k: {from: B}}, each: cross}")
    assert task.each == Each("cross", (0, 2))


def test_each_names_keywords() -> None:
    """An argument given by keyword can be named by it."""
    task = task_of("{service: s, in: [[1]], with: {k: [2]}, each: {dot: [0, k]}}")
    assert task.each == Each("dot", (0, 1))


def test_a_workflow_may_stand_inside_a_service() -> None:
    """A workflow as a service can be written in place."""
    inner = Workflow("inner", (Task("T1", "s"),))
    outer = Workflow("outer", (), (Service("w", "workflow", function=inner),))
    assert load_text(write_yaml(outer)).workflow == outer


def test_anchors_and_merge_keys() -> None:
    """What several services share is written once."""
    text = "services:\n  a: &slow {shell: a, timeout: 9}\n  b: {<<: *slow, timeout: 3}\ntasks: {}\n"
    services = load_text(text).workflow.services
    assert [(one.target, one.policy.timeout) for one in services] == [("a", 9.0), ("a", 3.0)]


@pytest.mark.parametrize(
    "text, problem",
    [
        ("tasks: [", "W101 w.yaml:1:8 this is not YAML: `[` is not closed (add `]`)"),
        ("tasks:\n  A: {in: [1]\n  B: {in: [2]}\n", "W101 w.yaml:2:6 this is not YAML: `{` is not closed (add `}`)"),
        ("tasks: {A: {in: [1} }", "W101 w.yaml:1:17 this is not YAML: `[` is not closed (add `]`)"),
        ("tasks: {A: {} B: {}}", "W101 w.yaml:1:15 this is not YAML: did not find expected ',' or '}'"),
        ("", "W104  there is no workflow here (a workflow has `tasks:`)"),
        ("3", "W104 w.yaml:1:1 a workflow must be a mapping, not a number"),
        ("tasks:\n  A: {service: s}\n  A: {service: t}\n",
         "W102 w.yaml:3:3 `A` stands here a second time (give one of them another name, or take it out)"),
        ("tasks: {}\nservice: {}\n", "W103 w.yaml:2:1 a workflow has no key `service` (did you mean `services`?)"),
        ("tasks:\n  A: {servce: s}\n", "W103 w.yaml:2:7 the task `A` has no key `servce` (did you mean `service`?)"),
        ("tasks:\n  A: {in: []}\n", "W104 w.yaml:2:3 the task `A` needs the key `service`"),
        ("tasks:\n  A: {service: s, in: 3}\n", "W104 w.yaml:2:19 `in` is a list, not a number (write `[...]`)"),
        ("tasks:\n  A: {service: s, in: [1, $]}\n",
         "W105 w.yaml:2:27 `$` without the name of an input (the text `$` is written `$$`)"),
        ("tasks:\n  A: {service: s, in: [{from: B, item: 0}]}\n", "W105 w.yaml:2:34 `item` is a position: 1, 2, 3 ..."),
        ("tasks:\n  A: {service: s, in: [], from: B}\n",
         "W105 w.yaml:2:27 `from` is short for `in`, so only one of them can stand here"),
        ("tasks:\n  A: {service: s, each: doz}\n",
         "W105 w.yaml:2:19 `doz` is no way to combine lists (did you mean `dot`?)"),
        ("services: {s: {timeout: 1}}\ntasks: {}\n",
         f"W104 w.yaml:1:12 the service `s` does not say what it calls ({ONE_OF})"),
        ("services: {s: {shell: a, http: b}}\ntasks: {}\n",
         f"W104 w.yaml:1:26 the service `s` is both `shell` and `http` ({ONE_OF})"),
        ("services: {s: {shell: a, retries: 1.5}}\ntasks: {}\n", "W104 w.yaml:1:26 `retries` is a whole number"),
        ("services: {s: {shell: a, max_lost: 0.5}}\ntasks: {}\n", "W104 w.yaml:1:26 `max_lost` is a whole number"),
        ("services: {s: {shell: a, timeout: 0}}\ntasks: {}\n",
         "W105 w.yaml:1:26 `timeout` cannot be 0 (leave it out for no limit)"),
        ("tasks: {}\nalternatives: [{exits: {A: B}, on: faillure}]\n",
         "W105 w.yaml:2:32 an alternative cannot apply on `faillure` (did you mean `failure`?)"),
        ("tasks: &a [*a]", "W101 w.yaml:1:8 an alias stands inside what it is an alias of"),
        ("tasks: !python/object:os.system {}",
         "W104 w.yaml:1:8 the tag `!python/object:os.system` means nothing here (leave it out)"),
        ("tasks: {[1]: 2}", "W104 w.yaml:1:9 a key is a word, not a list or a mapping"),
    ],
)  # fmt: skip
def test_problems_of_yaml_files(text: str, problem: str) -> None:
    """A wrong file is told what is wrong, where, and what was probably meant."""
    assert problem_of(text) == problem


@pytest.mark.parametrize(
    "text, problem",
    [
        ('{"tasks": [}', "W101 w.json:1:11 this is not JSON: `[` is not closed (add `]`)"),
        ('{"tasks": {"A": {"service": "s"},\n "A": {"service": "s"}}}',
         "W102 w.json:2:2 `A` stands here a second time (give one of them another name, or take it out)"),
        ('{"tasks": {"A": {"service": "s", "in": [1, {"from": 2.5}]}}}',
         "W104 w.json:1:45 the name of a task is a text, not a number"),
        ("[" * 100_000, "W101 w.json:1:1 nested more than 200 levels deep"),
    ],
)  # fmt: skip
def test_problems_of_json_files(text: str, problem: str) -> None:
    """JSON files are told the same, with places."""
    assert problem_of(text, "w.json") == problem


@pytest.mark.parametrize(
    "content, message",
    [
        (None, "there is no file"),
        (b"\xff\xfe\x00", "is not UTF-8 text"),
    ],
)
def test_files_that_cannot_be_read(content: bytes | None, message: str, tmp_path: Path) -> None:
    """A missing file and one that is no text are problems, not tracebacks."""
    file = tmp_path / "w.yaml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(WorkflowProblem, match=message):
        load(file)


def test_an_unknown_suffix_is_a_problem() -> None:
    """A file whose name says nothing is refused, with the suffixes that say something."""
    assert problem_of("", "w.txt") == (
        "W100  `w.txt` is not the name of a workflow file (workflow files end in .yaml, .yml, .json, .hocl or .py)"
    )


def test_what_a_file_cannot_say_is_refused() -> None:
    """A function without a name and a value of Python's own cannot be written."""
    with pytest.raises(WorkflowProblem, match="has no name by which a file could call it"):
        write_yaml(Workflow("w", (), (Service("s", function=lambda: 1),)))
    with pytest.raises(WorkflowProblem, match="a file cannot hold the value"):
        write_json(Workflow("w", (Task("T", "s", (Value({1, 2}),)),)))
    with pytest.raises(WorkflowProblem, match="neither infinity nor NaN"):
        write_json(Workflow("w", (Task("T", "s", (Value(float("inf")),)),)))
    with pytest.raises(WorkflowProblem, match="two tasks are called `T`"):
        write_yaml(Workflow("w", (Task("T", "s"), Task("T", "s"))))


def test_a_function_is_written_by_its_name() -> None:
    """A function of a module becomes `module:name`."""
    written = plain_workflow(Workflow("w", (), (Service("s", function=json.dumps),)))
    assert written["services"] == {"s": {"python": "json:dumps"}}
