"""Links as they must not be: one known fault each, for the checker to find."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.protocols.link.desk import Desk
from solvent.protocols.link.messages import Ack, Announce, Data, Loose
from solvent_lab.checker.registry import Variants
from solvent_lab.models.link import crash, doubled_crash, unreliable

if TYPE_CHECKING:
    from solvent.protocols.link.line import Line
    from solvent.protocols.machine import NodeId, Received

BROKEN = Variants()


@BROKEN.add(crash)
class AcknowledgesBeforeItIsSafe(Desk):
    """Counts a message as taken before what its step saves is safe."""

    def carry(self, effects: Any, sender: NodeId | None = None) -> None:
        if sender is not None:
            self.on_taken(sender)
        super().carry(effects)


@BROKEN.add(doubled_crash)
class NoLives(Desk):
    """Ignores lives: a restarted peer continues where the former one was."""

    def on_frame(self, event: Received, sender: NodeId, frame: Any) -> None:
        frame = replace(frame, life=self.line(sender).life, to=self.life)
        super().on_frame(replace(event, message=frame), sender, frame)


@BROKEN.add(doubled_crash)
class OnlyTheSendersLife(Desk):
    """Looks at the sender's life only: takes what was meant for its own former life."""

    def on_frame(self, event: Received, sender: NodeId, frame: Any) -> None:
        assert isinstance(frame, Data | Ack | Announce | Loose)
        frame = replace(frame, to=self.life)
        super().on_frame(replace(event, message=frame), sender, frame)


@BROKEN.add(unreliable)
class TakesWhateverComes(Desk):
    """Takes every frame: duplicates twice, and early ones at once."""

    def on_data(self, sender: NodeId, line: Line, number: int, message: Any) -> None:
        super().on_data(sender, line, max(line.taken, 0), message)
        del number


@BROKEN.add(crash)
class AnnouncesItselfOnce(Desk):
    """Does not repeat that its node restarted."""

    def is_unfinished(self) -> bool:
        return any(line.waiting for line in self.lines.values())


__all__ = ["BROKEN"]
