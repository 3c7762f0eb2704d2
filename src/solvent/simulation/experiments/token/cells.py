"""What is run: setups by name, and how often each.

The paper's runs last 1,000 rounds, a round being the token's visit to each node. So do ours, save for the largest
rings: as many steps as `steps_max` says are enough there, since a run of 100 rounds of 10,000 nodes has 100,000
requests. Where requests are seldom a run goes on until there were `requests_min`, or a mean would be of few. Protocols
without rounds get as many requests as come in the same time.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from msgspec.structs import replace

from solvent.simulation.token import Setup

ROUND = ("ring", "binary")
PEERS = ("raymond", "naimi")
PROTOCOLS = (*ROUND, *PEERS)
_LARGE = 1_000
"""More nodes than this: half as many runs."""


class Scale(NamedTuple):
    """How large everything is."""

    name: str
    runs: int
    rounds: int
    requests_min: int
    steps_max: int
    #: The fixed load of figure 9, in time between requests, and its sizes.
    gap: int
    sizes: tuple[int, ...]
    #: The size of figure 10, and its times between requests.
    nodes: int
    gaps: tuple[int, ...]
    #: At which of these the variants are compared.
    gaps_of_variants: tuple[int, ...]
    #: The sizes at full load, and how often each node is served there.
    sizes_full: tuple[int, ...]
    turns_full: int

    def rounds_of(self, nodes: int) -> int:
        """How many rounds a run of so many nodes lasts."""
        return max(1, min(self.rounds, self.steps_max // nodes))


PAPER = Scale(
    name="paper",
    runs=6,
    rounds=1_000,
    requests_min=1_000,
    steps_max=1_000_000,
    gap=10,
    sizes=(8, 16, 32, 64, 100, 128, 256, 512, 1_000, 2_000, 5_000, 10_000),
    nodes=100,
    gaps=(1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000),
    gaps_of_variants=(2, 3, 5, 10, 100),
    sizes_full=(8, 32, 100, 512, 1_000),
    turns_full=100,
)
SMALL = Scale(
    name="small",
    runs=3,
    rounds=60,
    requests_min=100,
    steps_max=10_000,
    gap=10,
    sizes=(8, 32, 100, 300),
    nodes=100,
    gaps=(1, 2, 10, 50, 500),
    gaps_of_variants=(2, 10, 50),
    sizes_full=(8, 32, 100),
    turns_full=20,
)
SCALES = {scale.name: scale for scale in (PAPER, SMALL)}


class Variant(NamedTuple):
    """A variant of the search."""

    name: str
    says: str
    changes: dict[str, object]


VARIANTS = (
    Variant("rotation", "as it is", {}),
    Variant("inverse", "clean-up by the inverse path", {"clean_up": "inverse"}),
    Variant("none", "no clean-up", {"clean_up": "none"}),
    Variant("newest first", "newest trap first", {"lends_to_newest": True}),
    Variant("lends always", "always lent", {"lends_always": True}),
    Variant("directed", "directed search", {"is_directed": True}),
    Variant("one search", "one search at a time", {"has_one_search": True}),
    Variant("rests", "the token rests", {"rest_max": 100}),
)
BY_NAME = {variant.name: variant for variant in VARIANTS}


class Cell(NamedTuple):
    """A setup that is run several times."""

    name: str
    setup: Setup
    runs: int

    @property
    def weight(self) -> float:
        """About how long it takes, in no unit, for the progress bar."""
        setup = self.setup
        steps = max(setup.requests * max(setup.gap, 1), setup.rounds * setup.nodes)
        return self.runs * (steps if setup.protocol in ROUND else setup.requests * 10)


def cells_of(scale: Scale) -> dict[str, Cell]:
    """Give all cells, by name."""
    cells: dict[str, Cell] = {}

    def add(name: str, setup: Setup) -> None:
        runs = scale.runs if setup.nodes <= _LARGE else max(1, scale.runs // 2)
        # Figures 9 and 10 share a cell.
        cells.setdefault(name, Cell(name, setup, runs))

    for protocol in PROTOCOLS:
        for nodes in scale.sizes:
            add(name_of(protocol, nodes, scale.gap), _setup(scale, protocol, nodes, scale.gap))
        for gap in scale.gaps:
            add(name_of(protocol, scale.nodes, gap), _setup(scale, protocol, scale.nodes, gap))
        for nodes in scale.sizes_full:
            full = Setup(nodes=nodes, gap=0, protocol=protocol, requests=scale.turns_full * nodes)
            add(name_of(protocol, nodes, 0), full)
    always = BY_NAME["lends always"]
    for nodes in scale.sizes_full:
        full = Setup(nodes=nodes, gap=0, requests=scale.turns_full * nodes, lends_always=True)
        add(name_of("binary", nodes, 0, always), full)
    for variant in VARIANTS:
        for gap in scale.gaps_of_variants:
            setup = _setup(scale, "binary", scale.nodes, gap)
            if variant.changes:
                # Some hold the token up on its way round, so their runs last for a time and not for rounds.
                setup = replace(setup, rounds=0, requests=_requests_in_time(scale, scale.nodes, gap))
            add(name_of("binary", scale.nodes, gap, variant), replace(setup, **variant.changes))
    return cells


def name_of(protocol: str, nodes: int, gap: int, variant: Variant | None = None) -> str:
    """Name a cell."""
    changed = f", {variant.name}" if variant is not None and variant.changes else ""
    return f"{protocol}, {nodes} nodes, gap {gap}{changed}"


def _setup(scale: Scale, protocol: str, nodes: int, gap: int) -> Setup:
    if protocol in ROUND:
        requests, rounds = scale.requests_min, scale.rounds_of(nodes)
    else:
        requests, rounds = _requests_in_time(scale, nodes, gap), 0
    return Setup(nodes=nodes, gap=float(gap), protocol=protocol, requests=requests, rounds=rounds)


def _requests_in_time(scale: Scale, nodes: int, gap: int) -> int:
    return max(scale.requests_min, ceil(scale.rounds_of(nodes) * nodes / gap))


__all__ = [
    "BY_NAME",
    "PAPER",
    "PEERS",
    "PROTOCOLS",
    "ROUND",
    "SCALES",
    "SMALL",
    "VARIANTS",
    "Cell",
    "Scale",
    "Variant",
    "cells_of",
    "name_of",
]
