"""Everyday values between tasks: the types come back in a recorded run, after `resume`, and at agents."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import solvent
from solvent import service, workflow
from tests.unit.values import shapes

PATIENCE = 200.0


@service
def make(number: int) -> dict[str, Any]:
    """Make a value with a part of each kind."""
    return {
        "reading": shapes.Reading("r", [shapes.Suit.HEARTS, shapes.Point(1.0, 2.0)]),
        "frame": pd.DataFrame({"a": np.arange(number)}),
        "mean": np.arange(10.0).mean(),
    }


@service
def describe(made: dict[str, Any]) -> list[str]:
    """Name the types of what came."""
    reading: shapes.Reading = made["reading"]
    kinds = [type(one) for one in (*made.values(), *getattr(reading, "values"))]  # noqa: B009 - a field, not pandas
    return [f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in kinds]


@workflow
def passing(number: int = 20_000) -> list[str]:
    """Pass a value on."""
    return describe(make(number))


TYPES = ["tests.Reading", "pandas.DataFrame", "numpy.float64", "tests.Suit", "tests.Point"]


@pytest.mark.parametrize("agents", [None, 2])
def test_types_come_as_they_went(agents: int | None, tmp_path: Path) -> None:
    """A service gets instances, tables and elements of arrays as another one returned them, in one process or two."""
    report = solvent.run(passing, store=str(tmp_path / "store.db"), agents=agents)
    assert report.value == TYPES


@service
def make_once(folder: str) -> dict[str, Any]:
    """Write down that it was called, and make a value."""
    with Path(folder, "calls").open("a", encoding="ascii") as file:
        file.write("called\n")
    return make.function(3)  # type: ignore[no-any-return]


@service
def describe_mended(folder: str, made: dict[str, Any]) -> list[str]:
    """Fail until something is mended."""
    if not Path(folder, "mended").exists():
        raise LookupError("not yet")
    return describe.function(made)  # type: ignore[no-any-return]


@workflow
def failing(folder: str = "") -> list[str]:
    """Pass a value on to a step that fails."""
    return describe_mended(folder, make_once(folder))


def test_answers_are_kept_when_the_run_is_continued(tmp_path: Path) -> None:
    """A recorded answer of any of these types is not asked for again."""
    store = str(tmp_path / "store.db")
    with pytest.raises(solvent.RunFailed):
        solvent.run(failing, {"folder": str(tmp_path)}, store=store, name="mended")
    (tmp_path / "mended").touch()
    with solvent.attach("mended", store=store) as run:
        run.resume(failing, retry_failed=True)
        assert run.wait(timeout=PATIENCE).value == TYPES
    assert (tmp_path / "calls").read_text(encoding="ascii") == "called\n"


WITHOUT_CLASS = """\
import sys
import solvent
with solvent.attach("one", store=sys.argv[1]) as run:
    print(run.report().results)
"""


def test_who_has_not_the_class_sees_the_value(tmp_path: Path) -> None:
    """A process that has not loaded a class shows its instances all the same."""
    store = str(tmp_path / "store.db")

    @workflow
    def flow() -> Any:
        return solvent.service(lambda: shapes.Reading("r", [1]), name="reading")()

    solvent.run(flow, store=store, name="one")
    done = subprocess.run([sys.executable, "-c", WITHOUT_CLASS, store], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("{'reading': Reading(name='r', values=[1], at=None, total=1)}\n", "")
