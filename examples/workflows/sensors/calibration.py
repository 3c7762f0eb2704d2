"""The numbers of the pipeline: lines from stations to the reference, errors, and the report with its chart.

Tables have a line `hour,station,value,readings` for each hour of each station.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

DAY = slice(0, 10)


def read_reference(path: Path) -> dict[str, float]:
    """Return the reference's value for each hour."""
    return {hour: float(value) for hour, value in (line.split(",") for line in path.read_text().splitlines())}


def read_table(path: Path) -> dict[str, dict[str, tuple[float, int]]]:
    """Return value and number of readings for each hour, by station."""
    found: dict[str, dict[str, tuple[float, int]]] = defaultdict(dict)
    for line in path.read_text().splitlines():
        hour, station, value, count = line.split(",")
        found[station][hour] = float(value), int(count)
    return found


def calibrate_table(table: Path, reference: Path) -> str:
    """Return the table with values corrected by a line, which is fitted to the first half of the reference's hours."""
    true = read_reference(reference)
    first_half = set(sorted(true)[: len(true) // 2])
    lines = []
    for station, hours in read_table(table).items():
        fitted = sorted(first_half & hours.keys())
        slope, offset = np.polyfit([hours[hour][0] for hour in fitted], [true[hour] for hour in fitted], 1)
        lines += [f"{hour},{station},{offset + slope * value:.3f},{count}" for hour, (value, count) in hours.items()]
    return "\n".join(lines) + "\n"


def errors(calibrated: Path, reference: Path) -> dict[str, float]:
    """Return the root mean square error of each station over the second half of the reference's hours."""
    true = read_reference(reference)
    second_half = set(sorted(true)[len(true) // 2 :])
    return {
        station: float(np.sqrt(np.mean([(hours[hour][0] - true[hour]) ** 2 for hour in second_half & hours.keys()])))
        for station, hours in read_table(calibrated).items()
    }


def write_report(calibrated: Path, out: Path, limit: float, error: float) -> str:
    """Write `report.md` and `report.png`; return one line about them."""
    table = read_table(calibrated)
    by_day: dict[str, list[float]] = defaultdict(list)
    for hours in table.values():
        for hour, (value, _count) in hours.items():
            by_day[hour[DAY]].append(value)
    means = {day: float(np.mean(values)) for day, values in sorted(by_day.items())}
    above = sum(mean > limit for mean in means.values())
    rejected = {file.stem: len(file.read_text().splitlines()) for file in (out / "clean").glob("*.rejected")}
    summary = f"{above} of {len(means)} days above {limit:g} µg/m³"
    lines = ["# Fine particles", "", f"{summary}.", "", "![days](report.png)", ""]
    lines += ["| station | readings | rejected rows |", "|---|---|---|"]
    lines += [
        f"| {station} | {sum(count for _, count in hours.values()):,} | {rejected.get(station, 0)} |"
        for station, hours in sorted(table.items())
    ]
    draw(means, limit, out / "report.png")
    (out / "report.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    salvaged = ", ".join(sorted(rejected)) or "none"
    return f"{summary}, worst error {error}; salvaged: {salvaged}"


def draw(means: dict[str, float], limit: float, path: Path) -> None:
    """Draw the mean of each day."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.plot(np.array(list(means), dtype="datetime64[D]"), list(means.values()), linewidth=1)
    axes.axhline(limit, color="tab:red", linewidth=1)
    figure.autofmt_xdate()
    axes.set_ylabel("PM2.5, µg/m³")
    figure.savefig(path, dpi=120)
