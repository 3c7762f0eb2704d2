"""Questions to a NATS server that wait for an answer: one by itself, or many whose asker waits for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence
    from concurrent.futures import Future

    from solvent.errors import SpaceError
    from solvent.live.space.nats_wire import Answer

AnyFuture: TypeAlias = "asyncio.Future[Any] | Future[Any] | Share"
_NOBODY_S = 0.05


class Outgoing(NamedTuple):
    """A message to be sent."""

    subject: str
    data: bytes
    headers: dict[str, str] | None = None


class Question:
    """What waits for an answer; `wait_s` is how long it does before it is sent again."""

    __slots__ = ("answers", "deadline", "future", "is_batch", "messages", "nobody_s", "sent_at", "token", "wait_s")

    def __init__(self, messages: Sequence[Outgoing], future: AnyFuture, *, wait_s: float, is_batch: bool) -> None:
        self.messages = messages
        self.future = future
        self.is_batch = is_batch
        self.answers: list[Answer] | None = None
        self.token = b""
        self.deadline = self.sent_at = 0.0
        self.wait_s = wait_s
        self.nobody_s = _NOBODY_S


class Answers:
    """What several questions, whose asker waits for all of them, have for answers."""

    __slots__ = ("found", "future", "left")

    def __init__(self, count: int, future: AnyFuture) -> None:
        self.found: list[Answer | SpaceError | None] = [None] * count
        self.future = future
        self.left = count


class Share:
    """The part that one question has in them; stands where else a future would."""

    __slots__ = ("_all", "_number")

    def __init__(self, every: Answers, number: int) -> None:
        self._all = every
        self._number = number

    def done(self) -> bool:
        """Say whether there is an answer, or nobody waits for it."""
        return self._all.found[self._number] is not None or self._all.future.done()

    def set_result(self, answer: Any) -> None:
        """Take the answer, or why there is none."""
        every = self._all
        every.found[self._number] = answer
        every.left -= 1
        if not every.left and not every.future.done():
            every.future.set_result(every.found)

    set_exception = set_result


__all__ = ["Answers", "AnyFuture", "Outgoing", "Question", "Share"]
