"""Shell commands: real ones, with real ends."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from solvent.errors import WorkflowProblem
from solvent.services import Caller
from solvent.services.call import Attempt
from solvent.workflows.model import Policy, Service
from tests.unit.services.outcomes import LONG, Outcome, Time, call, start, wait_until


def shell(target: str, policy: Policy = Policy(), **options: Any) -> Service:  # noqa: B008 -- it is frozen
    return Service("s", kind="shell", target=target, policy=policy, options=options)


def run(service: Service, *arguments: Any, folder: Path | None = None, **keywords: Any) -> Outcome:
    """Call a command and wait for its outcome."""
    with Caller([service], folder=folder) as caller:
        return call(caller, "s", *arguments, **keywords)


@pytest.fixture
def _short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands that are to end have little time for it."""
    monkeypatch.setattr("solvent.services.shell.GRACE_SECONDS", 0.1)


def is_alive(process: str) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    "result, target, value",
    [
        ("stdout", "echo a; echo b; echo", "a\nb\n"),
        ("stdout", "true", ""),
        ("lines", "echo a; echo; echo b", ["a", "", "b"]),
        ("json", "echo '{\"a\": [1, 2]}'", {"a": [1, 2]}),
        ("exit", "exit 3", 3),
    ],
)
def test_results(result: str, target: str, value: object) -> None:
    """What a command prints, or its exit code, is its result, as asked for."""
    assert run(shell(target, result=result)).value() == value


def test_a_file_as_result(tmp_path: Path) -> None:
    """The result may be the path of a file that the command makes, which it knows as `{out}`."""
    (tmp_path / "words.txt").write_text("b\na\n")
    service = shell("sort {0} > {out}", result="file:{task}-{0}.sorted")
    path = run(service, "words.txt", folder=tmp_path).value()
    assert path == str(tmp_path / "T1-words.txt.sorted")
    assert Path(path).read_text() == "a\nb\n"


def test_a_file_that_was_not_made(tmp_path: Path) -> None:
    """A command that makes no file although it should has failed."""
    failure = run(shell("true", result="file:none.txt"), folder=tmp_path).failure()
    assert (failure.kind, failure.text) == ("FAILED", "it did not create the file none.txt")


def test_an_exit_code_is_a_failure() -> None:
    """A command that exits with an error fails with the code and the end of what it said."""
    failure = run(shell("echo out; echo first >&2; echo last >&2; exit 4")).failure()
    assert (failure.kind, failure.text, failure.output) == ("FAILED", "exit code 4: last", "first\nlast")


def test_a_killed_command_is_a_failure() -> None:
    """A command that is killed by a signal fails."""
    assert run(shell("kill -9 $$")).failure().text == "killed by signal 9"


def test_no_json_is_a_failure() -> None:
    """A command that should print JSON and does not has failed."""
    failure = run(shell("echo '{oops'", result="json")).failure()
    assert failure.text.startswith("its output is not JSON")
    assert failure.output == "{oops"


@pytest.mark.parametrize(
    "stdin, arguments, value",
    [(0, ("a b",), "a b"), (1, ("x", [1, 2]), "[1, 2]"), ("text\n", (), "text"), (0, (b"b",), "b")],
)
def test_standard_input(stdin: int | str, arguments: tuple[object, ...], value: str) -> None:
    """A command can read an argument or a text."""
    assert run(shell("cat", stdin=stdin), *arguments).value() == value


def test_much_input_and_output() -> None:
    """Input and output far larger than a pipe pass without a jam."""
    text = "x" * 3_000_000
    assert run(shell("cat", stdin=0), text).value() == text


def test_input_that_nobody_reads() -> None:
    """A command may ignore its input."""
    assert run(shell("echo done", stdin=0), "x" * 3_000_000).value() == "done"


def test_folder_and_environment(tmp_path: Path) -> None:
    """A command runs in its folder, with its variables."""
    (tmp_path / "inner").mkdir()
    service = shell('pwd; echo "$COLOUR"', cwd="inner", env={"COLOUR": "red"}, result="lines")
    assert run(service, folder=tmp_path).value() == [str((tmp_path / "inner").resolve()), "red"]


@pytest.mark.parametrize("target", ["echo {3}", "echo {name}"])
def test_a_missing_argument_is_a_failure(target: str) -> None:
    """A command that asks for an argument which the call does not have fails without running."""
    assert "which the call does not have" in run(shell(target), 1).failure().text


def test_a_command_that_cannot_start(tmp_path: Path) -> None:
    """A folder that is not there fails the call."""
    failure = run(shell("true", cwd="nowhere"), folder=tmp_path).failure()
    assert failure.text.startswith("the command cannot be started: FileNotFoundError")


def test_a_hundred_megabytes_are_too_many() -> None:
    """A command that prints more than allowed is ended and fails."""
    failure = run(shell("yes | head -c 100000000", max_output=1_000_000)).failure()
    assert failure.text == "it printed more than 1000000 bytes (see `max_output`)"
    assert len(failure.output) <= 4_000


def test_a_noisy_failure_keeps_the_end() -> None:
    """Of a hundred megabytes of complaints the end is kept, and no more."""
    failure = run(shell("yes | head -c 100000000 >&2; echo the end >&2; exit 1")).failure()
    assert failure.text == "exit code 1: the end"
    assert failure.output.endswith("y\nthe end")
    assert len(failure.output) <= 4_000


@pytest.mark.parametrize("how", ["timeout", "cancel"])
def test_the_whole_group_ends(how: str, tmp_path: Path, time_: Time) -> None:
    """A time-out and a cancellation end the command and what it started."""
    marks = [tmp_path / "shell", tmp_path / "child"]
    target = "echo $$ > {0}; echo begun >&2; sleep 100 & echo $! > {1}; wait"
    policy = Policy(timeout=60) if how == "timeout" else Policy()
    with Caller([shell(target, policy)]) as caller:
        outcome, handle = start(caller, "s", *map(str, marks))
        wait_until(lambda: marks[1].exists() and marks[1].read_text())
        if how == "cancel":
            handle.cancel()
        else:
            time_.passes(61, caller.clock)
        failure = outcome.failure()
        assert failure.kind == ("TIMEOUT" if how == "timeout" else "CANCELLED")
        assert failure.output == "begun"
        wait_until(lambda: not any(is_alive(mark.read_text().strip()) for mark in marks))


@pytest.mark.usefixtures("_short_grace")
def test_a_stubborn_command_is_killed(tmp_path: Path, time_: Time) -> None:
    """A command that ignores the request to end is killed after a grace."""
    mark = tmp_path / "mark"
    target = "trap '' TERM; echo $$ > {0}; while true; do sleep 0.1; done"
    with Caller([shell(target, Policy(timeout=60))]) as caller:
        outcome = call(caller, "s", str(mark))
        wait_until(lambda: mark.exists() and mark.read_text())
        time_.passes(61, caller.clock)
        assert outcome.failure().kind == "TIMEOUT"
        wait_until(lambda: not is_alive(mark.read_text().strip()))


def test_a_command_that_is_cancelled_before_it_starts_never_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call that is cancelled when its turn has come, but not its command, leaves no trace."""
    monkeypatch.setattr(Attempt, "begin", Attempt.cancel)
    assert run(shell("touch {0}"), str(tmp_path / "mark")).failure().kind == "CANCELLED"
    assert not (tmp_path / "mark").exists()


@pytest.mark.usefixtures("_short_grace")
def test_what_a_command_started_is_killed_too(tmp_path: Path) -> None:
    """Something that ignores the request to end is killed even if the shell that started it has ended."""
    mark = tmp_path / "mark"
    target = 'sh -c \'trap "" TERM; echo $$ > "$0"; while true; do sleep 0.1; done\' {0} & wait'
    with Caller([shell(target)]) as caller:
        outcome, handle = start(caller, "s", str(mark))
        wait_until(lambda: mark.exists() and mark.read_text())
        handle.cancel()
        assert outcome.failure().kind == "CANCELLED"
        wait_until(lambda: not is_alive(mark.read_text().strip()))


def test_what_is_left_in_the_background_is_not_waited_for() -> None:
    """A command has ended when its shell has, even if something it left behind holds its output open."""
    began = time.monotonic()
    assert run(shell(f"sleep {LONG:.0f} & echo done")).value() == "done"
    assert time.monotonic() - began < LONG


def test_output_is_a_sign_of_life(tmp_path: Path, time_: Time) -> None:
    """A command that prints is alive; one that is silent is not."""
    alive = "until [ -e {0} ]; do echo alive; sleep 0.02; done"
    with Caller([shell(alive, Policy(heartbeat=60), result="exit")]) as caller:
        outcome = call(caller, "s", str(tmp_path / "go"))
        for _ in range(4):
            time_.wait_for_sign(caller)
            time_.passes(40, caller.clock)
        (tmp_path / "go").touch()
        assert outcome.value() == 0
    assert run(shell("sleep 30", Policy(heartbeat=0.2))).failure().text == "no heartbeat for 0.2 s"


def test_commands_leave_no_pipes_open() -> None:
    """After many commands, no more files are open than before."""
    threads = set(threading.enumerate())
    with Caller([shell("echo x", stdin="y")], jobs=2) as caller:
        call(caller).value()
        before = len(list(Path("/proc/self/fd").iterdir()))
        for one in [call(caller) for _ in range(30)]:
            one.value()
        assert len(list(Path("/proc/self/fd").iterdir())) <= before + 2 * 6
        assert len(set(threading.enumerate()) - threads) <= 3


@pytest.mark.parametrize(
    "service, text",
    [
        (shell(" "), "the command is empty"),
        (shell("true", colour="red"), "there is no option `colour`"),
        (shell("true", result="xml"), "there is no result `xml`"),
        (shell("true", env="A=1"), "`env` must name variables"),
    ],
)
def test_nonsense_is_refused(service: Service, text: str) -> None:
    """A command that could never work is refused before anything runs."""
    with pytest.raises(WorkflowProblem, match=text):
        Caller([service])
