"""The same eight jobs as plain Python loops, as one would write them without any engine.

Each loop takes the molecules as plain Python values, in the order in which the systems get them, and does no
more than the rules say: no sorting function, no sieve with slices, no heap. `RESULTS` turns what a loop
returns into records, outside the measured time.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

from bench.records import Record

Loop = Callable[[list[Any]], Any]


def max_find(numbers: list[int]) -> int:
    """Keep the best so far."""
    best = numbers[0]
    for number in numbers:
        if number > best:  # noqa: PLR1730 - a call of `max` takes seven times as long
            best = number
    return best


def add_all(numbers: list[int]) -> int:
    """Add one after the other."""
    total = 0
    for number in numbers:
        total += number
    return total


def find_primes(numbers: list[int]) -> list[int]:
    """Keep a number that none of those kept divides."""
    primes: list[int] = []
    for number in numbers:
        for prime in primes:
            if number % prime == 0:
                break
        else:
            primes.append(number)
    return primes


def count_words(pairs: list[tuple[str, int]]) -> dict[str, int]:
    """Add up the counts of each word."""
    counts: dict[str, int] = {}
    for word, count in pairs:
        if word in counts:
            counts[word] += count
        else:
            counts[word] = count
    return counts


def exchange_sort(cells: list[tuple[int, int]]) -> list[int]:
    """Swap every pair of values that is in the wrong order."""
    values = [0] * len(cells)
    for index, value in cells:
        values[index] = value
    size = len(values)
    for i in range(size):
        for j in range(i + 1, size):
            if values[i] > values[j]:
                values[i], values[j] = values[j], values[i]
    return values


def find_paths(molecules: list[tuple[Any, ...]]) -> dict[int, int]:
    """Relax the edges out of each node that came nearer, first come, first served."""
    distances: dict[int, int] = {}
    edges: dict[int, list[tuple[int, int]]] = {}
    for molecule in molecules:
        if molecule[0] == "DIST":
            distances[molecule[1]] = molecule[2]
            edges.setdefault(molecule[1], [])
        else:
            _, tail, head, cost = molecule
            edges.setdefault(tail, []).append((head, cost))
    waiting = deque([0])
    queued = {0}
    while waiting:
        tail = waiting.popleft()
        queued.remove(tail)
        distance = distances[tail]
        for head, cost in edges[tail]:
            if distance + cost < distances[head]:
                distances[head] = distance + cost
                if head not in queued:
                    queued.add(head)
                    waiting.append(head)
    return distances


def serve_philosophers(molecules: list[tuple[Any, ...]]) -> tuple[set[int], list[tuple[int, int, int]]]:
    """Let each philosopher in turn take both forks, lay them down, or wait for the next turn."""
    forks: set[int] = set()
    turns: deque[tuple[int, int, int, bool]] = deque()
    fed: list[tuple[int, int, int]] = []
    for molecule in molecules:
        if molecule[0] == "FORK":
            forks.add(molecule[1])
        else:
            turns.append((molecule[1], molecule[2], molecule[3], False))
    while turns:
        left, right, meals, is_eating = turns.popleft()
        if is_eating:
            forks.add(left)
            forks.add(right)
            if meals > 1:
                turns.append((left, right, meals - 1, False))
            else:
                fed.append((left, right, 0))
        elif left in forks and right in forks:
            forks.remove(left)
            forks.remove(right)
            turns.append((left, right, meals, True))
        else:
            turns.append((left, right, meals, False))
    return forks, fed


def run_workflow(molecules: list[tuple[Any, ...]]) -> dict[int, int]:
    """Run each task when its last input arrives, and pass its value on."""
    missing: dict[int, int] = {}
    values: dict[int, int] = {}
    followers: dict[int, list[int]] = {}
    for molecule in molecules:
        if molecule[0] == "TASK":
            missing[molecule[1]] = molecule[2]
            values[molecule[1]] = molecule[3]
        else:
            followers.setdefault(molecule[1], []).append(molecule[2])
    ready = deque(task for task, count in missing.items() if count == 0)
    while ready:
        task = ready.popleft()
        value = values[task]
        for follower in followers.get(task, ()):
            values[follower] = (values[follower] + value) % 1_000_003
            missing[follower] -= 1
            if missing[follower] == 0:
                ready.append(follower)
    return values


def _table_records(outcome: tuple[set[int], list[tuple[int, int, int]]]) -> list[Record]:
    forks, fed = outcome
    return [("fork", fork) for fork in forks] + [("think", *philosopher) for philosopher in fed]


LOOPS: dict[str, Loop] = {
    "max": max_find,
    "sum": add_all,
    "primes": find_primes,
    "words": count_words,
    "sort": exchange_sort,
    "paths": find_paths,
    "philosophers": serve_philosophers,
    "workflow": run_workflow,
}

RESULTS: dict[str, Callable[[Any], list[Record]]] = {
    "max": lambda best: [("num", best)],
    "sum": lambda total: [("num", total)],
    "primes": lambda primes: [("num", prime) for prime in primes],
    "words": lambda counts: [("count", *item) for item in counts.items()],
    "sort": lambda values: [("cell", *item) for item in enumerate(values)],
    "paths": lambda distances: [("dist", *item) for item in distances.items()],
    "philosophers": _table_records,
    "workflow": lambda values: [("done", *item) for item in values.items()],
}
