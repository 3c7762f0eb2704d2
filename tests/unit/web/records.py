"""Records of runs of many tasks, written as a run writes them, without running anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.runs.events import Adapted, CallAnswered, CallFailed, CallStarted
from solvent.runs.kept import Kept
from solvent.runs.recorded_run import new_run
from solvent.runs.report import Report
from solvent.store import open_store
from solvent.values import codec
from solvent.workflows.model import Alternative, Result, Service, Task, Value, Workflow

if TYPE_CHECKING:
    from pathlib import Path

BATCH = 500


def wide_workflow(tasks_count: int) -> Workflow:
    """Give a workflow of so many tasks: split, three steps for each part, joined; one part has an alternative."""
    parts = (tasks_count - 3) // 3
    tasks = [Task("split", "split", (Value(parts),))]
    for number in range(parts):
        tasks += [
            Task(f"fetch_{number}", "fetch", (Result("split"),)),
            Task(f"clean_{number}", "clean", (Result(f"fetch_{number}"),)),
            Task(f"fold_{number}", "fold", (Result(f"clean_{number}"),)),
        ]
    tasks.append(Task("fetch_copy", "fetch_copy", (Result("split"),)))
    tasks.append(Task("join", "join", tuple(Result(f"fold_{number}") for number in range(parts))))
    names = ("split", "fetch", "clean", "fold", "fetch_copy", "join")
    services = tuple(Service(name, target=f"parts:{name}") for name in names)
    spare = Alternative("copy", exits={"fetch_0": "fetch_copy"})
    return Workflow(f"wide{tasks_count}", tuple(tasks), services, (spare,))


def write_run(store_file: Path | str, workflow: Workflow, *, until: float = 1.0) -> str:
    """Write the record of a run that has come so far (1.0: to its end), and give its name."""
    with open_store(str(store_file), is_durable=False) as store:
        held = new_run(store, workflow, {})
        held.open()
        at = held.record.created
        order = [task.name for task in workflow.tasks if task.name != "fetch_copy"]
        for number, name in enumerate(order[: int(len(order) * until)]):
            at += 0.01
            held.journal.note(CallStarted(name, name, at))
            if name == "fetch_0":
                why = "ConnectionError: it does not answer"
                held.journal.note(CallFailed(name, name, at + 0.05, 3, "FAILED", why))
                held.journal.note(Adapted("copy", name, at + 0.05, f"FAILED: {why}", (name,), ("fetch_copy",)))
                held.journal.note(CallStarted("fetch_copy", "fetch_copy", at + 0.06))
                held.journal.note(CallAnswered("fetch_copy", at + 0.2, 1, Kept(codec.encode("a copy"))))
            else:
                held.journal.note(CallAnswered(name, at + 0.05 + number % 7 / 20, 1, Kept(codec.encode(number))))
            if number % BATCH == 0:
                held.journal.commit()
        held.journal.commit()
        if until >= 1.0:
            held.end(report_of(workflow))
        else:
            held.leave()
        return held.record.run


def report_of(workflow: Workflow) -> Report:
    """Give what such a run came to."""
    states = dict.fromkeys((task.name for task in workflow.tasks), "done") | {"fetch_0": "replaced"}
    return Report(
        workflow.name,
        results={"join": len(states)},
        states=states,
        calls=dict.fromkeys(states, 1),
        adaptations=[
            {
                "alternative": "copy",
                "because": "fetch_0",
                "cause": "FAILED",
                "replaced": ["fetch_0"],
                "by": ["fetch_copy"],
                "seconds": 0.1,
            }
        ],
        results_of=("join",),
    )


__all__ = ["report_of", "wide_workflow", "write_run"]
