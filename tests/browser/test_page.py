"""The page in a real browser: a run begins, fails, heals and ends, and somebody looks on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from solvent.runs.agents.shards import submit
from solvent.workflows.model import Control, Signalled, Task, Value
from tests.browser.chromium import browser, looking
from tests.browser.commands import run_of_weather, serving
from tests.unit.runs.agents.flows import AgentsHere, store_at, workflow
from tests.unit.web.flows import continued, going, recorded
from tests.unit.web.page_server import served
from tests.unit.web.records import wide_workflow, write_run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Give a browser for all tests of the module."""
    with browser() as found:
        yield found


def box(name: str, state: str) -> str:
    """Name the box of a task in a state, as those hear of it who do not see the canvas."""
    return f'.stage [data-box="{name}"][data-state="{state}"]'


def test_a_run_is_seen_to_fail_to_heal_and_to_end(chromium: Browser, tmp_path: Path) -> None:
    """The run appears in the list; its failure, what takes over, and the result are seen as they happen."""
    with serving(tmp_path) as address, looking(chromium, address) as seen:
        page = seen.page
        seen.go("")
        page.get_by_text("There are no runs yet.").wait_for()
        with run_of_weather(tmp_path):
            page.locator(".row", has_text="weather-1").click()
            seen.wait(box("ask_satellite", "replaced"))
            seen.wait(box("ask_stations", "waiting"))
            assert "the satellite does not answer" in page.locator(".side .error").inner_text()
            (tmp_path / "warm").touch()
            seen.wait(box("ask_stations", "running"))
            told = page.locator(".side .adapted").inner_text()
            assert told.startswith("↻ no satellite\n\nask_stations instead of ask_satellite")
            (tmp_path / "measured").touch()
            seen.wait(box("write_report", "done"))
            seen.wait('.run-head > .state[data-state="done"]')
            assert page.locator(".side .result").inner_text() == "Porto 20, Faro 18"
        page.get_by_role("tab", name="Timeline").click()
        seen.wait('.lane[data-rows="5"]')
        page.get_by_role("tab", name="Tasks").click()
        page.locator('.line[data-task="ask_satellite"]').click()
        page.locator(".side .call .bad").get_by_text("ConnectionError: the satellite does not answer").wait_for()


def test_several_viewers_see_the_same_and_one_that_was_cut_off_catches_up(chromium: Browser, tmp_path: Path) -> None:
    """A viewer without a network for a while shows the end as soon as it has one again."""
    with served(tmp_path / "store.db") as client, going(tmp_path) as gate:
        address = str(client.base_url)
        with looking(chromium, address) as one, looking(chromium, address) as other:
            for seen in (one, other):
                seen.go("#/run/healing-1")
                seen.wait(box("last", "running"))
            other.page.context.set_offline(offline=True)
            gate.is_open.set()
            one.wait(box("last", "done"))
            other.page.context.set_offline(offline=False)
            other.wait(box("last", "done"))
            other.problems.clear()  # That there was no network is said on the console.


def test_a_viewer_sees_the_version_that_counts(chromium: Browser, tmp_path: Path) -> None:
    """The page of a run that is continued with a further task shows that task by itself."""
    recorded(tmp_path)
    with served(tmp_path / "store.db") as client, looking(chromium, str(client.base_url)) as seen:
        seen.go("#/run/healing-1/graph/last")
        seen.wait(box("last", "done"))
        continued(tmp_path, "more")
        seen.wait(box("more", "waiting"))
        seen.wait(box("last", "done"))
        assert seen.page.url.endswith("#/run/healing-1/graph/last")


def test_the_page_is_used_by_keys_alone(chromium: Browser, tmp_path: Path) -> None:
    """Runs are found and opened, boxes chosen, tabs changed, help and theme shown, all from the keyboard."""
    run = write_run(tmp_path / "store.db", wide_workflow(12))
    with served(tmp_path / "store.db") as client, looking(chromium, str(client.base_url)) as seen:
        page, keys = seen.page, seen.page.keyboard
        seen.go("")
        seen.wait(".row")
        keys.press("/")
        keys.type("wide")
        keys.press("Escape")
        keys.press("j")
        keys.press("Enter")
        seen.wait(box("split", "done"))
        keys.press("ArrowDown")
        keys.press("ArrowDown")
        seen.wait('.stage [aria-selected="true"]')
        assert page.locator('.stage [aria-selected="true"]').inner_text().startswith("fetch_")
        keys.press("2")
        seen.wait(".lane")
        keys.press("3")
        seen.wait(".line")
        keys.press("?")
        page.get_by_role("dialog", name="Keyboard").get_by_text("light or dark").wait_for()
        keys.press("Escape")
        before = page.locator("html").get_attribute("data-theme")
        keys.press("d")
        assert page.locator("html").get_attribute("data-theme") != before
        assert f"#/run/{run}/tasks" in page.url


def test_everything_that_can_be_pressed_has_a_name(chromium: Browser, tmp_path: Path) -> None:
    """Whoever cannot see the page hears what each button, link and field is."""
    run = write_run(tmp_path / "store.db", wide_workflow(12))
    unnamed = """() => [...document.querySelectorAll("button, a, input, [role=tab], [role=listbox], [tabindex='0']")]
        .filter((one) => one.offsetParent !== null && !one.closest("[hidden]"))
        .filter((one) => !(one.getAttribute("aria-label") || one.textContent.trim() || one.labels?.length))
        .map((one) => one.outerHTML)"""
    with served(tmp_path / "store.db") as client, looking(chromium, str(client.base_url)) as seen:
        for where in ("#/", f"#/run/{run}/graph/fold_1", f"#/run/{run}/timeline", f"#/run/{run}/tasks"):
            seen.go(where)
            seen.wait(".row, .call, .lane, .line")
            assert seen.page.evaluate(unnamed) == []


def test_many_tasks_need_no_more_elements_than_few(chromium: Browser, tmp_path: Path) -> None:
    """The timeline and the table of ten thousand tasks hold what is visible only, so that they stay quick."""
    runs = [write_run(tmp_path / "store.db", wide_workflow(count)) for count in (100, 10_000)]
    counts = []
    with served(tmp_path / "store.db") as client, looking(chromium, str(client.base_url)) as seen:
        for run in runs:
            for tab, there in (("timeline", ".lane[data-rows]"), ("tasks", ".line[data-task]")):
                seen.go(f"#/run/{run}/{tab}")
                seen.wait(there)
                counts.append(seen.page.evaluate("document.querySelectorAll('.run-body *').length"))
    assert counts[:2] == counts[2:]


def test_who_wants_no_motion_sees_none(chromium: Browser, tmp_path: Path) -> None:
    """With reduced motion an adaptation is there at once, and nothing on the page moves by itself."""
    with (
        served(tmp_path / "store.db") as client,
        going(tmp_path),
        looking(chromium, str(client.base_url), reduced_motion="reduce") as seen,
    ):
        seen.go("#/run/healing-1")
        seen.wait(box("odd", "replaced"))
        assert seen.page.evaluate("() => document.getAnimations().length") == 0


def test_a_graph_that_is_laid_out_late_is_seen_as_any_other(chromium: Browser, tmp_path: Path) -> None:
    """In a tab that opens in the background, where sizes are known late, the graph is as large as it would be."""
    run = write_run(tmp_path / "store.db", wide_workflow(12))
    waiting = """(milliseconds) => {
      const Real = ResizeObserver;
      const drawn = () => requestAnimationFrame(() => { document.body.dataset.drawn = "1"; });
      window.ResizeObserver = class extends Real {
        constructor(act) {
          super((...all) => setTimeout(() => { act(...all); setTimeout(drawn, 200); }, milliseconds));
        }
      };
    }"""
    pictures = []
    with served(tmp_path / "store.db") as client:
        for milliseconds in (0, 800):
            with looking(chromium, str(client.base_url), reduced_motion="reduce") as seen:
                seen.page.add_init_script(f"({waiting})({milliseconds})")
                seen.go(f"#/run/{run}")
                seen.wait(".stage[data-boxes]")
                seen.wait("[data-drawn]")
                pictures.append(seen.page.evaluate("document.querySelector('.stage canvas').toDataURL()"))
    assert pictures[0] == pictures[1]


def test_of_a_run_that_is_not_there_nothing_else_is_said(chromium: Browser, tmp_path: Path) -> None:
    """An address of no run says so, without times, a state, or what could be done with a run."""
    secret = "a secret of some length"  # noqa: S105 - that of a test
    with served(tmp_path / "store.db", secret=secret) as client, looking(chromium, str(client.base_url)) as seen:
        seen.go("#/run/nope")
        seen.wait(".notice.bad")
        seen.problems.clear()  # That it was not found is said on the console.
        assert "no run" in seen.page.locator(".notice.bad").inner_text()
        assert seen.page.locator(".run-head").inner_text().strip() == "nope"
        assert not seen.page.locator(".side").is_visible()


def test_details_give_way_when_a_window_becomes_narrow(chromium: Browser, tmp_path: Path) -> None:
    """What stands beside the graph does not come to lie over it."""
    run = write_run(tmp_path / "store.db", wide_workflow(12))
    with served(tmp_path / "store.db") as client, looking(chromium, str(client.base_url)) as seen:
        seen.go(f"#/run/{run}")
        seen.wait(".side h2", state="visible")
        seen.page.set_viewport_size({"width": 700, "height": 800})
        seen.wait(".side", state="hidden")


def test_a_signal_is_sent_to_a_run_that_waits(chromium: Browser, tmp_path: Path) -> None:
    """The run says what it waits for; the button asks for the value and the secret, and the run goes on."""
    secret = "a secret of some length"  # noqa: S105 - that of a test
    flow = workflow(Task("one", "add", (Value(1), Signalled()), control=Control(signal="go")))
    with (
        store_at(tmp_path) as store,
        AgentsHere(store),
        served(tmp_path / "store.db", secret=secret) as client,
        looking(chromium, str(client.base_url)) as seen,
    ):
        submit(store, "sums-1", flow, {})
        page = seen.page
        seen.go("#/run/sums-1")
        page.get_by_role("button", name="Send signal").click()
        page.get_by_label("What comes with it").fill("2")
        page.get_by_label("The secret").fill(secret)
        page.get_by_label("The secret").press("Enter")
        seen.wait('.run-head > .state[data-state="done"]')


def test_a_run_is_cancelled_with_the_secret_only(chromium: Browser, tmp_path: Path) -> None:
    """The page asks for the secret; a wrong one is said to be wrong, the right one ends the run."""
    secret = "a secret of some length"  # noqa: S105 - that of a test
    with (
        served(tmp_path / "store.db", secret=secret) as client,
        going(tmp_path),
        looking(chromium, str(client.base_url)) as seen,
    ):
        page = seen.page
        seen.go("#/run/healing-1")
        page.get_by_role("button", name="Cancel run").click()
        field = page.get_by_label("The secret")
        field.fill("wrong")
        field.press("Enter")
        page.get_by_text("that is not the secret").wait_for()
        seen.problems.clear()  # That it was refused is said on the console.
        field.fill(secret)
        field.press("Enter")
        seen.wait('.run-head > .state[data-state="cancelled"]')
