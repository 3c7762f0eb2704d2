"""Clean the file of one station: strictly, or leniently where that fails.

`clean_station` is a workflow of its own: a damaged file is read twice, and all others once.
"""

from __future__ import annotations

import gzip
from contextlib import suppress
from pathlib import Path

from solvent import attempt, service, workflow

HERE = Path(__file__).parent
FIELDS, MAX_READING = 4, 1000.0


def write_whole(path: Path, text: str) -> str:
    """Write a file under another name first, so that a call that is killed leaves no half of it; return its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    return str(part.replace(path))


def checked(line: str) -> str:
    """Return time and reading of a row, or raise `ValueError`."""
    fields = line.rstrip("\n").split(",")
    if len(fields) != FIELDS or not 0 <= float(fields[1]) <= MAX_READING:
        raise ValueError(f"not a reading: {line.strip()!r}")
    return f"{fields[0]},{fields[1]}\n"


def cleaned_name(path: str, out: str) -> Path:
    """Return the file for the clean rows of a station."""
    return HERE / out / "clean" / Path(path).name.removesuffix(".gz")


@service
def parse_strictly(path: str, out: str) -> str:
    """Clean a file in which every row is a reading; the first that is not stops it."""
    with gzip.open(path, "rt", encoding="ascii") as file:
        rows = [checked(line) for line in file]
    cleaned_name(path, out).with_suffix(".rejected").unlink(missing_ok=True)
    return write_whole(cleaned_name(path, out), "".join(rows))


@service
def parse_leniently(path: str, out: str) -> str:
    """Keep the readings of a damaged file, up to where it ends; put the other rows aside."""
    rows, rejected = [], []
    with suppress(EOFError), gzip.open(path, "rt", encoding="ascii", errors="replace") as file:
        for line in file:
            try:
                rows.append(checked(line))
            except ValueError:
                rejected.append(line)
    write_whole(cleaned_name(path, out).with_suffix(".rejected"), "".join(rejected))
    return write_whole(cleaned_name(path, out), "".join(rows))


@workflow
def clean_station(path: str, out: str) -> str:
    """Clean one station."""
    return attempt(parse_strictly(path, out), otherwise=parse_leniently(path, out), name="damaged file")
