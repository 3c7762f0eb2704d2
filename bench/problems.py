"""The eight programs: their inputs, made from a seed, and what of the final solution is their result.

Inputs are records in the order in which they are put into every system. All but the numbers of `primes`
(2..n, as the program is always given) are in random order; `--order` arranges the numbers of `max` and `sum`.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from math import isqrt
from pathlib import Path

from bench.records import Record

PROGRAMS = Path(__file__).parent / "programs"
SEED = 20_090
FAR = 10**9
MEALS = 3
LAYERS = 100


class Order(StrEnum):
    """How the numbers of `max` and `sum` are arranged."""

    RANDOM = "random"
    ASCENDING = "ascending"
    DESCENDING = "descending"


Make = Callable[[int, random.Random, Order], list[Record]]


@dataclass(frozen=True)
class Problem:
    """One program: how its input is made and which records are its result."""

    name: str
    title: str
    make: Make
    results: tuple[tuple[str, int], ...]
    """Heads, and their numbers of arguments, of the records that are the result."""
    sizes: tuple[int, ...] = (1_000, 10_000, 100_000)
    judged: tuple[int, ...] = (10_000, 100_000)
    """The sizes at which Solvent must be faster than the others."""
    smallest: int = 100

    @property
    def folder(self) -> Path:
        """Where the program's texts are, one for each system."""
        return PROGRAMS / self.name

    def records(self, size: int, order: Order) -> list[Record]:
        """Make the input of a size; the same one in every process."""
        return self.make(size, random.Random(SEED + size), order)


def make_numbers(size: int, rng: random.Random, order: Order) -> list[Record]:
    """Make random integers, arranged as asked."""
    numbers = [rng.randrange(1_000_000) for _ in range(size)]
    if order is not Order.RANDOM:
        numbers.sort(reverse=order is Order.DESCENDING)
    return [("num", number) for number in numbers]


def make_range(size: int, _rng: random.Random, _order: Order) -> list[Record]:
    """Make the integers 2..size."""
    return [("num", number) for number in range(2, size + 1)]


def make_words(size: int, rng: random.Random, _order: Order) -> list[Record]:
    """Draw words by Zipf's law from a vocabulary that grows with the square root of the text (Heaps' law)."""
    vocabulary = [_word(rank) for rank in range(10 * isqrt(size))]
    weights = [1 / (rank + 1) for rank in range(len(vocabulary))]
    return [("count", word, 1) for word in rng.choices(vocabulary, weights, k=size)]


def make_cells(size: int, rng: random.Random, _order: Order) -> list[Record]:
    """Put a random permutation into the cells 0..size-1."""
    values = list(range(size))
    rng.shuffle(values)
    return [("cell", index, value) for index, value in enumerate(values)]


def make_graph(size: int, rng: random.Random, _order: Order) -> list[Record]:
    """Make a random digraph with `size` edges and a quarter as many nodes; all but node 0 are far away."""
    nodes = max(2, size // 4)
    records: list[Record] = [("dist", node, FAR if node else 0) for node in range(nodes)]
    seen: set[tuple[int, int]] = set()
    while len(seen) < size:
        tail, head = rng.randrange(nodes), rng.randrange(nodes)
        if tail != head and (tail, head) not in seen:
            seen.add((tail, head))
            records.append(("edge", tail, head, rng.randint(1, 100)))
    rng.shuffle(records)
    return records


def make_table(size: int, rng: random.Random, _order: Order) -> list[Record]:
    """Seat philosophers at a round table, a fork to the left of each, all of them hungry."""
    records: list[Record] = [("think", seat, (seat + 1) % size, MEALS) for seat in range(size)]
    records += [("fork", seat) for seat in range(size)]
    rng.shuffle(records)
    return records


def make_workflow(size: int, rng: random.Random, _order: Order) -> list[Record]:
    """Make layers of tasks, each of which waits for two or three of the layer before."""
    width = max(3, size // LAYERS)
    records: list[Record] = []
    for task in range(size):
        above = task - task % width - width
        if above < 0:
            records.append(("task", task, 0, 1))
            continue
        inputs = rng.sample(range(above, above + width), rng.choice((2, 3)))
        records.append(("task", task, len(inputs), 0))
        records += [("edge", source, task) for source in inputs]
    rng.shuffle(records)
    return records


def _word(rank: int) -> str:
    """Make a pronounceable word of its own for each rank."""
    word = ""
    rank += 1
    while rank:
        rank, syllable = divmod(rank, 60)
        word += "bdfgklmnprst"[syllable % 12] + "aeiou"[syllable // 12]
    return word


PROBLEMS: dict[str, Problem] = {
    problem.name: problem
    for problem in (
        Problem("max", "maximum of n integers", make_numbers, (("num", 1),)),
        Problem("sum", "sum of n integers", make_numbers, (("num", 1),)),
        Problem("primes", "primes of 2..n", make_range, (("num", 1),)),
        Problem("words", "count of n words", make_words, (("count", 2),)),
        Problem(
            "sort",
            "exchange sort of n cells",
            make_cells,
            (("cell", 2),),
            sizes=(100, 316, 1_000),
            judged=(1_000,),
            smallest=10,
        ),
        Problem("paths", "shortest paths over n edges", make_graph, (("dist", 2),)),
        Problem(
            "philosophers",
            "n dining philosophers, 3 meals each",
            make_table,
            (("think", 3), ("fork", 1), ("eat", 3)),
        ),
        Problem(
            "workflow",
            "workflow-shaped graph of n tasks",
            make_workflow,
            (("done", 2), ("task", 3), ("edge", 2)),
        ),
    )
}
