"""Write the readings of a network of air-quality sensors, one compressed CSV file per station, into `data/`.

`python make_data.py` writes a year of readings, one each minute, of twelve stations: 6.3 million rows, 180 MB before
compression. `--stations` and `--days` choose another size. The same options write the same data.

Three stations are not as they should be: the upload of the fifth stopped early, the ninth mixes error messages with its
readings, and the electronics of the eleventh add spikes that are too high but still within the range of the sensor.
"""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
HOURS_PER_DAY, MINUTES_PER_HOUR = 24, 60
TRUNCATED, GARBLED, SPIKY = 5, 9, 11
# Shares of a file that are uploaded, of lines that are garbled, and of readings that are spikes.
UPLOADED, GARBLED_SHARE, SPIKE_SHARE = 0.8, 0.001, 0.04


def true_hours(days: int, chance: np.random.Generator) -> np.ndarray:
    """Return the particles in the air (µg/m³) for each hour: seasons, rush hours, and weather that changes slowly."""
    hour = np.arange(days * HOURS_PER_DAY)
    seasons = 6 * np.cos(2 * np.pi * hour / (365 * HOURS_PER_DAY))
    traffic = 3 * np.cos(2 * np.pi * (hour % HOURS_PER_DAY - 8) / 12)
    weather = np.empty(len(hour))
    state = 0.0
    for index, push in enumerate(chance.normal(0, 0.8, len(hour))):
        state = 0.985 * state + push
        weather[index] = state
    return np.maximum(14 + seasons + traffic + weather, 1.0)


def station_lines(number: int, times: np.ndarray, hours: np.ndarray) -> list[str]:
    """Return the rows of a station: time, PM2.5, temperature, humidity."""
    chance = np.random.default_rng([number, len(times)])
    minutes = np.repeat(hours, MINUTES_PER_HOUR)
    gain, offset = chance.uniform(0.7, 1.4), chance.uniform(0, 4)
    readings = np.clip(minutes * gain + offset + chance.normal(0, 2, len(minutes)), 0, 999)
    if number == SPIKY:
        spikes = chance.random(len(readings)) < SPIKE_SHARE
        readings[spikes] = chance.uniform(900, 999, spikes.sum())
    temperatures = chance.normal(15, 5, len(minutes))
    humidities = chance.integers(30, 95, len(minutes))
    rows = zip(times.tolist(), readings.tolist(), temperatures.tolist(), humidities.tolist(), strict=True)
    lines = ["%s,%.1f,%.1f,%d\n" % row for row in rows]  # noqa: UP031 - millions of rows, and this is faster
    if number == GARBLED:
        for index in np.flatnonzero(chance.random(len(lines)) < GARBLED_SHARE).tolist():
            lines[index] = chance.choice(["ERR 17 sensor warming up\n", lines[index][:16] + ",,,\n"])
    return lines


def write_station(folder: Path, number: int, times: np.ndarray, hours: np.ndarray) -> None:
    """Write the file of a station."""
    path = folder / f"station-{number:02}.csv.gz"
    text = "".join(station_lines(number, times, hours))
    # Without a time of making, the same readings are the same bytes.
    path.write_bytes(gzip.compress(text.encode(), compresslevel=1, mtime=0))
    if number == TRUNCATED:
        content = path.read_bytes()
        path.write_bytes(content[: int(len(content) * UPLOADED)])


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--stations", type=int, default=12)
    options.add_argument("--days", type=int, default=365)
    chosen = options.parse_args()
    folder = HERE / "data"
    folder.mkdir(exist_ok=True)
    for old in folder.glob("station-*.csv.gz"):
        old.unlink()
    start = np.datetime64("2025-01-01T00:00", "m")
    times = np.datetime_as_string(start + np.arange(chosen.days * HOURS_PER_DAY * MINUTES_PER_HOUR))
    chance = np.random.default_rng(chosen.days)
    hours = true_hours(chosen.days, chance)
    with (folder / "reference.csv").open("w") as file:
        measured = hours + chance.normal(0, 0.3, len(hours))
        file.writelines(
            f"{time[:13]},{value:.2f}\n" for time, value in zip(times[::MINUTES_PER_HOUR], measured, strict=True)
        )
    for number in range(1, chosen.stations + 1):
        write_station(folder, number, times, hours)
    print(f"{chosen.stations} stations, {len(times) * chosen.stations:,} rows")


if __name__ == "__main__":
    main()
