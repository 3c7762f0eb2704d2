"""Stores: `solvent store serve`, stores of that name, without write permission, permissions, and rubbish servers."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from solvent.errors import NoStore
from solvent.store import open_store
from solvent.store.server import Plan, Server
from tests.cli.agent_processes import Command, agents_of, calls, put_flow, until
from tests.cli.command import MAX, Result, arguments, environment, solvent
from tests.live.store_servers import served

if TYPE_CHECKING:
    from collections.abc import Iterator


def _started(*words: str | Path) -> subprocess.Popen[str]:
    command = arguments("store", "serve", "--port", "0", *words)
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_server_is_started_used_and_ended(tmp_path: Path, how: signal.Signals) -> None:
    """The first line is the address; a signal ends the server in order, and its folder keeps everything."""
    for content in ([], [b"kept"]):
        with _started("--folder", tmp_path / "store") as process:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            with open_store(url) as store:
                assert not store.is_durable
                assert [record.data for record in store.read("log")] == content
                store.append("log", b"kept")
            process.send_signal(how)
            assert process.wait(200) == 0
            assert process.stderr is not None
            assert process.stderr.read() == ""


def test_what_is_printed_as_json(tmp_path: Path) -> None:
    """One line says the address, the folder, the process and whether it is durable; secrets are not in it."""
    (tmp_path / "secret").write_text("quite secret\n")
    words = ("--folder", tmp_path, "--durable", "--user", "ann", "--password-file", tmp_path / "secret")
    with _started(*words, "--format", "json") as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        said = json.loads(line)
        assert (said["durable"], said["folder"], "quite secret" in line) == (True, str(tmp_path), False)
        with open_store(said["url"].replace("://", "://ann:quite%20secret@")) as store:
            assert store.is_durable
        process.send_signal(signal.SIGINT)
        assert process.wait(200) == 0


def test_a_server_that_dies_is_told(tmp_path: Path) -> None:
    """When the server ends by itself the command says so, with exit code 1."""
    with _started("--folder", tmp_path, "--format", "json") as process:
        assert process.stdout is not None
        pid = json.loads(process.stdout.readline())["pid"]
        subprocess.run(["kill", "-9", str(pid)], check=True)
        assert process.wait(200) == 1
        assert process.stderr is not None
        assert "ended by itself" in process.stderr.read()


def test_a_server_that_was_left_alone_is_named(tmp_path: Path) -> None:
    """Whoever starts a second one in its folder is told which process has it."""
    with _started("--folder", tmp_path, "--format", "json") as process:
        assert process.stdout is not None
        pid = json.loads(process.stdout.readline())["pid"]
        process.kill()
    second = solvent("store", "serve", "--port", "0", "--folder", tmp_path)
    subprocess.run(["kill", str(pid)], check=True)
    assert (second.code, f"process {pid} keeps its data" in second.err, f"kill {pid}" in second.err) == (2, True, True)


@pytest.mark.parametrize(
    "words",
    [
        ("--host", "0.0.0.0"),  # noqa: S104 - it is refused
        ("--host", "no.such.host.invalid", "--token-file", "/dev/null"),
        ("--user", "ann"),
        ("--cert", "x"),
        ("--ca", "x"),
        ("--cert", "x", "--key", "y"),
        ("--cluster-port", "1"),
        ("--token-file", "none"),
        ("--folder", "/dev/null/store"),
    ],
)
def test_options_that_cannot_be(words: tuple[str, ...]) -> None:
    """What does not fit together, or is not there, is an error with a code."""
    result = solvent("store", "serve", *words)
    assert (result.code, result.out) == (2, "")
    assert "error[E401]" in result.err
    assert "Traceback" not in result.err


AGENTS = ("--agents", "1", "--ttl", "1")


@pytest.mark.parametrize(
    "words", [("run", "flow.yaml", "--no-sync", "--name", "r1"), ("resume", "r1", "--file", "flow.yaml")], ids=" ".join
)
def test_agents_that_are_started_look_where_the_variable_says(tmp_path: Path, words: tuple[str, ...]) -> None:
    """They are told of the store that the run was given to, or in which it was found, and no other is made."""
    put_flow(tmp_path)
    (tmp_path / "open").touch()
    more = {"SOLVENT_STORE": str(tmp_path / "runs.db")}
    if words[0] == "resume":
        solvent("submit", "flow.yaml", "--name", "r1", cwd=tmp_path, more=more)
    result = solvent(*words, *AGENTS, cwd=tmp_path, more=more)
    assert (result.code, result.out) == (0, "sum: 17\n")
    assert agents_of(tmp_path) == []
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


FLOW = "workflow: w\nservices: {s: {shell: echo hello}}\ntasks: {t: {service: s}}\n"


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder with a store of one run, both without write permission."""
    made = Path(tempfile.mkdtemp(prefix="solvent-test-"))
    try:
        (made / "w.yaml").write_text(FLOW)
        assert solvent("run", "w.yaml", "--store", "runs.db", "--name", "r1", cwd=made).code == 0
        assert solvent("submit", "w.yaml", "--store", "runs.db", "--name", "r2", cwd=made).code == 0
        for one in made.rglob("*"):
            one.chmod(0o555 if one.is_dir() else 0o444)
        made.chmod(0o555)
        yield made
    finally:
        made.chmod(0o755)
        shutil.rmtree(made, ignore_errors=True)


def _as_reader(folder: Path, *words: str) -> Result:
    """Run a command as a user who may not write; root may write everywhere, unless it gives up that capability."""
    command = [sys.executable, "-m", "solvent", *words]
    if os.getuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root needs `setpriv` to give up its permission to write everywhere")
        command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--", *command]
    done = subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=200, check=False
    )
    return Result(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    "words,said",
    [
        (("status",), "r1  done"),
        (("status", "r1"), "r1: done"),
        (("logs", "r1"), "t"),
        (("timeline", "r1"), "r1: done"),
        (("resume", "r1"), "t: hello"),
    ],
)
def test_commands_that_only_look_read_a_store_without_write_permission(
    folder: Path, words: tuple[str, ...], said: str
) -> None:
    """The runs of a file that cannot be written, in a folder that cannot be written, are shown."""
    before = {one.name: one.stat().st_mtime_ns for one in folder.iterdir()}
    result = _as_reader(folder, *words, "--store", "runs.db")
    assert (result.code, said in result.out) == (0, True), result.out + result.err
    assert {one.name: one.stat().st_mtime_ns for one in folder.iterdir()} == before


def test_a_command_that_writes_says_that_the_store_can_only_be_read(folder: Path) -> None:
    """`cancel` of a store that cannot be written says so, and what to do."""
    result = _as_reader(folder, "cancel", "r2", "--store", "runs.db")
    assert result.code == 2
    assert "E415" in result.err


def _put_beside(folder: Path, data: bytes) -> None:
    """Leave a log beside the store, and no index of it, as a copy of the files or a crash may."""
    folder.chmod(0o755)
    for one in folder.glob("runs.db-*"):
        if one.is_file():
            one.unlink()
    log = folder / "runs.db-wal"
    log.write_bytes(data)
    log.chmod(0o444)
    folder.chmod(0o555)


def test_a_store_with_an_empty_log_is_read(folder: Path) -> None:
    """A `-wal` file without content, and without its `-shm` file, keeps nobody from reading."""
    _put_beside(folder, b"")
    result = _as_reader(folder, "status", "--store", "runs.db")
    assert (result.code, "r1  done" in result.out) == (0, True), result.out + result.err


def test_a_store_whose_log_cannot_be_read_says_what_to_do(folder: Path) -> None:
    """A `-wal` file with changes, without its `-shm` file, is named, and so is what to do."""
    _put_beside(folder, b"\x37\x7f\x06\x82" + bytes(5000))
    result = _as_reader(folder, "status", "--store", "runs.db")
    assert (result.code, result.out) == (2, "")
    assert "SQLITE" not in result.err
    assert "runs.db-shm" in result.err
    assert "hint: " in result.err


@pytest.fixture(params=[0o000, 0o022, 0o777], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """Set an umask for the while of a test."""
    before = os.umask(request.param)
    try:
        yield request.param
    finally:
        os.umask(before)


@contextmanager
def _usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    try:
        yield
    finally:
        os.umask(before)


def _modes(folder: Path) -> dict[str, str]:
    """Return the permissions of everything below a folder, by kind."""
    return {
        str(one.relative_to(folder.parent)): ("d" if one.is_dir() else "f") + oct(one.stat().st_mode)[-3:]
        for one in (folder, *folder.rglob("*"))
    }


@pytest.mark.usefixtures("umask")
def test_a_store_in_a_file_is_for_its_owner_only(tmp_path: Path) -> None:
    """The file, SQLite's log and shared memory, and the folder of blobs are readable by their owner only."""
    with _usual_umask():
        folder = tmp_path / "a"
        folder.mkdir(mode=0o700)
    with open_store(str(folder / "s.db")) as store:
        store.append("log", b"record")
        store.put_blob(b"x" * 200_000)
        found = _modes(folder)
    assert {name.rpartition(".db")[2][:6] for name in found} == {"a", "", "-wal", "-shm", "-blobs"}
    assert set(found.values()) == {"d700", "f600"}, found


def test_permissions_that_a_user_gave_stay(tmp_path: Path) -> None:
    """A store that its owner has opened to a group stays open to it."""
    file = tmp_path / "s.db"
    open_store(str(file)).close()
    file.chmod(0o660)
    with open_store(str(file)) as store:
        store.append("log", b"record")
        found = {one.name: oct(one.stat().st_mode)[-3:] for one in tmp_path.iterdir()}
    assert found == {"s.db": "660", "s.db-wal": "660", "s.db-shm": "660"}


def test_a_server_keeps_its_data_for_its_owner_only(tmp_path: Path) -> None:
    """The folder of `store serve` and its log are readable by their owner only."""
    with _usual_umask(), Server(Plan(folder=tmp_path / "data")) as one, open_store(one.url) as store:
        store.append("log", b"record")
        assert [oct(each.stat().st_mode)[-3:] for each in (tmp_path / "data", one.log)] == ["700", "600"]


pytest.importorskip("nats")

READY = b'INFO {"server_id":"a","max_payload":1000000,"version":"2.10.0","headers":true,"jetstream":true}\r\nPONG\r\n'
# What a server sends when a client connects, and whether it closes the connection then.
SAID = {
    "garbage": (b"\x00\xff\xfe rubbish\r\n" * 50, False),
    "another protocol": (b"HTTP/1.1 400 Bad Request\r\n\r\n", True),
    "nothing, and closes": (b"", True),
    "nothing": (b"", False),
    "half an INFO": (b'INFO {"server_id":"a","vers', False),
    "half an INFO, and closes": (b'INFO {"server_id":"a","vers', True),
    "an INFO that is no JSON": (b"INFO nonsense\r\n", False),
    "an INFO that is a list": (b"INFO [1, 2]\r\n", False),
    "an INFO of wrong types": (
        b'INFO {"server_id":3,"max_payload":"x","headers":[],"connect_urls":7}\r\nPONG\r\n',
        False,
    ),
    "an INFO with wrong addresses": (READY.replace(b'"jet', b'"connect_urls":["b:c:d"],"jet'), False),
    "an INFO without an end": (b'INFO {"a":"' + b"x" * 200_000, False),
}
# What a server sends after a client has connected, which is when it asks for something.
LATER = {
    "an INFO that is no JSON": b"INFO {wrong}\r\n",
    "an INFO that is a list": b"INFO [1]\r\n",
    "a message that is none": b"MSG 1 2 3 4 5\r\n",
    "garbage": b"\xff\xfe\x00" * 1000,
}


@contextmanager
def _server(first: bytes, *, later: bytes = b"", closes: bool = False) -> Iterator[str]:
    """Serve at a free port, and give the address of a store there."""

    def serve(connection: socket.socket) -> None:
        with suppress(OSError), connection:
            connection.sendall(first)
            is_asked = False
            while not closes and (heard := connection.recv(4096)):
                # A client that has connected pings once; what it says after that is a question.
                if is_asked:
                    connection.sendall(later)
                is_asked = is_asked or b"PING" in heard

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=accept, daemon=True).start()
        yield f"nats://127.0.0.1:{listening.getsockname()[1]}/store"
        listening.shutdown(socket.SHUT_RDWR)


def _is_one_error(address: str) -> bool:
    result = solvent("status", "--store", address)
    first, *others = result.err.splitlines()
    is_error = first.startswith(("error[E401]: ", "error[E402]: ")) and address.split("/")[2] in first
    return result.code == 2 and is_error and all(one.startswith("  hint: ") for one in others)


@pytest.mark.parametrize("what", SAID)
def test_server_that_says_rubbish(what: str) -> None:
    """A command that finds something else than a NATS server shows one error with its address."""
    first, closes = SAID[what]
    with _server(first, closes=closes) as address:
        assert _is_one_error(address)


@pytest.mark.parametrize("what", LATER)
def test_server_that_says_rubbish_later(what: str) -> None:
    """A server that says rubbish after the connection was made is shown as one error, without a traceback."""
    with _server(READY, later=LATER[what]) as address:
        assert _is_one_error(address)


def test_run_on_rubbish(tmp_path: Path) -> None:
    """A run whose store is no NATS server does not begin."""
    file = tmp_path / "flow.yaml"
    file.write_text("services: {s: {shell: date}}\ntasks: {A: {service: s}}\n")
    with _server(*SAID["an INFO with wrong addresses"][:1]) as address:
        result = solvent("run", file, "--store", address)
    assert (result.code, result.err.startswith("error[E401]: 127.0.0.1:")) == (2, True), result.err
