"""The pipelines `sensors` and `forecast` heal, give the right numbers, and survive `kill -9`; here on little data.

To be killed at a known moment, a run reads a named pipe in place of one of its files: its reader waits until something
is written. What was called is read from the record.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.live.record_storm import MAX_SECONDS, finish, start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

np = pytest.importorskip("numpy")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "workflows"
MADE = shutil.ignore_patterns("__pycache__", "data", "out", ".solvent")
STATIONS = 12
DAYS = 6
MONTHS = 6
RUN = "r"


def _make(name: str, to: Path, *words: str) -> Path:
    """Copy an example and make its data."""
    folder = Path(shutil.copytree(EXAMPLES / name, to / name, ignore=MADE))
    subprocess.run([sys.executable, "make_data.py", *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder


def _solvent(folder: Path, *words: str) -> dict[str, Any]:
    """Run the command with its usual store; return what it printed."""
    code, out, err = finish(start(folder, *words, "--format", "json"))
    assert code == 0, err
    printed: dict[str, Any] = json.loads(out)
    return printed


def _calls(folder: Path, event: str) -> Counter[str]:
    """Count the calls of the run that the record has an event of."""
    return Counter(one["call"] for one in _solvent(folder, "logs", RUN)["events"] if one["event"] == event)


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + MAX_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "waited for too long"
        time.sleep(0.05)


def _killed(folder: Path, pipe: Path, done: set[str], *words: str) -> None:
    """Run a workflow; kill it while it reads a file that is a pipe, once these calls are done."""
    content = pipe.read_bytes()
    pipe.unlink()
    os.mkfifo(pipe)
    process = start(folder, "run", *words, "--name", RUN)
    writer = -1
    try:

        def is_read() -> bool:
            nonlocal writer
            assert process.poll() is None, finish(process)
            try:
                writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                return False
            return True

        _until(is_read)
        _until(lambda: done <= set(_calls(folder, "done")))
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        # A command that outlived the run reads the end of the file, and ends.
        if writer != -1:
            os.close(writer)
        pipe.unlink()
        pipe.write_bytes(content)


def _adaptations(report: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["alternative"], one["because"]) for one in report["adaptations"]]


# -- sensors ---------------------------------------------------------------------------------------------------------

SENSORS_CALLS = {
    "list_stations": 1, "clean_station": STATIONS, "hourly_means": STATIONS, "merge": 2, "calibrate": 2,
    "worst_error": 2, "hourly_medians": STATIONS, "report": 1,
}  # fmt: skip


@pytest.fixture
def sensors(tmp_path: Path) -> Path:
    """Make the readings of a few days."""
    pytest.importorskip("matplotlib")
    return _make("sensors", tmp_path, "--days", str(DAYS))


def _check_sensors(folder: Path, report: dict[str, Any]) -> None:
    """Check that both faults were healed, and that the network agrees with the reference."""
    assert report["results"]["report"].endswith("salvaged: station-05, station-09")
    assert sorted(_adaptations(report)) == [("damaged file", "parse_strictly")] * 2 + [("spikes", "worst_error")]
    assert report["calls"] == SENSORS_CALLS
    out = folder / "out"
    rows = dict(line.split(" | ")[:2] for line in (out / "report.md").read_text().splitlines() if "station-" in line)
    complete = DAYS * 24 * 60
    lost = {name.strip("| "): complete - int(count.replace(",", "")) for name, count in rows.items()}
    assert {name for name, count in lost.items() if count} == {"station-05", "station-09"}
    assert lost["station-09"] == len((out / "clean" / "station-09.rejected").read_text().splitlines())
    assert (out / "report.png").read_bytes().startswith(b"\x89PNG")
    true = dict(line.split(",") for line in (folder / "data" / "reference.csv").read_text().splitlines())
    table = [line.split(",") for line in (out / "calibrated.csv").read_text().splitlines()]
    assert max(abs(float(value) - float(true[hour])) for hour, _, value, _ in table) < 5
    assert not list(out.rglob("*.part"))


@pytest.mark.parametrize("words", [("--processes",), ("--agents", "2")], ids=["processes", "agents"])
def test_sensors_are_salvaged_and_calibrated(sensors: Path, words: tuple[str, ...]) -> None:
    """Damaged files are salvaged, and means spoilt by spikes are replaced by medians; nothing is cleaned twice."""
    _check_sensors(sensors, _solvent(sensors, "run", "sensors.py", *words))


def test_sensors_without_faults_need_no_alternative(tmp_path: Path) -> None:
    """With the first four stations, which are as they should be, means are good enough."""
    pytest.importorskip("matplotlib")
    folder = _make("sensors", tmp_path, "--days", str(DAYS), "--stations", "4")
    report = _solvent(folder, "run", "sensors.py")
    assert report["results"]["report"].endswith("salvaged: none")
    assert (report["adaptations"], report["calls"]["hourly_medians"]) == ([], 0)


def test_sensors_without_data_say_what_to_do(tmp_path: Path) -> None:
    """Where there are no readings the failure names the program that makes them."""
    folder = Path(shutil.copytree(EXAMPLES / "sensors", tmp_path / "sensors", ignore=MADE))
    code, _, err = finish(start(folder, "run", "sensors.py"))
    assert code != 0
    assert "run make_data.py first" in err


def test_sensors_go_on_after_a_kill(sensors: Path) -> None:
    """Killed while it calibrates, the pipeline comes to the same: no station is cleaned or averaged again."""
    _killed(sensors, sensors / "data" / "reference.csv", {"merge"}, "sensors.py")
    before = _calls(sensors, "done")
    assert before["list_stations"] == before["merge"] == 1
    # Cleaning a station is a workflow, in which one of two tasks is done.
    assert len(before) == 2 + 3 * STATIONS
    resumed = _solvent(sensors, "resume", RUN)
    _check_sensors(sensors, resumed)
    calm = _solvent(sensors, "run", "sensors.py", "--input", "out=calm")
    assert resumed["results"] == calm["results"]
    assert (sensors / "out" / "calibrated.csv").read_bytes() == (sensors / "calm" / "calibrated.csv").read_bytes()
    called = _calls(sensors, "called")
    assert {call: called[call] for call in before} == dict.fromkeys(before, 1)
    assert called["calibrate"] == 2


# -- forecast --------------------------------------------------------------------------------------------------------


@pytest.fixture
def forecast(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """Make the readings of a few months, and start the service that has their weather; give its port."""
    folder = _make("forecast", tmp_path, "--months", str(MONTHS))
    command = [sys.executable, "weather_service.py"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as service:
        try:
            assert service.stdout is not None
            yield folder, service.stdout.readline().strip()
        finally:
            service.kill()


def _check_forecast(folder: Path, report: dict[str, Any]) -> None:
    """Check that models were replaced, that the last one was tuned, and that it forecasts well."""
    assert _adaptations(report) == [("no convergence", "balance_points"), ("poor fit", "straight_line")]
    assert report["calls"]["get_weather"] == report["calls"]["average_hours"] == MONTHS
    assert report["calls"]["tune"] > 1
    found = json.loads((folder / "out" / "evaluation.json").read_text())
    assert (found["model"], found["bends"]) == ("broken line", 2 ** (report["calls"]["tune"] - 1))
    assert found["error"] < 1 < found["naive"]
    # The readings of a month are averaged as they are averaged here.
    lines = (folder / "data" / "load-2021-01.csv").read_text().splitlines()
    minutes = np.array([float(line.split(",")[1]) for line in lines])
    table = np.load(folder / "out" / "table.npy")
    hours = minutes.reshape(-1, 60).mean(axis=1)
    assert np.allclose(table[: len(hours), 2], hours, atol=0.001)
    degrees = [float(line.split(",")[1]) for line in (folder / "data" / "weather.csv").read_text().splitlines()]
    assert table[:, 1].tolist() == degrees


def test_forecast_replaces_models_and_tunes_the_last(forecast: tuple[Path, str]) -> None:
    """Requests that are refused or not answered are repeated; models that fail or disappoint are replaced."""
    folder, port = forecast
    words = ("--input", f"port={port}", "--name", RUN, "--agents", "2")
    _check_forecast(folder, _solvent(folder, "run", "forecast.py", *words))
    # The service refuses the first request for the second month, and does not answer the one for the third.
    events = _solvent(folder, "logs", RUN)["events"]
    repeated = {one["call"] for one in events if one["event"] == "done" and one["attempts"] > 1}
    assert repeated >= {"get_weather[1]", "get_weather[2]"}


def test_forecast_goes_on_after_a_kill(forecast: tuple[Path, str]) -> None:
    """Killed while it reads the last month, the pipeline comes to the same, and asks for no month again."""
    folder, port = forecast
    weather = {f"get_weather[{number}]" for number in range(MONTHS)}
    loads = {f"average_hours[{number}]" for number in range(MONTHS - 1)}
    last = folder / "data" / f"load-2021-{MONTHS:02}.csv"
    _killed(folder, last, weather | loads, "forecast.py", "--input", f"port={port}")
    before = _calls(folder, "done")
    assert set(before) == {"list_months"} | weather | loads
    resumed = _solvent(folder, "resume", RUN)
    _check_forecast(folder, resumed)
    calm = _solvent(folder, "run", "forecast.py", "--input", f"port={port}", "--input", "out=calm")
    assert (resumed["results"], resumed["states"]) == (calm["results"], calm["states"])
    called = _calls(folder, "called")
    assert {call: called[call] for call in before} == dict.fromkeys(before, 1)
    assert called[f"average_hours[{MONTHS - 1}]"] == 2
