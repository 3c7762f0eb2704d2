"""One text that is open in an editor, and what is known of it; each is found out when it is first asked for."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from solvent.errors import SolventError
from solvent.hocl.occurrences import Occurrences
from solvent.hocl.recovery import Reading, read_leniently
from solvent.lsp.positions import Positions
from solvent.running.checking import Findings, check_text
from solvent.running.interpreter import deep_stack
from solvent.running.program import CHARACTERS_MAX
from solvent.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable

    from solvent.chemistry.functions import Functions
    from solvent.hocl.doubts import Doubt
    from solvent.hocl.lexer import Lexeme

ERROR, WARNING = 1, 2
"""How grave a diagnostic is, as the protocol counts it."""


class Document:
    """A version of a text; a change makes another."""

    def __init__(self, uri: str, text: str, version: int | None, functions: Functions) -> None:
        self.uri = uri
        self.text = text
        self.version = version
        self.functions = functions
        self.source = Source(text, path_of(uri) or uri)

    def changed(self, changes: Iterable[dict[str, Any]], version: int | None) -> Document:
        """Give the text after changes, each of a range or of everything, one after the other."""
        text = self.text
        for change in changes:
            place = change.get("range")
            if place is None:
                text = change["text"]
            else:
                positions = Positions(text)
                start, end = positions.offset(place["start"]), positions.offset(place["end"])
                text = text[:start] + change["text"] + text[max(start, end) :]
        return Document(self.uri, text, version, self.functions)

    @cached_property
    def positions(self) -> Positions:
        """Its lines."""
        return Positions(self.text)

    @cached_property
    def reading(self) -> Reading:
        """Its tree, as far as it reads."""
        # A text that is too long is told to be so, and not read.
        source = self.source if len(self.text) <= CHARACTERS_MAX else Source("", self.source.name)
        with deep_stack():
            return read_leniently(source)

    @cached_property
    def occurrences(self) -> Occurrences:
        """Its names."""
        with deep_stack():
            return Occurrences(self.reading.tree, self.text, self.reading.lexemes)

    def lexeme_at(self, offset: int) -> Lexeme | None:
        """Give the lexeme that stands at a place."""
        return next((one for one in self.reading.lexemes if one.start <= offset < one.end), None)

    def findings(self) -> Findings:
        """Find what is wrong or doubtful: of a workflow, if it is one, else of a program."""
        found = check_text(self.text, name=self.source.name, functions=self.functions)
        if found.errors and any(error.code.startswith("H1") for error in found.errors):
            return found
        return self._as_workflow() or found

    def _as_workflow(self) -> Findings | None:
        """Check a workflow; nothing for a program. Services are not looked for: a text may come from anywhere."""
        if not any(word in self.text for word in ("SRV", "ChWS", "invokeServ")):
            return None
        from solvent.workflow.checks import check
        from solvent.workflow.chws import is_chws
        from solvent.workflow.concrete import workflow_functions
        from solvent.workflow.files import load_text
        from solvent.workflow.hoclflow import is_hoclflow
        from solvent.workflow.libraries import library_problems

        with deep_stack():
            if not (is_hoclflow(self.source) or is_chws(self.source)):
                return None
            name = self.source.name
            try:
                loaded = load_text(self.text, name=name if name.endswith(".hocl") else f"{name}.hocl")
            except SolventError as error:
                return Findings([error])
            found = list(check(loaded.workflow, loaded.places))
            return Findings([*found, *library_problems(loaded, Path(name).parent, workflow_functions())])

    def diagnostics(self) -> list[dict[str, Any]]:
        """Give what is wrong or doubtful, as the protocol writes it."""
        errors, doubts = self.findings()
        return [*(self._diagnostic(one, ERROR) for one in errors), *(self._diagnostic(one, WARNING) for one in doubts)]

    def _diagnostic(self, one: SolventError | Doubt, severity: int) -> dict[str, Any]:
        span, said = one.span, [one.message]
        # What is wrong with another file is said at the beginning of this one.
        is_here = span is not None and span.source.text == self.text
        if span is not None and not is_here:
            said[0] = f"{span.place}: {one.message}"
        note = getattr(one, "note", "")
        said += [note] if note else []
        said += [f"hint: {one.hint}"] if one.hint else []
        start, end = (span.start, span.end) if span is not None and is_here else (0, 0)
        return {
            "range": self.positions.range(start, end),
            "severity": severity,
            "code": one.code,
            "source": "solvent",
            "message": "\n".join(said),
        }


def path_of(uri: str) -> str:
    """Give the path of a file that an address names; nothing for other addresses."""
    parts = urlsplit(uri)
    if parts.scheme != "file":
        return ""
    path = unquote(parts.path)
    # `file:///c:/...` is `c:/...`.
    return path[1:] if len(path) > 2 and path[0] == "/" and path[2] == ":" else path


__all__ = ["Document", "path_of"]
