"""What agents of one run agree on has a number: it is raised when they would come to something else than before."""

from __future__ import annotations

from base64 import b64decode, b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from msgspec.structs import replace

from solvent.running.agents.case import Case
from solvent.running.agents.looking import see_run
from solvent.running.agents.offers import Offers
from solvent.running.agents.place import Place
from solvent.running.agents.plans import FORMAT, ending_of, key_of, log_to, plan_of, submit
from solvent.running.agents.replaying import NoCaller
from solvent.running.agents.words import dealt, molecule_from, read
from solvent.running.interpreter import deep_stack
from solvent.workflow.model import Alternative, Result, Task, Value
from tests.unit.running.agents.flows import AgentsHere, adaptive, end_of, run_by_agents, space_at, workflow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.live.space import Space

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


@pytest.fixture
def space(tmp_path: Path) -> Iterator[Space]:
    """Give a space in a file."""
    with space_at(tmp_path) as opened:
        yield opened


def test_what_was_written_in_this_format_is_done_again_as_it_was(
    space: Space, monkeypatch: pytest.MonkeyPatch, *, rewrite: bool
) -> None:
    """Places of a stored run say again, letter by letter, what they said; if not, raise `FORMAT` and store another.

    `pytest --rewrite` stores a run of today where there is none of this format.
    """
    if rewrite and not STORED.exists():
        submit(space, "r1", FLOW, {}, places_max=4)
        run_by_agents(space, "r1", many=2)
        _store(space)
    else:
        _load(space)
    plan = plan_of(space, "r1")
    assert plan is not None
    case = Case(space, "test", "r1", plan, Offers({}), jobs=None)
    said: dict[tuple[int, int], list[Any]] = {}
    tell = Place.tell

    def heard(place: Place, task: Any, molecule: Any) -> None:
        said.setdefault((place.number, place._where[task]), []).append(molecule)
        tell(place, task, molecule)

    monkeypatch.setattr(Place, "tell", heard)
    with deep_stack():
        for number in range(plan.places):
            case.again(number, NoCaller())
    written: dict[tuple[int, int], dict[int, Any]] = {}
    for record in space.read(log_to("r1")):
        for to, one in dealt(record, range(plan.places)):
            letter = read(one.data)
            own = written.setdefault((letter.sender, to), {})
            own |= {number: molecule_from(each, space) for number, each in enumerate(letter.said, letter.first)}
    assert len(written) > 3
    assert said == {key: [own[number] for number in sorted(own)] for key, own in written.items()}


def _store(space: Space) -> None:
    plan, entry = plan_of(space, "r1"), space.get(key_of("r1", "plan"))
    assert plan is not None
    assert entry is not None
    text = lambda data: b64encode(data).decode()  # noqa: E731
    records = [[one.position, one.log, text(one.data)] for one in space.read("")]
    stored = {"plan": text(entry.value), "document": text(space.get_blob(plan.document)), "records": records}
    STORED.write_bytes(msgspec.json.format(msgspec.json.encode(stored), indent=1) + b"\n")


def _load(space: Space) -> None:
    stored = msgspec.json.decode(STORED.read_bytes())
    space.put(key_of("r1", "plan"), b64decode(stored["plan"]))
    space.put_blob(b64decode(stored["document"]))
    for position, log, data in stored["records"]:
        assert space.append(log, b64decode(data)) == position


@pytest.mark.parametrize("other,words", [(FORMAT + 1, "a later"), (FORMAT - 1, "an earlier")])
def test_an_agent_of_another_format_leaves_a_run_alone(space: Space, other: int, words: str) -> None:
    """It says why, so does who asks how the run stands, and it goes on with others."""
    plan = submit(space, "r1", adaptive(), {})
    space.put(key_of("r1", "plan"), msgspec.msgpack.encode(replace(plan, format=other)))
    submit(space, "r2", adaptive(), {})
    with AgentsHere(space) as here:
        here.wait_for(f"r1 cannot be run here: it was submitted by {words} version of Solvent")
        assert end_of(space, "r2").state == "done"
        (refusal,) = see_run(space, "r1").refusals
    assert (refusal.agent, refusal.place) == ("a0", None)
    assert words in refusal.why
    assert ending_of(space, "r1") is None
