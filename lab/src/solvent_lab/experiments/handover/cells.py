"""What is run: setups by name, and how often each.

There are two kinds of cells: the benchmark on a platform (`handover`), and counts of messages in discrete steps
(`elmp`). All peers of the benchmark do the same in turn, so few runs suffice; what differs between runs is the order in
which peers queue up, and with it how often the data goes from one site to another.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from solvent_lab.experiments.reproduction import Cell
from solvent_lab.simulator import elmp
from solvent_lab.simulator.handover import Setup, simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MIB = 1 << 20


class Scale(NamedTuple):
    """How large everything is."""

    name: str
    runs: int
    #: Of table 2 on nine sites, where it matters in which order peers queue up; on one site a run is enough.
    runs_leaving: int
    cycles: int
    peers: int
    bytes: int
    #: Figure 7: the sizes of the data, and the times for which it is held.
    sizes: tuple[int, ...]
    locked_by_size: tuple[float, ...]
    #: Figure 8: the times for which it is held, one for each of a, b and c, and those between claim and wait.
    locked: tuple[float, ...]
    wblocked: tuple[float, ...]
    #: Table 2: which parts leave, of how many; cycles of each; the pauses of those who drop their claims.
    leaving: tuple[float, ...]
    peers_leaving: tuple[int, ...]
    cycles_leaving: int
    pause_of_dropping: float
    #: Message counts: numbers of processes, operations at most, requests of each process in a crowd. Where there are
    #: fewer operations than the least in a run, there are more runs.
    processes: tuple[int, ...]
    min_operations: int
    max_operations: int
    turns_in_crowd: int


PAPER = Scale(
    name="paper",
    runs=1,
    runs_leaving=2,
    cycles=100,
    peers=50,
    bytes=50 * _MIB,
    sizes=(1 << 10, _MIB, 5 * _MIB, 10 * _MIB, 50 * _MIB, 100 * _MIB, 500 * _MIB),
    locked_by_size=(0.0, 5.0),
    locked=(0.0, 1.0, 5.0),
    wblocked=(0.0, 1.0, 2.0, 5.0, 10.0, 30.0),
    leaving=(0.25, 0.33, 0.5),
    peers_leaving=(50, 120),
    cycles_leaving=20,
    pause_of_dropping=100.0,
    processes=(8, 16, 32, 64, 128, 256, 512, 1024, 2048, 10_000),
    min_operations=200,
    max_operations=500,
    turns_in_crowd=3,
)
SMALL = Scale(
    name="small",
    runs=2,
    runs_leaving=2,
    cycles=10,
    peers=50,
    bytes=50 * _MIB,
    sizes=(_MIB, 50 * _MIB, 200 * _MIB),
    locked_by_size=(0.0, 5.0),
    locked=(0.0, 1.0, 5.0),
    wblocked=(0.0, 5.0, 30.0),
    leaving=(0.25, 0.5),
    peers_leaving=(50,),
    cycles_leaving=4,
    pause_of_dropping=50.0,
    processes=(8, 32, 128, 512, 2048),
    min_operations=100,
    max_operations=200,
    turns_in_crowd=3,
)
SCALES = {scale.name: scale for scale in (PAPER, SMALL)}


class Counting(NamedTuple):
    """An operation whose messages are counted, and how the tree is kept."""

    name: str
    says: str
    changes: dict[str, Any]
    is_crowd: bool = False


COUNTINGS = (
    Counting("request", "request, nobody else about", {"operation": "request"}),
    Counting("crowd", "request, everybody requests", {"operation": "request"}, is_crowd=True),
    Counting("leave", "departure", {"operation": "leave"}),
    Counting("join", "insertion", {"operation": "join"}),
    Counting("mixed", "mixed, a tenth at a time", {"operation": "mixed"}),
    Counting("lazy request", "lazy: request", {"operation": "request", "is_lazy": True}),
    Counting("lazy crowd", "lazy: request, everybody requests", {"operation": "request", "is_lazy": True}, True),
    Counting("lazy leave", "lazy: departure", {"operation": "leave", "is_lazy": True}),
    Counting("lazy join", "lazy: insertion", {"operation": "join", "is_lazy": True}),
    Counting("lazy mixed", "lazy: mixed, a tenth at a time", {"operation": "mixed", "is_lazy": True}),
    Counting("ours request", "order 8, seats kept: request", {"order": 8, "exchange_every": 64}),
    Counting(
        "ours crowd", "order 8, seats kept: request, everybody requests", {"order": 8, "exchange_every": 64}, True
    ),
)
LEAVERS = {
    ("use", "site"): "who leaves has used it; one site",
    ("use", "grid5000"): "the same; nine sites",
    ("drop", "site"): "who leaves has dropped its claims; one site",
}
"""Who leaves in table 2, and where. On one site it does not matter in which order peers queue up."""
ON_PLATFORMS = ("site", "file", "grid5000")


# ---------------------------------------------------------------------------------------------------------- names


def by_size(mode: str, size: int, locked: float) -> str:
    """Name a cell of figure 7."""
    return f"{mode}, {size} bytes, held {locked:g}"


def on_platform(mode: str, platform: str) -> str:
    """Name a cell that shows what a hand-off costs."""
    return f"{mode}, on {platform}"


def asynchronous(locked: float, wblocked: float, fetch: str) -> str:
    """Name a cell of figure 8."""
    return f"held {locked:g}, goes on {wblocked:g}, fetch at {fetch}"


def mobile(peers: int, leaving: float, leavers: str, platform: str) -> str:
    """Name a cell of table 2."""
    return f"{peers} peers, {100 * leaving:g} percent leave, {leavers}, on {platform}"


def staying(peers: int, platform: str) -> str:
    """Name a cell in which nobody leaves."""
    return f"{peers} peers stay, on {platform}"


def without_them(peers: int, leaving: float, leavers: str, platform: str) -> str:
    """Name the cell that one of table 2 is compared with.

    Who uses the resource before it leaves is compared with one that stays; who does not, with nobody in its place.
    """
    return staying(peers if leavers == "use" else stayers(peers, leaving), platform)


def counting(name: str, processes: int) -> str:
    """Name a count."""
    return f"count {name}, {processes} processes"


def stayers(peers: int, leaving: float) -> int:
    """Return how many of some peers stay."""
    return peers - round(leaving * peers)


# ---------------------------------------------------------------------------------------------------------- cells


def cells_of(scale: Scale) -> dict[str, Cell]:
    """Return all cells, by name."""
    return {cell.name: cell for cells in OF_FIGURES.values() for cell in cells(scale)}


def _benchmark(name: str, runs: int, **changes: Any) -> Cell:
    setup = Setup(**changes)
    uses = setup.peers * setup.cycles * (3.0 if setup.mode == "server" else 20.0)
    # A claim that is dropped costs as much as one that is not, and a peer that leaves more.
    rounds = setup.locked * setup.peers / setup.pause if setup.leavers == "drop" else 4
    return Cell(name, setup, runs, partial(simulate, setup), runs * uses * (1 + setup.leaving * rounds))


def _sizes(scale: Scale) -> Iterator[Cell]:
    usual: dict[str, Any] = {"peers": scale.peers, "cycles": scale.cycles}
    for mode in ("peer", "server"):
        for locked in scale.locked_by_size:
            for size in scale.sizes:
                yield _benchmark(by_size(mode, size, locked), scale.runs, mode=mode, bytes=size, locked=locked, **usual)
        for platform in ON_PLATFORMS:
            name = on_platform(mode, platform)
            yield _benchmark(name, scale.runs, mode=mode, platform=platform, bytes=scale.bytes, **usual)


def _asynchronous(scale: Scale) -> Iterator[Cell]:
    usual: dict[str, Any] = {"peers": scale.peers, "bytes": scale.bytes, "cycles": scale.cycles}
    for locked in scale.locked:
        for wblocked in scale.wblocked:
            for fetch in ("acquire", "grant"):
                name = asynchronous(locked, wblocked, fetch)
                yield _benchmark(name, scale.runs, locked=locked, wblocked=wblocked, fetch=fetch, **usual)


def _mobile(scale: Scale) -> Iterator[Cell]:
    for peers in scale.peers_leaving:
        for part in scale.leaving:
            for leavers, platform in LEAVERS:
                usual: dict[str, Any] = {"bytes": scale.bytes, "cycles": scale.cycles_leaving, "platform": platform}
                runs = 1 if platform == "site" else scale.runs_leaving
                others = peers if leavers == "use" else stayers(peers, part)
                yield _benchmark(staying(others, platform), runs, peers=others, **usual)
                pause = scale.pause_of_dropping if leavers == "drop" else 1.0
                name = mobile(peers, part, leavers, platform)
                yield _benchmark(name, runs, peers=peers, leaving=part, leavers=leavers, pause=pause, **usual)


def _counted(scale: Scale) -> Iterator[Cell]:
    for one in COUNTINGS:
        for processes in scale.processes:
            count = scale.max_operations
            together = 1
            if one.is_crowd:
                count, together = max(100, scale.turns_in_crowd * processes), processes
            elif one.changes.get("operation") == "mixed":
                together = max(1, processes // 10)
            elif one.changes.get("operation") in ("leave", "join"):
                # So few that their number hardly changes.
                count = max(2, min(count, processes // 4))
            # Left to itself, a lazy tree has the shape that insertions have given it.
            grown = processes // 2 if one.changes.get("is_lazy") else 0
            setup = elmp.Setup(processes=processes, together=together, count=count, grown=grown, **one.changes)
            runs = max(scale.runs, -(-scale.min_operations // count))
            weight = runs * (count + grown) * 20.0
            yield Cell(counting(one.name, processes), setup, runs, partial(elmp.simulate, setup), weight)


OF_FIGURES: dict[int | str, Callable[[Scale], Iterator[Cell]]] = {
    7: _sizes,
    8: _asynchronous,
    "table-2": _mobile,
    "messages": _counted,
}
"""The cells of each figure."""
