"""What the command line says on a system that lacks what Solvent is built on; the module is hidden in a process."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import EXAMPLES, MAX_SECONDS, environment
from tests.cli.forking import ROOT

if TYPE_CHECKING:
    from pathlib import Path

WORKFLOW = ROOT / "examples" / "workflows" / "first" / "morning.py"
HIDDEN = "import sys; sys.modules['fcntl'] = None; from solvent.cli.main import main; sys.exit(main(sys.argv[1:]))"


def _without_fcntl(*words: object, folder: Path) -> subprocess.CompletedProcess[str]:
    known = {**environment(), "SOLVENT_STORE": str(folder / "store.db")}
    command = [sys.executable, "-c", HIDDEN, *map(str, words)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=MAX_SECONDS, check=False, env=known, cwd=folder
    )


@pytest.mark.parametrize(
    "words",
    [("run", WORKFLOW), ("status",), ("doctor",), ("agent",), ("submit", WORKFLOW), ("web",)],
    ids=lambda words: words[0],
)
def test_a_system_without_fcntl_is_told_so(words: tuple[object, ...], tmp_path: Path) -> None:
    """Without `fcntl` a command that needs it says what is missing and what to do, and ends with 2."""
    done = _without_fcntl(*words, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error[H129]: this system does not have `fcntl`, a part of Python that this command needs\n"
        "  hint: run it on Linux; on Windows that can be WSL or a container\n"
    )


def test_the_error_is_json_on_demand(tmp_path: Path) -> None:
    """With `--format json` the same error is a line of JSON."""
    done = _without_fcntl("status", "--format", "json", folder=tmp_path)
    assert (done.returncode, json.loads(done.stderr)["error"]["code"]) == (2, "H129")


@pytest.mark.parametrize("words", [(EXAMPLES / "maximum" / "maximum.hocl",), (WORKFLOW, "--store", "none")])
def test_what_is_not_recorded_needs_no_fcntl(words: tuple[object, ...], tmp_path: Path) -> None:
    """A program in HOCL, and a workflow that is not recorded, run without `fcntl`."""
    assert _without_fcntl("run", *words, folder=tmp_path).returncode == 0


def test_the_package_claims_the_systems_it_runs_on() -> None:
    """The package's metadata name Linux, on which everything is tested, and no other system."""
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["classifiers"]
    found = [one for one in classifiers if one.startswith("Operating System")]
    assert found == ["Operating System :: POSIX :: Linux"]
