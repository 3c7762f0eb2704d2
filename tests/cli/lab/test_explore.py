"""`solvent lab explore`: the token paper's systems."""

from __future__ import annotations

from tests.cli.command import solvent


def test_token_systems_are_a_table() -> None:
    """The systems are told with their sizes, states and what they refine."""
    result = solvent("lab", "explore", "--system", "s", "--system", "s1")
    lines = result.out.splitlines()
    assert result.code == 0
    assert lines[1].split() == ["s", "2", "2", "-", "-", "10", "21", "holds"]
    assert lines[2].endswith("holds, refines s")
    assert "  s1_rule3  nothing" in lines


def test_token_systems_as_json() -> None:
    """The same for programs."""
    words = ("--system", "ring", "--nodes", "5", "--data", "1", "--format", "json")
    (found,) = solvent("lab", "explore", *words).json["systems"]
    assert (found["nodes"], found["data"], found["complete"], found["violation"]) == (5, 1, True, None)
    assert found["holds"]["refines message_passing"] is True
    assert found["counterparts"]["ring_rule3'"] == [["mp_rule3"]]


def test_token_systems_as_text() -> None:
    """The program of a system can be had and explored like any other."""
    text = solvent("lab", "explore", "--system", "token", "--nodes", "2", "--text").out
    assert solvent("explore", "-", "--format", "json", typed=text).json["states"] == 32


def test_printed_systems_show_what_is_wrong() -> None:
    """Looked at as printed, a system's flaws are its result, each with its run."""
    result = solvent("lab", "explore", "--printed", "--system", "message_passing")
    assert result.code == 0
    assert "violated: refines token" in result.out
    assert "     1  mp_rule3: NODE:0, Q:0:(), P:0:(), T:0 -> NODE:0, P:0:(), T:NOBODY, O:0:0:()" in result.out


def test_printed_system_that_fails_says_where() -> None:
    """A trap in the place of a history cannot be added to."""
    result = solvent("lab", "explore", "--printed", "--system", "search", "--data", "0", "--format", "json")
    assert {one.get("failure") for one in result.json["systems"]} >= {"`search_rule4` fails: cannot add tuple and list"}


def test_limit_on_states_is_said() -> None:
    """Not all states were seen: exit code 3."""
    result = solvent("lab", "explore", "--system", "s1", "--max-states", "5")
    assert (result.code, "limit reached" in result.out) == (3, True)
    assert result.err == "stopped after 5 states\n  hint: raise --max-states\n"
