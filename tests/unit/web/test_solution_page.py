"""Molecules, nodes and locks in a real browser: what a user sees and does there."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

import solvent
from solvent.runs.agents.shards import submit
from solvent.workflows.model import Result, Task, Value
from tests.browser.chromium import MAX_SECONDS, browser, looking
from tests.unit.runs.agents.flows import adaptive, run_by_agents, store_at, workflow
from tests.unit.runs.replay_index.runs import recorded
from tests.unit.web.page_server import served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Page

    from tests.browser.chromium import Watched

MANY = 120
IS_WITHIN = (
    "document.documentElement.scrollWidth <= innerWidth && document.querySelector('main').scrollWidth <= innerWidth"
)


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder where stores tell how they stand."""
    return tmp_path_factory.mktemp("page") / "board"


@pytest.fixture(scope="module")
def opened(board: Path) -> Iterator[Watched]:
    """Serve some runs and open a browser."""
    folder = board.parent
    (folder / "sum.hocl").write_text("<1, 2, 3, 4, 5, 6, replace x::int, y::int by x + y>")
    with browser() as one:
        with store_at(folder) as store:
            recorded(store, "adapted", adaptive())
            tasks = [Task(f"t{at}", "add", (Value(at),)) for at in range(MANY)]
            recorded(store, "large", workflow(*tasks, Task("sum", "add", tuple(Result(one.name) for one in tasks))))
            submit(store, "shared", workflow(*tasks[:4]), None, max_shards=2)
            run_by_agents(store, "shared")
        # Without local reactions no node can finish alone: all of them say something.
        command = [sys.executable, "-m", "solvent", "run", str(folder / "sum.hocl"), "--nodes", "3", "--no-local"]
        store_file = ["--store", str(folder / "store.db")]
        subprocess.run([*command, *store_file], check=True, timeout=MAX_SECONDS, capture_output=True)
        with served(folder / "store.db", status_folder=board) as client, looking(one, client.base_url) as seen:
            yield seen


@pytest.fixture
def look(opened: Watched) -> Iterator[Any]:
    """Return a function that opens a part of the page; nothing may go wrong in it."""

    def go(address: str, until: str) -> Page:
        opened.page.goto("about:blank")
        opened.go(f"#/{address}")
        opened.page.wait_for_selector(until)
        return opened.page

    yield go
    assert opened.problems == []


def wait_for(is_so: Callable[[], Any]) -> None:
    """Wait until something is so; the page's own rules forbid to have it evaluate texts."""
    until = time.monotonic() + MAX_SECONDS
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.02)


def number_of(page: Page) -> int:
    """Give the moment that is shown."""
    return int(page.locator(".count").input_value() or -1)


def number_at(page: Page, number: int) -> None:
    """Wait until a moment is shown."""
    wait_for(lambda: number_of(page) == number)


def last_of(page: Page) -> int:
    """Give how many reactions there are."""
    return int(page.locator(".replay-bar input[type=range]").get_attribute("max") or 0)


def test_keys_step_back_and_forth(look: Any) -> None:
    """Arrows go from reaction to reaction, Home and End to both ends, and the address is that of the moment."""
    page = look("run/adapted/molecules/5", ".nested")
    number_at(page, 5)
    page.keyboard.press("ArrowRight")
    number_at(page, 6)
    assert page.url.endswith("#/run/adapted/molecules/6")
    page.keyboard.press("ArrowLeft")
    number_at(page, 5)
    page.keyboard.press("End")
    number_at(page, last_of(page))
    page.keyboard.press("Home")
    number_at(page, 0)
    assert page.locator(".replay-aside h2").inner_text() == "The beginning"


def test_what_a_reaction_made_is_marked_and_explained(look: Any) -> None:
    """A click on a molecule tells which reaction made it."""
    page = look("run/adapted/molecules/3", ".replay-solution [data-role=made]")
    made = page.locator(".replay-solution .chip[data-role=made]").first
    assert made.inner_text().startswith("+\nRES:3")
    made.click()
    page.wait_for_selector("text=Why it is there")
    assert "Made by reaction 3, rule gw_call (a call is answered)." in page.locator(".replay-aside").inner_text()


def test_molecules_are_found_by_their_text(look: Any) -> None:
    """What is found says where it is."""
    page = look("run/adapted/molecules/3", ".nested")
    page.keyboard.press("/")
    page.keyboard.type("RES:3")
    page.wait_for_selector(".found li")
    assert page.locator(".found li").all_inner_texts() == ['"one" RES:3']


def test_events_of_a_task_are_one_key_apart(look: Any) -> None:
    """Having named a task, `]` goes to its next event."""
    page = look("run/adapted/molecules/0", ".nested")
    number_at(page, 0)
    page.fill("[list=replay-tasks]", "spare")
    page.keyboard.press("Enter")
    wait_for(lambda: number_of(page) > 0)
    first = number_of(page)
    page.wait_for_selector(".events button[aria-label^='Its next']:enabled")
    page.keyboard.press("]")
    wait_for(lambda: number_of(page) > first)


def test_of_many_tasks_few_are_drawn_and_the_rest_is_to_be_had(look: Any) -> None:
    """A large solution shows its first molecules, and more when asked."""
    page = look("run/large/molecules/1", ".chip")
    boxes = page.locator(".replay-solution > .members > .chip")
    few = boxes.count()
    assert few < MANY
    page.get_by_role("button", name="more").click()
    wait_for(lambda: boxes.count() > few)


def test_places_of_agents_are_chosen(look: Any) -> None:
    """Each place of a run of agents has its own record."""
    page = look("run/shared/molecules", ".chip")
    tasks = page.locator(".replay-solution .chip")
    first = tasks.all_inner_texts()
    assert any('"t' in one for one in first)
    page.select_option("select", "1")
    wait_for(lambda: str(page.evaluate("location.hash")).endswith("/1"))
    assert set(tasks.all_inner_texts()).isdisjoint({one for one in first if '"t' in one})


def test_who_had_the_places_of_a_run_is_said_when_it_is_over(look: Any) -> None:
    """Leases are given back at the end; who had them is still named, and no agent is said to have none."""
    page = look("run/shared/agents", "[data-shard]")
    assert "These agents had its shards" in page.locator(".run-body").inner_text()
    assert "no agent" not in page.locator(".run-body").inner_text()
    assert page.locator("[data-agent]").count() == 0


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize(
    "address, until", [("run/adapted/molecules/5", ".nested"), ("nodes", "table"), ("locks", ".empty")]
)
def test_nothing_is_cut(look: Any, address: str, until: str, width: int) -> None:
    """The page is as wide as the window."""
    page = look(address, until)
    page.set_viewport_size({"width": width, "height": 800})
    try:
        assert page.evaluate(IS_WITHIN)
    finally:
        page.set_viewport_size({"width": 1280, "height": 800})


def test_nodes_of_a_program_are_drawn(look: Any) -> None:
    """A run in the page's store shows its nodes, their modes and what they said."""
    page = look("nodes", "td a")
    page.locator("td a").first.click()
    page.wait_for_selector(".circle")
    assert page.locator(".circle .dot").count() == 3
    page.wait_for_selector(".bars tr")


def test_a_resource_shows_who_has_it(look: Any, board: Path) -> None:
    """While a process holds a resource, the page names it."""
    is_seen = threading.Event()

    def hold() -> None:
        opening = solvent.shared.join("held", folder=board.parent / "memory", board=board)
        with opening as store, store.handle("grid", size=8) as handle:
            handle.acquire()
            is_seen.wait(MAX_SECONDS)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        page = look("locks", ".claim[data-state=has]")
        assert page.locator(".resource h3").inner_text() == "grid"
    finally:
        is_seen.set()
        thread.join(MAX_SECONDS)
