"""The token paper's systems, exhausted: how many states there are, what never is, and what refines what."""

from __future__ import annotations

from pathlib import Path

import pytest

import solvent
from solvent.engine.properties import Refines
from solvent_lab.token_systems import SYSTEMS, Bounds, program
from solvent_lab.token_systems.exploration import explore_system, properties_of
from tests.conformance.token.figures import MAX_QUICK, Row, missed, rows
from tests.repo.project import ROOT

FOLDER = Path(__file__).parent
SOURCES = ROOT / "lab" / "src" / "solvent_lab" / "token_systems"
BEGIN = Bounds(2, data=2, searches=1, passes=2)


def marked(row: Row) -> object:
    """Give a row as a case of a test, slow ones for the soak alone."""
    marks = [pytest.mark.soak, pytest.mark.timeout(600)] if row.states > MAX_QUICK else []
    bounds = "-".join(map(str, row.bounds))
    return pytest.param(row, id=f"{row.system}-{bounds}", marks=marks)


@pytest.mark.parametrize("row", [marked(row) for row in rows()])
def test_row_of_the_page_is_true(row: Row) -> None:
    """A system has as many states and reactions as the page says, and all that must hold holds in all of them."""
    properties = properties_of(row.system, row.bounds)
    found = explore_system(row.system, row.bounds, properties, max_states=row.states + 1)
    assert (found.is_complete, found.violation) == (True, None)
    assert (len(found.states), sum(map(len, found.edges))) == (row.states, row.reactions)
    shown = [f"{one.states_shown} of `{one.coarser}`" for one in properties if isinstance(one, Refines)]
    assert row.shown == (shown[0] if shown else "-")


def test_page_has_every_system_with_two_three_and_four_nodes() -> None:
    """The page leaves none out, and its rows are what `solvent lab explore` explores by itself."""
    known = {(row.system, row.bounds) for row in rows()}
    assert {(name, bounds) for name, system in SYSTEMS.items() for bounds in system.bounds} <= known


@pytest.mark.parametrize("system", SYSTEMS)
def test_file_of_a_system_begins_with_two_nodes(system: str) -> None:
    """The file of a system is a program by itself, with the first state of two nodes that say one thing each."""
    text = program(system, BEGIN)
    assert solvent.hocl.load(SOURCES / f"{system}.hocl").solution() == solvent.hocl.parse(text).solution()


@pytest.mark.parametrize("system", [name for name in SYSTEMS if name != "ring"])
def test_printed_system_begins_with_two_nodes(system: str) -> None:
    """So is the file of a system as printed."""
    text = program(system, BEGIN, printed=True)
    assert solvent.hocl.load(SOURCES / "printed" / f"{system}.hocl").solution() == solvent.hocl.parse(text).solution()


@pytest.mark.parametrize("system", ["s", "s1", "token", "message_passing", "ring", "search"])
def test_system_goes_on_for_ever(system: str) -> None:
    """With (x, phi_x) put back, no state is the last one: the token always goes on."""
    found = explore_system(system, Bounds(2, 1, 1))
    assert (found.finals, found.terminates) == ([], False)


@pytest.mark.parametrize("nodes", [2, 3, 4, 5, 6, 7, 8])
def test_search_finds_a_token_that_rests(nodes: int) -> None:
    """Wherever the token rests and whoever searches, its search lays a trap there (lemma 6)."""
    text = program("binary_search", Bounds(nodes))
    assert missed(text[: text.rindex("\n<")], nodes) == []


@pytest.mark.parametrize("nodes,misses", [(2, 0), (3, 4), (4, 0), (5, 6), (6, 14), (7, 24)])
def test_hops_that_halve_miss_the_token(nodes: int, misses: int) -> None:
    """T10: where the number of nodes is no power of two, hops of half the length before miss a token that rests."""
    text = (FOLDER / "halves.hocl").read_text(encoding="utf-8")
    assert len(missed(text[: text.rindex("\n<")], nodes)) == misses


def test_direction_of_equal_stamps_matters() -> None:
    """T4: before the first visit stamps are equal, and the wrong way round leads away from the token."""
    text = program("binary_search", Bounds(4))
    turned = text.replace("x > z", "x @ z").replace("x < z", "x > z").replace("x @ z", "x < z")
    assert missed(turned[: turned.rindex("\n<")], 4) == [(1, 1), (1, 3)]
