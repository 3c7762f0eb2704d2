"""Workflows for the tests of the command line, in all forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

SERVICES = '''\
"""What the workflows of these tests call. Every call leaves a line in `calls`."""

import os
import signal
import sys
import time
from pathlib import Path

CALLS = Path(__file__).with_name("calls")


def noted(name):
    with CALLS.open("a") as file:
        file.write(name + "\\n")


def start(n):
    noted("start")
    return [n, n + 1, n + 2]


def double(x):
    noted("double")
    return x * 2


def broken(*_):
    noted("broken")
    raise ValueError("no such column")


def total(*numbers):
    noted("total")
    return sum(sum(one) if isinstance(one, list) else one for one in numbers)


def hang(*_):
    noted("hang")
    time.sleep(600)


def killed(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def shout(*_):
    sys.stdout.write("x" * 100_000_000)
    raise RuntimeError("that was loud")


def lock(*_):
    import threading

    return threading.Lock()


def strange(*_):
    return {1: {2.5, float("nan")}}


def is_small(result):
    return result < 100
'''

YAML = """\
workflow: numbers
inputs: {n: 1}
services:
  start: {python: "own:start"}
  double: {python: "own:double"}
  broken: {python: "own:broken"}
  total: {python: "own:total"}
tasks:
  A: {service: start, in: [$n]}
  B: {service: broken, in: [{from: A}]}
  C: {service: double, in: [{from: A, item: 3}]}
  D: {service: total, in: [{from: B}, {from: C}]}
  E: {service: double, from: [A], each: dot}
alternatives:
  - {name: spare, exits: {B: E}}
"""

JSON = """\
{"workflow": "numbers", "inputs": {"n": 1},
 "services": {"start": {"python": "own:start"}, "double": {"python": "own:double"},
              "broken": {"python": "own:broken"}, "total": {"python": "own:total"}},
 "tasks": {"A": {"service": "start", "in": ["$n"]},
           "B": {"service": "broken", "in": [{"from": "A"}]},
           "C": {"service": "double", "in": [{"from": "A", "item": 3}]},
           "D": {"service": "total", "in": [{"from": "B"}, {"from": "C"}]},
           "E": {"service": "double", "from": ["A"], "each": "dot"}},
 "alternatives": [{"name": "spare", "exits": {"B": "E"}}]}
"""

HOCLFLOW = """\
<
  WORKFLOW : "numbers",
  INPUT : n : 1,
  SERVICE : start : <PYTHON : "own:start">,
  SERVICE : double : <PYTHON : "own:double">,
  SERVICE : broken : <PYTHON : "own:broken">,
  SERVICE : total : <PYTHON : "own:total">,
  A : <SRC : <>, SRV : start, IN : <n>, DST : <B, C>>,
  B : <SRC : <A>, SRV : broken, IN : <>, DST : <D>>,
  C : <SRC : <FILTER : (A : 3), A>, SRV : double, IN : <>, DST : <D>>,
  D : <SRC : <B, C>, SRV : total, IN : <>, DST : <>>,
  E : <SRC : <DOT, A>, SRV : double, IN : <>, DST : <D>>,
  (spare = inject TRIGGER : E, BOND : (A : B : E), BOND : (D : B : E)
    with B : <RES : (?result), ?w> if FAILED in result)
>
"""

PYTHON = """\
import own
from solvent import attempt, service, workflow

start, double, broken, total = map(service, (own.start, own.double, own.broken, own.total))


@workflow
def numbers(n: int = 1):
    a = start.named("A")(n)
    b = attempt(broken.named("B")(a), otherwise=double.named("E").each(a), name="spare")
    c = double.named("C")(a[2])
    return total.named("D")(b, c)


@workflow
def other():
    return start(1)
"""

FORMS = {"flow.yaml": YAML, "flow.yml": YAML, "flow.json": JSON, "flow.hocl": HOCLFLOW, "flow.py:numbers": PYTHON}
TRACE = {
    "name": "two",
    "schemaVersion": "1.5",
    "workflow": {
        "specification": {
            "tasks": [
                {"name": "a", "id": "a", "parents": [], "children": ["b"]},
                {"name": "b", "id": "b", "parents": ["a"], "children": []},
            ]
        },
        "execution": {
            "makespanInSeconds": 2000,
            "executedAt": "2024-01-01T00:00:00+00:00",
            "tasks": [{"id": "a", "runtimeInSeconds": 1000}, {"id": "b", "runtimeInSeconds": 1000}],
        },
    },
}


def put(folder: Path, name: str, text: str) -> Path:
    """Write a workflow and the services it calls; give what to call it by on the command line."""
    (folder / "own.py").write_text(SERVICES)
    (folder / name.partition(":")[0]).write_text(text)
    return folder / name


def calls(folder: Path) -> list[str]:
    """Give the names of the functions that were called."""
    file = folder / "calls"
    return sorted(file.read_text().split()) if file.exists() else []


def one_task(service: str, *, policy: str = "", more: str = "") -> str:
    """Give a workflow of a task that is fine and one that calls the service in question, which a third one needs."""
    return (
        "services:\n"
        '  fine: {python: "own:start"}\n'
        f"  odd: {{{service}{policy}}}\n"
        '  last: {python: "own:total"}\n'
        f"{more and more.partition('|')[0]}"
        "tasks:\n"
        "  first: {service: fine, in: [1]}\n"
        "  odd: {service: odd, from: [first]}\n"
        "  last: {service: last, from: [odd]}\n"
        f"{more and more.partition('|')[2]}"
    )
