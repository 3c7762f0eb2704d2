"""Calibrate a network of air-quality sensors against a reference instrument, and report the year.

`python make_data.py`, then `solvent run sensors.py`. Rows are cleaned in Python, aggregated and merged by `awk` and
`sort`, calibrated with NumPy and drawn with Matplotlib. Files are handed from step to step by their names.
"""

from __future__ import annotations

from pathlib import Path

from calibration import calibrate_table, errors, write_report
from stations import clean_station, write_whole

from solvent import attempt, service, shell, workflow

HERE = Path(__file__).parent
LIMIT = 15.0  # µg/m³ over a day, the guideline of the World Health Organization


@service
def list_stations(data: str) -> list[str]:
    """Return the files of all stations."""
    found = sorted(str(path) for path in (HERE / data).glob("station-*.csv.gz"))
    if not found:
        raise FileNotFoundError(f"no station in {HERE / data}; run make_data.py first")
    return found


# Both write `hour,station,value,readings` for each hour, sorted. `sort` hides a failure of `awk`, hence `test -s`.
HOURLY_MEANS = r"""set -e
mkdir -p {out}/hourly
name=$(basename {0} .csv)
awk -F, -v name="$name" '
  { hour = substr($1, 1, 13); sum[hour] += $2; count[hour]++ }
  END { for (hour in sum) printf "%s,%s,%.3f,%d\n", hour, name, sum[hour] / count[hour], count[hour] }
' {0} | LC_ALL=C sort > {out}/hourly/"$name".part
test -s {out}/hourly/"$name".part
mv {out}/hourly/"$name".part {out}/hourly/"$name".csv
echo {out}/hourly/"$name".csv
"""
HOURLY_MEDIANS = r"""set -e
mkdir -p {out}/hourly
name=$(basename {0} .csv)
awk -F, '{ print substr($1, 1, 13) "," $2 }' {0} | LC_ALL=C sort -t, -k1,1 -k2,2n | awk -F, -v name="$name" '
  function flush() { if (n) printf "%s,%s,%.3f,%d\n", hour, name, (v[int((n + 1) / 2)] + v[int(n / 2) + 1]) / 2, n }
  $1 != hour { flush(); hour = $1; n = 0 }
  { v[++n] = $2 }
  END { flush() }
' > {out}/hourly/"$name".part
test -s {out}/hourly/"$name".part
mv {out}/hourly/"$name".part {out}/hourly/"$name".csv
echo {out}/hourly/"$name".csv
"""
hourly_means = shell(HOURLY_MEANS, name="hourly_means", timeout=600)
hourly_medians = shell(HOURLY_MEDIANS, name="hourly_medians", timeout=600)
merge = shell(
    "LC_ALL=C sort -m {0} > {out}/hourly.part && mv {out}/hourly.part {out}/hourly.csv && echo {out}/hourly.csv",
    name="merge",
)


@service
def calibrate(table: str, data: str, out: str) -> str:
    """Fit a line from each station to the reference over the first half of the time; write corrected values."""
    return write_whole(HERE / out / "calibrated.csv", calibrate_table(HERE / table, HERE / data / "reference.csv"))


@service
def worst_error(calibrated: str, data: str) -> float:
    """Return the error of the worst station over the second half (µg/m³, root mean square)."""
    return round(max(errors(HERE / calibrated, HERE / data / "reference.csv").values()), 2)


@service
def report(calibrated: str, error: float, out: str) -> str:
    """Write the report and its chart; return a summary."""
    return write_report(HERE / calibrated, HERE / out, LIMIT, error)


@workflow
def sensors(data: str = "data", out: str = "out") -> str:
    """Clean, aggregate, calibrate, check and report."""
    cleaned = clean_station.each(list_stations(data), out=out)
    hourly = hourly_means.each(cleaned, out=out)
    calibrated = calibrate(merge(hourly, out=out), data, out)
    error = worst_error(calibrated, data)
    # Spikes pass the parser. Only the error of the calibration shows them, three steps later.
    attempt(hourly, otherwise=hourly_medians.each(cleaned, out=out), when="result > 2.0", watch=error, name="spikes")
    return report(calibrated, error, out)
