"""`solvent trace`, `why`, `why --not`, `explore` and `check`: what they show, as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cli.command import FOREVER, MAX, example, solvent

if TYPE_CHECKING:
    from pathlib import Path

SUM = "let sum = replace x, y by x + y in <1, 2, 3, sum>"
RUNS_ROUND = "let on = replace A by B in let off = replace B by A in <A, on, off>"


def test_trace_shows_every_reaction() -> None:
    """A trace has the start, every reaction with its number, and the final solution."""
    result = solvent("trace", "-", typed=MAX)
    assert result.code == 0
    lines = result.out.splitlines()
    assert lines[0] == "start   <2, 3, 5, 8, 9, max>"
    assert [line.split()[:2] for line in lines[2:6]] == [[str(n), "max:"] for n in range(1, 5)]
    assert lines[-2:] == ["inert after 4 reactions", "   <9, max>"]


def test_trace_of_inner_solutions() -> None:
    """A reaction in a sub-solution is indented, and what takes the sub-solution shows it as it then was."""
    out = solvent("trace", example("maximum")).out
    assert "    larger: " in out
    assert "<31, larger> -> 31" in out
    assert "   in AGENT:" in solvent("trace", example("mailboxes")).out


def test_trace_as_json() -> None:
    """The JSON of a trace has every reaction's rule, reactants and products."""
    found = solvent("trace", "-", "--format", "json", typed="<1, replace-one x by x + 1, x>").json
    assert (found["solution"], found["inert"], len(found["reactions"])) == ("<1, 2>", True, 1)
    reaction = found["reactions"][0]
    taken = reaction["reactants"] + reaction["kept"]
    assert (taken, reaction["number"], reaction["level"]) == (["1"], 1, 0)


def test_trace_stops_at_its_limit() -> None:
    """`--limit` ends a trace with exit code 3."""
    result = solvent("trace", "-", "--limit", "5", typed=FOREVER)
    assert (result.code, result.out.count("->")) == (3, 5)
    assert "not inert after 5 reactions" in result.out


def test_trace_stops_when_its_time_is_over() -> None:
    """`--max-seconds` ends a trace with exit code 3, and what there is by then is shown."""
    result = solvent("trace", "-", "--max-seconds", "0.3", "--limit", "100000000", typed=FOREVER)
    assert (result.code, result.out.splitlines()[2].split()[:2]) == (3, ["1", "grow:"])
    assert "error[H502]: still reacting after 0.3 seconds" in result.err
    assert "\nnot inert after " in result.out


def test_why_shows_the_tree() -> None:
    """The tree goes from a molecule back to those of the start."""
    lines = solvent("why", "-", "6", typed=SUM).out.splitlines()
    assert lines[0] == "6  made by reaction 2, sum"
    assert sum("from the start" in line for line in lines) == 3
    assert len(lines) == 5


def test_why_as_json() -> None:
    """The JSON is a graph of the molecules and reactions behind a molecule."""
    found = solvent("why", "-", "6", "--format", "json", typed=SUM).json
    assert (found["molecule"], len(found["reactions"])) == ("6", 2)
    starts = [one["molecule"] for one in found["molecules"] if one["reaction"] is None]
    assert sorted(starts) == ["1", "2", "3"]


def test_why_tells_each_reaction_once() -> None:
    """A reaction that is behind two molecules is told once, and then pointed at."""
    text = "let split = replace-one A by 1, 2 in let sum = replace x, y by x + y in <A, split, sum>"
    out = solvent("why", "-", "3", typed=text).out
    assert (out.count("reaction 1"), out.count("(told above)")) == (2, 1)


def test_why_of_what_never_was() -> None:
    """A molecule that never was is an error that names those like it."""
    result = solvent("why", "-", "7", typed=SUM)
    assert result.code == 1
    assert "`7` was never in the solution" in result.err
    assert "there were:" in result.err


def test_why_not_names_what_stops_a_rule() -> None:
    """A rule whose pattern fits nothing is explained by that pattern."""
    result = solvent("why", "--not", example("philosophers-deadlock"), "take_left")
    assert result.code == 0
    assert "so        no molecule fits pattern 1" in result.out


def test_why_not_names_the_condition() -> None:
    """A rule whose condition is false is explained by it, with an example."""
    out = solvent("why", "--not", "-", "r", typed="let r = replace x, y by x if x + y > 10 in <1, 2, r>").out
    assert "x + y > 10" in out
    assert "x = 1, y = 2" in out


def test_why_not_of_a_rule_that_is_gone() -> None:
    """A rule that was consumed is reported with the reaction that took it."""
    result = solvent("why", "--not", example("maximum"), "larger")
    assert result.code == 0
    assert "`larger` is not in the final solution" in result.out
    assert "reaction 7" in result.out


def test_why_not_of_an_unknown_rule() -> None:
    """A rule that never was is an error with the nearest name."""
    result = solvent("why", "--not", "-", "mx", typed=MAX)
    assert (result.code, "did you mean `max`?" in result.err) == (1, True)


def test_explore_as_json() -> None:
    """The JSON of an exploration has states, finals and two verdicts."""
    found = solvent("explore", "-", "--format", "json", typed="let drop = replace-one x by in <1, 2, 3, drop>").json
    assert found == {
        "states": 4,
        "finals": ["<1, 2>", "<1, 3>", "<2, 3>"],
        "confluent": False,
        "terminates": True,
    }


def test_explore_finds_the_deadlock() -> None:
    """The naive philosophers can end in a deadlock, and the two runs are shown step by step."""
    out = solvent("explore", example("philosophers-deadlock")).out
    assert "confluent   no" in out
    first, second = out.split("one run:")[1].split("another:")
    assert '<REACHES:"Ann":1:2, REACHES:"Ben":2:3, REACHES:"Cleo":3:1' in first
    assert 'FED:"Ann"' in second


def test_explore_shows_a_cycle() -> None:
    """A program that can go on for ever is shown going round."""
    out = solvent("explore", "-", typed=RUNS_ROUND).out
    assert "terminates  no" in out
    cycle = out.split("again and again:")[1]
    assert ("on: A -> B" in cycle, "off: B -> A" in cycle) == (True, True)


def test_explore_meets_its_limit() -> None:
    """What the limit leaves open is null, and the exit code 3."""
    result = solvent("explore", "-", "--max-states", "50", "--format", "json", typed=FOREVER)
    assert result.code == 3
    assert result.json == {"states": 50, "finals": [], "confluent": None, "terminates": None}


def test_check_warns() -> None:
    """An unused let and a pattern for a rule that nothing names are warnings, not errors."""
    text = "let max = replace x, y by x in\nlet out = replace <mx = m, ?w> by w in\n<1, out>"
    result = solvent("check", "-", typed=text)
    assert result.code == 0
    assert "warning[H250]: the rule `max` is in no solution" in result.out
    assert "warning[H251]: no rule of this program is named `mx`" in result.out
    assert "did you mean `max`?" in result.out


def test_check_as_json() -> None:
    """The JSON has each file with its errors and warnings."""
    found = solvent("check", example("maximum"), "-", "--format", "json", typed="<1,").json
    assert [one["ok"] for one in found["files"]] == [True, False]
    (error,) = found["files"][1]["errors"]
    assert (error["line"], error["file"]) == (1, "<stdin>")


def test_explore_refuses_asynchronous_functions(tmp_path: Path) -> None:
    """What an asynchronous function answers cannot be explored, and that is said."""
    module = tmp_path / "own.py"
    module.write_text("async def later(x):\n    return x\n")
    result = solvent("explore", "-", "--functions", module, typed="<A : 1, replace A : x by later(x)>")
    assert (result.code, "asynchronous" in result.err) == (2, True)
    assert "RuntimeWarning" not in result.err


WORKFLOW = """\
let start = replace T1 : <SRC : <>, IN : <?i>, ?w> by T1 : <IN : <i>, STARTED, w> in
<T1 : <SRC : <T0>, IN : <1>>, T2 : <SRC : <>>, start>
"""
WHY = "in part 2, `SRC:<>` finds no partner; in part 2 of `SRC:<T0>`, `<T0>` does not fit `<>`: it is not empty"


def test_the_part_inside_is_named() -> None:
    """The nearest molecule is shown with the way to the part that does not fit, and why."""
    result = solvent("why", "--not", "-", "start", typed=WORKFLOW)
    assert (result.code, result.out.splitlines()[2:]) == (
        0,
        [
            "  pattern 1  T1:<SRC:<>, IN:<?i>, ?w>  0 molecules fit it",
            f"    nearest  T1:<IN:<1>, SRC:<T0>>  {WHY}",
            "so        no molecule fits pattern 1, `T1:<SRC:<>, IN:<?i>, ?w>`",
        ],
    )


def test_the_part_inside_as_json() -> None:
    """The JSON has the same as fields, beside those that were there before."""
    found = solvent("why", "--not", "-", "start", "--format", "json", typed=WORKFLOW).json
    (report,) = found["reports"]
    assert (found["present"], found["existed"], "pattern 1" in report["verdict"]) == (True, True, True)
    assert report["patterns"] == [
        {
            "pattern": "T1:<SRC:<>, IN:<?i>, ?w>",
            "fit": 0,
            "fits_together": False,
            "nearest": ["T1:<IN:<1>, SRC:<T0>>"],
            "misfits": [
                {
                    "molecule": "T1:<IN:<1>, SRC:<T0>>",
                    "path": [
                        {"place": "part 2", "pattern": "<SRC:<>, IN:<?i>, ?w>", "found": "<IN:<1>, SRC:<T0>>"},
                        {"place": "inside", "pattern": "SRC:<>", "found": "SRC:<T0>"},
                        {"place": "part 2", "pattern": "<>", "found": "<T0>"},
                    ],
                    "pattern": "<>",
                    "found": "<T0>",
                    "reason": "it is not empty",
                    "sentence": WHY,
                }
            ],
        }
    ]


def test_a_binding_that_stops_a_rule() -> None:
    """Where an earlier pattern has bound a variable to something else, both values are shown."""
    out = solvent("why", "--not", "-", "r", typed="<A : 3, B : (1, 4), (r = replace A : x, B : (y, x) by x)>").out
    assert (
        "    nearest  B:(1, 4)  in item 2 of part 2, `4` does not fit `x`: `x` is bound to 3 by an earlier pattern\n"
        in out
    )


def test_large_molecules_are_shortened() -> None:
    """A line about a large molecule stays readable."""
    numbers = ", ".join(map(str, range(500)))
    lines = solvent("why", "--not", "-", "r", typed=f"<A : <{numbers}>, (r = replace A : <> by DONE)>").out.splitlines()
    (nearest,) = [line for line in lines if line.startswith("    nearest")]
    assert len(nearest) < 300
    assert nearest.endswith("does not fit `<>`: it is not empty")


def test_a_run_that_was_stopped() -> None:
    """After a limit a sub-solution may still react, and that is why nothing fits it."""
    text = "<A : <1, (replace x::int by x + 1)>, (r = replace A : <x, ?w> by x)>"
    result = solvent("why", "--not", "-", "r", "--max-reactions", "3", typed=text)
    assert result.code == 3
    assert ": the sub-solution is not inert\n" in result.out


def test_depth_is_for_molecules() -> None:
    """What stops a rule is no tree, and has no depth."""
    result = solvent("why", "-", "--not", "start", "--depth", "3", typed=WORKFLOW)
    assert (result.code, "error[H313]: `--depth` cannot be used with --not" in result.err) == (2, True)
