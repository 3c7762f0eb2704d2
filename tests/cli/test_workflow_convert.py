"""`solvent convert`: from every format to every other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.command import solvent
from tests.cli.workflows import FORMS, YAML, put

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("target", ["yaml", "json", "hocl"])
@pytest.mark.parametrize("form", FORMS)
def test_converted_workflow_runs_alike(tmp_path: Path, form: str, target: str) -> None:
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
