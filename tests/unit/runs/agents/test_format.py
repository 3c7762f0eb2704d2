"""What agents of one run agree on has a number: it is raised when they would come to something else than before."""

from __future__ import annotations

from base64 import b64decode, b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from msgspec.structs import replace

from solvent.hocl.process_settings import deep_stack
from solvent.runs.agents.shards import submit
from solvent.runs.agents.status import see_run
from solvent.runs.execution import Execution
from solvent.runs.messages import dealt, molecule_from, read
from solvent.runs.registry import FORMAT, existing, key_of, messages_of, record_of, workflow_of
from solvent.runs.replay import Replay
from solvent.workflows.model import Alternative, Result, Task, Value
from tests.unit.runs.agents.flows import AgentsHere, adaptive, end_of, run_by_agents, workflow

if TYPE_CHECKING:
    from solvent.store import Store

STORED = Path(__file__).parent / f"format_{FORMAT}.json"
MANY = range(5)
FLOW = workflow(
    Task("one", "add", (Value(1), Value(2))),
    Task("two", "broken", (Result("one"),)),
    Task("spare", "add", (Result("one"), Value(10))),
    Task("sum", "add", (Result("one"), Result("two"))),
    *(Task(f"a{one}", "add", (Value(one),)) for one in MANY),
    *(Task(f"b{one}", "add", (Result(f"a{one}"), Result(f"a{(one + 1) % len(MANY)}"))) for one in MANY),
    Task("end", "add", (*(Result(f"b{one}") for one in MANY), Result("sum"))),
    alternatives=(Alternative("instead", {"two": "spare"}),),
)


def test_what_was_written_in_this_format_is_done_again_as_it_was(
    store: Store, monkeypatch: pytest.MonkeyPatch, *, rewrite: bool
) -> None:
    """Shards of a stored run say again, message by message, what they said; if not, raise `FORMAT` and store another.

    `pytest --rewrite` stores a run of today where there is none of this format.
    """
    if rewrite and not STORED.exists():
        submit(store, "r1", FLOW, {}, max_shards=4)
        run_by_agents(store, "r1", many=2)
        _store(store)
    else:
        _load(store)
    plan = record_of(store, "r1")
    assert plan is not None
    replay = Replay(store, plan, workflow_of(store, plan))
    said: dict[tuple[int, int], list[Any]] = {}
    tell = Execution.tell

    def heard(shard: Execution, task: Any, molecule: Any) -> None:
        assert shard.mailbox is not None
        said.setdefault((shard.mailbox.shard, shard.mailbox._shard_of[task]), []).append(molecule)
        tell(shard, task, molecule)

    monkeypatch.setattr(Execution, "tell", heard)
    with deep_stack():
        for number in range(plan.shards):
            replay.shard(number)
    written: dict[tuple[int, int], dict[int, Any]] = {}
    for record in store.read(messages_of("r1")):
        for to, one in dealt(record, range(plan.shards)):
            message = read(one.data)
            own = written.setdefault((message.sender, to), {})
            own |= {number: molecule_from(each, store) for number, each in enumerate(message.molecules, message.first)}
    assert len(written) > 3
    assert said == {key: [own[number] for number in sorted(own)] for key, own in written.items()}


def _store(store: Store) -> None:
    plan, entry = record_of(store, "r1"), store.get(key_of("r1"))
    assert plan is not None
    assert entry is not None
    text = lambda data: b64encode(data).decode()  # noqa: E731
    records = [[one.position, one.log, text(one.data)] for one in store.read("")]
    stored = {"record": text(entry.value), "document": text(store.get_blob(plan.document)), "records": records}
    STORED.write_bytes(msgspec.json.format(msgspec.json.encode(stored), indent=1) + b"\n")


def _load(store: Store) -> None:
    stored = msgspec.json.decode(STORED.read_bytes())
    store.put(key_of("r1"), b64decode(stored["record"]))
    store.put_blob(b64decode(stored["document"]))
    for position, log, data in stored["records"]:
        assert store.append(log, b64decode(data)) == position


@pytest.mark.parametrize("other,words", [(FORMAT + 1, "a later"), (FORMAT - 1, "an earlier")])
def test_an_agent_of_another_format_leaves_a_run_alone(store: Store, other: int, words: str) -> None:
    """It says why, so does who asks how the run stands, and it goes on with others."""
    plan = submit(store, "r1", adaptive(), {})
    store.put(key_of("r1"), msgspec.msgpack.encode(replace(plan, format=other)))
    submit(store, "r2", adaptive(), {})
    with AgentsHere(store) as here:
        here.wait_for(f"r1 cannot be run here: it was submitted by {words} version of Solvent")
        assert end_of(store, "r2").state == "done"
        (refusal,) = see_run(store, "r1").refusals
    assert (refusal.agent, refusal.shard) == ("a0", None)
    assert words in refusal.why
    assert not existing(store, "r1").has_ended
