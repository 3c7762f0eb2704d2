"""Numbers, names, constants and lists that no run can use: a clear error or failure, never a fault in Solvent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.command import solvent

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.command import Result

HUGE = "1" + "0" * 30
LIMITS = ["retries", "timeout", "backoff", "max_backoff", "concurrency", "rate", "heartbeat", "max_lost"]
NUMBERS = [HUGE, "1" + "0" * 400, ".nan", ".inf", "-.inf", "-1", "text", "true", "[1]"]
COUNTS = {
    "instances": "A: {{service: s, instances: {}}}",
    "count": "A: {{service: s, instances: {{count: {}}}}}",
    "need": "A: {{service: s, instances: {{count: 2, need: {}}}}}",
    "threads": "A: {{service: s, threads: {}}}\n  B: {{service: s, from: A}}",
    "first": "A: {{service: s}}\n  B: {{service: s, from: A, join: {{first: {}}}}}",
    "merge": "A: {{service: s}}\n  B: {{service: s, from: A, join: {{threads: {}}}}}",
    "item": "A: {{service: s}}\n  B: {{service: s, in: [{{from: A, item: {}}}]}}",
    "lock": "A: {{service: s, lock: L}}\nlocks: {{L: {}}}",
    "size": "A: {{service: s, in: [{{resource: g}}]}}\nresources: {{g: {{size: {}}}}}",
    "shape": "A: {{service: s, in: [{{resource: g}}]}}\nresources: {{g: {{shape: [{}]}}}}",
}
PYTHON = "from solvent import service, workflow\n@service\ndef s(x):\n    return x\n"


def _both(file: Path, *words: str) -> list[Result]:
    """Check a workflow, and run it with a record."""
    return [solvent("check", file), solvent("run", file, "--store", file.with_suffix(".db"), *words)]


def _is_refused(found: list[Result], *codes: str) -> bool:
    return all(one.code == 2 and any(f"error[{code}]" in one.err for code in codes) for one in found)


def _beside(folder: Path) -> Path:
    (folder / "own_numbers.py").write_text("def s(*given, **named):\n    return 1\n")
    return folder / "flow.yaml"


@pytest.mark.parametrize("limit", LIMITS)
def test_limits_of_a_service_in_a_file(tmp_path: Path, limit: str) -> None:
    """A limit that is negative, huge, not finite or no number is refused with its place."""
    file = _beside(tmp_path)
    for number in NUMBERS:
        file.write_text(
            f"services:\n  s: {{python: 'own_numbers:s', {limit}: {number}}}\ntasks: {{A: {{service: s}}}}\n"
        )
        found = solvent("check", file)
        assert _is_refused([found], "W104", "W105"), (number, found.err)
        assert f"{file}:2:" in found.err


@pytest.mark.parametrize("limit", LIMITS)
def test_limits_of_a_service_in_python(tmp_path: Path, limit: str) -> None:
    """A limit in Python is checked like one in a file."""
    file = tmp_path / "flow.py"
    for number in ("10**30", "10**5000", "float('nan')", "float('inf')", "-1", "'text'", "[1]"):
        text = f"@service({limit}={number})\ndef t(x):\n    return x\n@workflow\ndef f():\n    return t(1)\n"
        file.write_text(f"{PYTHON}{text}")
        found = solvent("check", file)
        assert _is_refused([found], "W206"), (number, found.err)


@pytest.mark.parametrize("word", COUNTS)
def test_huge_counts(tmp_path: Path, word: str) -> None:
    """A count that is huge ends the command with an exit code for wrong input, or the run with a failure."""
    file = _beside(tmp_path)
    for number in (HUGE, "9223372036854775808"):
        text = COUNTS[word].format(number)
        file.write_text(f"services: {{s: {{python: 'own_numbers:s'}}}}\ntasks:\n  {text}\n")
        for result in _both(file):
            assert "H999" not in result.err
            assert result.code == 2 or (word == "item" and result.code in (0, 1)), result.err


@pytest.mark.parametrize("number", [HUGE, "-1", "0.5", "NaN", "true", '"text"', "[]"])
def test_instances_that_an_input_counts(tmp_path: Path, number: str) -> None:
    """A number of instances that comes from an input and cannot be fails the task of a recorded run."""
    file = _beside(tmp_path)
    text = "inputs: {n: null}\nservices: {s: {python: 'own_numbers:s'}}\n"
    file.write_text(text + "tasks: {A: {service: s, instances: {count: $n}}}\n")
    result = solvent("run", file, "--store", tmp_path / "runs.db", "--input", f"n={number}")
    assert (result.code, "A  failed: it is started" in result.err) == (1, True), result.err


def test_seconds_that_are_replayed(tmp_path: Path) -> None:
    """A service that would wait for ever, or for longer than a limit can be, is refused."""
    file = tmp_path / "flow.yaml"
    for number in (HUGE, ".nan", ".inf", "-1"):
        for replayed in (f"replay: {number}", f"replay: '', options: {{seconds: {number}}}"):
            file.write_text(f"services: {{s: {{{replayed}}}}}\ntasks: {{A: {{service: s}}}}\n")
            assert _is_refused(_both(file), "W126"), replayed


def test_large_integers_and_half_characters_as_constants(tmp_path: Path) -> None:
    """A recorded run takes integers of any size and lone surrogates as constants, inputs and results."""
    file = tmp_path / "flow.py"
    file.write_text(
        f"{PYTHON}@workflow\ndef f(x='a\\ud800'):\n    return s([10**30, x, 'b\\udfff']), s({{'\\ud800': 1}})\n"
    )
    checked, run = _both(file)
    assert (checked.code, run.code) == (0, 0), run.err
    assert run.out == f"s: [{HUGE}, 'a\\ud800', 'b\\udfff']\ns_2: {{'\\ud800': 1}}\n"


def _nested(levels: int) -> str:
    return "[" * levels + "]" * levels


def test_constants_that_are_nested_deeply(tmp_path: Path) -> None:
    """Lists that are nested deeper than results may be are refused in every format, as constants and as inputs."""
    deep = _nested(150)
    services = '"services": {"s": {"python": "own_numbers:s"}}'
    texts = {
        "constant.json": f'{{{services}, "tasks": {{"A": {{"service": "s", "in": [{deep}]}}}}}}',
        "input.json": f'{{{services}, "inputs": {{"x": {deep}}}, "tasks": {{"A": {{"service": "s", "in": ["$x"]}}}}}}',
        "constant.yaml": f"services: {{s: {{python: 'own_numbers:s'}}}}\ntasks: {{A: {{service: s, in: [{deep}]}}}}\n",
        "constant_of.py": f"{PYTHON}@workflow\ndef f():\n    x = []\n    x.append(x)\n    return s(x)\n",
        "input_of.py": f"{PYTHON}x = []\nfor _ in range(150):\n    x = [x]\n@workflow\ndef f(a=x):\n    return s(a)\n",
    }
    _beside(tmp_path)
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        assert _is_refused(_both(tmp_path / name), "W208", "W101"), name


def test_values_from_outside_that_are_nested_deeply(tmp_path: Path) -> None:
    """An input of the command line that is nested too deeply is refused."""
    file = _beside(tmp_path)
    file.write_text("inputs: {x: 1}\nservices: {s: {python: 'own_numbers:s'}}\ntasks: {A: {service: s, in: [$x]}}\n")
    assert _is_refused([solvent("run", file, "--input", f"x={_nested(150)}")], "W208")


def test_constants_that_aliases_multiply(tmp_path: Path) -> None:
    """A constant that is small as a text and huge as a value is refused."""
    file = _beside(tmp_path)
    lists = "\n".join(f"    - &l{at + 1} [{', '.join([f'*l{at}'] * 10)}]" for at in range(9))
    text = f"inputs:\n  x:\n    - &l0 [1]\n{lists}\nservices: {{s: {{python: 'own_numbers:s'}}}}\n"
    file.write_text(f"{text}tasks: {{A: {{service: s, in: [$x]}}}}\n")
    assert _is_refused(_both(file), "W101")


HALF = "\\ud800"
NAMES: dict[str, dict[str, Any]] = {
    "workflow": {"workflow": "@"},
    "task": {"tasks": {"@": {"service": "s"}}},
    "service": {"services": {"@": {"shell": "date"}}},
    "module": {"services": {"s": {"python": "@:f"}}},
    "function": {"services": {"s": {"python": "own_numbers:@"}}},
    "command": {"services": {"s": {"shell": "echo @"}}},
    "address": {"services": {"s": {"http": "http://127.0.0.1:1/@"}}},
    "program": {"services": {"s": {"hocl": "@.hocl"}}},
    "file": {"services": {"s": {"workflow": "@.yaml"}}},
    "input": {"inputs": {"@": 1}},
    "condition": {"alternatives": [{"exits": {"A": "B"}, "on": "condition", "when": 'result == "@"'}]},
    "signal": {"tasks": {"A": {"service": "s", "signal": "@"}}},
    "pattern": {"patterns": {"p": "@"}},
}


@pytest.mark.parametrize("what", NAMES)
def test_half_characters_in_names(tmp_path: Path, what: str) -> None:
    """A name with a lone surrogate is refused in a file of JSON, which can say it."""
    tasks = {"A": {"service": "s"}, "B": {"service": "s"}}
    usual = {
        "services": {"s": {"python": "own_numbers:s"}},
        "tasks": tasks if what == "condition" else {"A": tasks["A"]},
    }
    _beside(tmp_path)
    file = tmp_path / "flow.json"
    file.write_text(json.dumps(usual | NAMES[what]).replace("@", HALF))
    assert _is_refused(_both(file), "W207")


@pytest.mark.parametrize("kind", ["hocl", "workflow"])
def test_null_characters_in_paths(tmp_path: Path, kind: str) -> None:
    """A path with a null character is refused as one that cannot be read."""
    file = tmp_path / "flow.json"
    file.write_text(f'{{"services": {{"s": {{"{kind}": "a\\u0000.yaml"}}}}, "tasks": {{"A": {{"service": "s"}}}}}}')
    assert _is_refused(_both(file), "H304", "W100")


@pytest.mark.parametrize(
    "text", ["@workflow(name=3)\ndef f():\n    return s(1)\n", "@workflow\ndef f():\n    return s.named(3)(1)\n"]
)
def test_names_in_python_that_are_no_texts(tmp_path: Path, text: str) -> None:
    """A name that is no text is refused."""
    file = tmp_path / "flow.py"
    file.write_text(f"{PYTHON}{text}")
    assert _is_refused(_both(file), "W154")


def _trace(name: str, seconds: str, done: str | None = None) -> str:
    task = {"name": "t", "id": name, "parents": [], "children": []}
    record = {"id": name if done is None else done, "runtimeInSeconds": "@"}
    execution = {"makespanInSeconds": 1, "executedAt": "x", "tasks": [record]}
    document = {
        "name": "t",
        "schemaVersion": "1.5",
        "workflow": {"specification": {"tasks": [task]}, "execution": execution},
    }
    return json.dumps(document).replace('"@"', seconds)


@pytest.mark.parametrize("seconds", ["NaN", "Infinity", "-Infinity", "1" + "0" * 400])
def test_run_times_of_a_trace(tmp_path: Path, seconds: str) -> None:
    """A run time of WfFormat that is no finite number is refused."""
    file = tmp_path / "trace.json"
    file.write_text(_trace("a", seconds))
    assert _is_refused(_both(file), "W110")


def test_long_identifiers(tmp_path: Path) -> None:
    """An identifier of a million characters takes no quadratic time, also where something is wrong with it."""
    long = "a" * 1_000_000
    file = tmp_path / "trace.json"
    file.write_text(_trace(long, "0"))
    assert solvent("check", file).code == 0
    assert _is_refused([solvent("explore", file)], "W142")
    file.write_text(_trace(long, "0", "b" * 1_000_000))
    assert _is_refused([solvent("check", file)], "W110")


STEPS = """\
import os
from pathlib import Path

from solvent import attempt, service, workflow

@service
def begin(kind: str) -> list[int]:
    if kind == "generator":
        return (number for number in range(3))
    if kind == "text":
        return "abc"
    if kind == "short":
        return [1]
    if kind == "dictionary":
        return {1: 2}
    if kind == "dies once":
        mark = Path(__file__).with_name("died")
        if not mark.exists():
            mark.touch()
            os._exit(9)

@service
def double(number: int) -> int:
    return 2 * number

@service
def total(numbers: list[int]) -> int:
    return sum(numbers)

@service
def nothing_to_add(numbers: list[int] | None = None) -> list[int]:
    return []
"""
EACH = (
    STEPS
    + """\

@workflow
def work(kind: str = "none") -> int:
    return total(double.each(begin(kind)))
"""
)
INSTANCES = EACH.replace("double.each(begin(kind))", "double.many(over=0)(begin(kind))")
COUNT = EACH.replace("double.each(begin(kind))", "double.many(begin(kind))(1)")
ITEM = EACH.replace("double.each(begin(kind))", "double(begin(kind)[1])")
HEALED = EACH.replace("double.each(begin(kind))", "attempt(double.each(begin(kind)), otherwise=nothing_to_add())")
NONE = "`None`, which is not a list; is a `return` missing in the service?"
GENERATOR = "Python's generator, which is not a list; let the service return `list(...)` of it"
KEPT_GENERATOR = "a value of the type `builtins.generator` is no data that can be kept: `list(...)` of it would be"
CASES = {
    "each, none": (EACH, "none", f"it is called for each item of {NONE}"),
    "each, generator": (EACH, "generator", f"its result cannot be kept: {KEPT_GENERATOR}"),
    "each, text": (EACH, "text", "it is called for each item of a text, which is not a list"),
    "each, dictionary": (EACH, "dictionary", "it is called for each item of Python's dict, which is not a list"),
    "instances": (INSTANCES, "none", f"it is called for each item of {NONE}"),
    "count": (COUNT, "none", "it is started `None` times; is a `return` missing in the service?"),
    "item": (ITEM, "none", f"item 2 is taken of {NONE}"),
    "short": (ITEM, "short", "item 2 is taken of a list of 1"),
}


def _put(folder: Path, text: str) -> Path:
    file = folder / "work.py"
    file.write_text(text)
    return file


@pytest.mark.parametrize("text, kind, message", CASES.values(), ids=CASES)
def test_recorded_run_fails_with_a_clear_message(tmp_path: Path, text: str, kind: str, message: str) -> None:
    """The task fails, the run ends, and the record says both."""
    file, store = _put(tmp_path, text), tmp_path / "runs.db"
    result = solvent("run", file, "--input", f"kind={kind}", "--store", store, "--name", "one")
    assert (result.code, f"failed: {message}" in result.err) == (1, True)
    status = solvent("status", "one", "--store", store)
    assert (status.out.startswith("one: failed"), message in status.out) == (True, True)


@pytest.mark.parametrize("kind", ["none", "generator"])
def test_run_without_a_record_fails_with_a_clear_message(tmp_path: Path, kind: str) -> None:
    """It makes no difference for what can be kept; of anything else, nothing is kept."""
    message = f"it is called for each item of {NONE if kind == 'none' else GENERATOR}"
    result = solvent("run", _put(tmp_path, EACH), "--input", f"kind={kind}", "--no-record")
    assert (result.code, f"failed: {message}" in result.err) == (1, True)


def test_alternative_takes_over(tmp_path: Path) -> None:
    """It is a failure like any other, so an alternative on failure applies."""
    result = solvent("run", _put(tmp_path, HEALED), "--store", tmp_path / "runs.db", "--format", "json")
    assert (result.code, result.json["results"]) == (0, {"total": 0})


def test_resumed_run_fails_with_the_same_message(tmp_path: Path) -> None:
    """A run that was killed before the failure, and resumed, records it too; another resume has nothing to do."""
    text, _, message = CASES["each, none"]
    file, store = _put(tmp_path, text), tmp_path / "runs.db"
    died = solvent("run", file, "--input", "kind=dies once", "--store", store, "--name", "one")
    assert died.code == 9
    result = solvent("resume", "one", "--store", store, "--take-over")
    assert (result.code, f"failed: {message}" in result.err) == (1, True)
    again = solvent("resume", "one", "--store", store)
    assert "H999" not in again.err
    status = solvent("status", "one", "--store", store)
    assert (status.out.startswith("one: failed"), message in status.out) == (True, True)


def test_agents_end_the_run(tmp_path: Path) -> None:
    """Agents do not give up: the run fails with the message, and its record says that it failed."""
    text, kind, message = CASES["each, none"]
    file, store = _put(tmp_path, text), tmp_path / "runs.db"
    result = solvent("run", file, "--input", f"kind={kind}", "--agents", "1", "--store", store, "--name", "one")
    assert (result.code, message in result.err, "A106" in result.err) == (1, True, False)
    assert solvent("status", "one", "--store", store).out.startswith("one: failed")
