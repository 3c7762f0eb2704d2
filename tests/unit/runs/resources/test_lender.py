"""Resources of a workflow, lent to its calls."""

from __future__ import annotations

import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

import solvent
from solvent import attempt, repeat, resource, service, workflow
from solvent.errors import WorkflowProblem
from solvent.runs.exploration import explore_workflow
from solvent.workflows.formats.files import load_text
from tests.unit.runs.resources import solving

if TYPE_CHECKING:
    from pathlib import Path

    from solvent.runs.report import Report

np = pytest.importorskip("numpy")


def run(flow: Any, inputs: dict[str, Any] | None = None, **options: Any) -> Report:
    """Run a workflow that must succeed."""
    report = solvent.run(flow, inputs, **options)
    assert report.error is None, report.error
    assert report.succeeded, report.failures
    return report


def test_many_calls_change_one_array() -> None:
    """Calls that write the same array come one after the other, and none of their changes is lost."""
    report = run(solving.sums, jobs=8)
    assert report.results["total"] == 40 * 5 * (1 + 15)
    assert report.resources["grid"].shape == (40, 5)
    assert (report.resources["grid"] == 16.0).all()


def test_a_call_that_fails_has_changed_nothing() -> None:
    """What takes the place of a failed call finds the resource as it was before that."""
    report = run(solving.diverging)
    assert report.results == {"spoil": 100.0}
    assert report.states["spoil"] == "replaced"


def test_a_call_that_takes_too_long_has_changed_nothing(tmp_path: Path) -> None:
    """A retry after a time-out waits until the old call is really over, and finds what was there before it."""
    report = run(solving.hanging, {"mark": str(tmp_path / "mark")})
    assert report.results == {"hang_once": 100.0}
    assert (report.resources["grid"] == 7.0).all()


def test_asynchronous_functions_have_resources_too() -> None:
    """A coroutine gets the array, alone, and changes nothing if it fails."""

    @workflow
    def flow() -> Any:
        grid = resource("grid", shape=(4, 3))
        added = [solving.add_slowly(grid, float(number)) for number in range(4)]
        return attempt(
            solving.spoil_slowly.after(*added)(grid), otherwise=solving.total.named("instead").after(*added)(grid.read)
        )

    assert run(flow).results == {"spoil_slowly": 6 * 12}


@pytest.mark.parametrize("is_read", [True, False])
def test_readers_and_stretches_have_it_together(tmp_path: Path, *, is_read: bool) -> None:
    """Two calls that read, or that write different rows, are at work at the same time."""
    one, other = str(tmp_path / "one"), str(tmp_path / "other")

    @workflow
    def flow() -> Any:
        grid = resource("grid", shape=(4, 3))
        made = solving.fill(grid)
        first, second = (grid.read, grid.read) if is_read else (grid[:2], grid[2:])
        met = [solving.meet.after(made)(first, one, other), solving.meet.after(made)(second, other, one)]
        return (*met, solving.total.after(*met)(grid.read))

    report = run(flow, jobs=4)
    assert list(report.results.values()) == ([12.0, 12.0, 12.0] if is_read else [12.0, 12.0, 24.0])


def test_two_resources_in_both_orders() -> None:
    """Calls that claim the same resources in different orders do not wait for each other for ever."""
    assert list(run(solving.swapping, jobs=8).results.values()) == [1000.0, 2000.0]


def test_what_is_returned_does_not_change_later() -> None:
    """A result that lies in a resource is copied, since the resource goes on to others."""

    @workflow
    def flow() -> Any:
        grid = resource("grid", shape=(2, 2))
        given = solving.give_away.after(solving.fill(grid))(grid)
        return given, solving.add.after(given)(grid, 5.0)

    given = run(flow).results["give_away"]
    assert (given["all"].tolist(), given["some"][0].tolist()) == ([[1.0, 1.0], [1.0, 1.0]], [1.0, 1.0])


def test_bytes_are_a_view_and_a_file_keeps_them(tmp_path: Path) -> None:
    """A resource that is no array is a view; one that is a file is changed there."""
    (tmp_path / "words.txt").write_bytes(b"some words")

    @workflow
    def flow() -> Any:
        words, zeros = resource("words", file="words.txt"), resource("zeros", size=3, save="zeros.bin")
        return solving.upper(words), solving.upper.named("none")(zeros[1:])

    report = run(flow, folder=tmp_path)
    assert report.results == {"upper": 10, "none": 2}
    assert (tmp_path / "words.txt").read_bytes() == bytes(report.resources["words"]) == b"SOME WORDS"
    assert (tmp_path / "zeros.bin").read_bytes() == b"\0\0\0"


def test_an_array_is_saved_and_made_in_a_file(tmp_path: Path) -> None:
    """What an array holds in the end is saved as NumPy does; a file of a known size is made."""

    @workflow
    def flow(n: int, out: str) -> Any:
        made = resource("made", shape=(n, 2), dtype=np.int16, file="made.raw")
        return solving.fill(resource("grid", shape=n, dtype="<i4", save=out), 3), solving.fill.named("f")(made, 2)

    report = run(flow, {"n": 3, "out": "grid.npy"}, folder=tmp_path)
    assert np.load(tmp_path / "grid.npy").tolist() == report.resources["grid"].tolist() == [3, 3, 3]
    assert np.fromfile(tmp_path / "made.raw", np.int16).tolist() == [2] * 6


def test_what_is_given_at_the_end_belongs_to_the_user(tmp_path: Path) -> None:
    """Changing the array of a report changes neither a file nor anybody else's array."""

    @workflow
    def flow() -> Any:
        return solving.fill(resource("grid", shape=3, file="grid.raw"))

    found = run(flow, folder=tmp_path).resources["grid"]
    found += 5
    assert found.tolist() == [6.0] * 3
    assert np.fromfile(tmp_path / "grid.raw").tolist() == [1.0] * 3


def test_a_loop_changes_the_same_array_in_every_round() -> None:
    """A task that is repeated has the resource anew each time."""

    @service
    def sweep(grid: Any) -> float:
        grid += 1
        return float(grid[0])

    @service
    def judge(_: float, grid: Any) -> float:
        return float(grid[0])

    @workflow
    def flow() -> Any:
        grid = resource("grid", shape=3)
        swept = sweep(grid)
        judged = judge(swept, grid.read)
        repeat(judged, back_to=swept, when="result < 7.0")
        return judged

    report = run(flow)
    assert (report.results, report.calls) == ({"judge": 7.0}, {"sweep": 7, "judge": 7})


def test_one_call_for_each_item_has_it_in_turn() -> None:
    """Several calls of one task have the same resource, one after the other."""

    @service
    def add_to(value: float, grid: Any) -> None:
        grid += value

    @workflow
    def flow() -> Any:
        grid = resource("grid", shape=3)
        return solving.total.after(add_to.each([1.0, 2.0, 3.0], grid=grid))(grid.read)

    assert run(flow).results == {"total": 18.0}


def test_an_inner_workflow_has_resources_of_its_own() -> None:
    """Each call of a workflow makes its resources anew."""

    @workflow
    def outer() -> Any:
        return solving.diverging(), solving.diverging.named("again")()

    assert list(run(outer).results.values()) == [100.0, 100.0]


def test_executors_of_threads_have_resources_and_others_do_not() -> None:
    """Threads of this process can be lent memory; processes of somebody else's pool cannot."""
    with ThreadPoolExecutor(4) as executor:
        assert run(solving.sums, executor=executor).results["total"] == 40 * 5 * 16
    with ProcessPoolExecutor(1) as executor, pytest.raises(WorkflowProblem) as caught:
        solvent.run(solving.sums, executor=executor)
    assert caught.value.code == "W163"


# --- Commands.


def commands(tmp_path: Path, tasks: str) -> Report:
    """Run commands on a text."""
    (tmp_path / "text").write_bytes(b"some words")
    text = f"""
resources: {{text: {{file: text}}}}
services:
  count: {{shell: "wc -c < {{0}}"}}
  upper: {{shell: "tr a-z A-Z < {{text}} > {{text}}.new && mv {{text}}.new {{text}}"}}
  cut: {{shell: "printf x > {{text}}"}}
  spoil: {{shell: "printf 'SPOILED!!!' > {{text}}; exit 3"}}
  look: {{shell: "cat {{0}}"}}
tasks:
{tasks}
"""
    return solvent.run(load_text(text, name="w.yaml").workflow, folder=tmp_path)


def test_commands_get_paths(tmp_path: Path) -> None:
    """A command reads and changes a file; what it has changed is what others have."""
    report = commands(
        tmp_path,
        "  A: {service: upper, with: {text: {resource: text}}}\n"
        "  B: {service: look, in: [{resource: text, mode: read}], after: [A]}\n"
        "  C: {service: count, in: [{resource: text}], after: [B]}\n",
    )
    assert report.results == {"C": "10"}
    assert (tmp_path / "text").read_bytes() == b"SOME WORDS"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text"]


@pytest.mark.parametrize(
    "service_name, cause", [("spoil", "exit code 3"), ("cut", "it has left 1 bytes of `text`, which has 10")]
)
def test_a_command_that_fails_has_changed_nothing(tmp_path: Path, service_name: str, cause: str) -> None:
    """A command that fails, or makes a resource shorter, leaves it as it was."""
    report = commands(
        tmp_path,
        f"  A: {{service: {service_name}, with: {{text: {{resource: text}}}}}}\n"
        "  B: {service: look, in: [{resource: text, mode: read}]}\n"
        "alternatives: [{exits: {A: B}}]\n",
    )
    assert report.results == {"A": "some words"}
    assert cause in report.adaptations[0]["cause"]


# --- What cannot be.


def test_resources_that_cannot_be_made(tmp_path: Path) -> None:
    """A file that is not there, and inputs that are no sizes, are said before anything is called."""

    @workflow
    def flow(n: Any = 3, file: Any = "") -> Any:
        return solving.fill(resource("grid", shape=n, file=file))

    @workflow
    def missing() -> Any:
        return solving.upper(resource("text", file="missing.txt"))

    for inputs, code in (
        ({"n": "many"}, "W161"),
        ({"n": 0}, "W161"),
        ({"file": 3}, "W161"),
        ({"file": "not/here"}, "W163"),
    ):
        with pytest.raises(WorkflowProblem) as caught:
            solvent.run(flow, inputs, folder=tmp_path)
        assert caught.value.code == code
    with pytest.raises(WorkflowProblem) as caught:
        solvent.run(missing, folder=tmp_path)
    assert (caught.value.code, "`size:`" in caught.value.hint) == ("W163", True)


def test_arrays_need_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without NumPy a function cannot be given an array, which is said before anything is called."""
    monkeypatch.setattr("solvent.runs.resources.lender.find_spec", lambda _name: None)
    with pytest.raises(WorkflowProblem) as caught:
        solvent.run(solving.diverging)
    assert (caught.value.code, "solvent[arrays]" in caught.value.hint) == ("W163", True)


def test_a_resource_that_cannot_be_saved_fails_the_run(tmp_path: Path) -> None:
    """The report says what is wrong, and still has what was done."""

    @workflow
    def flow() -> Any:
        return solving.fill(resource("grid", shape=3, save="not/here.npy"))

    report = solvent.run(flow, folder=tmp_path, check=False)
    assert report.error is not None
    assert report.error.code == "W163"
    assert report.resources["grid"].tolist() == [1.0] * 3


@pytest.mark.parametrize("processes", [False, True])
def test_without_undo_the_changes_of_a_failed_call_stay(*, processes: bool) -> None:
    """Where nothing is kept of the version before, those that come later find what a failed call has left."""

    @workflow
    def flow() -> Any:
        grid = resource("grid", shape=3, undo=False)
        filled = solving.fill(grid)
        return attempt(
            solving.spoil.after(filled)(grid), otherwise=solving.total.named("instead").after(filled)(grid.read)
        )

    report = run(flow, processes=processes)
    assert (report.results, report.resources["grid"].tolist()) == ({"spoil": 3 * 99.0}, [99.0] * 3)


def test_workflows_with_resources_are_not_explored() -> None:
    """What calls answer depends on more than their arguments, so not all orders can be tried."""
    with pytest.raises(WorkflowProblem) as caught:
        explore_workflow(solving.diverging.definition())
    assert caught.value.code == "W142"


def test_a_run_that_is_stopped_gives_back_what_it_has() -> None:
    """A run that ends while calls have resources ends, and its memory goes."""
    is_in, go = threading.Event(), threading.Event()

    @service
    def wait(grid: Any) -> None:
        grid[:] = 9
        is_in.set()
        go.wait(200)

    @workflow
    def flow() -> Any:
        return wait(resource("grid", shape=3))

    report = solvent.run(flow, should_stop=is_in.is_set, check=False)
    go.set()
    assert report.error is not None
    assert report.error.code == "H504"
