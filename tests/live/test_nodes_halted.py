"""What a run over nodes prints and saves when it ends early."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

COUNT = 3_000


def test_a_run_that_is_cut_off_saves_every_molecule_once(tmp_path: Path) -> None:
    """What was given when the time was over is neither lost nor there beside what became of it."""
    program, saved = tmp_path / "sum.hocl", tmp_path / "saved.hocl"
    numbers = ", ".join(map(str, range(1, COUNT + 1)))
    program.write_text(f"let add = replace x::int, y::int by x + y in <add, {numbers}>", encoding="utf-8")
    over_nodes = ["--nodes", "3", "--no-local", "--max-seconds", "0.3", "--save", str(saved)]
    command = [sys.executable, "-m", "solvent", "run"]
    cut = subprocess.run([*command, str(program), *over_nodes], capture_output=True, text=True, check=False)
    # A machine fast enough to be done in time shows nothing, but does no harm.
    assert cut.returncode in (0, 3), cut.stderr
    done = subprocess.run([*command, str(saved)], capture_output=True, text=True, check=True)
    assert done.stdout == f"<{COUNT * (COUNT + 1) // 2}, add>\n"
