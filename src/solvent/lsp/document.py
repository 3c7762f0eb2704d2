"""One open text: its positions, its tree, its names and its diagnostics, each computed when first asked for.

The protocol counts lines from 0, ended by a line feed, a carriage return or both, and UTF-16 code units within a line.
A character beyond U+FFFF is two units. A position in the middle of one, or behind the end of its line or of the text,
is taken as the nearest position before it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote, urlsplit

from solvent.errors import SolventError
from solvent.hocl.diagnostics import Findings, check_text
from solvent.hocl.process_settings import deep_stack
from solvent.hocl.program import MAX_CHARACTERS
from solvent.lang.lenient_parser import Reading, read_leniently
from solvent.lsp.occurrences import Occurrences
from solvent.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable

    from solvent.lang.doubts import Doubt
    from solvent.lang.functions import Functions
    from solvent.lang.lexer import Lexeme


Place: TypeAlias = dict[str, int]
"""`{"line": ..., "character": ...}`."""
_LINE_END = re.compile(r"\r\n|\n|\r")
_TWO_UNITS_FROM = "\U00010000"


class Positions:
    """The lines of a text."""

    def __init__(self, text: str) -> None:
        self._text = text
        ends = [match.span() for match in _LINE_END.finditer(text)]
        self._starts = [0, *(end for _, end in ends)]
        self._ends = [*(start for start, _ in ends), len(text)]

    def place(self, offset: int) -> Place:
        """Return the line and the character of an offset."""
        line = bisect_right(self._starts, offset) - 1
        start = self._starts[line]
        return {"line": line, "character": units(self._text[start : min(offset, self._ends[line])])}

    def range(self, start: int, end: int) -> dict[str, Place]:
        """Return the range from one offset up to another."""
        return {"start": self.place(start), "end": self.place(end)}

    def offset(self, place: Place) -> int:
        """Return the offset of a line and a character."""
        line, character = place["line"], place["character"]
        if line >= len(self._starts):
            return len(self._text)
        start, end = self._starts[line], self._ends[line]
        part = self._text[start:end]
        if part.isascii():
            return start + min(character, len(part))
        passed = 0
        for at, char in enumerate(part):
            passed += 2 if char >= _TWO_UNITS_FROM else 1
            if passed > character:
                return start + at
        return end


def units(text: str) -> int:
    """Return the number of UTF-16 code units of a text."""
    return len(text) if text.isascii() else len(text) + sum(char >= _TWO_UNITS_FROM for char in text)


ERROR, WARNING = 1, 2
"""The severities of diagnostics in the protocol."""


class Document:
    """One version of a text; a change makes a new document."""

    def __init__(self, uri: str, text: str, version: int | None, functions: Functions) -> None:
        self.uri = uri
        self.text = text
        self.version = version
        self.functions = functions
        self.source = Source(text, path_of(uri) or uri)

    def changed(self, changes: Iterable[dict[str, Any]], version: int | None) -> Document:
        """Return the document after changes, each of a range or of the whole text, in order."""
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
        """Its tree, as far as it could be parsed."""
        # A text that is too long gets a diagnostic and is not parsed.
        source = self.source if len(self.text) <= MAX_CHARACTERS else Source("", self.source.name)
        with deep_stack():
            return read_leniently(source)

    @cached_property
    def occurrences(self) -> Occurrences:
        """Its names."""
        with deep_stack():
            return Occurrences(self.reading.tree, self.text, self.reading.lexemes)

    def lexeme_at(self, offset: int) -> Lexeme | None:
        """Return the lexeme that stands at a place."""
        return next((one for one in self.reading.lexemes if one.start <= offset < one.end), None)

    def findings(self) -> Findings:
        """Return errors and warnings: of a workflow, if the text is one, else of a program."""
        found = check_text(self.text, name=self.source.name, functions=self.functions)
        if found.errors and any(error.code.startswith("H1") for error in found.errors):
            return found
        return self._as_workflow() or found

    def _as_workflow(self) -> Findings | None:
        """Check a workflow; return `None` for a program. Services are not imported: a text may come from anywhere."""
        if not any(word in self.text for word in ("SRV", "ChWS", "invokeServ")):
            return None
        from solvent.workflows.checks import check
        from solvent.workflows.doubts import workflow_doubts
        from solvent.workflows.formats.chws import is_chws
        from solvent.workflows.formats.files import load_text
        from solvent.workflows.formats.hoclflow import is_hoclflow
        from solvent.workflows.libraries import library_problems
        from solvent.workflows.translate import workflow_functions

        with deep_stack():
            if not (is_hoclflow(self.source) or is_chws(self.source)):
                return None
            name = self.source.name
            try:
                loaded = load_text(self.text, name=name if name.endswith(".hocl") else f"{name}.hocl")
            except SolventError as error:
                return Findings([error])
            found: list[SolventError] = list(check(loaded.workflow, loaded.places))
            found += library_problems(loaded, Path(name).parent, workflow_functions())
            return Findings(found, () if found else workflow_doubts(loaded))

    def diagnostics(self) -> list[dict[str, Any]]:
        """Return errors and warnings as the protocol writes them."""
        errors, doubts = self.findings()
        return [*(self._diagnostic(one, ERROR) for one in errors), *(self._diagnostic(one, WARNING) for one in doubts)]

    def _diagnostic(self, one: SolventError | Doubt, severity: int) -> dict[str, Any]:
        span, said = one.span, [one.message]
        # An error in another file is shown at the beginning of this one.
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
    """Return the path of a `file:` URI, and an empty text for other URIs."""
    parts = urlsplit(uri)
    if parts.scheme != "file":
        return ""
    path = unquote(parts.path)
    # `file:///c:/...` is `c:/...`.
    return path[1:] if len(path) > 2 and path[0] == "/" and path[2] == ":" else path


__all__ = ["Document", "Place", "Positions", "path_of", "units"]
