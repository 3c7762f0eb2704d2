"""Every error Solvent raises on purpose.

    SolventError
    ├── ProgramError          the text is wrong                       exit code 2
    │   ├── SyntaxProblem       H1xx  it does not read as HOCL
    │   └── NameProblem         H2xx  it reads, but a name, a type or a number of arguments is wrong
    ├── WorkflowProblem       W1xx  a workflow is wrong               exit code 2
    ├── NodeProblem           N1xx  a node cannot be started          exit code 2
    ├── RingProblem           N2xx  a node of a ring cannot go on     exit code 1
    │   └── LockLost            N201  the lock was taken away
    ├── DataProblem           D2xx  data cannot be handed over        exit code 1
    │   └── DataLost            D201  the version is not there any more
    ├── SpaceProblem          S2xx  no part is taken in a store       exit code 1
    │   └── Outvoted            S207  too few of its processes answer
    ├── StoreError            E4xx  what must survive is not kept     exit code 2, or 1 where all was well before
    │   ├── NoStore             E401  there is none, and none was to be made
    │   └── Conflict            E410  somebody else was there first
    ├── RecordProblem         R4xx  a run's record is of no use       exit code 1, or 2 where none is there
    ├── AgentProblem          A1xx  agents cannot run, or be started  exit code 2
    ├── Misuse                H3xx  Solvent was called wrongly        exit code 2
    ├── ReactionFailed        H4xx  a product could not be computed   exit code 1
    ├── WorkflowFailed        W2xx  a task of a workflow failed       exit code 1
    └── LimitReached          H5xx  a limit the user set was met      exit code 3
        └── Interrupted         H504  Ctrl-C, or `should_stop`         exit code 130

Errors hold fields; the words are put together when one is shown. Whatever a run raises, the molecules are
in the solution: a reaction happens entirely or not at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.source import excerpt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solvent.source import Span


INTERRUPTED = 130
"""The exit code of every command that Ctrl-C ends; servers and agents end by it as they should, with 0."""


class SolventError(Exception):
    """What every deliberate error is: a code, a message, perhaps a place and a hint."""

    exit_code = 2

    def __init__(self, code: str, message: str, *, span: Span | None = None, note: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.span = span
        self.note = note
        self.hint = hint
        #: The lines of a user's Python that raised, where they raised: see `user_frames`.
        self.frames: Sequence[str] = ()

    @property
    def place(self) -> str:
        """`file:line:column`, or nothing where no text is at fault."""
        return self.span.place if self.span is not None else ""

    def details(self) -> Sequence[str]:
        """Return further lines to show under the excerpt."""
        return self.frames

    def show(self) -> str:
        """Put the whole error into words: code, message, place, excerpt, details and hint."""
        lines = [f"error[{self.code}]: {self.message}"]
        if self.span is not None:
            lines += [f"  {self.span.place}", excerpt(self.span, self.note)]
        lines += [f"  {line}" for line in self.details()]
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.show()


class ProgramError(SolventError):
    """The program's text is wrong."""


class SyntaxProblem(ProgramError):
    """The text does not read as HOCL."""


class NameProblem(ProgramError):
    """A name, a type or a number of arguments is wrong."""


class WorkflowProblem(SolventError):
    """A workflow, or the file that holds it, is wrong."""


class WorkflowFailed(SolventError):
    """A task failed and no alternative could take its place; what was finished is kept."""

    exit_code = 1


class Misuse(SolventError):
    """Solvent was called in a way it does not allow."""


class NodeProblem(SolventError):
    """A node cannot be started: its port, its journal, its secret or the addresses of the others."""


class RingProblem(SolventError):
    """A node of a ring cannot go on, or is no member any more."""

    exit_code = 1


class LockLost(RingProblem):
    """The lock was taken away while somebody had it: the others took this node for dead."""


class DataProblem(SolventError):
    """The data of a resource cannot be had, kept or handed over."""

    exit_code = 1


class DataLost(DataProblem):
    """The version that is wanted is not there: it was replaced by another, torn, or went with its last holder."""


class SpaceProblem(SolventError):
    """A process cannot enter a store, or takes no part in it any more."""

    exit_code = 1


class Outvoted(SpaceProblem, TimeoutError):
    """What was waited for did not come in time, since too few processes of the store answer to go on."""


class StoreError(SolventError):
    """A store of logs, keys and blobs cannot be opened, or does not keep what it was given."""

    _LATE = frozenset({"E403", "E406", "E408", "E409", "E410"})
    _LASTING = frozenset({"E401", "E406", "E407", "E408"})

    def __init__(self, code: str, message: str, *, hint: str = "", is_lasting: bool = False) -> None:
        super().__init__(code, message, hint=hint)
        #: Whether waiting does not help: what was opened is of no use any more.
        self.is_lasting = is_lasting or code in self._LASTING
        # What was asked for was right, and could not be done.
        self.exit_code = 1 if code in self._LATE else 2


class NoStore(StoreError):
    """There is no store where somebody has looked for one; none was made."""

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__("E401", message, hint=hint)


class Conflict(StoreError):
    """A log or a key is not as the writer expected: somebody else has written; nothing was changed.

    `last` is the position of the log's last record, or the revision of the key (0 where there is none).
    """

    def __init__(self, name: str, *, expected: int, last: int) -> None:
        super().__init__("E410", f"`{name}` is at {last}, and not at {expected}: somebody else has written to it")
        self.name = name
        self.expected = expected
        self.last = last


class RecordProblem(SolventError):
    """The record of a run cannot be gone on with: it is damaged, of another workflow, or somebody else has it."""

    exit_code = 1

    def __init__(self, code: str, message: str, *, hint: str = "") -> None:
        super().__init__(code, message, hint=hint)
        # A run that is not there, or a name that it cannot have, is what was asked for wrongly.
        if code in ("R401", "R408"):
            self.exit_code = 2


class AgentProblem(SolventError):
    """A workflow cannot be given to agents, an agent does not run what it names, or agents cannot be started."""


class ReactionFailed(SolventError):
    """A product could not be computed; the reactants are back in the solution."""

    exit_code = 1

    def __init__(
        self,
        code: str,
        message: str,
        *,
        rule: str,
        reactants: Sequence[str],
        span: Span | None = None,
        note: str = "",
        hint: str = "",
    ) -> None:
        super().__init__(code, message, span=span, note=note, hint=hint)
        self.rule = rule
        self.reactants = tuple(reactants)

    def details(self) -> Sequence[str]:
        """Name the rule and what it had taken."""
        return (f"rule: {self.rule}", f"reactants, back in the solution: {', '.join(self.reactants) or 'none'}")


class LimitReached(SolventError):
    """A limit on the work was met before the solution was inert, or somebody has interrupted it."""

    exit_code = 3

    def __init__(self, code: str, message: str, *, span: Span | None = None, note: str = "", hint: str = "") -> None:
        super().__init__(code, message, span=span, note=note, hint=hint)
        if code == "H504":
            self.exit_code = 130


class TooLarge(LimitReached):
    """A value would be larger than any program needs; the reactants are back in the solution."""


class Interrupted(LimitReached):
    """Ctrl-C, a request to terminate or `should_stop` ended a run early."""

    exit_code = INTERRUPTED


_MAX_FRAMES = 10
_INTERNAL = (__file__.removesuffix("errors.py"), "<frozen ")


def install_hint(extra: str, package: str = "solvent") -> str:
    """Return how to install an extra of Solvent, or of its lab: from an index, and in a clone.

    >>> install_hint("web")
    "pip install 'solvent[web]', or in a clone: pip install '.[web]'"
    """
    place = "." if package == "solvent" else "./lab"
    return f"pip install '{package}[{extra}]', or in a clone: pip install '{place}[{extra}]'"


def exception_text(error: BaseException) -> str:
    """Name an exception as Python does: `ValueError: no such column`."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - a user's `__str__` may raise anything
        text = "<its text cannot be made>"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def user_frames(error: BaseException) -> list[str]:
    """Return the lines of the traceback of a user's exception, without frames of Solvent and of Python's import."""
    # Few commands show a traceback, and the import takes a while.
    from traceback import extract_tb

    found = [
        one
        for one in extract_tb(error.__traceback__)
        if not one.filename.startswith(_INTERNAL) and not one.filename.endswith("importlib/__init__.py")
    ]
    lines: list[str] = []
    for at, one in enumerate(found):
        if len(found) > _MAX_FRAMES and at == _MAX_FRAMES // 2:
            lines.append(f"... {len(found) - _MAX_FRAMES} more frames")
        if at < _MAX_FRAMES // 2 or at >= len(found) - _MAX_FRAMES // 2:
            lines += [f'File "{one.filename}", line {one.lineno}, in {one.name}', *([f"  {one.line}"] * bool(one.line))]
    return lines


def problem_of(error: Exception) -> SolventError:
    """Return an error that has a code: any that was not raised on purpose is a fault in Solvent itself."""
    if isinstance(error, SolventError):
        return error
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" ({trace.tb_frame.f_globals.get('__name__')}, line {trace.tb_lineno})" if trace is not None else ""
    return SolventError("H999", f"a fault in Solvent itself: {exception_text(error)}{where}")
