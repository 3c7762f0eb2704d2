"""Writes laid-out text line by line, and puts each comment where a line may end."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from solvent.chemistry.syntax import ProgramNode

WIDTH = 88
_STEP = 2
_CLOSERS = " \t,;>)⟩"


class Pen:
    """Writes lines; knows the text it was read from and the comments still to come."""

    def __init__(self, text: str, program: ProgramNode) -> None:
        self._text = text
        self._headers = _header_spans(text, program)
        # Comments inside a header line are part of its text.
        self._comments = [
            (at, comment)
            for at, comment in program.comments
            if not any(start <= at < end for start, end in self._headers)
        ]
        self._offsets = [at for at, _ in self._comments]
        self._next = 0
        self._lines: list[str] = []
        self._line = ""
        self._remark = ""
        self._margin = 0

    # --- The text as the author wrote it.

    def has_break(self, start: int, end: int) -> bool:
        """Say whether the author began a new line between two places."""
        return "\n" in self._text[start:end]

    def has_comment(self, end: int) -> bool:
        """Say whether a comment is still to be written that stood before a place."""
        return self._next < len(self._offsets) and self._offsets[self._next] < end

    def _has_empty_line(self, at: int) -> bool:
        """Say whether an empty line stood right before a place."""
        lines = 0
        while at > 0 and self._text[at - 1] in " \t\r\n(":
            at -= 1
            # What counts stood before the parentheses around the place.
            lines = 0 if self._text[at] == "(" else lines + (self._text[at] == "\n")
        return lines > 1

    # --- Writing.

    @property
    def column(self) -> int:
        """How much of the line is full."""
        return len(self._line)

    @property
    def lines_count(self) -> int:
        """How many lines are written, without the current one."""
        return len(self._lines)

    def write(self, text: str) -> None:
        """Go on with the line."""
        if not self._line and text:
            self._line = " " * self._margin
        self._line += text

    def indent(self) -> None:
        """Let the next lines begin further to the right."""
        self._margin += _STEP

    def dedent(self) -> None:
        """Let the next lines begin further to the left."""
        self._margin -= _STEP

    def break_line(self) -> None:
        """End the line, if there is one."""
        line = self._line.rstrip()
        if line:
            self._lines.append(f"{line}  {self._remark}" if self._remark else line)
        self._line = self._remark = ""

    def begin_line(self, at: int, *, may_be_empty: bool = True) -> None:
        """End the line, write the comments before a place in the text, and keep one empty line before it."""
        self.flush_comments(at)
        self.break_line()
        if may_be_empty and self._has_empty_line(at):
            self._skip_line()
        # The margin is set now, so that `column` counts it.
        self._line = " " * self._margin

    def flush_comments(self, end: int) -> None:
        """Write the comments that stood before a place."""
        while self.has_comment(end):
            at, comment = self._comments[self._next]
            self._next += 1
            comment = "\n".join(line.rstrip() for line in comment.split("\n"))
            if self._ends_its_line(at, comment) and self._line.strip() and not self._remark:
                self._remark = comment
                continue
            self.break_line()
            if self._has_empty_line(at):
                self._skip_line()
            self._lines.append(" " * self._margin + comment)

    def _ends_its_line(self, at: int, comment: str) -> bool:
        start = self._text.rfind("\n", 0, at) + 1
        before = self._text[start:at].strip()
        end = self._text.find("\n", at + len(comment))
        after = self._text[at + len(comment) : end if end >= 0 else len(self._text)].strip(_CLOSERS + "\r")
        return bool(before) and (not after or after.startswith(("//", "#", "/*")))

    def _skip_line(self) -> None:
        if self._lines and self._lines[-1] and not self._is_opening(self._lines[-1]):
            self._lines.append("")

    @staticmethod
    def _is_opening(line: str) -> bool:
        return line.endswith(("<", "("))

    def write_headers(self) -> None:
        """Write the `package` and `import` lines."""
        for start, end in self._headers:
            self.begin_line(start)
            self.write(self._text[start:end])

    def finish(self) -> str:
        """Write what comments are left and give the whole text."""
        self.flush_comments(len(self._text))
        self.break_line()
        return "\n".join(self._lines) + "\n"


def _header_spans(text: str, program: ProgramNode) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    at = 0
    offsets = [offset for offset, _ in program.comments]
    for header in program.header:
        at = text.index(header, at)
        # A comment may hold the same words.
        while (comment := bisect_left(offsets, at + 1) - 1) >= 0 and at < offsets[comment] + len(
            program.comments[comment][1]
        ):
            at = text.index(header, offsets[comment] + len(program.comments[comment][1]))
        spans.append((at, at + len(header)))
        at += len(header)
    return spans
