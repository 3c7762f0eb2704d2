"""Services that work on resources, at the top of a module, so that worker processes find them."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Any

from solvent import attempt, resource, service, workflow
from solvent.services import heartbeat

MAX_SECONDS = 200.0


@service
def fill(grid: Any, value: float = 1.0) -> int:
    grid[:] = value
    return os.getpid()


@service
def add(grid: Any, value: float) -> int:
    grid += value
    return os.getpid()


@service
def total(grid: Any) -> float:
    assert not grid.flags.writeable
    return float(grid.sum())


@service
def spoil(grid: Any) -> None:
    grid[:] = 99.0
    raise ValueError("diverged")


@service(retries=2, backoff=0.01)
def die_once(grid: Any, mark: str) -> float:
    """Change the grid and be killed; the second time, find it as it was."""
    before = float(grid.sum())
    grid[:] = 7.0
    if not Path(mark).exists():
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return before


@service(timeout=1.5, retries=1, backoff=0.01)
def hang_once(grid: Any, mark: str) -> float:
    """Change the grid and take too long; the second time, find it as it was."""
    before = float(grid.sum())
    grid[:] = 7.0
    if not Path(mark).exists():
        Path(mark).touch()
        time.sleep(2.5)
    return before


@service
async def add_slowly(grid: Any, value: float) -> None:
    for row in range(len(grid)):
        grid[row] += value
        await asyncio.sleep(0)


@service
async def spoil_slowly(grid: Any) -> None:
    grid[:] = 99.0
    await asyncio.sleep(0)
    raise ValueError("diverged")


@service
def meet(grid: Any, mark: str, other: str) -> float:
    """Wait until another call is at work too."""
    Path(mark).touch()
    end = time.monotonic() + MAX_SECONDS
    while not Path(other).exists():
        assert time.monotonic() < end, "the other call did not come"
        heartbeat()
        time.sleep(0.001)
    if grid.flags.writeable:
        grid += 1
    return float(grid.sum())


@service
def give_away(grid: Any) -> Any:
    """Give out what was only lent."""
    return {"all": grid, "some": [grid[0]]}


@service
def swap(one: Any, other: Any) -> int:
    """Exchange two resources."""
    one[:], other[:] = other.copy(), one.copy()
    return os.getpid()


@service
def mapped(grid: Any) -> list[str]:
    """Give the folders of shared memory that this process has mapped."""
    assert len(grid)
    lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    return sorted({str(Path(line.split()[-1]).parent) for line in lines if line.endswith(".data")})


@service
def upper(text: Any) -> int:
    text[:] = bytes(text).upper()
    return len(text)


@workflow
def sums(rows: int = 40) -> Any:
    """Fill a grid, let many add to it, and sum it up."""
    grid = resource("grid", shape=(rows, 5))
    first = fill(grid)
    added = [add.after(first)(grid, float(number)) for number in range(6)]
    return (total.after(*added)(grid.read), *added)


@workflow
def diverging() -> Any:
    """Replace a sweep that fails."""
    grid = resource("grid", shape=(10, 10), dtype="float32")
    first = fill(grid)
    return attempt(spoil.after(first)(grid), otherwise=total.named("instead").after(first)(grid.read))


@workflow
def mapping() -> Any:
    """Look where the memory is."""
    return mapped(resource("grid", shape=1000))


@workflow
def dying(mark: str) -> Any:
    """Have a worker killed in the middle of a change."""
    grid = resource("grid", shape=(300, 300))
    return die_once.after(fill(grid))(grid, mark)


@workflow
def dying_in_place(mark: str) -> Any:
    """The same, where nothing is kept of the version before."""
    grid = resource("grid", shape=(300, 300), undo=False)
    return die_once.after(fill(grid))(grid, mark)


@workflow
def hanging(mark: str) -> Any:
    """Have a call time out in the middle of a change."""
    grid = resource("grid", shape=(10, 10))
    return hang_once.after(fill(grid))(grid, mark)


@workflow
def swapping() -> Any:
    """Claim two resources in both orders, many times."""
    one, other = resource("one", shape=1000), resource("other", shape=1000)
    first, second = fill.named("fill_one")(one, 1.0), fill.named("fill_other")(other, 2.0)
    pairs = [swap.after(first, second)(*pair) for pair in ((one, other), (other, one)) * 3]
    return total.named("total_one").after(*pairs)(one.read), total.named("total_other").after(*pairs)(other.read)
