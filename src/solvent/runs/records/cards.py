"""The card of a run: what is run, how it stands, who has it, and how it ended.

It is the value of the key `runs/RUN`, and changes only when a process takes the run, leaves it, or ends it. What
happens meanwhile is in the journal (`runs/RUN/journal`).
"""

from __future__ import annotations

import hashlib
import marshal
from dataclasses import astuple
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from solvent.errors import RecordProblem, WorkflowProblem
from solvent.runs.records.holders import Holder  # noqa: TC001 - msgspec looks at the types
from solvent.runs.report import Failed, Report
from solvent.values import codec
from solvent.values.encoding import Pieces, encoder
from solvent.values.limits import UNREADABLE, Time

if TYPE_CHECKING:
    from solvent.store import Store
    from solvent.workflows.model import Workflow

State: TypeAlias = Literal["running", "stopped", "done", "failed", "cancelled"]
ENDED = ("done", "failed", "cancelled")
_MIN_BLOB_BYTES = 64 * 1024


class RunOptions(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a run was asked for, as far as that matters to who goes on with it."""

    jobs: int | None = None
    processes: bool = False
    scale: float | None = None
    #: Signals, as `codec.encode` writes them.
    signals: bytes = b""


class RunCard(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of a run without its journal."""

    run: str
    workflow: str
    digest: str
    tasks: tuple[str, ...]
    created: Time
    state: State = "running"
    ended: Time = 0.0
    holder: Holder | None = None
    #: The file as it was given, and the folder in which that was.
    file: str = ""
    folder: str = ""
    #: The blob that has the workflow as JSON; nothing where a file cannot say it.
    document: str = ""
    #: As `codec.encode` writes them.
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
    #: As `codec.encode` writes them.
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
    return _ENCODE(card)


def read_card(run: str, data: bytes) -> RunCard:
    """Give the card; raise `RecordProblem` R403 if that is none."""
    try:
        return msgspec.msgpack.decode(data, type=RunCard)
    except UNREADABLE as error:
        raise RecordProblem("R403", f"the card of the run `{run}` does not read: {error}") from None


def summed_up(store: Store, card: RunCard, report: Report) -> RunCard:
    """Give a card that also tells what the run came to."""
    results, forms = dict[str, bytes | Pieces](), dict[str, str]()
    for name, value in report.results.items():
        try:
            found = codec.pieces(value)
            results[name] = found if len(found) >= _MIN_BLOB_BYTES else b"".join(found)
        except (codec.Unrecordable, MemoryError):
            forms[name] = _form_of(value)
    # The fields of a `Summary`; as a dictionary, since large results stay in pieces.
    summary = {
        "states": report.states,
        "calls": report.calls,
        "results": results,
        "forms": forms,
        "adaptations": codec.encode(report.adaptations),
        "failures": [list(astuple(one)) for one in report.failures],
        "stuck": report.stuck,
        "ended_by": report.ended_by,
        "reactions": report.reactions,
        "seconds": report.seconds,
        "error": "" if report.error is None else f"[{report.error.code}] {report.error.message}",
    }
    data = codec.pieces(summary)
    if len(data) < _MIN_BLOB_BYTES:
        return msgspec.structs.replace(card, summary=b"".join(data), summary_blob="")
    return msgspec.structs.replace(card, summary=b"", summary_blob=store.put_blob(data))


def summary_of(store: Store, card: RunCard) -> Summary | None:
    """Say what a run came to, if it has been told."""
    data = store.get_blob(card.summary_blob) if card.summary_blob else card.summary
    if not data:
        return None
    try:
        return msgspec.msgpack.decode(data, type=Summary)
    except UNREADABLE as error:
        raise RecordProblem("R403", f"how the run `{card.run}` ended does not read: {error}") from None


def report_of(card: RunCard, summary: Summary) -> Report:
    """Give the report of a run that ended; results that were no data are the texts of their Python forms."""
    try:
        results = {name: codec.decode(data) for name, data in summary.results.items()}
        adaptations = codec.decode(summary.adaptations)
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
    from solvent.workflows.formats.yaml.writer import write_json

    try:
        return write_json(workflow, indent=None)
    except (WorkflowProblem, ValueError):
        return ""


def digest_of(workflow: Workflow) -> str:
    """Give a text that is the same for workflows that are the same; functions are the same by name."""
    try:
        data = _DIGESTED(workflow)
    except (OverflowError, UnicodeEncodeError):
        # msgpack has no integers of more than 64 bits and no lone surrogates; version 2 of marshal has both.
        data = marshal.dumps(msgspec.to_builtins(workflow, enc_hook=_named, order="deterministic"), 2)
    return hashlib.sha256(data).hexdigest()[:32]


def _named(value: Any) -> Any:
    try:
        return codec.encode(value)
    except codec.Unrecordable:
        kind = type(value)
        home, name = getattr(value, "__module__", kind.__module__), getattr(value, "__qualname__", kind.__qualname__)
        return f"{home}:{name}"


_ENCODE = encoder()
_DIGESTED = encoder(enc_hook=_named, order="deterministic")

__all__ = [
    "ENDED", "RunCard", "RunOptions", "State", "Summary", "digest_of", "document_of", "read_card", "report_of",
    "summary_of", "summed_up", "write_card",
]  # fmt: skip
