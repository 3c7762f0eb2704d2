"""`solvent why --not` on nested patterns: which part inside stops a rule, as text and as JSON."""

from __future__ import annotations

from tests.cli.command import solvent

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
    (report,) = solvent("why", "--not", "-", "start", "--format", "json", typed=WORKFLOW).json["reports"]
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
    assert (result.code, "error[H313]: `--depth` is for the reactions" in result.err) == (2, True)
