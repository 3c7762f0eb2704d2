"""Read measurements as CSV from standard input and print `[rows, how many]` as JSON.

`--strict` stops at the first row that is not as it should be. `--tolerant` repairs what it can (a comma in a number,
spaces and small letters in a name) and leaves the rest out.
"""

from __future__ import annotations

import csv
import json
import sys


def read_strictly(row: list[str]) -> tuple[str, float]:
    """Give station and temperature of a row of three fields, or fail."""
    station, _date, temperature = row
    return station, float(temperature)


def read_tolerantly(row: list[str]) -> tuple[str, float]:
    """Give station and temperature of a row, whose number may have a comma, quoted or not."""
    station, _date, *number = row
    return station.split(",")[0].strip().title(), float(".".join(number).replace(",", "."))


def main(*, is_strict: bool) -> None:
    """Read all rows."""
    rows = []
    for number, row in enumerate(list(csv.reader(sys.stdin))[1:], start=2):
        try:
            rows.append(read_strictly(row) if is_strict else read_tolerantly(row))
        except ValueError as error:
            if is_strict:
                sys.exit(f"line {number}: {error}")
            print(f"line {number} is left out: {error}", file=sys.stderr)
    print(json.dumps([rows, len(rows)]))


if __name__ == "__main__":
    main(is_strict=sys.argv[1] == "--strict")
