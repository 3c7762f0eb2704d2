"""What one shard of a run sends to the others, and hears of them.

Molecules are numbered per sender and receiver: none is taken twice, and none before what was sent before it.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING

from solvent.errors import RecordProblem
from solvent.runs import messages
from solvent.runs.messages import Message, Writer, molecule_from
from solvent.runs.registry import messages_of
from solvent.store import Append

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from solvent.lang.molecule import Molecule
    from solvent.store import Record, Store


class Mailbox:
    """The messages of one shard of a run; `shard_of` says at which shard each task is."""

    def __init__(self, store: Store, run: str, shard: int, shard_of: Mapping[Molecule, int]) -> None:
        self.run = run
        self.shard = shard
        #: How many molecules were sent to each shard, and heard of each.
        self.sent: Counter[int] = Counter()
        self.heard: Counter[int] = Counter()
        #: Up to where messages have come here.
        self.position = 0
        self._store = store
        self._log = messages_of(run)
        self._shard_of = shard_of
        self._writer = Writer(store)
        self._outgoing: dict[int, list[messages.Encoded]] = {}
        self._arrived = deque["Record"]()
        # What has come before something that was sent before it, by sender and number.
        self._ahead: dict[tuple[int, int], Molecule] = {}

    def has(self, task: Molecule) -> bool:
        """Whether a task is at this shard."""
        return self._shard_of[task] == self.shard

    def send(self, task: Molecule, molecule: Molecule, *, was_sent: bool = False) -> None:
        """Send something to a task of another shard; what was sent before is only counted."""
        to = self._shard_of[task]
        self.sent[to] += 1
        if not was_sent:
            self._outgoing.setdefault(to, []).append(self._writer.encode(molecule))

    def outgoing(self) -> list[Append]:
        """Give what is to be appended, once."""
        found = []
        max_bytes = self._store.max_record_bytes // 2
        for to, molecules in self._outgoing.items():
            first = self.sent[to] - len(molecules) + 1
            for some in messages.parted(molecules, max_bytes):
                found.append(Append(self._log, messages.addressed(to, Message(self.shard, first, some))))
                first += len(some)
        self._outgoing = {}
        return found

    def arrive(self, records: Iterable[Record]) -> None:
        """Take messages that were read, but for those that have come before."""
        new = [one for one in records if one.position > self.position]
        if new:
            self._arrived.extend(new)
            self.position = new[-1].position

    @property
    def has_arrived(self) -> bool:
        """Whether there are messages to take."""
        return bool(self._arrived)

    def take(self, position: int) -> Iterator[Molecule]:
        """Yield the molecules of messages up to a position, each once and in order."""
        while self._arrived and self._arrived[0].position <= position:
            record = self._arrived.popleft()
            try:
                message = messages.read(record.data)
                molecules = [molecule_from(one, self._store) for one in message.molecules]
            except ValueError as error:
                raise RecordProblem(
                    "R403", f"record {record.position} of `{record.log}` does not read: {error}"
                ) from None
            sender = message.sender
            for number, molecule in enumerate(molecules, message.first):
                # What was sent again has been heard; what a server has put before another waits for that.
                if number > self.heard[sender]:
                    self._ahead[sender, number] = molecule
            while (sender, self.heard[sender] + 1) in self._ahead:
                self.heard[sender] += 1
                yield self._ahead.pop((sender, self.heard[sender]))


__all__ = ["Mailbox"]
