"""The calls of a shard while its agent cannot reach the store: they go on, and their answers wait.

What the execution knew is thrown away, since nobody knows how much of it is in the journal. When the store is there
again the agent takes the shard anew and is where its journal ends. If nobody else has had it meanwhile, a call that has
no answer there, and is still out or was answered while that could not be kept, is not made again: it is adopted.

The same happens while a run is updated. If it becomes another version, its calls go on for that one: an agent tells who
has their shards (`remote_calls`), an embedded run goes on with them itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.runs.calls import Again

if TYPE_CHECKING:
    from solvent.runs.calls import Answer, OpenCall
    from solvent.runs.execution import Execution


class Adrift:
    """What is left of an execution: its calls, and what has come of them; for one thread.

    Calls are known by the names by which their services know them, which stay the same when a run is updated.
    """

    def __init__(self, execution: Execution, epoch: int) -> None:
        self.execution = execution
        #: Those in which this agent has had the shard, or may have: the store may not have said that it took a record.
        self._epochs = {epoch}
        self._calls: dict[str, OpenCall] = {}
        self._adopted = set[str]()
        self._answers: list[Answer | Again] = []
        for call, answer in execution.calls.unkept_calls():
            self._calls[name_of(call)] = call
            if isinstance(answer, Again):
                # That it is tried again may not have been noted; it is noted before it is done.
                call.announced -= 1
            if answer is not None:
                self._answers.append(answer)

    def had_in(self, epoch: int) -> frozenset[int]:
        """Give the epochs in which the shard was here; from now on this one, too."""
        before = frozenset(self._epochs)
        self._epochs.add(epoch)
        return before

    def has(self, call: OpenCall) -> bool:
        """Whether a call is one of these."""
        return self._calls.get(name_of(call)) is call

    def came(self, answer: Answer | Again) -> None:
        """Take what has come of a call."""
        self._answers.append(answer)

    def adopt(self, name: str) -> OpenCall | None:
        """Give a call to who goes on with it."""
        self._adopted.add(name)
        return self._calls.get(name)

    def again(self) -> None:
        """Begin anew: who was to go on with the calls could not."""
        self._adopted.clear()

    def inherited(self) -> dict[str, OpenCall]:
        """Return the calls, to a further version of the run."""
        found, self._calls = self._calls, {}
        return found

    def answers(self) -> list[Answer | Again]:
        """Give what has come, to who goes on with the calls."""
        found, self._answers = self._answers, []
        return found

    def end(self) -> None:
        """End the calls that nobody has adopted."""
        for name, call in reversed(self._calls.items()):
            if name not in self._adopted:
                call.cancel()
                self.execution.calls.end_room(call)
        self._calls.clear()


def name_of(call: OpenCall) -> str:
    """Return the name by which its service knows a call that has begun."""
    assert call.identity is not None
    return call.identity.key


__all__ = ["Adrift"]
