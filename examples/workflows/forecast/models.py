"""Models of the load by the hour, from temperature and the hour of the week, and their errors.

A table is an array with a row for each hour: hours since 1970, temperature, load.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Predict = Callable[[np.ndarray], np.ndarray]
Fit = Callable[[np.ndarray], Predict]

HOURS_PER_WEEK = 168
FOLDS = 5
PENALTY = 1e-3
MAX_ITERATIONS, MIN_CHANGE = 50, 1e-6


def split(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to learn from, and the last quarter, which no model sees before it is chosen."""
    end = len(table) * 3 // 4
    return table[:end], table[end:]


def mean_error(predicted: np.ndarray, table: np.ndarray) -> float:
    """Return the mean absolute error in percent of the load."""
    return float(np.mean(np.abs(predicted - table[:, 2]) / table[:, 2]) * 100)


def cross_validate(table: np.ndarray, fit: Fit) -> float:
    """Return the mean error over folds, each every fifth week, which the model has not learnt from."""
    fold = table[:, 0].astype(int) // HOURS_PER_WEEK % FOLDS
    return float(np.mean([mean_error(fit(table[fold != n])(table[fold == n]), table[fold == n]) for n in range(FOLDS)]))


def least_squares(features: Predict, table: np.ndarray) -> Predict:
    """Fit a linear combination of features, with a penalty that keeps the equations solvable."""
    known = features(table)
    weights = np.linalg.solve(known.T @ known + PENALTY * np.eye(known.shape[1]), known.T @ table[:, 2])
    return lambda rows: features(rows) @ weights


def fit_balance_points(table: np.ndarray) -> Predict:
    """Fit load = a + b·max(0, h - t) + c·max(0, t - k) by Gauss-Newton steps, starting from the textbook's 18 °C."""
    degrees, load = table[:, 1], table[:, 2]
    base, heat, cool, low, high = load.mean(), 1.0, 1.0, 18.0, 18.0
    for _ in range(MAX_ITERATIONS):
        below, above = degrees < low, degrees > high
        predicted = base + heat * (low - degrees) * below + cool * (degrees - high) * above
        slopes = np.column_stack(
            [np.ones(len(load)), (low - degrees) * below, (degrees - high) * above, heat * below, -cool * above]
        )
        step = np.linalg.solve(slopes.T @ slopes, slopes.T @ (load - predicted))
        base, heat, cool, low, high = np.array([base, heat, cool, low, high]) + step
        if not degrees.min() < low < high < degrees.max():
            break
        if np.abs(step).max() < MIN_CHANGE:
            return lambda rows: base + heat * np.maximum(0, low - rows[:, 1]) + cool * np.maximum(0, rows[:, 1] - high)
    raise ArithmeticError("the Gauss-Newton steps do not converge")


def straight(rows: np.ndarray) -> np.ndarray:
    """Return features of a straight line: temperature, and the hour of the day as a wave."""
    angle = 2 * np.pi * rows[:, 0] / 24
    return np.column_stack([np.ones(len(rows)), rows[:, 1], np.sin(angle), np.cos(angle)])


def bent(rows: np.ndarray, knots: int) -> np.ndarray:
    """Return features of a broken line with so many bends, and a level for each hour of the week."""
    week = np.eye(HOURS_PER_WEEK)[rows[:, 0].astype(int) % HOURS_PER_WEEK]
    bends = [np.maximum(0, rows[:, 1] - knot) for knot in np.linspace(5, 25, knots + 2)[1:-1]]
    return np.column_stack([week, rows[:, 1], *bends])


def fitter(model: str, knots: int) -> Fit:
    """Return the function that fits the model of a name."""
    fits: dict[str, Fit] = {
        "balance points": fit_balance_points,
        "straight line": lambda table: least_squares(straight, table),
        "broken line": lambda table: least_squares(lambda rows: bent(rows, knots), table),
    }
    return fits[model]


def last_week(table: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Predict what was used a week before, the forecast to beat; `rows` follow the table."""
    both = np.concatenate([table[:, 2], rows[:, 2]])
    return both[len(table) - HOURS_PER_WEEK : len(both) - HOURS_PER_WEEK]
