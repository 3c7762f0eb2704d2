"""Fuzz the parser, guided by coverage: whatever the text, nothing but a `SolventError` may come out.

Run by `make fuzz`. The fuzzer starts from the example programs and writes the text that broke the parser into
a file `crash-...`; the smallest such text belongs into a test of the parser.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["solvent"]):
    import solvent
    from solvent.errors import SolventError

PROGRAMS = Path(__file__).resolve().parents[2] / "examples"


def parse_bytes(data: bytes) -> None:
    """Parse bytes as text; the errors that users may see are no finding."""
    try:
        solvent.hocl.parse(data.decode("utf-8", errors="replace"))
    except SolventError:
        return


def main() -> None:
    """Start from the examples, in a folder of their own that the fuzzer may fill."""
    with tempfile.TemporaryDirectory() as folder:
        for number, program in enumerate(sorted(PROGRAMS.rglob("*.hocl"))):
            (Path(folder) / f"{number}.hocl").write_bytes(program.read_bytes())
        atheris.Setup([*sys.argv, folder], parse_bytes)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
