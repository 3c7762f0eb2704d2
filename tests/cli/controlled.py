"""Workflows whose tasks join, split, repeat, wait and cancel, for the tests of the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

STEPS = '''\
"""What the workflows of these tests call."""

import time
from pathlib import Path


def one(*_):
    return 1


def same(value=None, *_):
    return value


def more(number):
    return number + 1


def double(number):
    return number * 2


def hang(*_):
    time.sleep(600)


def turn(*_):
    with Path(__file__).with_name("calls").open("a") as file:
        file.write("hang\\n")
    time.sleep(0.01)
    return 0


def broken(*_):
    raise ValueError("no such column")


def is_big(result):
    return result > 2


def loud(*_):
    print("what a service prints")
    return 3


async def later(number):
    return number + 1
'''

_SERVICES = (
    "services: {"
    + ", ".join(
        f'{name}: {{python: "steps:{name}"}}'
        for name in ("one", "same", "more", "double", "hang", "turn", "broken", "loud", "later")
    )
    + "}\n"
)

LOOP = """\
tasks:
  A: {service: same, in: [0], to: [H]}
  H: {service: more, in: [{arrived: one}], join: any}
  C: {service: same, from: H, again: {to: H, when: "result < 5"}}
  D: {service: same, from: C}
"""
FIRST = """\
tasks:
  A: {service: one}
  B: {service: same, from: A}
  C: {service: double, from: A}
  D: {service: one, after: [B, C], join: first}
"""
FIRST_CANCELS = """\
tasks:
  A: {service: one}
  B: {service: same, from: A}
  C: {service: hang, after: [A]}
  D: {service: same, in: [{arrived: one}], after: [B, C], join: {first: 1, cancel: true}}
"""
REGION = """\
tasks:
  A: {service: one}
  B: {service: hang, after: [A]}
  C: {service: same, from: A, cancels: [B, D]}
  D: {service: same, from: B}
"""
MANY = """\
tasks:
  A: {service: same, in: [[1, 2, 3, 4]]}
  M: {service: double, from: A, instances: {over: 0}}
  D: {service: same, from: M}
"""
CHOICE = """\
inputs: {n: 3}
tasks:
  A: {service: same, in: [$n], split: one, to: {B: {predicate: "steps:is_big"}, C: null}}
  B: {service: double, in: [{arrived: one}]}
  C: {service: same, in: [{arrived: one}]}
  D: {service: same, in: [{arrived: one}], after: [B, C], join: any}
"""
STUCK = """\
tasks:
  A: {service: same, in: [3], split: some, to: {B: "result > 2", C: "result > 5"}}
  B: {service: double, in: [{arrived: one}]}
  C: {service: same, in: [{arrived: one}]}
  D: {service: same, in: [{from: B}, {from: C}]}
"""
SIGNAL = """\
tasks:
  A: {service: one}
  W: {service: same, in: [{signal: value}], after: [A], signal: go}
  D: {service: same, from: W}
"""
ENDS = """\
tasks:
  A: {service: one}
  B: {service: hang, after: [A]}
  C: {service: same, from: A, ends: true}
"""
CANCELLED = ENDS.replace("ends: true", "ends: cancelled")
ENDLESS = """\
tasks:
  A: {service: same, in: [0], to: [H]}
  H: {service: turn, in: [{arrived: one}], join: any}
  C: {service: same, from: H, again: {to: H, when: "true"}}
  D: {service: same, from: C}
"""
SPARE = """\
tasks:
  A: {service: same, in: [0], to: [H]}
  H: {service: more, in: [{arrived: one}], join: any}
  B: {service: broken, from: H}
  S: {service: same, from: H}
  C: {service: same, from: B, again: {to: H, when: "result < 3"}}
results: [C]
alternatives: [{name: spare, exits: {B: S}}]
"""
LIBRARY = """\
let two_take = replace PASS : tj : ti : n : r, GATE : tj : <VOTES : k::int, GOT_SO_FAR : <?g>, FROM : f, ?w>
  by GATE : tj : <VOTES : k + 1, GOT_SO_FAR : <ti : n : r, g>, FROM : f, w> in
let two_start = replace GATE : tj : <VOTES : 2, GOT_SO_FAR : <?g>, FROM : f, ?w>
  by GATE : tj : <VOTES : 3, GOT_SO_FAR : <>, FROM : f, w>, FLAG_INVOKE : tj : f : <g> in
<two_take, two_start, JOIN : <VOTES : 0, GOT_SO_FAR : <>>>
"""
PATTERN = """\
patterns: {two: two.hocl}
tasks:
  A: {service: one}
  B: {service: same, from: A}
  D: {service: same, in: [{arrived: all}], after: [A, B], join: two}
"""


def put(folder: Path, text: str, name: str = "flow.yaml") -> Path:
    """Write a workflow with its services, and a rule library."""
    (folder / "steps.py").write_text(STEPS)
    (folder / "two.hocl").write_text(LIBRARY)
    file = folder / name
    file.write_text(_SERVICES + text)
    return file
