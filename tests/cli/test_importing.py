"""A file that starts a run whenever it is imported: Solvent refuses that run, in every process that imports it."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import MAX_SECONDS, environment, solvent, started

if TYPE_CHECKING:
    from pathlib import Path

FLOW = """\
import os
from pathlib import Path

import solvent
from solvent import service, workflow


@service
def double(x):
    return 2 * x


@workflow
def flow(n: int = 1):
    return double(n)


depth = int(os.environ.get("DEPTH", "0"))
with Path(__file__).with_name("imports").open("a") as imports:
    imports.write(f"{os.getpid()}\\n")
if depth < 3:  # So that this test ends where nothing else ends it.
    os.environ["DEPTH"] = str(depth + 1)
    report = solvent.run(flow, jobs=1, check=False, HOW)
    print([one.cause for one in report.failures])
"""
NESTED = """\
import solvent
from solvent import service, workflow


@service
def deeper(n):
    if n > 4:  # So that this test ends where nothing else ends it.
        return "without end"
    try:
        return solvent.run(flow, {"n": n + 1}, jobs=1, processes=True).results["deeper"]
    except solvent.SolventError as error:
        return f"[{error.code}] {error.message}"


@workflow
def flow(n: int = 1):
    return deeper(n)
"""
THREADED = """\
import threading
from concurrent.futures import ThreadPoolExecutor

import solvent
from solvent import service, workflow


@service
def one():
    print("it runs", flush=True)
    return 1


@workflow
def flow():
    return one()


def start():
    solvent.run(flow, jobs=1, HOW)


def start_deeper():
    thread = threading.Thread(target=start)
    thread.start()
    thread.join()


if __name__ != "__main__":
    STARTS
"""
STARTS = {
    "thread": "thread = threading.Thread(target=start); thread.start(); thread.join()",
    "no own frame": "ThreadPoolExecutor().submit(solvent.run, flow).result()",
    "thread of a thread": "thread = threading.Thread(target=start_deeper); thread.start(); thread.join()",
    "pool": "ThreadPoolExecutor().submit(start).result()",
}
CONCURRENT = """\
import threading

import solvent
from solvent.workflows.formats.files import load
from solvent.workflows.formats.python.files import load_python

began, ended = threading.Event(), threading.Event()
threading.Thread(target=lambda: load_python("slow.py"), daemon=True).start()
began.wait()
reports = []
runner = threading.Thread(target=lambda: reports.append(solvent.run(load("quick.yaml").workflow)))
runner.start()
runner.join()
ended.set()
print(reports[0].succeeded)
"""
SLOW = """\
import __main__
from solvent import service, workflow

__main__.began.set()
__main__.ended.wait()


@service
def one():
    return 1


@workflow
def flow():
    return one()
"""
YAML = """\
services: {double: {python: "FILE:double.function"}}
tasks: {one: {service: double, in: [1]}}
"""
LINE = FLOW[: FLOW.index("    report =")].count("\n") + 1
HINT = 'hint: put the call that starts the run under `if __name__ == "__main__":`'


def put(folder: Path, how: str) -> Path:
    """Write a workflow that runs itself at the top of its file."""
    file = folder / "flow.py"
    file.write_text(FLOW.replace("HOW", how))
    return file


def importers(folder: Path) -> int:
    """Return how many processes have imported the file."""
    return len(set((folder / "imports").read_text().split()))


@pytest.mark.parametrize("how", ["processes=True", "processes=False"])
@pytest.mark.parametrize("words", [("run",), ("run", "--processes"), ("check",), ("show",)], ids=" ".join)
def test_a_file_that_solvent_imports_may_not_start_a_run(tmp_path: Path, words: tuple[str, ...], how: str) -> None:
    """A command that imports a file which starts a run refuses that run, and says where it is and what to write."""
    file = put(tmp_path, how)
    result = solvent(*words, file)
    assert (result.code, result.out, importers(tmp_path)) == (2, "", 1)
    assert f"error[W190]: this file starts a run while Solvent imports it\n  {file}:{LINE}:" in result.err
    assert HINT in result.err


@pytest.mark.parametrize("words", [("run",), ("run", "--processes"), ("check",)], ids=" ".join)
def test_a_module_of_services_may_not_start_a_run(tmp_path: Path, words: tuple[str, ...]) -> None:
    """A module that a workflow's file names as the home of its services may not start a run either."""
    put(tmp_path, "processes=True")
    (tmp_path / "other.yaml").write_text(YAML.replace("FILE", "flow"))
    result = solvent(*words, tmp_path / "other.yaml")
    assert (result.code, result.out, importers(tmp_path)) == (2, "", 1)
    assert (
        f"error[W190]: this file starts a run while Solvent imports it\n  {tmp_path / 'flow.py'}:{LINE}:" in result.err
    )
    assert HINT in result.err


def test_functions_of_a_program_may_not_start_a_run(tmp_path: Path) -> None:
    """A module of `--functions` that starts a run is refused."""
    (tmp_path / "one.hocl").write_text("<1>\n")
    result = solvent("run", tmp_path / "one.hocl", "--functions", put(tmp_path, "processes=True"))
    assert (result.code, result.out, importers(tmp_path)) == (2, "", 1)
    assert "error[W190]: " in result.err


def test_a_worker_process_that_imports_a_file_starts_no_run(tmp_path: Path) -> None:
    """A worker process that has to import such a file starts nothing, and the failed call says why."""
    put(tmp_path, "processes=True")
    done = executed(tmp_path, "-c", "import flow")
    assert importers(tmp_path) == 2
    assert b"a worker process cannot load the function: [W190] this file starts a run while" in done
    assert b"__main__" in done


@pytest.mark.parametrize("words", [("flow.py",), ("-m", "flow")], ids=" ".join)
def test_a_file_that_python_runs_is_not_imported_by_worker_processes(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Where Python itself runs such a file, its functions go to worker processes by value, and the run succeeds."""
    put(tmp_path, "processes=True")
    assert executed(tmp_path, *words) == b"[]\n"
    assert importers(tmp_path) == 1


def executed(folder: Path, *words: str) -> bytes:
    """Return what Python prints when it is run in a folder."""
    command = [sys.executable, *words]
    return subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, timeout=MAX_SECONDS, check=True
    ).stdout


@pytest.mark.parametrize("how", ["processes=True", "processes=False"])
@pytest.mark.parametrize("starts", STARTS)
@pytest.mark.parametrize("command", ["run", "check"])
def test_a_thread_of_a_file_that_solvent_imports_may_not_start_a_run(
    tmp_path: Path, command: str, starts: str, how: str
) -> None:
    """A run is refused in every thread that the import has started, and the command ends with 2."""
    file = tmp_path / "flow.py"
    file.write_text(THREADED.replace("HOW", how).replace("STARTS", STARTS[starts]))
    result = started(command, file)
    assert (result.code, "it runs" in result.out + result.err) == (2, False)
    line = THREADED[: THREADED.index("    STARTS")].count("\n") + 1
    assert f"error[W190]: this file starts a run while Solvent imports it\n  {file}:{line}:" in result.err


def test_a_thread_that_an_import_has_not_started_may_start_a_run(tmp_path: Path) -> None:
    """A thread that somebody else starts while another thread imports a file runs its workflow."""
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "quick.yaml").write_text("services: {one: {shell: 'true'}}\ntasks: {first: {service: one}}\n")
    (tmp_path / "main.py").write_text(CONCURRENT)
    command = [sys.executable, "main.py"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(), capture_output=True, timeout=MAX_SECONDS, check=True
    )
    assert done.stdout.decode() == f"True{os.linesep}", done.stderr


def test_worker_processes_within_worker_processes_have_an_end(tmp_path: Path) -> None:
    """A service that runs its own workflow with worker processes is refused before that fills the machine."""
    (tmp_path / "flow.py").write_text(NESTED)
    result = solvent("run", tmp_path / "flow.py", "--processes", "--format", "json")
    assert (result.code, result.json["results"]) == (0, {"deeper": "[W191] worker processes are 2 deep already"})


def test_a_file_that_runs_itself_as_a_script_only_is_fine(tmp_path: Path) -> None:
    """Under `if __name__ == "__main__":` the same file is a script, and a workflow for every command."""
    file = tmp_path / "flow.py"
    file.write_text(FLOW.replace("HOW", "processes=True").replace("if depth < 3:", 'if __name__ == "__main__":'))
    result = solvent("run", file, "--processes")
    assert (result.code, result.out) == (0, "double: 2\n")
    command = [sys.executable, str(file)]
    done = subprocess.run(command, env=environment(), capture_output=True, timeout=MAX_SECONDS, check=True)
    assert done.stdout.decode() == f"[]{os.linesep}"
