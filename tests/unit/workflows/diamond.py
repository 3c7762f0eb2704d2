"""A workflow that uses every field of the model, and the same as a file: shared by the tests of the formats."""

from __future__ import annotations

from solvent.workflows.model import REQUIRED, Alternative, Each, Input, Policy, Result, Service, Task, Value, Workflow

YAML = """\
workflow: diamond
inputs: {x: 3, "y": null}
services:
  s1: {python: "mymodule:function", timeout: 5.0, retries: 2}
  s2: {shell: "sort {0}", concurrency: 4}
  s3: {http: "http://localhost:8000/f", method: PUT}
  s4: {hocl: other.hocl}
  s5: {workflow: other.yaml, options: {depth: 2}}
  s6: {replay: 0.25}
tasks:
  T0: {service: s6}
  T1: {service: s1, in: [1, "$x", "$$y"]}
  T2: {service: s2, in: [{from: T1, item: 3}]}
  T3: {service: s3, from: [T1], with: {key: {from: T1}}, after: [T0]}
  T4: {service: s4, from: [T2, T3], each: dot}
  T5: {service: s5, from: [T1]}
  T6: {service: s5, in: [{from: T3}, [1, 2], {from: T1, item: 1}], each: {cross: [2, {dot: [0, 1]}]}}
alternatives:
  - {name: fallback, exits: {T2: T5}, also: [T0], watch: [T2]}
  - {name: better, exits: {T4: T6}, on: [timeout, condition], when: "result < 0.9"}
results: [T4]
"""

DIAMOND = Workflow(
    name="diamond",
    inputs={"x": 3, "y": REQUIRED},
    services=(
        Service("s1", "python", "mymodule:function", policy=Policy(timeout=5.0, retries=2)),
        Service("s2", "shell", "sort {0}", policy=Policy(concurrency=4)),
        Service("s3", "http", "http://localhost:8000/f", method="PUT"),
        Service("s4", "hocl", "other.hocl"),
        Service("s5", "workflow", "other.yaml", options={"depth": 2}),
        Service("s6", "replay", options={"seconds": 0.25}),
    ),
    tasks=(
        Task("T0", "s6"),
        Task("T1", "s1", (Value(1), Input("x"), Value("$y"))),
        Task("T2", "s2", (Result("T1", 3),)),
        Task("T3", "s3", (Result("T1"),), {"key": Result("T1")}, after=("T0",)),
        Task("T4", "s4", (Result("T2"), Result("T3")), each=Each("dot", (0, 1))),
        Task("T5", "s5", (Result("T1"),)),
        Task(
            "T6",
            "s5",
            (Result("T3"), Value([1, 2]), Result("T1", 1)),
            each=Each("cross", (2, Each("dot", (0, 1)))),
        ),
    ),
    alternatives=(
        Alternative("fallback", {"T2": "T5"}, also=("T0",), watch=("T2",)),
        Alternative("better", {"T4": "T6"}, on=("timeout", "condition"), when="result < 0.9"),
    ),
    results=("T4",),
)
