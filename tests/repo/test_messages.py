"""The reference of messages is what the classes say, and lists all of them."""

from __future__ import annotations

import difflib
import inspect

from solvent.protocols.machine import Message
from tests.repo.messages import MODULES, PAGE, SECTIONS, made


def test_reference_of_messages_is_up_to_date() -> None:
    """The page is the one that `make messages` would write."""
    seen, text = PAGE.read_text(encoding="utf-8"), made()
    changes = difflib.unified_diff(seen.splitlines(), text.splitlines(), "written", "would be", lineterm="", n=0)
    assert seen == text, "run `make messages`\n" + "\n".join([*changes][:20])


def test_every_message_is_listed() -> None:
    """No message of our protocols is left out of the page."""
    listed = {kind for _, kinds in SECTIONS for kind in kinds}
    defined = {
        kind
        for module in MODULES
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if kind.__module__ == module.__name__ and issubclass(kind, Message)
    }
    assert {kind.__qualname__ for kind in defined - listed} == set()
