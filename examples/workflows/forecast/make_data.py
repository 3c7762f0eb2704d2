"""Write the electricity that a town uses, minute by minute, one CSV file per month, and its weather, into `data/`.

`python make_data.py` writes four years: 2.1 million rows, 48 MB. `--months` chooses another size. The same options
write the same data.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
START = np.datetime64("2021-01", "M")
HEATING_BELOW, COOLING_ABOVE = 14.0, 21.0


def temperatures(hours: np.ndarray, chance: np.random.Generator) -> np.ndarray:
    """Return the temperature (°C) of each hour: seasons, days, and weather that changes slowly."""
    hour = (hours - hours[0]).astype(int)
    seasons = 12 - 10 * np.cos(2 * np.pi * hour / (365.25 * 24))
    days = -4 * np.cos(2 * np.pi * (hour % 24 - 4) / 24)
    weather = np.empty(len(hour))
    state = 0.0
    for index, push in enumerate(chance.normal(0, 0.7, len(hour))):
        state = 0.985 * state + push
        weather[index] = state
    return np.round(seasons + days + weather, 1)


def loads(hours: np.ndarray, degrees: np.ndarray) -> np.ndarray:
    """Return the load (MW) of each hour: work and sleep, weekends, heating and cooling."""
    hour = hours.astype(int)
    day = (hour // 24 + 3) % 7  # the first day of the epoch was a Thursday
    shape = 40 * np.sin(np.pi * np.clip((hour % 24 - 6) / 16, 0, 1))
    heating = 5 * np.maximum(0, HEATING_BELOW - degrees)
    cooling = 8 * np.maximum(0, degrees - COOLING_ABOVE)
    return 120 + np.where(day < 5, shape, 0.6 * shape - 10) + heating + cooling


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--months", type=int, default=48)
    count = options.parse_args().months
    folder = HERE / "data"
    folder.mkdir(exist_ok=True)
    for old in folder.glob("load-*.csv"):
        old.unlink()
    chance = np.random.default_rng(count)
    hours = np.arange(START.astype("datetime64[h]"), (START + count).astype("datetime64[h]"))
    degrees = temperatures(hours, chance)
    rows = zip(np.datetime_as_string(hours), degrees, strict=True)
    (folder / "weather.csv").write_text("".join(f"{hour},{value:.1f}\n" for hour, value in rows))
    total = 0
    for month in np.arange(START, START + count):
        chosen = hours.astype("datetime64[M]") == month
        times = np.datetime_as_string(np.arange(month.astype("datetime64[m]"), (month + 1).astype("datetime64[m]")))
        values = np.repeat(loads(hours[chosen], degrees[chosen]), 60) + chance.normal(0, 6, len(times))
        lines = [f"{time},{value:.2f}\n" for time, value in zip(times.tolist(), values.tolist(), strict=True)]
        (folder / f"load-{month}.csv").write_text("".join(lines))
        total += len(lines)
    print(f"{count} months, {total:,} rows")


if __name__ == "__main__":
    main()
