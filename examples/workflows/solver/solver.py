"""Heat in a plate: an iterative solver whose grid goes from task to task and is never copied.

`solvent run solver.py` runs it; `--processes` lets each task run in whichever worker process is free;
`--input omega=2.1` has the sweeps go too far. It needs NumPy: `pip install "solvent[arrays]"`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from solvent import attempt, repeat, resource, service, workflow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Plate = NDArray[np.float64]

SHADES = ".,:;=+*o#@"


def _means(plate: Plate) -> Plate:
    """Give what each inner point would be if it were the mean of its neighbours."""
    return (plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]) / 4


def _distance(plate: Plate) -> float:
    return float(np.abs(_means(plate) - plate[1:-1, 1:-1]).max())


@service
def heat(plate: Plate) -> None:
    """Heat one edge and half of another; all else is cold."""
    plate[0] = 100.0
    plate[: len(plate) // 2, 0] = 50.0


@service
def sweep(plate: Plate, omega: float, times: int = 40) -> None:
    """Pull each point towards the mean of its neighbours, `omega` times as far: first the red ones, then the black."""
    inner = plate[1:-1, 1:-1]
    rows, columns = np.indices(inner.shape)
    red, before = (rows + columns) % 2 == 0, _distance(plate)
    for _ in range(times):
        for points in (red, ~red):
            inner[points] += omega * (_means(plate) - inner)[points]
    after = _distance(plate)
    if not after <= 2 * before:
        # The plate is spoiled now; but a call that fails has changed nothing.
        raise ArithmeticError(f"it diverges: {after:.3g} off after {times} sweeps, {before:.3g} before")


@service
def judge(plate: Plate, tolerance: float) -> float:
    """Say how many times too far from balance the plate is."""
    return _distance(plate) / tolerance


@service
def picture(plate: Plate, lines: int = 12) -> str:
    """Draw the plate in letters."""
    step = len(plate) // lines
    coarse = plate[step // 2 :: step, step // 4 :: step // 2][:lines, : 2 * lines]
    return "\n".join("".join(SHADES[min(9, int(point // 10))] for point in row) for row in coarse)


@workflow
def solver(n: int = 96, omega: float = 1.93, tolerance: float = 0.01, save: str = "") -> str:
    """Sweep until the plate is in balance; where that diverges, more carefully."""
    plate = resource("plate", shape=(n, n), save=save)
    heated = heat(plate)
    swept = sweep.after(heated)(plate, omega)
    attempt(swept, otherwise=sweep.named("careful").after(heated)(plate, 1.9), name="diverged")
    judged = judge.after(swept)(plate.read, tolerance)
    repeat(judged, back_to=swept, when="result > 1.0")
    return picture.after(judged)(plate.read)
