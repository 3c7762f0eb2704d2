"""How a shard of a run ended, as the event `ShardClosed`; and the report of a run, put together of all its shards."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.errors import RecordProblem
from solvent.runs import events
from solvent.runs.events import Adapted, ShardClosed
from solvent.runs.journal import read_journal
from solvent.runs.kept import keep
from solvent.runs.registry import journal_of
from solvent.runs.report import Report, concluded, results_of
from solvent.values import codec
from solvent.values.limits import UNREADABLE
from solvent.workflows.forms import forms_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from solvent.runs.kept import Blobs, Kept
    from solvent.runs.registry import RunRecord
    from solvent.runs.report import Failed
    from solvent.runs.resources.lender import Lender
    from solvent.store import Store
    from solvent.workflows.model import Workflow

_MAX_FORM = 1_000


def closed_shard(
    blobs: Blobs,
    report: Report,
    adaptations: list[Adapted],
    *,
    values: Mapping[str, Any],
    replaced: Iterable[str] = (),
    faults: Iterable[Failed],
) -> ShardClosed:
    """Return how a shard ended: `values` are results that may be the workflow's."""
    results, forms = _results(blobs, values)
    return ShardClosed(
        at=time.time(),
        states=report.states,
        calls=report.calls,
        results=results,
        forms=forms,
        adaptations=adaptations,
        replaced=sorted(replaced),
        failures=[*faults],
        stuck=report.stuck,
        ended_by=report.ended_by,
        is_cancelled=report.is_cancelled,
        reactions=report.reactions,
        error="" if report.error is None else f"[{report.error.code}] {report.error.message}",
    )


def with_resources(blobs: Blobs, closed: ShardClosed, lender: Lender) -> ShardClosed:
    """Return how the only shard of a run ended, with what its resources hold; these are saved where that was asked."""
    found, problem = lender.finish()
    # A view of memory is bytes, for whoever reads it elsewhere.
    held, _ = _results(blobs, {name: bytes(one) if type(one) is memoryview else one for name, one in found.items()})
    error = closed.error or ("" if problem is None else f"[{problem.code}] {problem.message}")
    return replace(closed, resources=held, error=error)


def closed_run(blobs: Blobs, report: Report, adaptations: list[Adapted]) -> ShardClosed:
    """Return how the only shard of a run ended, of which everything is concluded."""
    return closed_shard(blobs, report, adaptations, values=report.results, faults=report.failures)


def wanted_of(workflow: Workflow) -> frozenset[str]:
    """Return the tasks whose results may be the workflow's."""
    return frozenset((*workflow.outcomes, *(new for one in workflow.alternatives for new in one.exits.values())))


def adapted_event(one: Mapping[str, Any], *, at: float, within: str = "") -> Adapted:
    """Return an adaptation of a report as an event."""
    replaced, by = tuple(one["replaced"]), tuple(one["by"])
    return Adapted(one["alternative"], one["because"], at, one["cause"], replaced, by, within)


def _results(blobs: Blobs, values: Mapping[str, Any]) -> tuple[dict[str, Kept], dict[str, str]]:
    results, forms = dict[str, "Kept"](), dict[str, str]()
    for name, value in values.items():
        try:
            results[name] = keep(blobs, codec.pieces(value))
        except (codec.Unrecordable, MemoryError):
            forms[name] = _form_of(value)
    return results, forms


def _form_of(value: Any) -> str:
    try:
        return repr(value)[:_MAX_FORM]
    except Exception:  # noqa: BLE001 - a user's `__repr__` may raise anything
        return f"<{type(value).__name__}>"


def closed_shards(store: Store, record: RunRecord) -> list[ShardClosed] | None:
    """Return how the shards of a run ended; nothing if one of them has not."""
    found = []
    for shard in range(record.shards):
        log = journal_of(record.prefix, shard)
        closed = _last_closed(store, log)
        if closed is None:
            return None
        found.append(closed)
    return found


def _last_closed(store: Store, log: str) -> ShardClosed | None:
    """Return how a shard ended; nearly always that is in the last record of its journal."""
    for record in store.read(log, max(0, store.last(log) - 1), 1):
        try:
            noted = events.decode(record.data, store.get_blob)
        except ValueError as error:
            raise RecordProblem("R403", f"record {record.position} of `{log}` does not read: {error}") from None
        if closed := [one for one in noted if isinstance(one, ShardClosed)]:
            return closed[-1]
    return next((one for _, one in reversed([*read_journal(store, log)]) if isinstance(one, ShardClosed)), None)


def report_of(store: Store, record: RunRecord, workflow: Workflow | None) -> Report | None:
    """Return the report of a run whose shards have all ended; else nothing. A run of one shard needs no `workflow`."""
    closed = closed_shards(store, record)
    return None if closed is None else merged(store, record, workflow, closed)


def merged(blobs: Blobs, record: RunRecord, workflow: Workflow | None, closed: list[ShardClosed]) -> Report:
    """Put the report of a run together; results that were no data are the texts of their Python forms."""
    report, values = Report(record.workflow, seconds=record.lasted), dict[str, Any]()
    replaced, faults = set[str](), dict[str, Any]()
    try:
        for one in closed:
            report.states |= one.states
            report.calls |= one.calls
            report.adaptations += [_adaptation(each, record.created) for each in one.adaptations]
            report.reactions += one.reactions
            values |= {name: codec.decode(kept.read(blobs)) for name, kept in one.results.items()} | one.forms
            replaced |= {*one.replaced}
            report.stuck += one.stuck
            faults |= {each.task: each for each in one.failures}
            report.resources |= {name: codec.decode(kept.read(blobs)) for name, kept in one.resources.items()}
    except UNREADABLE as error:
        raise RecordProblem("R403", f"how the run `{record.run}` ended does not read: {error}") from None
    report.trace = [] if workflow is not None and workflow.is_controlled else None
    if len(closed) == 1:
        # Everything was concluded where it was.
        report.results, report.failures = values, closed[0].failures
        report.ended_by, report.is_cancelled = closed[0].ended_by, closed[0].is_cancelled
        report.results_of = () if workflow is None else results_of(workflow, forms_of(workflow), report.adaptations)
        return report
    assert workflow is not None
    return concluded(report, workflow, forms_of(workflow), values, replaced, faults)


def difference(report: Report, had: Report, parts: Iterable[str]) -> str:
    """Say in which of these parts two reports of a run differ first; nothing, if they do not."""
    for what in parts:
        now, before = getattr(report, what), getattr(had, what)
        for name in [*now, *before]:
            if name not in now or name not in before or _canonical(now[name]) != _canonical(before[name]):
                shown = f" is {now.get(name, 'not there')}, and was {before.get(name, 'not there')}"
                return f"{what} of `{name}`" + (shown if what == "states" else "")
    return ""


def _canonical(value: Any) -> bytes:
    """Return what can be compared: an array equals no array, NaN not even itself, and keys have no order."""
    try:
        return codec.encode(_sorted(value))
    except codec.Unrecordable:
        # Of what is no data a record has the Python form.
        return codec.encode(_form_of(value))


def _sorted(value: Any) -> Any:
    if type(value) is dict:
        return {key: _sorted(one) for key, one in sorted(value.items(), key=lambda item: repr(item[0]))}
    return type(value)(map(_sorted, value)) if type(value) in (list, tuple) else value


def _adaptation(event: Adapted, began: float) -> dict[str, Any]:
    """Return an adaptation as reports have it."""
    return {
        "alternative": event.alternative,
        "because": event.task,
        "cause": event.cause,
        "replaced": list(event.replaced),
        "by": list(event.by),
        "seconds": max(0.0, event.at - began),
        **({"within": event.within} if event.within else {}),
    }


__all__ = [
    "adapted_event", "closed_run", "closed_shard", "closed_shards", "difference", "merged", "report_of", "wanted_of",
    "with_resources",
]  # fmt: skip
