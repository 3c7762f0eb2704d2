"""A node that captures by moving, with iron and coal, for the tests of what it gives and of what it takes."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.protocols.capture.moving import SEARCHING, MovingConfig, MovingState, Refused, Take, moving_node
from solvent.protocols.capture.vocabulary import Discover
from solvent.protocols.machine import Ask, Received, Save, Send
from solvent.protocols.maps import Map

if TYPE_CHECKING:
    from collections.abc import Callable

ME = 5
"""The node looked at; there are others before and after it in the total order."""
ANN, BEN, ZOE = 1, 2, 9
IRON, COAL, ORE = 11, 12, 21
"""Iron and coal are here, ore is at Ann's."""
HERE = ((IRON, "iron"), (COAL, "coal"))
NEW = (ME + 1) << 40
"""The names of molecules made here are above this number."""
AGAIN = Ask(Discover(0))

CONFIG = MovingConfig(ME, HERE)
MACHINE = moving_node(CONFIG)
QUIET = moving_node(replace(CONFIG, tell=False))
FRESH = MACHINE.start()[0]


def having(*molecules: tuple[int, Any], phase: Any = SEARCHING, **more: Any) -> MovingState:
    """Give the node with other molecules."""
    return replace(FRESH, molecules=Map(molecules), phase=phase, **more)


def take(requester: int, *molecules: int, values: tuple[Any, ...] = (), reactions: int = 0) -> Received:
    """Let a requester ask for molecules."""
    return Received(requester, Take(1, molecules, values, reactions))


def refused(to: int) -> tuple[Send]:
    """Give the answer of a holder that keeps what it has."""
    return (Send(to, Refused(1)),)


class Life:
    """A node that anything may happen to; chance decides what."""

    def __init__(self, seed: int, machine: Any) -> None:
        self.chance = Random(seed)
        self.machine = machine
        self.saved: tuple[Any, ...] = ()
        self.to_itself: list[Any] = []
        self.question: Any = None
        self.lives = 0
        self.state, effects = machine.start()
        self.carry_out(effects)

    def carry_out(self, effects: Any) -> None:
        """Do what a host does."""
        for effect in effects:
            if isinstance(effect, Save):
                self.saved += (effect.record,)
            elif isinstance(effect, Send) and effect.to == 0:
                self.to_itself.append(effect.message)
            elif isinstance(effect, Ask):
                self.question = effect.question

    def crash(self) -> None:
        """Lose everything but the records."""
        self.lives += 1
        self.to_itself, self.question = [], None
        self.state, effects = self.machine.start(self.saved, self.lives)
        self.carry_out(effects)

    def shuffled(self, things: list[Any]) -> list[Any]:
        """Give the same things in any order."""
        return self.chance.sample(things, len(things))

    def kinds(self) -> tuple[str, ...]:
        """Give what may happen next; for each there is a method that gives the event, if there is one."""
        raise NotImplementedError

    def live(self, events: int) -> None:
        """Let so many events happen."""
        for _ in range(events):
            event = getattr(self, f"from_{self.chance.choice(self.kinds())}")()
            if event is not None:
                self.state, effects = self.machine.step(self.state, event)
                self.carry_out(effects)


def check_crashes(life: Life, seed: int, surviving: Callable[[Any], Any], recovered: Any, compacted: Any) -> None:
    """See that the records of a life give what must outlive a crash, and so do fewer of them."""
    life.live(seed % 40)
    before = surviving(life.state)
    life.crash()
    assert surviving(life.state) == before
    life.live(seed % 11)
    config, saved = life.machine.config, life.saved
    assert surviving(recovered(config, saved)) == surviving(life.state)
    fewest = compacted(config, saved)
    assert recovered(config, fewest) == recovered(config, saved)
    assert compacted(config, fewest) == fewest
