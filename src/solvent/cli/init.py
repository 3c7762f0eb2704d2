"""`solvent init`: a small project that runs: a workflow that repairs itself, a test and a README."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from solvent.cli.arguments import parser_for
from solvent.cli.render import write
from solvent.errors import Misuse

if TYPE_CHECKING:
    from argparse import ArgumentParser

_WORKFLOW = '''\
"""Average the prices of a shop: where its server does not answer, those of yesterday are used."""

from solvent import attempt, service, workflow


@service
def fetch_prices(shop: str) -> list[float]:
    """Fetch the prices of today. The server is down, so this step fails."""
    raise ConnectionError(f"{shop} does not answer")


@service
def read_saved_prices(shop: str) -> list[float]:
    """Read the prices of yesterday."""
    return {"bakery": [2.0, 3.5, 5.0]}[shop]


@service
def average(prices: list[float]) -> float:
    """Average prices."""
    return sum(prices) / len(prices)


@workflow
def pipeline(shop: str = "bakery") -> float:
    """Average the prices of a shop."""
    prices = attempt(fetch_prices(shop), otherwise=read_saved_prices(shop), name="use saved prices")
    return average(prices)
'''
_TEST = '''\
"""The pipeline has a result even while the server is down."""

import solvent
from pipeline import pipeline


def test_saved_prices_replace_those_of_the_server():
    report = solvent.run(pipeline)
    assert report.results == {"average": 3.5}
    assert report.states["fetch_prices"] == "replaced"


if __name__ == "__main__":
    test_saved_prices_replace_those_of_the_server()
'''
_README = """\
# A workflow that repairs itself

`pipeline.py` averages the prices of a shop. Its first step fails; the step that reads saved prices takes its place, and
the rest continues.

    solvent run pipeline.py                       run it
    solvent show pipeline.py                      draw its steps and its alternative
    solvent run pipeline.py --input shop=bakery   run it with an input
    solvent timeline                              draw what happened when in the latest run
    python test_pipeline.py                       test it (or run `pytest`)

Next: let `fetch_prices` return numbers, and run it again. Then the saved prices are not read.
"""
FILES = {"pipeline.py": _WORKFLOW, "test_pipeline.py": _TEST, "README.md": _README}
"""The files of the project, and what is in them."""


def main(arguments: list[str]) -> int:
    """Create the project; change nothing if one of its files exists."""
    folder = Path(parser().parse_args(arguments).folder)
    existing = [name for name in FILES if (folder / name).exists() or (folder / name).is_symlink()]
    if existing:
        said = f"{folder / existing[0]} exists, and `solvent init` does not overwrite files"
        raise Misuse("H325", said, hint="name another folder: `solvent init DIR`")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in FILES.items():
            # Fails where another process has just created the file.
            with (folder / name).open("x", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        raise Misuse("H325", f"cannot create a project in {folder}: {error.strerror}") from None
    for name in FILES:
        write(f"created {folder / name}")
    enter = "" if folder == Path() else f"cd {folder} && "
    write("run it: ", (f"{enter}solvent run pipeline.py", "bold"))
    return 0


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    says = "Create a small project that runs: a workflow that repairs itself, a test and a README."
    parser = parser_for("init", says, example="solvent init prices")
    says = "where to create it; the folder is created if it does not exist (default: the current folder)"
    parser.add_argument("folder", nargs="?", default=".", metavar="DIR", help=says)
    return parser
