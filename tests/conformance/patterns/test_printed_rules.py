"""What the rules of INRIA technical report 7610 do exactly as they are printed: why the ones here differ.

Each program holds rules of its algorithms 1 to 10, word for word but for our spelling (`?w` for ω), in a small
solution, and every order is tried. Where a rule here says something else than the printed one, the reason is in here.
"""

from __future__ import annotations

import pytest

import solvent
from solvent.engine.explore import explore

INVOKE = """let invokeServ =
  replace ci : <CALL : s, PARAM : <?p>, FLAG_INVOKE : 1, ?w> by ci : <RESULT : ci : <7>, w> in
"""
PREPARE = """let preparePass =
  replace ci : <RESULT : ci : <v>, DEST : cj, ?w> by ci : <PASS : cj : <COMPLETED : ci : <v>>> in
"""
TRANSFER = "let passInfo = replace cj : <PASS : ci : <?a>, ?w>, ci : <?x> by cj : <w>, ci : <a, x> in\n"
CONDITION = """let passInfoCond =
  replace cj : <PASS : ci : <?a>, COND_PASS : 1, ?w>, ci : <?x> by ci : <a, x>, cj : <COND_PASS : 1, w> in
"""
DISCRIMINATOR = """let discr_preparePass =
  replace DEST : cj, RESULT : ci : <v> by PASS : cj : <COMPLETED : ci : <v>, DISCRIMINATOR : Yes> in
let discr_setFlag = replace-one DISCRIMINATOR : Yes by FLAG_INVOKE : 1 in
"""
SYNC_MERGE = """let syncMerge =
  replace SYNCMG_SRC : <ci, ?s>, COMPLETED : ci : <v>, SYNCMG_INBOX : <?i>
  by SYNCMG_INBOX : <COMPLETED : ci : <v>, i>, SYNCMG_SRC : <s> in
let syncMg_setFlag = replace-one SYNCMG_SRC : <> by FLAG_INVOKE : 1 in
"""
CANCEL = """let passInfoCancel =
  replace-one CANCEL : <?a>, CANCEL_CHWS : ck, ck : <?x> by ck : <a, x> in
"""
DOT = """let dotProduct =
  replace LIST1 : <a::string, ?x>, LIST2 : <b::int, ?y>, DOTPRODUCT : <?z>
  by LIST1 : <x>, LIST2 : <y>, DOTPRODUCT : <a : b, z> in
"""
CROSS = """let crossProduct =
  replace CROSSLIST1 : <a::string, ?x>, CROSSLIST2 : <b::int, ?y>, CROSSPRODUCT : <?z>
  by CROSSLIST1 : <a, x>, CROSSLIST2 : <y>, CROSSPRODUCT : <a : b, z> in
let list2End =
  replace CROSSLIST1 : <a::string, ?x>, CROSSLIST2 : <>, LIST2 : <b::int, ?y>
  by CROSSLIST1 : <x>, CROSSLIST2 : <b, y>, LIST2 : <b, y> in
let crossProductEnd = replace CROSSLIST1 : <>, CROSSLIST2 : <>, CROSSPRODUCT : <?z> by z in
let crossProduct_start =
  replace-one LIST1 : <a::string, ?x>, LIST2 : <b::int, ?y>
  by LIST1 : <x>, LIST2 : <y>, CROSSPRODUCT : <>, CROSSLIST1 : <x>, CROSSLIST2 : <y>,
    crossProduct, list2End, crossProductEnd in
"""


def finals(program: str) -> set[str]:
    """Give all solutions in which a program can end, without the rules."""
    found = explore(solvent.hocl.parse(program).solution())
    assert found.is_complete
    return {_without_rules(solvent.hocl.show(found.states[at])) for at in found.finals}


def _without_rules(shown: str) -> str:
    names = ("invokeServ", "preparePass", "passInfo", "passInfoCond", "discr_preparePass", "discr_setFlag", "syncMerge")
    for name in (*names, "syncMg_setFlag", "passInfoCancel", "dotProduct"):
        shown = shown.replace(f", {name}>", ">").replace(f", {name},", ",")
    return shown


def test_prepare_pass_leads_to_one_destination() -> None:
    """The rule `preparePass` (5.03) leaves out ω, so the second DEST is lost, and all else in the service."""
    assert finals(f"{PREPARE}<ChWS1 : <RESULT : ChWS1 : <7>, DEST : ChWS2, DEST : ChWS3>, preparePass>") == {
        "<ChWS1:<PASS:ChWS2:<COMPLETED:ChWS1:<7>>>>",
        "<ChWS1:<PASS:ChWS3:<COMPLETED:ChWS1:<7>>>>",
    }


def test_prepare_pass_takes_the_result() -> None:
    """With ω put back (as 8.01 does by standing inside), RESULT is gone after the first DEST."""
    mended = PREPARE.replace("<v>>> in", "<v>>, w> in")
    assert finals(f"{mended}<ChWS1 : <RESULT : ChWS1 : <7>, DEST : ChWS2, DEST : ChWS3>, preparePass>") == {
        "<ChWS1:<DEST:ChWS3, PASS:ChWS2:<COMPLETED:ChWS1:<7>>>>",
        "<ChWS1:<DEST:ChWS2, PASS:ChWS3:<COMPLETED:ChWS1:<7>>>>",
    }
    assert finals(f"{DISCRIMINATOR}<RESULT : ChWS1 : <7>, DEST : ChWS2, DEST : ChWS3, discr_preparePass>") == {
        "<DEST:ChWS3, PASS:ChWS2:<COMPLETED:ChWS1:<7>, DISCRIMINATOR:Yes>>",
        "<DEST:ChWS2, PASS:ChWS3:<COMPLETED:ChWS1:<7>, DISCRIMINATOR:Yes>>",
    }


def test_a_sequence_stops_at_its_second_service() -> None:
    """What arrives is COMPLETED, but rules take RESULT (2.02), and nothing makes the FLAG_INVOKE that a call needs."""
    program = f"""{INVOKE}{PREPARE}{TRANSFER}<
      ChWS1 : <CALL : S1, PARAM : <>, FLAG_INVOKE : 1, DEST : ChWS2>,
      ChWS2 : <replace RESULT : ChWS1 : <v> by CALL : S2, PARAM : <v>>, invokeServ, preparePass, passInfo>"""
    (end,) = finals(program)
    assert end == "<ChWS1:<>, ChWS2:<COMPLETED:ChWS1:<7>, (replace RESULT:ChWS1:<v> by CALL:S2, PARAM:<v>)>>"


def test_a_service_is_called_once() -> None:
    """The rule `invokeServ` (5.01) takes CALL, PARAM and FLAG_INVOKE along: a second flag calls nobody."""
    assert finals(f"{INVOKE}<ChWS1 : <CALL : S1, PARAM : <>, FLAG_INVOKE : 1, FLAG_INVOKE : 1>, invokeServ>") == {
        "<ChWS1:<FLAG_INVOKE:1, RESULT:ChWS1:<7>>>"
    }


def test_generic_rules_do_not_react_inside_a_service() -> None:
    """The figures write the rules into the services, but there is no `ChWSi : <...>` in there to react with."""
    inside = "<ChWS1 : <CALL : S1, PARAM : <>, FLAG_INVOKE : 1, invokeServ>>"
    assert finals(f"{INVOKE}{inside}") == {"<ChWS1:<CALL:S1, FLAG_INVOKE:1, PARAM:<>>>"}
    inside = '<ChWS1 : <CANCEL : <ERROR : "lost">, CANCEL_CHWS : ChWS9, passInfoCancel>, ChWS9 : <>>'
    assert finals(f"{CANCEL}{inside}") == {'<ChWS1:<CANCEL:<ERROR:"lost">, CANCEL_CHWS:ChWS9>, ChWS9:<>>'}


def test_a_condition_holds_for_ever() -> None:
    """The rule `passInfoCond` (7.01) puts COND_PASS back: whatever is to be passed later goes too."""
    program = f"{CONDITION}<ChWS1 : <COND_PASS : 1, PASS : ChWS2 : <1>, PASS : ChWS2 : <2>>, ChWS2 : <>, passInfoCond>"
    assert finals(program) == {"<ChWS1:<COND_PASS:1>, ChWS2:<1, 2>>"}


def test_a_condition_takes_what_it_asks_about() -> None:
    """The rule of line 13.05 takes its parameter: where that is the result, nothing is left to pass."""
    program = "<7, replace-one p by COND_PASS : 1, DEST : ChWS5, DEST : ChWS6 if (p > 3)>"
    assert finals(program) == {"<COND_PASS:1, DEST:ChWS5, DEST:ChWS6>"}


def test_a_discriminator_works_once() -> None:
    """discr_setFlag (8.03) is gone after the first; what comes later stays in the solution for ever."""
    program = f"{DISCRIMINATOR}<DISCRIMINATOR : Yes, DISCRIMINATOR : Yes, DISCRIMINATOR : Yes, discr_setFlag>"
    assert finals(program) == {"<DISCRIMINATOR:Yes, DISCRIMINATOR:Yes, FLAG_INVOKE:1>"}


def test_a_synchronization_merge_may_stop() -> None:
    """Each branch brings its own SYNCMG_SRC (10.03); if two of them lose a name each, none is ever empty."""
    program = f"""{SYNC_MERGE}<SYNCMG_SRC : <ChWS2, ChWS3>, COMPLETED : ChWS2 : <5>, SYNCMG_SRC : <ChWS2, ChWS3>,
      COMPLETED : ChWS3 : <6>, SYNCMG_INBOX : <>, syncMerge, syncMg_setFlag>"""
    inbox = "SYNCMG_INBOX:<COMPLETED:ChWS2:<5>, COMPLETED:ChWS3:<6>>"
    assert finals(program) == {
        f"<FLAG_INVOKE:1, {inbox}, SYNCMG_SRC:<ChWS2, ChWS3>>",
        f"<{inbox}, SYNCMG_SRC:<ChWS2>, SYNCMG_SRC:<ChWS3>>",
    }


def test_a_dot_product_forgets_places() -> None:
    """A list that is a multiset has no first item: anything is paired with anything."""
    assert finals(f'{DOT}<dotProduct, LIST1 : <"a", "b">, LIST2 : <1, 2>, DOTPRODUCT : <>>') == {
        '<DOTPRODUCT:<"a":1, "b":2>, LIST1:<>, LIST2:<>>',
        '<DOTPRODUCT:<"a":2, "b":1>, LIST1:<>, LIST2:<>>',
    }


@pytest.mark.parametrize("number", [2, 3])
def test_a_cross_product_never_ends(number: int) -> None:
    """crossProduct_start loses an item of each list, and crossProductEnd waits for a list that is always full again."""
    names, numbers = ", ".join(f'"{one}"' for one in "abc"[:number]), ", ".join(map(str, range(1, number + 1)))
    found = finals(f"{CROSS}<crossProduct_start, LIST1 : <{names}>, LIST2 : <{numbers}>>")
    assert found
    for end in found:
        assert end.startswith("<CROSSLIST1:<>, CROSSLIST2:<")
        assert not end.startswith("<CROSSLIST1:<>, CROSSLIST2:<>")
        pairs = end.partition("CROSSPRODUCT:<")[2].partition(">")[0].split(", ")
        assert len(pairs) == (number - 1) ** 2
