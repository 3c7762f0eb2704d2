"""What is run: setups by name, and how often each.

The paper's runs last 1,000 rounds, a round being the token's visit to each node. So do ours, save for the largest
rings: as many steps as `max_steps` says are enough there, since a run of 100 rounds of 10,000 nodes has 100,000
requests. Where requests are seldom a run goes on until there were `min_requests`, or a mean would be of few. Protocols
without rounds get as many requests as come in the same time, and so does a token that is lent so often that a round
takes long.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from msgspec.structs import replace

from solvent_lab.experiments.reproduction import Cell, Outcomes
from solvent_lab.simulator.token import Outcome, Setup, simulate

if TYPE_CHECKING:
    from solvent_lab.experiments.claims import Estimate


class Measured(Outcomes[Setup, Outcome], frozen=True, kw_only=True):
    """What is kept of a cell's runs."""

    @property
    def responsiveness(self) -> Estimate:
        """The mean time from the first moment somebody waits until somebody is served."""
        return self.mean("responsiveness")

    @property
    def wait(self) -> Estimate:
        """The mean time from a request until it is served."""
        return self.mean("wait")

    @property
    def messages(self) -> Estimate:
        """All messages per request."""
        return self.mean("messages_per_request")

    @property
    def searches(self) -> Estimate:
        """The messages per request that do not carry the token."""
        return self.mean("searches_per_request")

    @property
    def steps_per_grant(self) -> Estimate:
        """Time for each service."""
        return self.mean("steps_per_grant")

    @property
    def max_responsiveness(self) -> int:
        """The longest time of all runs."""
        return self.most("max_responsiveness")

    @property
    def max_wait(self) -> int:
        """The longest wait of all runs."""
        return self.most("max_wait")

    @property
    def max_others(self) -> int:
        """The most often others got the token while one waited, in any run."""
        return self.most("max_others")

    @property
    def max_one_other(self) -> int:
        """The most often any one other node got the token while one waited, in any run."""
        return self.most("max_one_other")


Cells: TypeAlias = Mapping[str, Measured]

ROUND = ("ring", "binary")
PEERS = ("raymond", "naimi")
PROTOCOLS = (*ROUND, *PEERS)
_LARGE = 500
"""More nodes than this: half as many runs."""
_SELDOM = 5
"""If requests come more often than this, a token that can be lent is lent most of the time."""


class Scale(NamedTuple):
    """How large everything is."""

    name: str
    runs: int
    rounds: int
    min_requests: int
    max_steps: int
    #: The fixed load of figure 9, in time between requests, and its sizes.
    gap: int
    sizes: tuple[int, ...]
    #: The size of figure 10, and its times between requests.
    nodes: int
    gaps: tuple[int, ...]
    #: At which of these the variants are compared, in runs of so many requests at most.
    gaps_of_variants: tuple[int, ...]
    requests_of_variants: int
    #: The sizes at full load, and how often each node is served there.
    sizes_full: tuple[int, ...]
    turns_full: int
    #: The parts of cheap messages that get lost, of which the first is none.
    losses: tuple[float, ...]

    def rounds_of(self, nodes: int) -> int:
        """How many rounds a run of so many nodes lasts."""
        return max(1, min(self.rounds, self.max_steps // nodes))


PAPER = Scale(
    name="paper",
    runs=6,
    rounds=1_000,
    min_requests=1_000,
    max_steps=1_000_000,
    gap=10,
    sizes=(8, 16, 32, 64, 100, 128, 256, 512, 1_000, 2_000, 5_000, 10_000),
    nodes=100,
    gaps=(1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000),
    gaps_of_variants=(1, 2, 3, 5, 10, 100, 1_000),
    requests_of_variants=20_000,
    sizes_full=(8, 32, 100, 512, 1_000),
    turns_full=50,
    losses=(0.0, 0.01, 0.05, 0.1, 0.2, 0.5, 1.0),
)
SMALL = Scale(
    name="small",
    runs=3,
    rounds=60,
    min_requests=100,
    max_steps=10_000,
    gap=10,
    sizes=(8, 32, 100, 300),
    nodes=100,
    gaps=(1, 2, 10, 50, 500),
    gaps_of_variants=(2, 10, 100),
    requests_of_variants=1_000,
    sizes_full=(8, 32, 100),
    turns_full=20,
    losses=(0.0, 0.1),
)
SCALES = {scale.name: scale for scale in (PAPER, SMALL)}


class Variant(NamedTuple):
    """A variant of the search."""

    name: str
    says: str
    changes: dict[str, Any]


VARIANTS = (
    Variant("usual", "as it is", {}),
    Variant("one by one", "lent one by one", {"lends_one_by_one": True}),
    Variant("newest first", "the newest trap first", {"lends_to_newest": True}),
    Variant("inverse", "clean-up by the inverse path", {"clean_up": "inverse"}),
    Variant("none", "no clean-up", {"clean_up": "none"}),
    Variant("directed", "directed search", {"is_directed": True}),
    Variant("one search", "one search at a time", {"has_one_search": True}),
    Variant("rests", "the token rests", {"max_rest": 100}),
    Variant("push", "asking round (push)", {"finding": "push"}),
    Variant("both", "both, by demand", {"finding": "both"}),
    Variant("both, rests", "both, the token rests", {"finding": "both", "max_rest": 100}),
)
BY_NAME = {variant.name: variant for variant in VARIANTS}
AT_FULL_LOAD = tuple(BY_NAME[name] for name in ("one by one", "push", "both"))
"""What is run at full load beside what is usual."""
LOSING = (
    BY_NAME["usual"],
    BY_NAME["rests"],
    Variant("rests, again", "the token rests, lost searches are repeated", {"max_rest": 100, "again": 50}),
    BY_NAME["push"],
)
"""What is run while messages get lost."""


def _weight(setup: Setup, runs: int) -> float:
    steps = max(setup.requests * max(setup.gap, 1), setup.rounds * setup.nodes)
    messages = steps if setup.protocol in ROUND else setup.requests * 10
    return runs * (2 * messages if setup.finding == "push" else messages)


def cells_of(scale: Scale) -> dict[str, Cell]:
    """Return all cells, by name."""
    cells: dict[str, Cell] = {}

    def add(name: str, setup: Setup) -> None:
        runs = scale.runs if setup.nodes <= _LARGE else max(1, scale.runs // 2)
        # Figures 9 and 10 share a cell.
        cells.setdefault(name, Cell(name, setup, runs, partial(simulate, setup), _weight(setup, runs)))

    for protocol in PROTOCOLS:
        for nodes in scale.sizes:
            add(name_of(protocol, nodes, scale.gap), _setup(scale, protocol, nodes, scale.gap))
        for gap in scale.gaps:
            add(name_of(protocol, scale.nodes, gap), _setup(scale, protocol, scale.nodes, gap))
        for nodes in scale.sizes_full:
            full = Setup(nodes=nodes, gap=0, protocol=protocol, requests=scale.turns_full * nodes)
            add(name_of(protocol, nodes, 0), full)
    for nodes in scale.sizes_full:
        for variant in AT_FULL_LOAD:
            full = Setup(nodes=nodes, gap=0, requests=scale.turns_full * nodes, **variant.changes)
            add(name_of("binary", nodes, 0, variant), full)
    for variant in VARIANTS:
        for gap in scale.gaps_of_variants:
            setup = _setup(scale, "binary", scale.nodes, gap)
            if variant.changes:
                setup = _timed(scale, setup)
            add(name_of("binary", scale.nodes, gap, variant), replace(setup, **variant.changes))
    for variant in LOSING:
        for loss in scale.losses:
            setup = replace(_timed(scale, _setup(scale, "binary", scale.nodes, scale.gap)), loss=loss)
            add(name_of("binary", scale.nodes, scale.gap, variant, loss), replace(setup, **variant.changes))
    return cells


def _timed(scale: Scale, setup: Setup) -> Setup:
    """Let a run last for a time and not for rounds: some variants hold the token up on its way round."""
    requests = min(_requests_in_time(scale, setup.nodes, setup.gap), scale.requests_of_variants)
    return replace(setup, rounds=0, requests=requests)


def name_of(protocol: str, nodes: int, gap: int, variant: Variant | None = None, loss: float = 0.0) -> str:
    """Name a cell."""
    changed = f", {variant.name}" if variant is not None and variant.changes else ""
    lost = f", {100 * loss:g} % lost" if loss else ""
    return f"{protocol}, {nodes} nodes, gap {gap}{changed}{lost}"


def _setup(scale: Scale, protocol: str, nodes: int, gap: int) -> Setup:
    if protocol == "ring" or (protocol == "binary" and gap >= _SELDOM):
        requests, rounds = scale.min_requests, scale.rounds_of(nodes)
    else:
        requests, rounds = _requests_in_time(scale, nodes, gap), 0
    return Setup(nodes=nodes, gap=float(gap), protocol=protocol, requests=requests, rounds=rounds)


def _requests_in_time(scale: Scale, nodes: int, gap: float) -> int:
    return max(scale.min_requests, ceil(scale.rounds_of(nodes) * nodes / gap))
