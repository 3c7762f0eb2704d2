"""`solvent convert`: concrete programs and other formats run to the same results; short names of files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli import controlled
from tests.cli.command import solvent
from tests.cli.workflows import FORMS, YAML, put

if TYPE_CHECKING:
    from pathlib import Path

FLOWS = {
    "loop": controlled.LOOP,
    "choice": controlled.CHOICE,
    "many": controlled.MANY,
    "first": controlled.FIRST_CANCELS,
    "region": controlled.REGION,
    "cancelled": controlled.CANCELLED,
    "stuck": controlled.STUCK,
    "spare": controlled.SPARE,
    "pattern": controlled.PATTERN,
}
KEYS = ("results", "states", "stuck", "ended_by", "cancelled")


@pytest.mark.parametrize("name", FLOWS)
def test_concrete_program_runs_to_the_same_results(tmp_path: Path, name: str) -> None:
    """A workflow that was made concrete, printed and read again ends as the workflow does."""
    file, concrete = controlled.put(tmp_path, FLOWS[name]), tmp_path / "concrete.hocl"
    assert solvent("convert", "--to", "hocl", file, "-o", concrete).code == 0
    ours = solvent("run", file, "--format", "json")
    theirs = solvent("run", concrete, "--services", file, "--format", "json")
    assert theirs.code == ours.code
    assert {key: theirs.json[key] for key in KEYS} == {key: ours.json[key] for key in KEYS}


def test_concrete_program_takes_signals(tmp_path: Path) -> None:
    """A concrete workflow waits for its signals as the workflow does."""
    file, concrete = controlled.put(tmp_path, controlled.SIGNAL), tmp_path / "concrete.hocl"
    assert solvent("convert", "--to", "hocl", file, "-o", concrete).code == 0
    assert solvent("run", concrete, "--services", file).code == 1
    assert solvent("run", concrete, "--services", file, "--signal", "go=7").out == "D: 7\n"


# --- Names without an ending.


def test_name_without_its_ending(tmp_path: Path) -> None:
    """The ending of a file may be left out, for every command."""
    controlled.put(tmp_path, controlled.LOOP)
    assert solvent("run", "flow", cwd=tmp_path).out == "D: 5\n"
    assert solvent("check", "flow", cwd=tmp_path).out == "flow.yaml: ok\n"
    assert "runs    A 1, H 5, C 5, D 1\n" in solvent("explore", "flow", cwd=tmp_path).out
    assert solvent("convert", "flow", cwd=tmp_path).out.startswith("workflow: flow\n")
    assert (
        solvent("convert", "--to", "hocl", "flow", cwd=tmp_path).code == solvent("show", "flow", cwd=tmp_path).code == 0
    )


def test_name_that_several_files_have(tmp_path: Path) -> None:
    """Where several files fit the name, all are listed and none is run."""
    controlled.put(tmp_path, controlled.LOOP)
    controlled.put(tmp_path, controlled.LOOP, "flow.json")
    result = solvent("run", "flow", cwd=tmp_path)
    assert (result.code, result.out) == (2, "")
    assert "error[H304]: `flow` may be flow.yaml or flow.json\n" in result.err


def test_folder_with_a_file_of_its_name(tmp_path: Path) -> None:
    """A folder stands for the file in it that has its name."""
    folder = tmp_path / "flow"
    folder.mkdir()
    controlled.put(folder, controlled.LOOP)
    assert solvent("run", "flow", cwd=tmp_path).out == "D: 5\n"
    assert solvent("run", ".", cwd=folder).out == "D: 5\n"


def test_programs_have_short_names_too(tmp_path: Path) -> None:
    """A program is found by its short name also where a workflow or a module lies beside it."""
    (tmp_path / "sum.hocl").write_text("<1, 2, (sum = replace x::int, y::int by x + y)>")
    assert solvent("run", "sum", cwd=tmp_path).out == "<3, sum>\n"
    (tmp_path / "sum.py").write_text("")
    assert "inert after 1 reaction" in solvent("trace", "sum", cwd=tmp_path).out
    assert solvent("why", "sum", "3", cwd=tmp_path).code == 0
    assert solvent("fmt", "--check", "sum", cwd=tmp_path).code == 1
    assert "<3, sum>\n" in solvent("repl", "sum", cwd=tmp_path, typed=":run\n").out


@pytest.mark.parametrize("target", ["yaml", "json", "hocl"])
@pytest.mark.parametrize("form", FORMS)
def test_converted_workflow_has_the_same_results(tmp_path: Path, form: str, target: str) -> None:
    """A workflow that was converted gives the same results."""
    file = put(tmp_path, form, FORMS[form])
    words = ("--to", "hoclflow") if target == "hocl" else ()
    assert solvent("convert", file, "-o", tmp_path / f"made.{target}", *words).code == 0
    before, after = (solvent("run", one, "--format", "json").json for one in (file, tmp_path / f"made.{target}"))
    assert (before["results"], before["states"]) == (after["results"], after["states"])


def test_format_may_be_asked_for(tmp_path: Path) -> None:
    """Without an output the text is printed, in YAML unless another format is asked for."""
    file = put(tmp_path, "flow.yaml", YAML)
    assert solvent("convert", file).out.startswith('workflow: numbers\ninputs: {"n": 1}\n')
    assert solvent("convert", file, "--to", "json").json["workflow"] == "numbers"
    assert solvent("convert", file, "--to", "hoclflow").out.startswith('<\n  WORKFLOW : "numbers",\n')


def test_what_the_target_cannot_say_is_refused(tmp_path: Path) -> None:
    """A function without a name is refused, and no file is written."""
    text = "from solvent import service, workflow\n\n"
    text += "@workflow\ndef w():\n    return service(lambda: 1, name='f')()\n"
    made = tmp_path / "made.yaml"
    result = solvent("convert", put(tmp_path, "flow.py", text), "-o", made)
    assert (result.code, result.out, made.exists()) == (2, "", False)
    assert "error[W106]" in result.err


@pytest.mark.parametrize("words", [("-o", "made.txt"), ("-o", "made.hocl"), ("-o", "made.json", "--to", "yaml")])
def test_unclear_format_is_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    """A file whose name does not say its format, or says another, is refused."""
    result = solvent("convert", put(tmp_path, "flow.yaml", YAML), *words, cwd=tmp_path)
    assert (result.code, "error[H315]" in result.err) == (2, True)


def test_inputs_are_for_the_concrete_program(tmp_path: Path) -> None:
    """A format that keeps the workflow's own inputs refuses --input."""
    result = solvent("convert", put(tmp_path, "flow.yaml", YAML), "--input", "n=5")
    assert (result.code, "error[H313]: `--input` is for `--to hocl`" in result.err) == (2, True)
