"""Where a store is, is said by `--store` or the variable SOLVENT_STORE; and commands in hints say it, too."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

from solvent.errors import NoStore
from solvent.store import open_store
from tests.cli.agent_processes import Command, agents_of, calls, put_flow, until
from tests.cli.command import MAX, solvent
from tests.live.store_servers import served

if TYPE_CHECKING:
    from pathlib import Path

AGENTS = ("--agents", "1", "--ttl", "1")


def test_agents_that_are_started_look_where_the_variable_says(tmp_path: Path) -> None:
    """They are told of the same store that the run was given to, and no other is made."""
    put_flow(tmp_path)
    (tmp_path / "open").touch()
    more = {"SOLVENT_STORE": str(tmp_path / "runs.db")}
    result = solvent("run", "flow.yaml", *AGENTS, "--no-sync", "--name", "r1", cwd=tmp_path, more=more)
    assert (result.code, result.out) == (0, "sum: 17\n")
    assert agents_of(tmp_path) == []
    assert not (tmp_path / ".solvent" / "store.db").exists()


def test_agents_that_go_on_look_where_the_variable_says(tmp_path: Path) -> None:
    """`resume --agents` starts them at the store in which it has found the run."""
    put_flow(tmp_path)
    (tmp_path / "open").touch()
    more = {"SOLVENT_STORE": str(tmp_path / "runs.db")}
    solvent("submit", "flow.yaml", "--name", "r1", cwd=tmp_path, more=more)
    result = solvent("resume", "r1", *AGENTS, "--file", "flow.yaml", cwd=tmp_path, more=more)
    assert (result.code, result.out) == (0, "sum: 17\n")
    assert not (tmp_path / ".solvent" / "store.db").exists()


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Give a folder with a program."""
    (tmp_path / "max.hocl").write_text(MAX, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("said,is_kept", [("runs.db", True), ("none", False), ("", False)])
def test_a_program_over_nodes_is_kept_where_the_variable_says(program: Path, said: str, *, is_kept: bool) -> None:
    """It comes to the same either way; `none` is no store."""
    result = solvent("run", "max.hocl", "--nodes", "2", cwd=program, more={"SOLVENT_STORE": said})
    assert (result.code, result.out) == (0, "<9, max>\n")
    assert [one.name for one in program.glob("*.db")] == (["runs.db"] if is_kept else [])


def test_a_program_that_is_kept_elsewhere_does_not_mind_the_variable(program: Path) -> None:
    """Who names a folder means this folder."""
    more = {"SOLVENT_STORE": "runs.db"}
    result = solvent("run", "max.hocl", "--nodes", "2", "--state", "kept", cwd=program, more=more)
    assert (result.code, result.out) == (0, "<9, max>\n")
    assert not (program / "runs.db").exists()


@pytest.mark.parametrize("command", ["logs", "replay", "resume", "timeline"])
def test_what_is_for_workflows_says_what_is_for_a_program(program: Path, command: str) -> None:
    """A run of a program is known by its name, and the commands that are for it are named, with the store."""
    solvent("run", "max.hocl", "--nodes", "2", "--store", "runs.db", cwd=program)
    run = solvent("status", "--store", "runs.db", "--format", "json", cwd=program).json["runs"][0]["run"]
    result = solvent(command, run, "--store", "runs.db", cwd=program)
    assert (result.code, result.out) == (2, "")
    assert f"error[R401]: `{run}` is no run of a workflow, but of a program over nodes\n" in result.err
    assert f"`solvent run --attach {run} --store runs.db`" in result.err
    words = result.err.partition("; `solvent ")[2].partition("`")[0].split()
    assert solvent(*words, cwd=program).out == "<9, max>\n"


def test_hints_name_the_store(tmp_path: Path) -> None:
    """Whoever copies the command from a hint finds the run."""
    put_flow(tmp_path)
    more = {"SOLVENT_STORE": ""}
    with Command("run", "flow.yaml", "--store", "d.db", "--name", "em1", cwd=tmp_path, more=more) as command:
        until(lambda: "gate" in calls(tmp_path), command.said())
        result = solvent("resume", "em1", "--store", "d.db", cwd=tmp_path)
        assert "`solvent cancel em1 --store d.db`" in result.err
        assert solvent("cancel", "em1", "--store", "d.db", cwd=tmp_path).out == "em1: cancelled\n"


def test_agents_are_listed_by_the_file_that_started_them(tmp_path: Path) -> None:
    """Who has the store in the file of hosts only need not say it again."""
    hosts = f"store: {tmp_path / 'runs.db'}\nservices: [flow.yaml]\nhosts: [{{address: here}}]\n"
    (tmp_path / "hosts.yaml").write_text(hosts, encoding="utf-8")
    put_flow(tmp_path)
    solvent("submit", "flow.yaml", "--store", "runs.db", cwd=tmp_path)
    result = solvent("agents", "list", "hosts.yaml", cwd=tmp_path)
    assert (result.code, result.out) == (0, "there are no agents\n")


def looking(url: str) -> list[tuple[str, ...]]:
    """Give commands that only look."""
    of_runs = [(one, "r") for one in ("status", "logs", "replay", "resume", "cancel", "timeline", "top")]
    others = ("status",), ("resume",), ("agents", "list"), ("agents", "down", "--all"), ("run", "--attach", "r")
    return [(*words, "--store", url) for words in (*of_runs, *others)]


@pytest.mark.parametrize("kind", ["file", "server"])
def test_who_only_looks_makes_no_store(tmp_path: Path, kind: str) -> None:
    """A store that is misspelt is said not to be there, and is not there afterwards either."""
    with served() if kind == "server" else nullcontext() as server:
        url = f"{server}/misspelt" if server else str(tmp_path / "misspelt.db")
        said = f"there is no store `misspelt` at {url}" if server else f"there is no file {url}"
        for words in looking(url):
            result = solvent(*words, cwd=tmp_path)
            assert (result.code, result.out, said in result.err) == (2, "", True), (words, result.err)
        assert solvent("doctor", "--store", url, "--format", "json", cwd=tmp_path).code == 0
        with pytest.raises(NoStore):
            open_store(url, is_made=False)
