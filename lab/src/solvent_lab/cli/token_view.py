"""What is seen of a ring: a picture that changes on a terminal, lines of text or JSON anywhere else."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Self

from solvent.cli.render import harmless, shortened, write, write_json
from solvent_lab.cli.token_board import Board, said

if TYPE_CHECKING:
    from solvent_lab.cli.token_board import Event

_NEWS = ("ring", "joined", "left", "missed", "lost", "killed", "started", "back", "fault")
_MAX_TEXT = 60


class View:
    """Takes events and shows them; this one as lines of JSON."""

    def __init__(self) -> None:
        self.board = Board()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End."""

    def take(self, event: Event) -> None:
        """Show an event."""
        self.board.take(event)
        write_json(event)
        sys.stdout.flush()


class Lines(View):
    """Lines of text; of many nodes only what is news, and once a second how things stand."""

    def __init__(self, *, is_whole: bool) -> None:
        super().__init__()
        self._is_whole = is_whole
        self._told = 0.0
        self._shown = set[tuple[Any, ...]]()

    def take(self, event: Event) -> None:
        """Write an event, if it is worth a line."""
        board = self.board
        board.take(event)
        if not self._is_whole:
            self._write(event["seconds"], f"node {event['node']} {said(event)}" if _is_act(event) else said(event))
            return
        if event["event"] in _NEWS and self._is_new(event):
            self._write(event["seconds"], f"node {event['node']} {said(event)}" if _is_act(event) else said(event))
        if board.seconds - self._told >= 1:
            self._told = board.seconds
            most, fewest = max(board.locks.values(), default=0), min(board.locks.values(), default=0)
            at = "nobody" if board.holder is None else f"node {board.holder}"
            moves = f"{board.moves:,} moves, {board.moves_per_second:,.0f} a second"
            self._write(board.seconds, f"the token is at {at}; {moves}; locks of a node: {fewest:,} to {most:,}")

    def _is_new(self, event: Event) -> bool:
        """Say whether no other node has told the same; who joins and which ring there is all tell."""
        if event["event"] not in ("ring", "joined", "left"):
            return True
        key = (event["event"], event.get("epoch"), event.get("who"), event.get("place"))
        is_new = key not in self._shown
        self._shown.add(key)
        return is_new

    def _write(self, seconds: float, text: str) -> None:
        write(f"{seconds:7.2f} s  {text}")
        sys.stdout.flush()


def _is_act(event: Event) -> bool:
    """Say whether an event is something that its node does, rather than something it tells of."""
    return event["event"] not in ("moved", "ring", "joined", "left", "fault")


class Picture(View):
    """A picture on a terminal, drawn anew several times in a second; news stay above it."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        super().__init__()
        self._console = Console(highlight=False)
        self._live = Live(get_renderable=self.draw, console=self._console, refresh_per_second=20, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take the picture away, but for its head."""
        self._live.stop()
        self._console.print(self._head())

    def take(self, event: Event) -> None:
        """Change the picture."""
        from rich.text import Text

        self.board.take(event)
        if event["event"] in ("killed", "started", "back", "lost", "fault"):
            words = f"{event['seconds']:7.2f} s  node {event['node']} {said(event)}"
            self._console.print(
                Text(harmless(words), "red" if event["event"] in ("killed", "lost", "fault") else "green")
            )

    def draw(self) -> Any:
        """Draw how things stand."""
        from rich.console import Group
        from rich.text import Text

        board = self.board
        rows = [self._row(node) for node in sorted({*board.ring, *board.locks, *board.dead})]
        heard = [
            Text(f"  #{one['place']} node {one['origin']}: {harmless(shortened(str(one['data']), _MAX_TEXT))}", "dim")
            for one in board.messages
        ]
        return Group(self._head(), *rows, *heard)

    def _head(self) -> Any:
        from rich.text import Text

        board = self.board
        moves = f"  {board.moves:,} moves, {board.moves_per_second:,.0f} a second  {board.seconds:.1f} s"
        gaps = f"  without a lock for {', '.join(f'{gap:.2f}' for gap in board.gaps[-3:])} s" if board.gaps else ""
        return Text.assemble((f"epoch {board.epoch}", "bold"), moves, (gaps, "green"))

    def _row(self, node: int) -> Any:
        from rich.text import Text

        board = self.board
        row = Text(f"  {node:>3} ")
        if node in board.dead:
            row.append("✗ is down   ", "red")
        elif node == board.locker:
            row.append("● has the lock ", "bold green")
        elif node == board.holder:
            row.append("● has the token", "yellow")
        else:
            row.append("○ waits        ", "dim")
        row.append(f"  {board.locks[node]:,} locks", "dim")
        return row


def view_of(form: str, *, is_whole: bool) -> View:
    """Choose how to show a ring; `is_whole`: all nodes tell."""
    if form == "json":
        return View()
    return Picture() if sys.stdout.isatty() else Lines(is_whole=is_whole)


__all__ = ["Lines", "Picture", "View", "view_of"]
