"""`solvent init`: the project that it creates runs, and it overwrites nothing."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from solvent.cli.init import FILES
from tests.cli.command import environment, solvent

if TYPE_CHECKING:
    from pathlib import Path


def test_the_project_runs(tmp_path: Path) -> None:
    """Its workflow heals, and its test passes."""
    made = solvent("init", "prices", cwd=tmp_path)
    assert (made.code, made.err) == (0, "")
    assert made.out.endswith("run it: cd prices && solvent run pipeline.py\n")
    folder = tmp_path / "prices"
    assert sorted(one.name for one in folder.iterdir()) == sorted(FILES)
    run = solvent("run", "pipeline.py", "--format", "json", cwd=folder)
    assert (run.code, run.json["results"]) == (0, {"average": 3.5})
    assert run.json["states"]["fetch_prices"] == "replaced"
    assert (
        subprocess.run([sys.executable, "test_pipeline.py"], cwd=folder, env=environment(), check=False).returncode == 0
    )


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    """Where one of the files exists, none is written."""
    (tmp_path / "README.md").write_text("mine\n")
    refused = solvent("init", cwd=tmp_path)
    assert (refused.code, refused.out) == (2, "")
    assert "error[H325]: README.md exists, and `solvent init` does not overwrite files" in refused.err
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("README.md", "mine\n")]


def test_a_folder_that_cannot_be_created(tmp_path: Path) -> None:
    """A file where the folder should be is an error with a reason."""
    (tmp_path / "file").write_text("")
    refused = solvent("init", "file/prices", cwd=tmp_path)
    assert (refused.code, "error[H325]: cannot create a project in file/prices: Not a directory" in refused.err) == (
        2,
        True,
    )
