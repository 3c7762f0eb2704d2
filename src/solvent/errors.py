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

`solvent` exports what functions for Python raise. A run from Python that does not succeed raises `RunFailed` (see
`solvent.runs.report`), a `WorkflowFailed` that has the report of the run.

Errors hold fields; the words are put together when one is shown. Whatever a run raises, the molecules are
in the solution: a reaction happens entirely or not at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.source import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from solvent.source import Span


INTERRUPTED = 130
"""The exit code of every command that Ctrl-C ends; servers and agents end by it as they should, with 0."""


class SolventError(Exception):
    """The base of every error that Solvent raises on purpose: a code, a message, perhaps a place and a hint.

    - `code`: such as `"W156"`; the reference of errors lists all.
    - `message`, `hint`: what is wrong, and what to do about it.
    - `span`, `place`: where in a text, if a text is wrong.
    - `frames`: the lines of your Python code that raised, if some did.

    `str(error)` is the whole text with an excerpt.

    >>> from solvent import SolventError, hocl
    >>> try:
    ...     hocl.parse("<1, replace x by y>", name="a.hocl")
    ... except SolventError as error:
    ...     print(error.code, error.place, error.message)
    H203 a.hocl:1:18 `y` is used but no pattern binds it
    """

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
        """`file:line:column` of the text that is wrong, or an empty text."""
        return self.span.place if self.span is not None else ""

    def details(self) -> Sequence[str]:
        """Return further lines to show under the excerpt."""
        return self.frames

    def show(self) -> str:
        """Return the whole text of the error: code, message, place, excerpt, details and hint."""
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
    """The text of a HOCL program is wrong (H1xx, H2xx).

    >>> from solvent import ProgramError, hocl
    >>> try:
    ...     hocl.parse("<1, 2")
    ... except ProgramError as error:
    ...     print(error.code, error.message)
    H121 `<` is not closed
    """


class SyntaxProblem(ProgramError):
    """The text is not HOCL (H1xx).

    >>> from solvent import SyntaxProblem, hocl
    >>> try:
    ...     hocl.parse("<1, replace by>")
    ... except SyntaxProblem as error:
    ...     print(error.code, error.message)
    H120 expected a pattern, found `by`
    """


class NameProblem(ProgramError):
    """A name, a type or a number of arguments is wrong in a program (H2xx).

    >>> from solvent import NameProblem, hocl
    >>> try:
    ...     hocl.parse("<1, replace x by y>")
    ... except NameProblem as error:
    ...     print(error.code, error.message)
    H203 `y` is used but no pattern binds it
    """


class WorkflowProblem(SolventError):
    """A workflow, its inputs, or the file that holds it is wrong (W1xx, W2xx); nothing was called.

    >>> from solvent import WorkflowProblem, run, service, workflow
    >>> @workflow
    ... def shout(text: str) -> str:
    ...     return service(str.upper)(text)
    >>> try:
    ...     run(shout, {"txet": "hi"})
    ... except WorkflowProblem as error:
    ...     print(error.code, error.message)
    W131 `shout` has no input `txet`
    """


class WorkflowFailed(SolventError):
    """A task failed and no alternative could take its place; what was finished is kept."""

    exit_code = 1


class Misuse(SolventError):
    """Solvent was called in a way it does not allow (H3xx and others).

    >>> from solvent import Misuse, hocl
    >>> try:
    ...     hocl.rule("1, 2")
    ... except Misuse as error:
    ...     print(error.code, error.message)
    H305 this text is not one rule
    """


class NodeProblem(SolventError):
    """A process cannot take part with others: its port, its certificate or an address is wrong (N1xx).

    >>> from solvent import NodeProblem, ring
    >>> try:
    ...     ring.join(join="node7")
    ... except NodeProblem as error:
    ...     print(error.code, error.message)
    N104 `node7` is not an address
    """


class RingProblem(SolventError):
    """A node of a ring cannot continue, or is no member any more (N2xx).

    >>> from solvent import LockLost, RingProblem
    >>> issubclass(LockLost, RingProblem)
    True
    """

    exit_code = 1


class LockLost(RingProblem):
    """The lock of a ring was taken away from its holder, since the other nodes took its node for dead (N201).

    >>> import asyncio
    >>> from solvent import LockLost, ring
    >>> async def write() -> str:
    ...     async with ring.join() as node:
    ...         try:
    ...             async with node.lock() as lock:
    ...                 return f"written under {len(lock.fence)} numbers"
    ...         except LockLost:
    ...             return "may have to be written again"
    >>> asyncio.run(write())
    'written under 3 numbers'
    """


class DataProblem(SolventError):
    """The data of a shared resource cannot be read, kept or handed over (D2xx).

    >>> from solvent import DataLost, DataProblem
    >>> issubclass(DataLost, DataProblem)
    True
    """

    exit_code = 1


class DataLost(DataProblem):
    """The version of the data that is wanted is gone: replaced, incomplete, or lost with its last holder (D201, S205).

    >>> import os
    >>> from solvent import DataLost, shared
    >>> with shared.join(f"example-{os.getpid()}") as space, space.handle("table", size=4) as table:
    ...     try:
    ...         view = table.acquire()
    ...     except DataLost:
    ...         view = table.acquire(anew=True)
    ...     len(view)
    4
    """


class SpaceProblem(SolventError):
    """A process cannot join others to share data, or is no longer one of them (S2xx).

    Where it waited with a time-out, the error is a `TimeoutError` as well.

    >>> import os
    >>> from solvent import SpaceProblem, shared
    >>> try:
    ...     with shared.join(f"example-{os.getpid()}") as space:
    ...         print("joined", len(space.members))
    ... except SpaceProblem as error:
    ...     print(error.hint)
    joined 1
    """

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
        # A run or a task that is not there, or a name that it cannot have, is what was asked for wrongly.
        if code in ("R401", "R408", "R410"):
            self.exit_code = 2


class AgentProblem(SolventError):
    """A workflow cannot be given to agents, an agent does not run what it names, or agents cannot be started."""


class ReactionFailed(SolventError):
    """A product could not be computed (H4xx); the reactants are back in the solution.

    `rule` is the text of the rule, `reactants` are the molecules it had taken, as texts.

    >>> from solvent import ReactionFailed, hocl
    >>> try:
    ...     hocl.react(hocl.parse("<1, replace-one x by x / 0>").solution())
    ... except ReactionFailed as error:
    ...     print(error.code, error.message, error.reactants)
    H401 division by zero ('1',)
    """

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
        taken = ", ".join(self.reactants) or "none"
        return (f"rule: {self.rule}", f"it took these molecules and put them back: {taken}", *self.frames)


class LimitReached(SolventError):
    """A limit was reached before the run was over (H5xx). The molecules stay in the solution, which can be run again.

    >>> from solvent import LimitReached, hocl
    >>> solution = hocl.parse("<1, replace x::int by x + 1>").solution()
    >>> try:
    ...     hocl.react(solution, max_reactions=10)
    ... except LimitReached as error:
    ...     print(error.code, error.message, 11 in solution)
    H501 still reacting after 10 reactions True
    """

    exit_code = 3


class TooLarge(LimitReached):
    """A value would be larger than any program needs; the reactants are back in the solution."""


class Interrupted(LimitReached):
    """`should_stop` or a request to terminate ended a run early (H504); Ctrl-C does so on the command line.

    >>> from solvent import Interrupted, hocl
    >>> try:
    ...     hocl.react(hocl.parse("<1, replace x::int by x + 1>").solution(), should_stop=lambda: True)
    ... except Interrupted as error:
    ...     print(error.code, error.message)
    H504 interrupted before the solution was inert
    """

    exit_code = INTERRUPTED


LIMIT_HINT = "allow more: {}; if it should have ended, `solvent trace FILE` shows which rules keep reacting"
"""What to do when a program has met a limit, which an option raises."""
_MAX_NAME = 200
"""Longer names are not compared: that takes quadratic time."""
_MAX_FRAMES = 10
_INTERNAL = (__file__.removesuffix("errors.py"), "<frozen ", "<rule ")
"""How the files of frames begin that are not the user's: ours, Python's own, and the code of compiled rules."""


def install_hint(extra: str, package: str = "solvent") -> str:
    """Return how to install an extra of Solvent, or of its lab: from an index, and in a clone.

    >>> install_hint("web")
    "pip install 'solvent[web]', or in a clone: pip install '.[web]'"
    """
    place = "." if package == "solvent" else "./lab"
    return f"pip install '{package}[{extra}]', or in a clone: pip install '{place}[{extra}]'"


def nearest(wrong: str, known: Iterable[str]) -> str:
    """Return a hint with the closest known name, or an empty text if none is close."""
    from difflib import get_close_matches

    if len(wrong) > _MAX_NAME:
        return ""
    found = get_close_matches(wrong, [one for one in known if len(one) <= _MAX_NAME], n=1, cutoff=0.66)
    return f"did you mean `{found[0]}`?" if found else ""


def unread_file(path: object, error: OSError | ValueError) -> tuple[str, str]:
    """Return the message and the hint for a file that cannot be read: a missing one may be misspelt.

    >>> unread_file("flow.yaml", FileNotFoundError(2, "No such file or directory"))
    ('there is no file `flow.yaml`', '')
    """
    import os.path

    if isinstance(error, FileNotFoundError):
        folder, name = os.path.split(str(path))
        try:
            there = os.listdir(folder or ".")  # noqa: PTH208
        except OSError:
            there = []
        return f"there is no file `{path}`", nearest(name, there)
    said = error.strerror or error if isinstance(error, OSError) else error
    return f"cannot read `{path}`: {said}", ""


def exception_text(error: BaseException) -> str:
    """Name an exception as Python does: `ValueError: no such column`."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - a user's `__str__` may raise anything
        text = "<its text cannot be made>"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def is_internal(file: str) -> bool:
    """Return whether a frame of this file is Solvent's or the interpreter's own, and not the user's."""
    return file.startswith(_INTERNAL)


def user_frames(error: BaseException) -> list[str]:
    """Return the lines of the traceback of a user's exception, without frames of Solvent and of Python's import."""
    # Few commands show a traceback, and the import takes a while.
    from traceback import extract_tb

    found = [
        one
        for one in extract_tb(error.__traceback__)
        if not is_internal(one.filename) and not one.filename.endswith("importlib/__init__.py")
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
