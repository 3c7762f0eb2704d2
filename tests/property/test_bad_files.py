"""Files that are wrong somewhere: every command ends with an exit code that is listed, and never with a fault of ours.

Valid files are changed in a few places at random: values become other values, keys go or change, texts are cut. The
services of the workflows return at once whatever they are given, so that a changed workflow can be run.
"""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from tests.cli.command import solvent
from tests.property.amounts import examples

if TYPE_CHECKING:
    from pathlib import Path

FEW = 15
CODES = (0, 1, 2, 3)
SERVICES = "def s(*given, **named):\n    return 1\n\n\ndef judge(result):\n    return result == 2\n"
_A_SERVICE = {"python": "own_of_bad_files:s"}
PLAIN: dict[str, Any] = {
    "workflow": "plain",
    "inputs": {"n": 2, "words": ["a", "b"]},
    "services": {
        "s": {**_A_SERVICE, "timeout": 5, "retries": 0, "backoff": 0, "concurrency": 2, "max_lost": 1},
        "r": {"replay": 0},
        "w": {
            "workflow": {
                "inputs": {"a": 1},
                "services": {"t": _A_SERVICE},
                "tasks": {"X": {"service": "t", "in": ["$a"]}},
            }
        },
    },
    "tasks": {
        "A": {"service": "s", "in": ["$n", "text", 1.5, None, {"value": {"a": [1]}}]},
        "B": {"service": "r", "after": ["A"]},
        "C": {"service": "w", "with": {"a": {"from": "A"}}},
        "D": {"service": "s", "in": [{"from": "C"}, "$words"], "each": {"dot": [1]}},
        "E": {"service": "s", "in": [{"from": "A"}]},
    },
    "alternatives": [{"name": "x", "exits": {"C": "E"}, "on": ["failure", "condition"], "when": "result > 2"}],
    "results": ["B", "D"],
}
CONTROLLED: dict[str, Any] = {
    "locks": {"L": 2},
    "services": {"s": _A_SERVICE},
    "tasks": {
        "A": {
            "service": "s",
            "split": "one",
            "to": {"B": "result > 3", "C": {"predicate": "own_of_bad_files:judge"}, "D": None},
        },
        "B": {"service": "s", "from": ["A"], "lock": "L"},
        "C": {"service": "s", "from": ["A"], "instances": {"count": 2, "need": 1, "cancel": True}},
        "D": {"service": "s", "from": ["A"], "takes": ["L"], "gives": ["L"]},
        "E": {"service": "s", "join": {"first": 1}, "in": [{"arrived": "one"}], "after": ["B", "C", "D"]},
    },
}
TRACE: dict[str, Any] = {
    "name": "trace",
    "schemaVersion": "1.5",
    "workflow": {
        "specification": {
            "tasks": [
                {"name": "a", "id": "a", "parents": [], "children": ["b"], "inputFiles": ["f"]},
                {"name": "b", "id": "b", "parents": ["a"], "children": []},
            ],
            "files": [{"id": "f", "sizeInBytes": 1}],
        },
        "execution": {
            "makespanInSeconds": 0,
            "executedAt": "2026-01-01",
            "tasks": [{"id": "a", "runtimeInSeconds": 0, "coreCount": 1, "machines": ["m"]}],
            "machines": [{"nodeName": "m", "system": "linux", "cpu": {"coreCount": 1}}],
        },
    },
}
HOCLFLOW = """\
<
  WORKFLOW : "flow",
  INPUT : n : 2,
  SERVICE : s : <PYTHON : "own_of_bad_files:s">,
  T1 : <SRC : <>, SRV : s, IN : <n, "x">, DST : <T2, T3>>,
  T2 : <SRC : <FILTER : (T1 : 3), T1>, SRV : s, IN : <>, DST : <T4>>,
  T3 : <SRC : <T1>, SRV : s, IN : <1>, DST : <T4>>,
  T4 : <SRC : <DOT, T2, T3>, SRV : s, IN : <>, DST : <>>,
  T5 : <SRC : <T1>, SRV : s, IN : <>, DST : <T4>>,
  (closed = inject TRIGGER : T5, BOND : (T1 : T2 : T5), BOND : (T4 : T2 : T5)
    with T2 : <RES : (?result), ?w> if FAILED in result)
>
"""
PROGRAM = 'let max = replace x::int, y::int by x if x >= y in\n<2, 3, 5, "a":<1, 2>, A:(1.5):true, max>\n'
NESTED: Any = json.loads("[" * 120 + "]" * 120)
VALUES = st.sampled_from([
    None, True, False, 0, -1, 10**30, -(10**400), 0.5, float("nan"), float("inf"), 1e308, "", " ", "A", "x" * 300,
    "\ud800", "a\x00b", "$n", "$", "$$", "{0}", "result >", "result / 0", "no_such_module:f",
    "own_of_bad_files:judge.a", "\u202e", [], {}, [[]], [None], ["A", "A"], {"from": "A"},
    {"": 1}, {"value": NESTED}, NESTED, {"count": "$n"}, {"over": 0}, {"first": 10**30}, {"resource": "g"}, {"to": "A"},
    {"dot": [{"cross": [0, 1]}]}, {"seconds": -1}, {"from": "A", "item": 10**30},
])  # fmt: skip
KEYS = ["", "\ud800", "service", "tasks", "in", "from", "shape", "each", "instances", "join", "hocl", "http", "options"]
LEXEMES = [
    "<", ">", "(", ")", ",", ":", '"', "'", "\\", "1", "-", "/", "0", "1e400", "10" * 200, "replace", "by", "if", "let",
    "in", "SRV", "DST", "::", "\x00", "\ud7ff", "é", "list(", "ADAPT", "\n",
]  # fmt: skip


def _paths(data: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Give the ways to all parts of plain data."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [(*above, key) for key, _ in items] + [path for key, one in items for path in _paths(one, (*above, key))]


@st.composite
def changed(draw: st.DrawFn, valid: Any) -> Any:
    """Change plain data in one to three places."""
    data = copy.deepcopy(valid)
    for _ in range(draw(st.integers(1, 3))):
        paths = _paths(data)
        if not paths:
            return data
        *above, last = draw(st.sampled_from(paths))
        part = data
        for key in above:
            part = part[key]
        how = draw(st.sampled_from(["change", "change", "change", "delete", "rename"]))
        if how == "change":
            part[last] = copy.deepcopy(draw(VALUES))
        elif how == "delete" or isinstance(part, list):
            del part[last]
        else:
            part[draw(st.sampled_from(KEYS))] = part.pop(last)
    return data


@st.composite
def changed_text(draw: st.DrawFn, valid: str) -> str:
    """Change a text in one to three places."""
    text = valid
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        end = at + draw(st.sampled_from([0, 0, 1, 2, 10]))
        text = text[:at] + draw(st.sampled_from(["", *LEXEMES])) + text[end:]
    return text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with the services of the workflows."""
    found = tmp_path_factory.mktemp("bad_files")
    (found / "own_of_bad_files.py").write_text(SERVICES)
    return found


def _try(*words: str | Path) -> None:
    """Run a command, and demand that it ends as commands do."""
    note(" ".join(map(str, words)))
    result = solvent(*words)
    note(result.err)
    assert result.code in CODES
    assert "H999" not in result.err + result.out


def _try_workflow(file: Path, command: str) -> None:
    match command:
        case "convert":
            for suffix in ("yaml", "json", "hoclflow", "hocl"):
                _try("convert", "--to", suffix, file)
        case "explore":
            _try("explore", file, "--max-states", "200", "--max-seconds", "20")
        case "run":
            file.with_suffix(".db").unlink(missing_ok=True)
            _try("run", file, "--store", file.with_suffix(".db"))
        case _:
            _try(command, file)


COMMANDS = st.sampled_from(["check", "show", "convert", "explore", "run"])


@examples(FEW)
@given(st.sampled_from([PLAIN, CONTROLLED]).flatmap(changed), COMMANDS, st.sampled_from([".yaml", ".json"]))
def test_changed_workflow(folder: Path, data: Any, command: str, suffix: str) -> None:
    """A workflow file that is wrong somewhere ends every command with an exit code that is listed."""
    file = folder / f"flow{suffix}"
    file.write_text(json.dumps(data))
    _try_workflow(file, command)


@examples(FEW)
@given(changed(TRACE), COMMANDS)
def test_changed_trace(folder: Path, data: Any, command: str) -> None:
    """A trace in WfFormat that is wrong somewhere ends every command with an exit code that is listed."""
    file = folder / "trace.json"
    file.write_text(json.dumps(data))
    _try_workflow(file, command)


@examples(FEW)
@given(changed_text(HOCLFLOW), COMMANDS)
def test_changed_hoclflow(folder: Path, text: str, command: str) -> None:
    """A workflow in HOCL that is wrong somewhere ends every command with an exit code that is listed."""
    file = folder / "flow.hocl"
    file.write_text(text)
    _try_workflow(file, command)


@examples(FEW)
@given(VALUES, VALUES, st.sampled_from(["timeout", "retries", "rate", "max_lost", "name"]), COMMANDS)
def test_values_in_python(folder: Path, value: Any, limit: Any, word: str, command: str) -> None:
    """A workflow in Python with any constant, default and limit ends every command with an exit code that is listed."""
    file = folder / "flow_of_python.py"
    head = "from math import inf, nan\nfrom solvent import service, workflow\n"
    flow = f"@workflow\ndef f(a={value!r}):\n    return s(a), s({value!r})\n"
    file.write_text(f"{head}@service({word}={limit!r})\ndef s(x):\n    return x\n{flow}")
    _try_workflow(file, command)


@examples(FEW)
@given(changed_text(PROGRAM), st.sampled_from(["check", "fmt", "trace", "why", "why --not", "explore", "run"]))
def test_changed_program(folder: Path, text: str, command: str) -> None:
    """A program that is wrong somewhere ends every command with an exit code that is listed."""
    file = folder / "program.hocl"
    file.write_text(text)
    match command:
        case "why":
            _try("why", file, "5", "--max-reactions", "100")
        case "why --not":
            _try("why", "--not", file, "max")
        case "explore":
            _try("explore", file, "--max-states", "200", "--max-seconds", "20")
        case "run":
            _try("run", file, "--max-reactions", "100")
        case "trace":
            _try("trace", file, "--limit", "100")
        case _:
            _try(command, file)


@pytest.fixture(scope="module")
def record(folder: Path) -> bytes:
    """Give the bytes of the file of a recorded run called `it`."""
    (folder / "sound.json").write_text(json.dumps(CONTROLLED))
    store = folder / "sound.db"
    assert solvent("run", folder / "sound.json", "--store", store, "--name", "it").code == 0
    return store.read_bytes()


_PLACES = st.lists(
    st.tuples(st.floats(0, 1, exclude_max=True), st.binary(min_size=1, max_size=8)), min_size=1, max_size=20
)


@examples(FEW)
@given(_PLACES, st.sampled_from(["status", "logs", "timeline", "replay"]))
def test_changed_record(folder: Path, record: bytes, places: list[tuple[float, bytes]], command: str) -> None:
    """A file of records with other bytes in some places ends every command with an exit code that is listed."""
    data = bytearray(record)
    for at, other in places:
        begin = int(at * len(data))
        data[begin : begin + len(other)] = other
    for left in folder.glob("changed.db*"):
        left.unlink()
    (folder / "changed.db").write_bytes(data)
    _try(command, "it", "--store", folder / "changed.db")
