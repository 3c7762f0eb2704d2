"""A wrong variant of every example, and the statement that must notice it.

A statement that cannot fail says nothing. So each example has a change that spoils its pattern: another join, no lock,
nothing cancelled. Then one of the statements of its header is violated, or one that the pattern leaves open is not
open any more: what it would allow does not happen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.workflows.model import Control, Each, Many, Result, Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.workflows.model import Task, Workflow


@dataclass(frozen=True)
class Wrong:
    """A change of an example's workflow, and what notices it; `inputs` say which case of the header is meant."""

    change: Callable[[Workflow], Workflow]
    statement: str
    inputs: dict[str, Any] = field(default_factory=dict)


def _task(name: str, change: Callable[[Task], Task]) -> Callable[[Workflow], Workflow]:
    def changed(workflow: Workflow) -> Workflow:
        return replace(workflow, tasks=tuple(change(one) if one.name == name else one for one in workflow.tasks))

    return changed


def _control(name: str, **words: Any) -> Callable[[Workflow], Workflow]:
    """Change what a task does besides calling its service."""
    return _task(name, lambda task: replace(task, control=replace(task.control or Control(), **words)))


def _many(name: str, **words: Any) -> Callable[[Workflow], Workflow]:
    """Change the instances of a task."""

    def changed(task: Task) -> Task:
        control = task.control or Control()
        return replace(task, control=replace(control, many=replace(control.many or Many(), **words)))

    return _task(name, changed)


def _hasty(name: str, source: str) -> Callable[[Workflow], Workflow]:
    """Let a task not wait for one of its sources."""

    def changed(task: Task) -> Task:
        kept = (Value(0) if isinstance(one, Result) and one.task == source else one for one in task.arguments)
        return replace(task, arguments=tuple(kept), after=tuple(one for one in task.after if one != source))

    return _task(name, changed)


def _without_way(name: str, to: str) -> Callable[[Workflow], Workflow]:
    def changed(task: Task) -> Task:
        control = task.control or Control()
        return replace(task, control=replace(control, routes=tuple(way for way in control.routes if way.task != to)))

    return _task(name, changed)


def _each(name: str, how: str) -> Callable[[Workflow], Workflow]:
    return _task(name, lambda task: replace(task, each=Each(how, (0, 1))))  # type: ignore[arg-type]


def _without_alternatives(workflow: Workflow) -> Workflow:
    stand_ins = {new for one in workflow.alternatives for new in one.exits.values()}
    return replace(workflow, alternatives=(), tasks=tuple(one for one in workflow.tasks if one.name not in stand_ins))


WRONG = {
    "sequence": Wrong(_hasty("Pay", "Approve"), "Approve before Pay"),
    "parallel_split": Wrong(_hasty("Bill", "Order"), "Order before Bill"),
    "synchronization": Wrong(_control("Confirm", join="any"), "Confirm once"),
    "exclusive_choice": Wrong(_control("Claim", split="all"), "one of Settle, Inspect"),
    "simple_merge": Wrong(_control("File", join="all"), "ends done"),
    "multi_choice": Wrong(_control("Alarm", split="one"), "Ladder once"),
    "structured_synchronizing_merge": Wrong(_control("Report", join="any"), "Report once"),
    "multi_merge": Wrong(_control("Inspect", join="all"), "Inspect twice"),
    "structured_discriminator": Wrong(_control("Treat", join="any"), "Treat once"),
    "arbitrary_cycles": Wrong(_without_way("Review", "Edit"), "Edit runs 3"),
    "implicit_termination": Wrong(_control("Send", ends="case"), "Remind once"),
    "many_without_synchronization": Wrong(_many("Letter", apart=False), "File runs 3"),
    "many_known_at_design_time": Wrong(_many("Review", apart=True), "Decide once"),
    "many_known_at_run_time": Wrong(_many("Sequence", need=1), "ends done"),
    "many_found_on_the_way": Wrong(_many("Drill", more=None), "ends done"),
    "deferred_choice": Wrong(_control("Offer", split="all"), "one of Accept, Lapse"),
    "interleaved_parallel_routing": Wrong(_control("Eyes", takes=(), gives=()), "Measure, Weigh, Eyes apart"),
    "milestone": Wrong(_control("Change", during=None), "Change not after Send"),
    "cancel_task": Wrong(_control("Withdraw", cancels=()), "Pay once"),
    "cancel_case": Wrong(_control("Abort", ends=""), "ends cancelled"),
    "structured_loop": Wrong(_control("Measure", again=None), "Tune runs 3"),
    "recursion": Wrong(_control("Count", join="all"), "ends done"),
    "transient_trigger": Wrong(_control("Open", is_transient=False), "Again before Open"),
    "persistent_trigger": Wrong(_control("Read", is_transient=True), "ends done"),
    "cancel_region": Wrong(_control("Fraud", cancels=("Letter",)), "Letter once"),
    "cancel_many": Wrong(_control("Withdraw", cancels=()), "Sell once"),
    "complete_many": Wrong(_control("Close", completes=()), "Final once"),
    "blocking_discriminator": Wrong(_control("Forecast", join="all"), "Radar before Forecast"),
    "cancelling_discriminator": Wrong(_control("Deliver", cancels_rest=False), "Bridge not after Deliver"),
    "structured_partial_join": Wrong(_control("Pay", need=3), "Ada before Pay"),
    "blocking_partial_join": Wrong(_control("Pay", need=3), "Ada before Pay"),
    "cancelling_partial_join": Wrong(_control("Judge", need=3), "Rome before Judge"),
    "generalized_and_join": Wrong(_hasty("Marry", "Engine"), "Engine before each Marry"),
    "partial_join_of_many": Wrong(_many("Ask", need=3), "ends done"),
    "cancelling_partial_join_of_many": Wrong(_many("Search", need=None), "ends done"),
    "dynamic_partial_join_of_many": Wrong(_many("Hear", enough=None), "ends done"),
    "acyclic_synchronizing_merge": Wrong(_control("Diagnose", join="any"), "Diagnose once"),
    "general_synchronizing_merge": Wrong(_control("Check", join="any"), "Check twice"),
    "critical_section": Wrong(_control("Open", takes=()), "Print, Scan apart"),
    "interleaved_routing": Wrong(_control("Oil", takes=(), gives=()), "Oil, Brakes, Lights apart"),
    "thread_merge": Wrong(_control("Axle", threads=4), "Axle twice"),
    "thread_split": Wrong(_control("Confirm", copies=1), "Reserve runs 3"),
    "explicit_termination": Wrong(_control("Close", ends=""), "Reply not after Close"),
    "sub_workflow_all": Wrong(_hasty("Talk", "Checkup"), "Checkup before Talk"),
    "sub_workflow_first": Wrong(_hasty("Ride", "Taxi"), "Taxi before Ride"),
    "own_pattern": Wrong(_control("Sentence", join="any"), "Sentence once"),
    "loop_with_alternative": Wrong(_without_alternatives, "ends done"),
    "dot_product": Wrong(_each("Lead", "cross"), "ends done"),
    "cross_product": Wrong(_each("Try", "dot"), "ends done"),
    "global_variable": Wrong(_hasty("Sum", "Wages"), "Wages before Sum"),
}
