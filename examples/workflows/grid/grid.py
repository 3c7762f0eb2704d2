"""A grid of models: if the best linear one is not good enough, a richer kind is tried.

`solvent run grid.py` runs it; `--input task=line` gives points that a line can part. Everything is plain Python.
"""

from __future__ import annotations

import math
import random

from solvent.workflow import attempt, service, workflow

Point = tuple[float, float, int]
Scored = tuple[str, float]


@service
def make_points(task: str, count: int, seed: int) -> tuple[list[Point], list[Point]]:
    """Draw points of two classes, parted by a circle or by a line; half are for learning, half for judging."""
    chance = random.Random(seed)
    points = []
    for _ in range(count):
        x, y = chance.uniform(-1, 1), chance.uniform(-1, 1)
        inside = math.hypot(x, y) < 0.8 if task == "circle" else x + 2 * y > 0
        points.append((x, y, int(inside)))
    return points[: count // 2], points[count // 2 :]


@service
def train_linear(rate: float, epochs: int, train: list[Point], test: list[Point]) -> Scored:
    """Fit a logistic regression by stochastic gradient descent; give its name and its accuracy."""
    a = b = c = 0.0
    for _ in range(epochs):
        for x, y, label in train:
            error = label - 1 / (1 + math.exp(-(a * x + b * y + c)))
            a, b, c = a + rate * error * x, b + rate * error * y, c + rate * error
    right = sum((a * x + b * y + c > 0) == bool(label) for x, y, label in test)
    return f"logistic regression, rate {rate}, {epochs} epochs", right / len(test)


@service
def train_neighbours(k: int, train: list[Point], test: list[Point]) -> Scored:
    """Judge each point by its k nearest neighbours; give the model's name and its accuracy."""
    right = 0
    for x, y, label in test:
        nearest = sorted(train, key=lambda other: (other[0] - x) ** 2 + (other[1] - y) ** 2)[:k]
        right += (2 * sum(other[2] for other in nearest) > k) == bool(label)
    return f"{k} nearest neighbours", right / len(test)


@service
def best(scored: list[Scored]) -> Scored:
    """Choose the most accurate model; of equals, the first."""
    return max(scored, key=lambda one: one[1])


@service
def guess(test: list[Point]) -> float:
    """Give the share of the larger class, which is what guessing reaches."""
    ones = sum(label for _, _, label in test) / len(test)
    return max(ones, 1 - ones)


@service
def describe(chosen: Scored, guessing: float) -> str:
    """Say what was chosen."""
    return f"{chosen[0]}: accuracy {chosen[1]:.2f} (guessing: {guessing:.2f})"


@workflow
def grid(task: str = "circle", count: int = 400, seed: int = 1) -> str:
    """Choose the best model of a grid, and of a richer one if it is below 0.9."""
    train, test = make_points(task, count, seed)
    linear = best.named("best_linear")(train_linear.cross([0.01, 0.1], [5, 20], train=train, test=test))
    richer = best.named("best_neighbours")(train_neighbours.each([3, 7, 15], train=train, test=test))
    chosen = attempt(linear, otherwise=richer, when=lambda scored: scored[1] < 0.9, name="not good enough")
    return describe(chosen, guess(test))
