"""Choose a model that forecasts the electricity of a town, and judge it by months that it has not seen.

`python make_data.py` and `python weather_service.py`, then `solvent run forecast.py --input port=PORT`. The readings of
each month are averaged by `awk`, the weather comes from an unreliable HTTP service, and models are fitted with NumPy.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypedDict

import models
import numpy as np

from solvent import attempt, http, repeat, service, shell, workflow

HERE = Path(__file__).parent
MAX_ERROR = 5.0  # percent
MIN_GAIN = 0.1  # a tuning step must remove this share of the error


class Chosen(TypedDict):
    """A model with its error in cross-validation; `improves` says whether further tuning may help."""

    table: str
    model: str
    knots: int
    error: float
    improves: bool


@service
def list_months(data: str) -> list[str]:
    """Return the months that there are readings of."""
    found = sorted(path.stem.removeprefix("load-") for path in (HERE / data).glob("load-*.csv"))
    if not found:
        raise FileNotFoundError(f"no readings in {HERE / data}; run make_data.py first")
    return found


# A request that is refused or not answered within three seconds is repeated, up to five times.
get_weather = http(
    "GET", "http://127.0.0.1:{port}/weather/{0}", name="get_weather", timeout=3, retries=5, backoff=0.2, concurrency=8
)

# Prints the mean of each hour as a JSON list. The rows of a file are in order of time.
average_hours = shell(
    r"""awk -F, '
      { hour = substr($1, 1, 13) }
      hour != last { if (n) { printf "%s%.3f", (k++ ? "," : "["), sum / n }; last = hour; sum = n = 0 }
      { sum += $2; n++ }
      END { printf "%s%.3f]", (k ? "," : "["), sum / n }
    ' {data}/load-{0}.csv""",
    name="average_hours",
    options={"result": "json"},
    timeout=600,
)


@service
def build_table(months: list[str], loads: list[list[float]], weather: list[list[float]], out: str) -> str:
    """Write a table of hour, temperature and load; return its name."""
    starts = [np.datetime64(month, "h").astype(int) for month in months]
    parts = [
        np.column_stack([start + np.arange(len(load)), degrees, load])
        for start, load, degrees in zip(starts, loads, weather, strict=True)
    ]
    path = HERE / out / "table.npy"
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, np.concatenate(parts))
    return str(path)


@service
def validate(table: str, model: str, knots: int = 0) -> Chosen:
    """Cross-validate a model on the months that it may see; it fails if it cannot be fitted."""
    error = models.cross_validate(models.split(np.load(table))[0], models.fitter(model, knots))
    return {"table": table, "model": model, "knots": knots, "error": round(error, 2), "improves": knots > 0}


@service
def tune(before: Chosen) -> Chosen:
    """Try twice as many bends, if the model has any; keep what was there if that gains little."""
    after = validate(before["table"], before["model"], before["knots"] * 2)
    return after if after["error"] < before["error"] * (1 - MIN_GAIN) else {**before, "improves": False}


@service
def naive_error(table: str) -> float:
    """Return the error of predicting what was used a week before."""
    known, unseen = models.split(np.load(table))
    return round(models.mean_error(models.last_week(known, unseen), unseen), 2)


@service
def evaluate(chosen: Chosen, naive: float, out: str) -> str:
    """Fit the chosen model to all that it may see, and write its error in the months that it has not seen."""
    known, unseen = models.split(np.load(chosen["table"]))
    predict = models.fitter(chosen["model"], chosen["knots"])(known)
    error = round(models.mean_error(predict(unseen), unseen), 2)
    found = {"model": chosen["model"], "bends": chosen["knots"], "error": error, "naive": naive, "hours": len(unseen)}
    (HERE / out / "evaluation.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return f"{chosen['model']}, {chosen['knots']} bends: error {error} % in {len(unseen)} hours (naive: {naive} %)"


def is_poor(chosen: Chosen) -> bool:
    """Tell whether the error of a model is too large."""
    return chosen["error"] > MAX_ERROR


def may_improve(chosen: Chosen) -> bool:
    """Tell whether another step of tuning may help."""
    return chosen["improves"]


@workflow
def forecast(port: int, data: str = "data", out: str = "out") -> str:
    """Collect the data, choose a model, tune and evaluate it."""
    months = list_months(data)
    weather = get_weather.each(months, port=port)
    table = build_table(months, average_hours.each(months, data=data), weather, out)

    balance = validate.named("balance_points")(table, "balance points")
    straight = validate.named("straight_line")(table, "straight line")
    broken = validate.named("broken_line")(table, "broken line", 1)
    attempt(straight, otherwise=broken, when=is_poor, name="poor fit")
    attempt(balance, otherwise=straight, name="no convergence")

    tuned = tune(balance)
    repeat(tuned, back_to=tuned, when=may_improve)
    return evaluate(tuned, naive_error(table), out)
