"""Damaged or hostile entries of a store harm no other run, no agent and no command."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import struct
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import msgspec
import nats
import pytest

from solvent.runs import events, messages
from solvent.runs.kept import Kept
from solvent.runs.registry import existing
from solvent.store import Store, StoreError, open_store
from tests.cli.agent_processes import Command, put_flow, until
from tests.cli.command import solvent
from tests.cli.editor import editor
from tests.live.store_servers import server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STORE = ("--store", "runs.db", "--no-sync")
AGENT = ("agent", *STORE, "--services", "flow.yaml", "--ttl", "1")
DEPTH = 100_000


def _deep() -> bytes:
    """Return a mapping with lists nested very deeply."""
    return b"\x81\xa1x" + b"\x91" * DEPTH + b"\x01"


def _deep_values() -> bytes:
    """Return tuples nested very deeply, in the extension type of tuples (1)."""
    sizes, size = [], 1
    for _ in range(DEPTH):
        size += 1
        sizes.append(size)
        size += 6
    return b"".join(b"\xc9" + struct.pack(">I", one) + b"\x01\x91" for one in reversed(sizes)) + b"\x01"


POISON = {
    "deep": _deep(),
    "values": _deep_values(),
    "rubbish": b"\xc1\xff\x00",
    "empty": b"",
    "text": b"\xa3\xff\xfe\xfd",
}


def _put_everywhere(store: Store, data: bytes, run: str) -> None:
    """Put a value under every key, and into every log, that agents and commands read of a run, and of agents."""
    for key in ("agents/poison", f"runs/{run}", f"programs/{run}/run", "stops/poison", "troubles/poison"):
        store.put(key, data)
    for what in ("cancel", "lease/0", "rest/0", "refusal/poison", "lease/x", "rest/x"):
        store.put(f"runs/{run}/{what}", data)
    for log in (f"runs/{run}/shard/0", f"runs/{run}/shard/x", f"messages/runs/{run}"):
        store.append(log, data)
    for log in ("submitted", "over", "finished"):
        store.append(f"messages/agents/{log}", data)
    store.append("messages/agents/submitted", run.encode())


def _has_ended(store: Store, run: str) -> bool:
    return existing(store, run).has_ended


@contextmanager
def answering(data: bytes) -> Iterator[str]:
    """Answer every request with the same JSON."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{http.server_port}/"
        http.shutdown()


@pytest.fixture(params=POISON)
def poisoned(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a folder with a store that has one run that reads, and a poisoned one."""
    put_flow(tmp_path)
    (tmp_path / "open").touch()
    assert solvent("submit", "flow.yaml", *STORE[:2], "--name", "well", cwd=tmp_path).code == 0
    with open_store(str(tmp_path / "runs.db"), is_durable=False) as store:
        _put_everywhere(store, POISON[request.param], "poison")
    return tmp_path


def test_agents_run_others_beside_a_poisoned_run(poisoned: Path) -> None:
    """An agent that starts in a poisoned store runs what reads, and ends in order."""
    with Command(*AGENT, "--until", "well", cwd=poisoned) as agent:
        assert agent.process.wait(200) == 0, agent.said()
    result = solvent("resume", "well", *STORE[:2], cwd=poisoned)
    assert (result.code, result.out) == (0, "sum: 17\n"), result.err


@pytest.mark.parametrize("key", ["/lease/0", "/rest/0", "/refusal/poison", "/shard/0", "messages", ""])
@pytest.mark.parametrize("poison", ["deep", "values", "rubbish"])
def test_a_run_that_is_poisoned_while_it_runs_ends_no_agent(tmp_path: Path, key: str, poison: str) -> None:
    """An agent goes on with other runs when a key or a log of one that it runs is overwritten."""
    put_flow(tmp_path)
    for name in ("ill", "well"):
        assert solvent("submit", "flow.yaml", *STORE[:2], "--name", name, cwd=tmp_path).code == 0
    with Command(*AGENT, cwd=tmp_path) as agent, open_store(str(tmp_path / "runs.db"), is_durable=False) as store:
        agent.wait_for("took shard")
        until(lambda: store.get("runs/ill/lease/0") is not None and (tmp_path / "calls").exists(), agent.said())
        if key in {"/shard/0", "messages"}:
            store.append("messages/runs/ill" if key == "messages" else "runs/ill/shard/0", POISON[poison])
        else:
            store.put(f"runs/ill{key}", POISON[poison])
        (tmp_path / "open").touch()
        until(lambda: _has_ended(store, "well") or agent.process.poll() is not None, agent.said())
        assert agent.process.poll() is None, agent.said()
    assert solvent("status", "well", *STORE[:2], cwd=tmp_path).out.startswith("well: done")


@pytest.mark.parametrize("poison", POISON)
def test_a_damaged_lease_is_named(tmp_path: Path, poison: str) -> None:
    """An agent and `status` name a lease that does not read, and what to do; the run goes on when that is done."""
    put_flow(tmp_path)
    (tmp_path / "open").touch()
    for name in ("ill", "well"):
        assert solvent("submit", "flow.yaml", *STORE[:2], "--name", name, cwd=tmp_path).code == 0
    with open_store(str(tmp_path / "runs.db"), is_durable=False) as store:
        store.put("runs/ill/lease/0", POISON[poison])
        with Command(*AGENT, cwd=tmp_path) as agent:
            agent.wait_for("`runs/ill/lease/0`")
            until(lambda: _has_ended(store, "well"), agent.said())
            shown = solvent("status", "ill", *STORE[:2], cwd=tmp_path)
            assert (shown.code, "`runs/ill/lease/0`" in shown.out) == (0, True), shown.out + shown.err
            told = solvent("status", "ill", *STORE[:2], "--format", "json", cwd=tmp_path).json
            assert [one["key"] for one in told["damaged"]] == ["runs/ill/lease/0"]
            assert not _has_ended(store, "ill")
            assert agent.said().count("`runs/ill/lease/0`") == 1
            store.delete("runs/ill/lease/0")
            until(lambda: _has_ended(store, "ill"), agent.said())
    assert "sum: 17" in solvent("resume", "ill", *STORE[:2], cwd=tmp_path).out


@pytest.mark.parametrize("poison", ["deep", "rubbish"])
def test_a_damaged_standing_is_written_again(tmp_path: Path, poison: str) -> None:
    """A run ends though what a shard has told of itself is overwritten: the agent that has it tells it again."""
    services = 'services: {gate: {python: "own:gate"}, x: {shell: echo}}'
    put_flow(tmp_path, f"workflow: w\n{services}\ntasks: {{held: {{service: gate}}, quick: {{service: x}}}}\n")
    assert solvent("submit", "flow.yaml", *STORE[:2], "--name", "ill", cwd=tmp_path).code == 0
    with Command(*AGENT, cwd=tmp_path) as agent, open_store(str(tmp_path / "runs.db"), is_durable=False) as store:
        until(lambda: bool(store.keys("runs/ill/rest/")), agent.said())
        for key in store.keys("runs/ill/rest/"):
            store.put(key, POISON[poison])
        (tmp_path / "open").touch()
        until(lambda: _has_ended(store, "ill"), agent.said())
    assert solvent("status", "ill", *STORE[:2], cwd=tmp_path).out.startswith("ill: done")


def test_status_names_what_is_damaged(poisoned: Path) -> None:
    """`status` lists all runs, the poisoned one as damaged; `agents list` lists what reads."""
    result = solvent("status", *STORE[:2], cwd=poisoned)
    assert (result.code, result.err) == (0, "")
    told = {line.split()[0]: line for line in result.out.splitlines()}
    assert "running" in told["well"]
    assert "damaged" in told["poison"]
    assert solvent("agents", "list", *STORE[:2], cwd=poisoned).code == 0


@pytest.mark.parametrize("words", [("status",), ("logs",), ("timeline",), ("replay",), ("cancel",), ("resume",)])
def test_commands_refuse_a_poisoned_run_in_plain_words(poisoned: Path, words: tuple[str, ...]) -> None:
    """A command about the poisoned run says that it does not read; it never calls this a fault of Solvent."""
    result = solvent(*words, "poison", *STORE[:2], cwd=poisoned)
    assert result.code in {0, 1, 2}, result.err
    assert "H503" not in result.err
    assert "H999" not in result.err


def test_submit_and_run_work_in_a_poisoned_store(poisoned: Path) -> None:
    """New runs are given to agents, and run here, beside the poisoned one."""
    assert solvent("submit", "flow.yaml", *STORE[:2], cwd=poisoned).code == 0
    result = solvent("run", "flow.yaml", *STORE[:2], cwd=poisoned)
    assert (result.code, result.out) == (0, "sum: 17\n")


def _forged(field: bytes) -> dict[str, bytes]:
    """Return records that read, and hold a value that does not, each for the log that it belongs to."""
    message = messages.Message(0, 1, (messages.Encoded(field),))
    answer = events.CallAnswered(call="first", at=0.0, attempts=1, value=Kept(field))
    journal = events.encode([answer], max_bytes=2 * len(field), put_blob=lambda _: "")
    return {"messages/runs/ill": messages.addressed(0, message), "runs/ill/shard/0": journal}


@pytest.mark.parametrize("where", ["inputs", "messages/runs/ill", "runs/ill/shard/0"])
@pytest.mark.parametrize("poison", ["deep", "values"])
def test_values_that_are_nested_too_deeply_end_no_agent(tmp_path: Path, where: str, poison: str) -> None:
    """Inputs, letters and answers of one run that are nested 100,000 deep leave agents and other runs alone."""
    put_flow(tmp_path)
    (tmp_path / "open").touch()
    for name in ("ill", "well"):
        assert solvent("submit", "flow.yaml", *STORE[:2], "--name", name, cwd=tmp_path).code == 0
    with open_store(str(tmp_path / "runs.db"), is_durable=False) as store:
        if where == "inputs":
            record = msgspec.structs.replace(existing(store, "ill"), inputs=Kept(POISON[poison]))
            store.put("runs/ill", msgspec.msgpack.encode(record))
        else:
            store.append(where, _forged(POISON[poison])[where])
    with Command(*AGENT, "--until", "well", cwd=tmp_path) as agent:
        assert agent.process.wait(200) == 0, agent.said()
    assert solvent("status", "well", *STORE[:2], cwd=tmp_path).out.startswith("well: done")
    assert "ill" in solvent("status", *STORE[:2], cwd=tmp_path).out


@pytest.mark.parametrize("told", [("status", "well"), ("status",), ("agents", "list"), ("logs", "well")], ids=" ".join)
def test_keys_of_nobody_change_nothing(tmp_path: Path, told: tuple[str, ...]) -> None:
    """Keys with odd names, and a heartbeat with numbers that are none, neither stop a run nor a command about it."""
    put_flow(tmp_path)
    (tmp_path / "open").touch()
    assert solvent("submit", "flow.yaml", *STORE[:2], "--name", "well", cwd=tmp_path).code == 0
    lease = msgspec.msgpack.encode({"holder": "poison", "epoch": 1})
    deep: list[object] = []
    for _ in range(900):
        deep = [deep]
    heartbeat = {
        "ttl": float("nan"),
        "pid": float("inf"),
        "started": float("-inf"),
        "services": {"x": deep},
        "host": deep,
    }
    with open_store(str(tmp_path / "runs.db"), is_durable=False) as store:
        store.put("agents/poison", msgspec.msgpack.encode(heartbeat))
        for key in ("lease/x", "lease/99", "rest/x", "rest/99", "refusal/x"):
            store.put(f"runs/well/{key}", lease)
    with Command(*AGENT, cwd=tmp_path) as agent:
        until(lambda: "sum: 17" in solvent("resume", "well", *STORE[:2], cwd=tmp_path).out, agent.said())
        result = solvent(*told, *STORE[:2], cwd=tmp_path)
        assert (result.code, result.err) == (0, "")


def test_a_rubbish_description_of_a_blob_is_written_anew() -> None:
    """A message on the subject of a blob's description harms no `put_blob`: the blob is there afterwards."""
    with server() as one, open_store(one.url) as store:
        name = hashlib.sha256(b"document").hexdigest()
        subject = "$O.solvent-blobs.M." + base64.urlsafe_b64encode(name.encode()).decode()
        for rubbish in (b"rubbish", b"[" * DEPTH, b'{"name": 3}'):
            asyncio.run(_publish(one.url, subject, rubbish))
            with pytest.raises(StoreError, match="E406"):
                store.get_blob(name)
            assert store.put_blob(b"document") == name
            assert store.get_blob(name) == b"document"


async def _publish(url: str, subject: str, data: bytes) -> None:
    client = await nats.connect(url)
    await client.jetstream().publish(subject, data)
    await client.close()


@pytest.mark.parametrize("data", [b"[" * DEPTH, b'{"a":' * DEPTH, b"[" * 900 + b"]" * 900, b"\xff", b"3"])
def test_the_language_server_answers_after_a_message_that_is_none(data: bytes) -> None:
    """A message nested too deeply is refused, and the next one is answered."""
    with editor() as one:
        one.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        assert one.answer_to_nobody()["error"]["code"] == -32700
        assert "result" in one.ask("initialize", capabilities={})


@pytest.mark.parametrize("kind", ["shell", "http"])
def test_an_answer_of_a_service_that_is_nested_too_deeply_is_a_failed_call(tmp_path: Path, kind: str) -> None:
    """The task fails as with any other answer that is no JSON."""
    with answering(b"[" * DEPTH) as address:
        services = {
            "shell": f"{{shell: \"head -c {DEPTH} /dev/zero | tr '\\\\\\\\0' '['\", options: {{result: json}}}}",
            "http": f"{{http: '{address}', method: GET}}",
        }
        text = f"workflow: w\nservices: {{s: {services[kind]}}}\ntasks: {{t: {{service: s}}}}\n"
        (tmp_path / "w.yaml").write_text(text)
        result = solvent("run", "w.yaml", cwd=tmp_path)
    assert result.code == 1
    assert "is not JSON" in result.err


@pytest.mark.parametrize(
    "name,text",
    [("w.json", "["), ("w.json", '{"a":'), ("w.yaml", "["), ("w.yaml", "- "), ("w.yaml", "{a: "), ("w.hocl", "<")],
)
def test_a_file_that_is_nested_too_deeply_is_refused(tmp_path: Path, name: str, text: str) -> None:
    """A workflow file of 100,000 brackets is bad input, and said to be nested too deeply, or to be no workflow."""
    (tmp_path / name).write_text(text * DEPTH)
    result = solvent("check", name, cwd=tmp_path)
    assert result.code == 2
    assert "H999" not in result.err


@pytest.mark.parametrize("time", [float("nan"), float("inf"), 1e18, -1.0])
@pytest.mark.parametrize("what", ["created", "ended"])
def test_time_that_cannot_be_is_damage(tmp_path: Path, what: str, time: float) -> None:
    """A run whose record has no possible time is named as damaged, and the other runs are listed."""
    put_flow(tmp_path)
    for run in ("evil", "fine"):
        assert solvent("submit", "flow.yaml", *STORE, "--name", run, cwd=tmp_path).code == 0
    with open_store(f"sqlite://{tmp_path}/runs.db") as store:
        times: dict[str, Any] = {what: time}
        record = msgspec.structs.replace(existing(store, "evil"), **times)
        store.put("runs/evil", msgspec.msgpack.encode(record))
    result = solvent("status", *STORE[:2], cwd=tmp_path)
    assert result.code == 0
    assert sorted(line.split()[:2] for line in result.out.splitlines()) == [["evil", "damaged"], ["fine", "running"]]


@pytest.mark.parametrize(
    "field,value", [("states", None), ("results", None), ("calls", None), ("adaptations", [[]]), ("adaptations", [{}])]
)
def test_a_damaged_end_of_a_shard_is_named(tmp_path: Path, field: str, value: object) -> None:
    """What a journal says of the tasks, with a field that is something else, is damage (R403) and no fault of ours."""
    put_flow(tmp_path)
    (tmp_path / "open").touch()
    assert solvent("submit", "flow.yaml", *STORE[:2], "--name", "ill", cwd=tmp_path).code == 0
    with Command(*AGENT, "--until", "ill", cwd=tmp_path) as agent:
        assert agent.process.wait(200) == 0, agent.said()
    with open_store(str(tmp_path / "runs.db"), is_durable=False) as store:
        last = msgspec.msgpack.decode(store.read("runs/ill/shard/0", store.last("runs/ill/shard/0") - 1)[0].data)
        closed = next(one for one in last if one[0] == "ShardClosed")
        closed[1 + events.ShardClosed.__struct_fields__.index(field)] = value
        store.append("runs/ill/shard/0", msgspec.msgpack.encode(last))
    for command in ("resume", "timeline"):
        result = solvent(command, "ill", *STORE[:2], cwd=tmp_path)
        assert (result.code, "error[R403]" in result.err) == (1, True), (command, result.err)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with a store: one run of agents that reads, and of each kind one that does not."""
    put_flow(tmp_path)
    solvent("submit", "flow.yaml", *STORE[:2], "--name", "well", cwd=tmp_path)
    with open_store(str(tmp_path / "runs.db"), is_durable=False) as store:
        store.append("messages/agents/submitted", b"agents")
        for key in ("runs/agents", "runs/alone", "programs/nodes/run"):
            store.put(key, b"\x81\x00")
    return tmp_path


def test_the_list_of_runs_shows_those_that_do_not_read_as_damaged(folder: Path) -> None:
    """All others are listed as ever, in JSON as well, and why one does not read is said."""
    result = solvent("status", *STORE[:2], cwd=folder)
    assert (result.code, result.err) == (0, "")
    told = {line.split()[0]: line.split()[1] for line in result.out.splitlines()}
    runs = solvent("status", *STORE[:2], "--format", "json", cwd=folder).json["runs"]
    assert told == {one["run"]: one["state"] for one in runs}
    assert told == {"well": "running", "alone": "damaged", "agents": "damaged", "nodes": "damaged"}
    assert "the record of the run `agents` does not read" in result.out


def test_the_latest_run_is_found_among_those_that_do_not_read(folder: Path) -> None:
    """`resume` without a name goes on with one that reads."""
    (folder / "open").touch()
    with open_store(str(folder / "runs.db"), is_durable=False) as store:
        store.delete("runs/alone")
    result = solvent("resume", *STORE[:2], "--agents", "1", "--ttl", "1", "--file", "flow.yaml", cwd=folder)
    assert (result.code, result.out) == (0, "sum: 17\n")


def test_a_workflow_without_tasks_is_run_by_agents(tmp_path: Path) -> None:
    """It is done, as in one process."""
    (tmp_path / "z.yaml").write_text("workflow: z\nservices: {}\ntasks: {}\n", encoding="utf-8")
    result = solvent("run", "z.yaml", *STORE[:2], "--agents", "1", "--ttl", "1", "--name", "z", cwd=tmp_path)
    assert (result.code, result.out) == (0, "")
    assert solvent("status", "z", *STORE[:2], cwd=tmp_path).out.startswith("z: done, z, 1 shard of agents\n")
