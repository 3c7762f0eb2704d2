"""`solvent run` with workflows: each way to write one, inputs, formats, what is printed where."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from solvent.workflows.formats.wfformat import validate
from tests.cli.command import ROOT, solvent
from tests.cli.workflows import FORMS, YAML, calls, put

if TYPE_CHECKING:
    from pathlib import Path

TRACE = {
    "name": "two",
    "schemaVersion": "1.5",
    "workflow": {
        "specification": {
            "tasks": [
                {"name": "a", "id": "a", "parents": [], "children": ["b"]},
                {"name": "b", "id": "b", "parents": ["a"], "children": []},
            ]
        },
        "execution": {
            "makespanInSeconds": 2000,
            "executedAt": "2024-01-01T00:00:00+00:00",
            "tasks": [{"id": "a", "runtimeInSeconds": 1000}, {"id": "b", "runtimeInSeconds": 1000}],
        },
    },
}


@pytest.mark.parametrize("name", FORMS)
def test_workflow_heals_whatever_it_is_written_in(tmp_path: Path, name: str) -> None:
    """In every form the alternative takes over, and what is finished is not called again."""
    result = solvent("run", put(tmp_path, name, FORMS[name]), "--format", "json")
    found = result.json
    assert (result.code, result.err) == (0, "")
    assert set(found) == {"results", "states", "calls", "adaptations", "reactions", "seconds"}
    assert found["results"] == {"D": 18}
    assert found["states"] == {"A": "done", "B": "replaced", "C": "done", "D": "done", "E": "done"}
    assert found["calls"] == {"A": 1, "B": 1, "C": 1, "D": 1, "E": 3}
    (change,) = found["adaptations"]
    assert (change["alternative"], change["because"], change["replaced"]) == ("spare", "B", ["B"])
    assert change["cause"] == "FAILED: ValueError: no such column"
    assert calls(tmp_path) == ["broken", "double", "double", "double", "double", "start", "total"]


def test_results_and_account_are_apart(tmp_path: Path) -> None:
    """Results are on standard output; what happened, and a summary, on standard error."""
    result = solvent("run", put(tmp_path, "flow.yaml", YAML))
    assert (result.code, result.out) == (0, "D: 18\n")
    assert "✗ B  failed: ValueError: no such column\n" in result.err
    assert "↻ spare: E instead of B, because of B\n" in result.err
    assert "⊘ B  replaced  1 call " in result.err
    assert "5 tasks, 7 calls, 1 adaptation, " in result.err.splitlines()[-1]


@pytest.mark.parametrize("jobs", [("--jobs", "1"), ("--processes",), ("--processes", "--jobs", "2")])
def test_threads_and_processes_agree(tmp_path: Path, jobs: tuple[str, ...]) -> None:
    """However many threads or processes there are, the results are the same."""
    assert solvent("run", put(tmp_path, "flow.yaml", YAML), *jobs).out == "D: 18\n"


@pytest.mark.parametrize("given,total", [("n=5", 50), ("n=2.5", 30.0)])
def test_inputs_are_read_as_json(tmp_path: Path, given: str, total: float) -> None:
    """An input is what its JSON says."""
    result = solvent("run", put(tmp_path, "flow.yaml", YAML), "--input", given, "--format", "json")
    assert result.json["results"] == {"D": total}


def test_input_that_is_no_json_is_text(tmp_path: Path) -> None:
    """An input that is no JSON is a text, and the last one given counts."""
    text = "inputs: {a: null}\nservices: {cat: {shell: 'printf %s {0}'}}\ntasks: {T: {service: cat, in: [$a]}}\n"
    result = solvent("run", put(tmp_path, "flow.yaml", text), "--input", "a=3", "--input", "a=b=c")
    assert result.out == "T: b=c\n"


def test_trace_in_wfformat_is_replayed_and_written(tmp_path: Path) -> None:
    """A recorded run is replayed at another scale, and its own run is a valid trace again."""
    file, out = tmp_path / "two.json", tmp_path / "out.json"
    file.write_text(json.dumps(TRACE))
    result = solvent("run", file, "--scale", "0.0001", "--wfformat", out, "--format", "json")
    assert (result.code, result.json["states"]) == (0, {"a": "done", "b": "done"})
    assert result.json["seconds"] >= 0.2
    document = json.loads(out.read_text())
    assert validate(document) == []
    assert [one["id"] for one in document["workflow"]["execution"]["tasks"]] == ["a", "b"]


def test_trace_shows_reactions(tmp_path: Path) -> None:
    """`--trace` writes every reaction to standard error."""
    result = solvent("run", put(tmp_path, "flow.yaml", YAML), "--trace")
    assert result.out == "D: 18\n"
    assert {"gw_call", "df_step", "wa_when", "wa_pass"} <= {
        line.split()[1].rstrip(":") for line in numbered(result.err)
    }


def numbered(text: str) -> list[str]:
    """Give the lines that begin with a number and a name."""
    return [line for line in text.splitlines() if len(line.split()) > 1 and line.split()[0].isdecimal()]


def test_values_that_json_cannot_say(tmp_path: Path) -> None:
    """A result that is no JSON stands as its Python form, and a note says so."""
    text = 'services: {s: {python: "own:strange"}}\ntasks: {T: {service: s}, U: {service: s}}\nresults: [T]\n'
    found = solvent("run", put(tmp_path, "flow.yaml", text), "--format", "json").json
    assert found["results"]["T"].startswith("{1: {")
    assert ["`T`" in note for note in found["notes"]] == [True]


def test_long_integer_is_shortened(tmp_path: Path) -> None:
    """Python writes out no integer of 5,001 digits: a terminal gets the first digits, JSON all of them."""
    text = 'services: {s: {python: "operator:pow"}}\ntasks: {T: {service: s, in: [10, 5000]}}\n'
    file = put(tmp_path, "flow.yaml", text)
    assert solvent("run", file).out == "T: 10000000000000000000… (5,001 digits)\n"
    assert f'"T": 1{"0" * 5000}' in solvent("run", file, "--format", "json").out


def test_large_workflow_is_told_in_numbers(tmp_path: Path) -> None:
    """Two thousand tasks run, and are not told one by one."""
    tasks = "".join(f"  t{n}: {{service: s, from: [a]}}\n" for n in range(2_000))
    text = f'services: {{s: {{python: "own:total"}}}}\ntasks:\n  a: {{service: s, in: [1]}}\n{tasks}results: [t9]\n'
    result = solvent("run", put(tmp_path, "flow.yaml", text))
    assert (result.code, result.out) == (0, "t9: 1\n")
    assert len(result.err.splitlines()) < 40
    assert "  2,001 done\n" in result.err


def test_ordinary_programs_run_as_before(tmp_path: Path) -> None:
    """A program that merely mentions SRV is run as the program it is."""
    file = tmp_path / "program.hocl"
    file.write_text("<SRV : 1, T : <SRV : 2, replace-one x by x>, 3>")
    assert solvent("run", file).out == "<3, SRV:1, T:<SRV:2>>\n"


def test_first_example_heals() -> None:
    """The workflow of `make run` heals, with each finished step called once."""
    result = solvent("run", ROOT / "examples" / "workflows" / "first" / "morning.py", "--format", "json")
    found = result.json
    assert found["results"] == {"write_report": "Porto: 20 °C, by train\nLisbon: 22 °C, by train\nFaro: 18 °C"}
    assert found["states"]["ask_satellite"] == "replaced"
    assert set(found["calls"].values()) == {1}
