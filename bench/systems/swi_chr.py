"""SWI-Prolog's CHR, in a process of its own for each run: posting the constraints is measured, inside Prolog.

A fresh process is fairer than undoing a run by backtracking: with a choice point behind it every change of
the constraint store would be recorded on the trail.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

from bench.problems import PROGRAMS, Problem
from bench.records import Record, call_from_record, records_from_text
from bench.systems.trial import Trial


class ChrTrial:
    """A file of constraints and the Prolog process that will post them."""

    max_repeats = 3

    def __init__(self, problem: Problem, records: list[Record]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="bench-chr-")
        data = Path(self._folder.name) / "constraints.pl"
        data.write_text("".join(f"{call_from_record(record)}.\n" for record in records), encoding="utf-8")
        self._command = ["swipl", "-O", "--stack-limit=6g", "-g", "main", "-t", "halt"]
        self._command += [str(PROGRAMS / "driver.pl"), "--", str(problem.folder / "chr.pl"), str(data)]
        self._command += [f"{head}/{arity}" for head, arity in problem.results]
        self._process: subprocess.Popen[str] | None = None

    def prepare(self) -> None:
        """Start Prolog and wait until it has loaded everything."""
        self.close()
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._expect("ready")

    def run(self) -> float:
        """Let Prolog post the constraints and say how long it took."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        return float(self._line())

    def final(self) -> list[Record]:
        """Read the constraint store."""
        records: list[Record] = []
        while (line := self._line()) != "end":
            records += records_from_text(line)
        self.close()
        return records

    def close(self) -> None:
        """End the process of the last run."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _line(self) -> str:
        assert self._process is not None
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            message = f"swipl ended with exit code {self._process.wait()}"
            raise RuntimeError(message)
        return line.strip()

    def _expect(self, word: str) -> None:
        line = self._line()
        if line != word:
            message = f"swipl said {line!r} instead of {word!r}"
            raise RuntimeError(message)


class SwiChr:
    """Constraint Handling Rules."""

    title = "SWI-Prolog CHR"

    def absence(self) -> str | None:
        """Say so where Prolog is not installed."""
        return None if shutil.which("swipl") else "swipl (Debian: swi-prolog) is not installed"

    def can_run(self, problem: Problem) -> bool:
        """Tell whether there is a CHR program."""
        return (problem.folder / "chr.pl").exists()

    def trial(self, problem: Problem, records: list[Record]) -> Trial:
        """Write the constraints to a file."""
        return ChrTrial(problem, records)
