"""With `--format json` errors are JSON, too, whatever the command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from solvent.cli.main import COMMANDS, main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("command", [*COMMANDS, "no-such-command"])
def test_wrong_usage_is_one_object(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An option that there is none of is told in one line of standard error, and the exit code is 2."""
    assert main([command, "--no-such-option", "--format", "json"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert json.loads(err)["error"]["code"] == "H319"


def test_an_error_has_its_place_and_hint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is wrong in a text has a code, a message, a file, a line and a column."""
    file = tmp_path / "a.hocl"
    file.write_text("let r = replace x by y in\n<1, r>")
    assert main(["run", str(file), "--format=json"]) == 2
    error = json.loads(capsys.readouterr().err)["error"]
    assert (error["code"][0], error["file"], error["line"], error["column"]) == ("H", str(file), 1, 22)


def test_text_is_what_is_written_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    """Without the option errors are for people, also after a command that had it."""
    main(["run", "missing.hocl", "--format", "json"])
    capsys.readouterr()
    assert main(["run", "missing.hocl"]) == 2
    assert capsys.readouterr().err.startswith("error[H304]: cannot read missing.hocl")
