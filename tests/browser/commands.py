"""The commands that a browser test looks at: the page itself, and a run that goes on when the test says so."""

from __future__ import annotations

import signal
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.cli.command import arguments, environment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_SECONDS = 200
SERVICES = """\
import time
from pathlib import Path

HERE = Path(__file__).parent


def until(name):
    while not (HERE / name).exists():
        time.sleep(0.01)


def list_towns():
    return ["Porto", "Faro"]


def ask_satellite(towns):
    raise ConnectionError(f"the satellite does not answer about {len(towns)} towns")


def warm_up(towns):
    until("warm")
    return towns


def ask_stations(towns):
    until("measured")
    return {town: 10 + 2 * len(town) for town in towns}


def write_report(temperatures, towns):
    return ", ".join(f"{town} {degrees}" for town, degrees in temperatures.items())
"""
FLOW = """\
workflow: weather
services:
  list_towns: {python: "own:list_towns"}
  ask_satellite: {python: "own:ask_satellite"}
  warm_up: {python: "own:warm_up"}
  ask_stations: {python: "own:ask_stations"}
  write_report: {python: "own:write_report"}
tasks:
  list_towns: {service: list_towns}
  ask_satellite: {service: ask_satellite, from: list_towns}
  warm_up: {service: warm_up, from: list_towns}
  ask_stations: {service: ask_stations, from: warm_up}
  write_report: {service: write_report, from: [ask_satellite, warm_up]}
alternatives:
  - {name: no satellite, exits: {ask_satellite: ask_stations}}
"""


@contextmanager
def serving(folder: Path, *more: str) -> Iterator[str]:
    """Serve the page of the runs of a folder, by the real command, and give its address."""
    words = arguments("web", "--port", "0", "--store", folder / "store.db", *more)
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=folder, env=environment()) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:")
            yield address
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(MAX_SECONDS) == 0


@contextmanager
def run_of_weather(folder: Path, *more: str, store: Path | None = None, name: str = "weather-1") -> Iterator[None]:
    """Run a workflow in which the satellite fails; the stations wait for the files `warm` and `measured`."""
    (folder / "own.py").write_text(SERVICES, encoding="utf-8")
    (folder / "flow.yaml").write_text(FLOW, encoding="utf-8")
    words = arguments("run", "flow.yaml", "--store", store or folder / "store.db", "--name", name, "--no-sync", *more)
    with subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder, env=environment()
    ) as process:
        try:
            yield
        finally:
            for gate in ("warm", "measured"):
                (folder / gate).touch()
            process.wait(MAX_SECONDS)


__all__ = ["run_of_weather", "serving"]
