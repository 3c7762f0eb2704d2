"""The channel as it must not be: one known fault each, for the checker to find."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.protocols import channel
from solvent_lab.checker.registry import Variants
from solvent_lab.models import channel as world
from solvent_lab.models.channel import A, B, breaks, crash, crash_and_break, unreliable
from solvent_lab.models.talker import Say
from solvent_lab.variants import variant

if TYPE_CHECKING:
    from solvent.protocols.channel import Session

BROKEN = Variants()


@BROKEN.add(breaks)
@variant(channel, "receive")
def takes_from_any_connection(_receive: Any, session: Session, _source: Any) -> bool:
    """Takes what comes over a connection that its dialler has given up."""
    session.taken += 1
    return True


@BROKEN.add(unreliable)
@variant(channel, "resume")
def writes_nothing_again(resume: Any, session: Session, count: int) -> tuple[Any, ...]:
    """Writes to a new connection only what comes next."""
    resume(session, count)
    return ()


@BROKEN.add(breaks)
@variant(channel, "resume")
def writes_everything_again(resume: Any, session: Session, count: int) -> tuple[Any, ...]:
    """Writes to a new connection what it kept before it heard how much was taken."""
    kept = tuple(session.kept)
    resume(session, count)
    return kept


@BROKEN.add(unreliable)
@variant(channel, "write")
def keeps_nothing(_write: Any, session: Session, _frame: Any) -> None:
    """Counts what is written as taken."""
    session.acknowledged += 1


@BROKEN.add(crash)
@variant(channel, "has_restarted")
def no_lives(_has_restarted: Any, _session: Session, _life: int) -> bool:
    """A peer that restarted continues where its former life was."""
    return False


@BROKEN.add(crash_and_break, (A, Say(B)), (A, Say(B)))
@variant(channel, "has_restarted")
def any_other_life(_has_restarted: Any, session: Session, life: int) -> bool:
    """Takes a life that is over for a new one."""
    return life != session.life


@BROKEN.add(crash)
@variant(channel, "restart")
def says_it_to_the_next_life(restart: Any, session: Session, life: int) -> None:
    """What was said to a life that is over goes to the next one."""
    waiting, kept = session.waiting, tuple(session.kept)
    restart(session, life)
    session.waiting = waiting
    session.kept.extend(kept)


@BROKEN.add(crash)
@variant(channel, "restart")
def counts_on(restart: Any, session: Session, life: int) -> None:
    """Continues to count where the former life of the peer was."""
    taken = session.taken
    restart(session, life)
    session.taken = taken


@BROKEN.add(crash_and_break, (B, Say(A)))
@variant(channel, "restart")
def hears_the_former_life(restart: Any, session: Session, life: int) -> None:
    """Takes what a life says that is over."""
    source = session.source
    restart(session, life)
    session.source = source


@BROKEN.add(crash)
@variant(world, "in_order")
def acknowledges_before_it_is_safe(_in_order: Any, saves: list[Any], sends: list[Any], counts: list[Any]) -> Any:
    """Says that a frame was taken before it has saved what came of it."""
    return (*counts, *saves, *sends)


__all__ = ["BROKEN"]
