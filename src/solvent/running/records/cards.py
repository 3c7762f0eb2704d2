"""The card of a run: what is run, how it stands, who has it, and how it ended.

It is the value of the key `runs/RUN`, and changes only when a process takes the run, leaves it, or ends it. What
happens meanwhile is in the journal (`runs/RUN/journal`).
"""

from __future__ import annotations

import hashlib
from dataclasses import astuple
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from solvent.errors import RecordProblem, WorkflowProblem
from solvent.running.records import values
from solvent.running.records.holders import Holder  # noqa: TC001 - msgspec looks at the types
from solvent.running.report import Failed, Report

if TYPE_CHECKING:
    from solvent.live.space import Space
    from solvent.workflow.model import Workflow

State: TypeAlias = Literal["running", "stopped", "done", "failed", "cancelled"]
ENDED = ("done", "failed", "cancelled")
_BLOB_BYTES_MIN = 64 * 1024


class RunOptions(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a run was asked for, as far as that matters to who goes on with it."""

    jobs: int | None = None
    processes: bool = False
    scale: float | None = None
    #: Signals, as `values.encode` writes them.
    signals: bytes = b""


class RunCard(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of a run without its journal."""

    run: str
    workflow: str
    digest: str
    tasks: tuple[str, ...]
    created: float
    state: State = "running"
    ended: float = 0.0
    holder: Holder | None = None
    #: The file as it was given, and the folder in which that was.
    file: str = ""
    folder: str = ""
    #: The blob that has the workflow as JSON; nothing where a file cannot say it.
    document: str = ""
    #: As `values.encode` writes them.
    inputs: bytes = b""
    options: RunOptions = RunOptions()
    #: Why nobody can go on with it, should it be stopped.
    hindrance: str = ""
    #: How it ended, a `Summary`; or the blob that has it.
    summary: bytes = b""
    summary_blob: str = ""

    @property
    def has_ended(self) -> bool:
        """Whether nothing more can happen."""
        return self.state in ENDED


class Summary(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a run came to."""

    states: dict[str, str] = {}
    calls: dict[str, int] = {}
    #: As `values.encode` writes them.
    results: dict[str, bytes] = {}
    #: The Python form of results that are no data.
    forms: dict[str, str] = {}
    adaptations: bytes = b""
    failures: list[tuple[str, str, str, int, str, str]] = []
    stuck: list[str] = []
    ended_by: str = ""
    reactions: int = 0
    seconds: float = 0.0
    error: str = ""


def write_card(card: RunCard) -> bytes:
    """Make the bytes of a card."""
    return msgspec.msgpack.encode(card)


def read_card(run: str, data: bytes) -> RunCard:
    """Give the card; raise `RecordProblem` R403 if that is none."""
    try:
        return msgspec.msgpack.decode(data, type=RunCard)
    except msgspec.MsgspecError as error:
        raise RecordProblem("R403", f"the card of the run `{run}` does not read: {error}") from None


def summed_up(space: Space, card: RunCard, report: Report) -> RunCard:
    """Give a card that also tells what the run came to."""
    results, forms = dict[str, bytes](), dict[str, str]()
    for name, value in report.results.items():
        try:
            results[name] = values.encode(value)
        except values.Unrecordable:
            forms[name] = _form_of(value)
    summary = Summary(
        states=report.states,
        calls=report.calls,
        results=results,
        forms=forms,
        adaptations=values.encode(report.adaptations),
        failures=[astuple(one) for one in report.failures],
        stuck=report.stuck,
        ended_by=report.ended_by,
        reactions=report.reactions,
        seconds=report.seconds,
        error="" if report.error is None else f"[{report.error.code}] {report.error.message}",
    )
    data = msgspec.msgpack.encode(summary)
    if len(data) < _BLOB_BYTES_MIN:
        return msgspec.structs.replace(card, summary=data, summary_blob="")
    return msgspec.structs.replace(card, summary=b"", summary_blob=space.put_blob(data))


def summary_of(space: Space, card: RunCard) -> Summary | None:
    """Say what a run came to, if it has been told."""
    data = space.get_blob(card.summary_blob) if card.summary_blob else card.summary
    if not data:
        return None
    try:
        return msgspec.msgpack.decode(data, type=Summary)
    except msgspec.MsgspecError as error:
        raise RecordProblem("R403", f"how the run `{card.run}` ended does not read: {error}") from None


def report_of(card: RunCard, summary: Summary) -> Report:
    """Give the report of a run that ended; results that were no data are the texts of their Python forms."""
    try:
        results = {name: values.decode(data) for name, data in summary.results.items()}
        adaptations = values.decode(summary.adaptations)
    except ValueError as error:
        raise RecordProblem("R403", f"how the run `{card.run}` ended does not read: {error}") from None
    return Report(
        card.workflow,
        results=results | summary.forms,
        states=summary.states,
        calls=summary.calls,
        adaptations=adaptations,
        failures=[Failed(*one) for one in summary.failures],
        stuck=summary.stuck,
        ended_by=summary.ended_by,
        reactions=summary.reactions,
        seconds=summary.seconds,
    )


def _form_of(value: Any) -> str:
    try:
        return repr(value)[:1_000]
    except Exception:  # noqa: BLE001 - a user's `__repr__` may raise anything
        return f"<{type(value).__name__}>"


# --- The workflow.


def document_of(workflow: Workflow) -> str:
    """Give a workflow as JSON; nothing where a file cannot say it."""
    from solvent.workflow.files.writing import write_json

    try:
        return write_json(workflow, indent=None)
    except (WorkflowProblem, ValueError):
        return ""


def digest_of(workflow: Workflow) -> str:
    """Give a text that is the same for workflows that are the same; functions are the same by name."""
    return hashlib.sha256(_DIGESTED(workflow)).hexdigest()[:32]


def _named(value: Any) -> Any:
    try:
        return values.encode(value)
    except values.Unrecordable:
        kind = type(value)
        home, name = getattr(value, "__module__", kind.__module__), getattr(value, "__qualname__", kind.__qualname__)
        return f"{home}:{name}"


_DIGESTED = msgspec.msgpack.Encoder(enc_hook=_named, order="deterministic").encode

__all__ = [
    "ENDED", "RunCard", "RunOptions", "State", "Summary", "digest_of", "document_of", "read_card", "report_of",
    "summary_of", "summed_up", "write_card",
]  # fmt: skip
