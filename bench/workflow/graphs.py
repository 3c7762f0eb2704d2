"""The graphs: the same for every system, made from one seed.

A graph is a list of tasks in an order in which they could be done; task `i` takes the results of the tasks
`graph.sources[i]`, all of them before it. Its value is `combine(i, *values of its sources)`, so a result that went
astray shows in every value behind it. The results of a graph are those of the tasks that no other one takes.
"""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

from bench.workflow.functions import combine

SEED = 20_240_229


@dataclass(frozen=True)
class Graph:
    """Which tasks each task takes its arguments from."""

    sources: tuple[tuple[int, ...], ...]

    @property
    def sinks(self) -> list[int]:
        """The tasks whose results nobody takes, in order."""
        taken = {source for sources in self.sources for source in sources}
        return [task for task in range(len(self.sources)) if task not in taken]


@dataclass(frozen=True)
class Shape:
    """A family of graphs."""

    name: str
    title: str
    make: Callable[[int], Graph]
    sizes: tuple[int, ...]
    """Sizes that every system runs."""
    ours: tuple[int, ...] = ()
    """Further sizes that only Solvent runs, for its growth."""


def evaluate(graph: Graph) -> list[int]:
    """Give the results that every system must give."""
    values: list[int] = []
    for task, sources in enumerate(graph.sources):
        values.append(combine(task, *[values[source] for source in sources]))
    return [values[sink] for sink in graph.sinks]


def make_fan(width: int) -> Graph:
    """Make 1 → width → 1."""
    return Graph(((), *(((0,),) * width), tuple(range(1, width + 1))))


def make_chain(length: int) -> Graph:
    """Make tasks of which each takes the result of the one before."""
    return Graph(tuple((task - 1,) if task else () for task in range(length)))


def make_independent(count: int) -> Graph:
    """Make tasks that take nothing from each other."""
    return Graph(((),) * count)


def make_layers(count: int) -> Graph:
    """Make as many layers as tasks in a layer; each task takes two or three results of the layer before."""
    chance = random.Random(SEED)
    width = max(3, math.isqrt(count))
    sources: list[tuple[int, ...]] = []
    for task in range(count):
        layer_start = task // width * width
        before = range(layer_start - width, layer_start)
        sources.append(tuple(chance.sample(before, chance.choice((2, 3)))) if layer_start else ())
    return Graph(tuple(sources))


SHAPES = {
    shape.name: shape
    for shape in (
        Shape("independent", "n tasks without dependencies", make_independent, (100, 1_000, 10_000)),
        Shape("fan", "1 → n → 1", make_fan, (10, 100, 1_000, 10_000)),
        Shape("chain", "n tasks in a row", make_chain, (10, 100, 1_000), ours=(10_000,)),
        Shape("layers", "n tasks in √n layers, 2 or 3 arguments each", make_layers, (100, 1_000, 10_000)),
    )
}
