"""The reference of messages, `docs/reference/messages.md`: made of the classes and the comments beside their fields.

    python -m tests.repo.messages         write the page (`make messages`)

A test compares what is written with what would be written, so the page cannot say what is not so any more.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from typing import Any, TypeGuard

from solvent.live import handshake
from solvent.protocols import machine
from solvent.protocols.capture import messages, moving_state, records, vocabulary
from solvent.protocols.directory import messages as directory
from solvent.protocols.elmp import messages as elmp
from solvent.protocols.elmp import vocabulary as elmp_words
from solvent.protocols.handover import messages as handover
from solvent.protocols.handover import vocabulary as handover_words
from solvent.protocols.inertia import messages as inertia
from solvent.protocols.link import messages as link
from solvent.protocols.nodes import messages as nodes
from solvent.protocols.token import messages as token
from solvent.protocols.token import vocabulary as token_words
from solvent.protocols.token.group import messages as group
from solvent.protocols.token.group import state as group_state
from solvent.protocols.token.group import vocabulary as group_words
from tests.repo.project import ROOT

PAGE = ROOT / "docs" / "reference" / "messages.md"

_INTRO = """\
# Messages

<!-- Made by `make messages` of src/solvent/protocols; do not edit. -->

What nodes say to each other, what they save, and what a machine and whoever it serves say to each other. All are frozen
structs. [The protocol kit](../explanation/protocols.md) tells what becomes of a message on its way, and
[capture](../explanation/capture.md) how the protocols work.

Over TCP a message is MessagePack: a map of its fields and `type`, its name. What links and processes of a space say to
each other is an array instead, with a letter or the name in front. Several messages travel in one frame: four bytes of
length, then an array of them. Records are written to the journal in the same form. Values of molecules are whatever the
program puts there; over real nodes that is text.
"""

_REQUESTS = (messages.Query, messages.Commitment, messages.Fetch, messages.GiveUp, messages.Reaction)
_REPLIES = (messages.RespOk, messages.RespTaken, messages.RespRemoved, messages.RespMolecule, messages.Doubt)
_SAVED = (records.Lent, records.Freed, records.Removed, records.Consumed, records.Rewritten)
_MOVED = (moving_state.Take, moving_state.Given, moving_state.Refused, moving_state.Confirmed)
_KEPT = (moving_state.Kept, moving_state.Gave, moving_state.Got, moving_state.Closed)
_ASKED = (vocabulary.Discover, vocabulary.Combination, vocabulary.React, vocabulary.Products)
_WANTED = (vocabulary.Rewrite, vocabulary.Wake)
_TOLD = (
    vocabulary.Reacted,
    vocabulary.Abandoned,
    vocabulary.Withheld,
    vocabulary.Returned,
    vocabulary.Gone,
    vocabulary.Arrived,
    vocabulary.Switched,
)
_SEEKING = (directory.Publish, directory.Find, directory.Watch, directory.Unwatch)

_EPOCHS = (group.Seek, group.Seen, group.Elect, group.Promise, group.Refuse, group.Resign, group.Hello)
_WISHES = (
    group_words.Lock,
    group_words.Unlock,
    group_words.Broadcast,
    group_words.Remove,
    group_words.Leave,
    group_words.Retire,
)
_NEWS = (
    group_words.Locked,
    group_words.LockLost,
    group_words.Delivered,
    group_words.Skipped,
    group_words.MemberChanged,
    group_words.ViewBegan,
    group_words.Suspected,
    group_words.Left,
)
_LOG = (group.Append, group.Saved, group.Behind, group.Committed)

_LEAVING = (
    elmp.Stand,
    elmp.Standing,
    elmp.Leaving,
    elmp.Agreed,
    elmp.Exchange,
    elmp.Settled,
    elmp.Surrender,
)
_JOINING = (elmp.Hello, elmp.Enter, elmp.Adopt, elmp.Ranked, elmp.Attach, elmp.Welcome, elmp.Unknown)
_QUEUEING = (elmp.Link, elmp.Token, elmp.Unlink, elmp.Unlinked, elmp.Relink, elmp.Relinked)
_COMING = (handover.Knock, handover.Newcomer, handover.Came, handover.Noted, handover.Admitted, handover.Stray)
_GOING = (handover.Bye, handover.Going, handover.Went, handover.Farewell)
_REPAIRING = (
    handover.Alarm,
    handover.Charge,
    handover.Muster,
    handover.Present,
    handover.Refused,
    handover.Renew,
    handover.Agreed,
    handover.Proceed,
    handover.Over,
    handover.Fenced,
)
_LIVING = (handover_words.Enter, handover_words.Open, handover_words.In, handover_words.Go, handover_words.Died)
_LIFE = (
    handover_words.Entered,
    handover_words.Astray,
    handover_words.Opened,
    handover_words.Of,
    handover_words.Stays,
    handover_words.Repaired,
    handover_words.Renewed,
    handover_words.Departed,
    handover_words.Expelled,
)
_FOR_HOSTS = (handover_words.Arrived, handover_words.Gone, handover_words.Watch)
_LOCKING = (
    elmp_words.Request,
    elmp_words.Withdraw,
    elmp_words.Release,
    elmp_words.Fetched,
    elmp_words.Stored,
    elmp_words.Join,
    elmp_words.Leave,
)
_LOCKED = (
    elmp_words.Queued,
    elmp_words.Granted,
    elmp_words.Dropped,
    elmp_words.Joined,
    elmp_words.Astray,
    elmp_words.Entrusted,
    elmp_words.Left,
    elmp_words.Claim,
    elmp_words.Data,
    elmp_words.Part,
    elmp_words.Source,
)

_GREETING = (handshake.Hello, handshake.Challenge, handshake.Refused, handshake.Proof)

# A heading of the second level, or of the third with what stands under it.
SECTIONS: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("## Capture, by moving", ()),
    ("Messages", _MOVED),
    ("Saved", _KEPT),
    ("## Capture, the paper's", ()),
    ("In every message", (messages.CaptureMessage,)),
    ("From requester to holder", _REQUESTS),
    ("From holder to requester", _REPLIES),
    ("Saved", _SAVED),
    ("## Capture and its program", ()),
    ("Asked of the program, each with its answer", _ASKED),
    ("Requested by the program", _WANTED),
    ("Reported to the program", _TOLD),
    ("## Directory", ()),
    ("Requested of a node, and from node to slot", _SEEKING),
    ("From slot to node", (directory.Matches, directory.Changes)),
    ("Reported", (directory.Found, directory.Seen)),
    ("Parts of these", (directory.Entry, directory.Bounds)),
    ("## ELMP", ()),
    ("Of requests", (elmp.Climb, elmp.Won, elmp.Rise, elmp.Freed)),
    ("Of an exchange of seats", (elmp.Follow, elmp.Followed, elmp.Upper, elmp.Lower)),
    ("Of departures", _LEAVING),
    ("Of insertions", _JOINING),
    ("Of the tree's shape", (elmp.Resized, elmp.Gather, elmp.Gathered, elmp.Seated)),
    ("Of the queue", _QUEUEING),
    ("Of claims and data", (elmp.Await, elmp.Done, elmp.Taken, elmp.Superseded)),
    ("Parts of these", (elmp.Asking, elmp.Given, elmp.Seat, elmp.Own)),
    ("Requested by users", _LOCKING),
    ("Reported to users", _LOCKED),
    ("## Handover", ()),
    ("Of resources", (handover.Within,)),
    ("Of those who come", _COMING),
    ("Of those who go", _GOING),
    ("Of repairs", _REPAIRING),
    ("Parts of these", (handover.Attendance, handover.Agreement, handover.Survivor, handover.Renewal)),
    ("Requested by users and hosts", _LIVING),
    ("Reported to users", _LIFE),
    ("Reported to hosts", _FOR_HOSTS),
    ("Asked of applications", (handover_words.Inventory,)),
    ("## Inertia", ()),
    ("Messages", (inertia.Probe, inertia.Announce, inertia.Confirm, inertia.Awake)),
    ("Told to the detector by its node", (inertia.Active, inertia.Passive, inertia.Sent, inertia.Roused)),
    ("Reported", (inertia.Inert, inertia.Settled, inertia.Resumed)),
    ("## Node", ()),
    ("Requested by the program", (nodes.Working, nodes.Idle)),
    ("Reported to the program", (nodes.Told,)),
    ("## Token", ()),
    ("Messages", (token.Token, token.Gimme, token.NotHere, token.Probe)),
    ("Requested by the user", (token_words.Acquire, token_words.Release)),
    ("Reported to the user", (token_words.Granted, token_words.Moved)),
    ("## Group around a token", ()),
    ("The token, and searches for it", (group.Passed, group.Search)),
    ("The log", _LOG),
    ("Lines of the log", (group.Line, group.View, group.Said, group.Member)),
    ("Epochs and members", _EPOCHS),
    ("Saved", (group_state.Promised, group_state.Written, group_state.Started)),
    ("Requested by the user", _WISHES),
    ("Reported to the user", _NEWS),
    ("Parts of these", (group_words.Epoch, group_words.Fence)),
    ("## Link", ()),
    ("Frames", (link.Data, link.Ack, link.Announce, link.Loose)),
    ("Between a link and the machine in it", (link.Cheap, link.AllTaken)),
    ("Saved", (link.PeerLife,)),
    ("Reported", (link.Congested, link.LinkFault)),
    ("## Handshake", ()),
    ("Said on every connection, before anything else", _GREETING),
)
TYPES = (
    (machine, "NodeId"),
    (vocabulary, "MoleculeId"),
    (vocabulary, "RuleId"),
    (vocabulary, "AttemptId"),
    (vocabulary, "Place"),
    (moving_state, "Molecules"),
    (elmp, "Ref"),
    (elmp, "Entry"),
    (elmp, "Child"),
    (elmp, "Waiting"),
    (handover_words, "Ballot"),
    (handover, "Member"),
    (inertia, "Round"),
)
MODULES = (messages, moving_state, directory, elmp, handover, inertia, token, group, link, nodes, handshake)
"""Where all messages are that the page must list."""


def made() -> str:
    """Give the page as it should be."""
    parts = [_INTRO]
    module = ""
    for heading, kinds in SECTIONS:
        if not kinds:
            parts.append(f"\n{heading}\n")
            continue
        # A module is named once, where its first table stands.
        home = f" (`{kinds[0].__module__}`)" if kinds[0].__module__ != module else ""
        module = kinds[0].__module__
        parts.append(f"\n### {heading}{home}\n\n| name | fields | meaning |\n|---|---|---|\n")
        parts += map(_row, kinds)
    parts.append("\n## Types\n\n| name | is | meaning |\n|---|---|---|\n")
    parts += [_type_row(*one) for one in TYPES]
    return "".join(parts)


def _type_row(module: Any, name: str) -> str:
    """Give a type with how it is made, and the text that stands under it."""
    body = ast.parse(inspect.getsource(module)).body
    for node, after in zip(body, [*body[1:], None], strict=True):
        target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0] if _is_plain(node) else None
        if isinstance(target, ast.Name) and target.id == name:
            value = node.value  # type: ignore[attr-defined]
            if isinstance(value, ast.Call):
                value = value.args[1]
            text = after.value if isinstance(after, ast.Expr) else None
            said = str(text.value).split("\n\n", maxsplit=1)[0] if isinstance(text, ast.Constant) else ""
            return f"| `{name}` | `{ast.unparse(value)}` | {_cell(said)} |\n"
    raise LookupError(name)


def _is_plain(node: ast.stmt) -> TypeGuard[ast.Assign]:
    return isinstance(node, ast.Assign)


def _row(kind: type) -> str:
    said = " ".join((inspect.getdoc(kind) or "").split("\n\n", maxsplit=1)[0].split())
    fields = "<br>".join(_field(kind, name) for name in kind.__struct_fields__ if not _is_shared(kind, name))  # type: ignore[attr-defined]
    return f"| `{kind.__name__}` | {fields} | {_cell(said)} |\n"


def _is_shared(kind: type, name: str) -> bool:
    """Say whether all messages of the paper's protocol have a field, which is then shown once."""
    shared = messages.CaptureMessage
    return issubclass(kind, shared) and kind is not shared and name in shared.__struct_fields__


def _field(kind: type, name: str) -> str:
    """Give a field with its type, and the comment that stands over it."""
    for home in kind.__mro__:
        found = _fields_of(home).get(name)
        if found is not None:
            annotation, comment = found
            note = f": {_cell(comment.rstrip('.'))}" if comment else ""
            return f"`{name}` `{_cell(annotation)}`{note}"
    raise LookupError(name)


def _fields_of(kind: Any) -> dict[str, tuple[str, str]]:
    """Read the fields that a class itself declares: name, annotation as written, comment."""
    try:
        lines = textwrap.dedent(inspect.getsource(kind)).splitlines()
    except (OSError, TypeError):
        return {}
    tree = ast.parse("\n".join(lines)).body[0]
    assert isinstance(tree, ast.ClassDef)
    fields = {}
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            comment: list[str] = []
            above = node.lineno - 2
            while lines[above].strip().startswith("#:"):
                comment.insert(0, lines[above].strip().removeprefix("#:").strip())
                above -= 1
            fields[node.target.id] = (ast.unparse(node.annotation), " ".join(comment))
    return fields


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", text)


if __name__ == "__main__":
    PAGE.write_text(made(), encoding="utf-8")
