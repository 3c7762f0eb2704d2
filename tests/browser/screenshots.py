"""Pictures of the page for the documentation, in both themes: `make screenshots` makes them anew; look at them.

What they show is real: a workflow that heals, run while the picture is taken, a run by agents, and a large one.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from PIL import Image

import solvent
from tests.browser.chromium import browser, looking
from tests.browser.commands import run_of_weather
from tests.cli.command import arguments, environment
from tests.repo.project import ROOT
from tests.unit.web.page_server import served
from tests.unit.web.records import wide_workflow, write_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.browser.chromium import Watched

FOLDER = ROOT / "docs" / "figures" / "web"
SIZE = {"width": 1120, "height": 640}
THEMES = ("light", "dark")
MORNING = ROOT / "examples" / "workflows" / "first" / "morning.py"


def main() -> None:
    """Make all pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as name, browser() as chromium:
        folder = Path(name)
        store = folder / "store.db"
        # Beside the store, so that no path of this machine is seen.
        shutil.copy(MORNING, folder)
        command = arguments("run", MORNING.name, "--store", store, "--name", "morning-1")
        subprocess.run(command, check=True, cwd=folder, env=environment(), capture_output=True)
        large = write_run(store, wide_workflow(1000), until=0.6)
        with served(store, shown=".solvent/store.db") as client:
            _healing(chromium, str(client.base_url), folder)
            _agents(chromium, str(client.base_url), store, folder / "agents")
            for theme in THEMES:
                with looking(chromium, str(client.base_url), viewport=SIZE, color_scheme=theme) as seen:
                    _still(seen, theme, large)
        _together(chromium, folder)
    sys.stdout.write(f"{FOLDER} has the pictures: look at them.\n")


def _shoot(seen: Watched, name: str, theme: str) -> None:
    seen.page.wait_for_timeout(1500)
    file = FOLDER / f"{name}-{theme}.png"
    seen.page.screenshot(path=file)
    # A page has few colours: so the file is a third as large, and looks the same.
    with Image.open(file) as image:
        image.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(file, optimize=True)


def _healing(chromium: Browser, address: str, folder: Path) -> None:
    """Take pictures of a run that has failed, and then of what takes over."""
    both = [looking(chromium, address, viewport=SIZE, color_scheme=theme) for theme in THEMES]
    with both[0] as light, both[1] as dark, run_of_weather(folder):
        for seen in (light, dark):
            seen.go("")
            seen.wait('.row[data-run="weather-1"]')
            seen.go("#/run/weather-1")
            seen.wait('[data-box="ask_satellite"][data-state="replaced"]')
            _shoot(seen, "failed", THEMES[seen is dark])
        (folder / "warm").touch()
        for seen in (light, dark):
            seen.wait('[data-box="ask_stations"][data-state="running"]')
            _shoot(seen, "healing", THEMES[seen is dark])


def _agents(chromium: Browser, address: str, store: Path, folder: Path) -> None:
    """Take pictures of a run that agents have."""
    folder.mkdir()
    with run_of_weather(folder, "--agents", "2", store=store, name="weather-2"):
        for theme in THEMES:
            with looking(chromium, address, viewport=SIZE, color_scheme=theme) as seen:
                seen.go("")
                seen.wait('.row[data-run="weather-2"]')
                seen.go("#/run/weather-2/agents")
                seen.wait('[data-agent] .state[data-state="done"]')
                seen.wait('[data-shard="4"]')
                _shoot(seen, "agents", theme)


def _still(seen: Watched, theme: str, large: str) -> None:
    """Take pictures of runs that stand still."""
    shown = {
        "runs": ("#/", ".row"),
        "task": ("#/run/morning-1/graph/ask_stations", ".side .call"),
        "timeline": ("#/run/morning-1/timeline/check_trains", ".side .call"),
        "tasks": (f"#/run/{large}/tasks", ".line[data-task]"),
        "many": (f"#/run/{large}/graph", '.stage[data-boxes="6"]'),
    }
    for name, (where, what) in shown.items():
        seen.go(where)
        seen.wait(what)
        _shoot(seen, name, theme)
    _molecules(seen, theme)


def _molecules(seen: Watched, theme: str) -> None:
    """Take a picture of a solution: it needs the room."""
    seen.go("#/run/morning-1/molecules/16")
    seen.wait(".replay-solution .nested")
    details = seen.page.get_by_role("button", name="Details")
    if details.get_attribute("aria-pressed") == "true":
        details.click()
    _shoot(seen, "molecules", theme)


def _together(chromium: Browser, folder: Path) -> None:
    """Take pictures of processes that work together: nodes of a program, a ring, a store."""
    (folder / "philosophers.hocl").write_text(_philosophers(24))
    started = [
        ("run", "philosophers.hocl", *["--nodes", "6", "--no-local", "--state", "nodes"]),
        ("lab", "serve", "token", "--nodes", "6", "--lock-every", "0.4", "--hold", "0.5"),
    ]
    board = folder / "board"
    settings = {**environment(), "SOLVENT_BOARD": str(board)}
    processes = [
        subprocess.Popen(arguments(*words), cwd=folder, env=settings, stdout=subprocess.DEVNULL) for words in started
    ]
    try:
        with ExitStack() as stack:
            # One holds a part of a resource, and the others wait, for the whole of it or to read.
            store = stack.enter_context(solvent.shared.join("weather", folder=folder / "memory", board=board))
            for claim in ("grid write", "grid write", "grid read", "rain read", "rain read"):
                name, _, mode = claim.partition(" ")
                handle = stack.enter_context(store.handle(name, size=4096, mode=mode))
                handle.request()
                if handle.test():
                    handle.acquire()
            while not (folder / "nodes" / "run.json").exists():
                time.sleep(0.1)
            site = {"folders": (folder / "nodes",), "status_folder": board, "shown": ".solvent/store.db"}
            with served(folder / "none.db", **site) as client:
                for theme in THEMES:
                    with looking(chromium, str(client.base_url), viewport=SIZE, color_scheme=theme) as seen:
                        seen.go("#/nodes")
                        seen.wait("td a")
                        seen.page.locator("td a", has_text="philosophers").first.click()
                        seen.wait(".circle")
                        seen.page.wait_for_timeout(2500)
                        _shoot(seen, "nodes", theme)
                        seen.page.set_viewport_size({**SIZE, "height": 860})
                        seen.go("#/locks")
                        seen.wait(".circle")
                        _shoot(seen, "locks", theme)
    finally:
        for process in processes:
            process.send_signal(signal.SIGINT)
        for process in processes:
            process.wait()


def _philosophers(count: int) -> str:
    """Write a program that goes on for long: so many philosophers, and a fork between each two."""
    rules = (ROOT / "examples" / "hocl" / "philosophers" / "philosophers.hocl").read_text().split("<\n")[0]
    forks = [f"FORK : {at}" for at in range(count)]
    eaters = [f'THINKS : "p{at}" : {at} : {(at + 1) % count} : 1000000' for at in range(count)]
    return f"{rules}<{', '.join((*forks, *eaters))}, sit_down, get_up, leave>"


if __name__ == "__main__":
    main()
