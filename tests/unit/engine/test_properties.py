"""Properties of programs: what may never be, and what a program refines."""

from __future__ import annotations

import pytest

import solvent
from solvent.engine import properties
from solvent.engine.explore import Exploration, Property, explore
from solvent.engine.properties import Never, Refines

COUNTER = "let up = replace N:n by N:(n + 1) if n < 3 in <N:0, up>"
WORK = (
    "let start = replace IDLE, JOB:n by BUSY:n in let end = replace BUSY:n by IDLE, DONE in"
    " <IDLE, JOB:1, JOB:2, start, end>"
)
COARSE = "let work = replace JOB by DONE in <JOB, JOB, work>"
MAPPING = (
    "let waits = replace JOB:n by JOB in let is_under_way = replace BUSY:n by JOB in let forget = replace IDLE by in"
    " <waits, is_under_way, forget>"
)


def watched(text: str, *watched: Property, max_states: int = 100) -> Exploration:
    """Explore a program with properties."""
    return explore(solvent.hocl.parse(text).solution(), properties=watched, max_states=max_states)


def refines(coarse: str = COARSE, mapping: str = MAPPING, **options: int) -> Refines:
    """Give the property that a program refines another."""
    return Refines(
        solvent.hocl.parse(coarse).solution(), solvent.hocl.parse(mapping).solution(), name="coarse", **options
    )


def rules_of(found: Exploration) -> list[str]:
    """Give the rules of the run to what does not hold."""
    return [record.rule for record in found.run_to_violation()]


def test_first_state_may_be_bad() -> None:
    """The first state is looked at, too: the run to it is empty."""
    assert rules_of(watched(COUNTER, Never(solvent.hocl.rule("replace N:0 by")))) == []


def test_bad_state_may_be_described_by_its_rules() -> None:
    """A pattern for a rule fits the rules of a state."""
    text = "let once = replace-one 1 by 2 in let up = replace 2 by 3 in <1, once, up>"
    (unused,) = solvent.hocl.molecules("(unused = replace 2, once = r by)")
    assert watched(text, Never(unused)).violation is None
    (left,) = solvent.hocl.molecules("(left = replace 3, up = r by)")
    assert rules_of(watched(text, Never(left))) == ["once", "up"]


def test_first_states_must_agree() -> None:
    """What begins elsewhere refines nothing."""
    found = watched(WORK, refines(COARSE.replace("<JOB, JOB", "<JOB")))
    assert found.violation is not None
    assert found.violation.reason == "the first state is <JOB, JOB>, and not <JOB>"


def test_counterparts_are_as_few_as_tell_all() -> None:
    """Where several rules of the coarser program do the same, the one that is most often it is named."""
    coarse = "let work = replace JOB by DONE in let hurry = replace JOB, SOON by DONE, SOON in <JOB, JOB, work, hurry>"
    one = refines(coarse)
    watched(WORK, one)
    assert one.counterparts()["end"] == [("work",)]


def test_rules_that_are_used_up_count() -> None:
    """A coarser program whose rule is used up does its work once."""
    coarse = "let work = replace-one JOB by DONE in <JOB, JOB, work>"
    found = watched(WORK, refines(coarse))
    assert rules_of(found) == ["start", "end"]


def test_mapping_that_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mapping must come to an end."""
    monkeypatch.setattr(properties, "_MAX_MAPPING", 100)
    with pytest.raises(solvent.LimitReached, match="the mapping to coarse does not end"):
        watched(WORK, refines(mapping="let again = replace IDLE by IDLE in <again>"))


@pytest.mark.parametrize(
    "mapping", ["<replace N:n by N:(n + 1)>", "<replace N:n by N:(n + 1), <n>>"], ids=["numbers", "solutions"]
)
def test_mapping_stops_when_it_is_asked_to(mapping: str) -> None:
    """Ctrl-C or a limit of time comes while a state is mapped: the exploration ends there, without an error."""
    polls = iter([False] * 5)
    found = explore(
        solvent.hocl.parse(COUNTER).solution(),
        properties=[refines("<N:0>", mapping)],
        should_stop=lambda: next(polls, True),
    )
    assert (found.is_complete, found.violation, len(found.states)) == (False, None, 1)


def test_python_may_look_at_every_state() -> None:
    """A property of one's own has a name and two checks."""

    class Even:
        name = "even"

        def check_state(self, number: int, *_: object) -> str | None:
            return "odd" if number == 1 else None

        def check_reaction(self, *_: object) -> str | None:
            return None

    found = watched(COUNTER, Even())
    assert found.violation is not None
    assert (found.violation.reason, found.violation.state) == ("odd", 1)
