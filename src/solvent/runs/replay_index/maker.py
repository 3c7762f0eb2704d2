"""Makes the film of a run, in a process of its own: `python -m solvent.runs.replay_index.maker`.

A replay needs the memory and the time of the run's reactions, and neither is the page's: the process is told on its
standard input what to film, says on its output how far it is, and is gone with all of it when it has ended.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from solvent.errors import RecordProblem, SolventError
from solvent.runs.replay_index.film import Film
from solvent.runs.replay_index.sheet import Sheet
from solvent.store import open_store

if TYPE_CHECKING:
    from solvent.engine.reaction import Reaction
    from solvent.store import Store

_TELL_SECONDS = 0.2


class Order(msgspec.Struct, frozen=True):
    """What is to be filmed: a shard of a run of the store `url`."""

    url: str
    run: str
    path: str
    shard: int = 0


class Word(msgspec.Struct, frozen=True, omit_defaults=True):
    """How far it is: so many reactions; in the end `is_done`, or what was wrong."""

    reactions: int = 0
    is_done: bool = False
    error: str = ""
    code: str = ""
    hint: str = ""


class _Told(Film):
    """A film that tells how far it is."""

    _told = 0.0

    def __call__(self, reaction: Reaction) -> None:
        super().__call__(reaction)
        now = time.monotonic()
        if now - self._told > _TELL_SECONDS:
            self._told = now
            say(Word(self.number))


def say(word: Word) -> None:
    """Say something to who started this process."""
    sys.stdout.buffer.write(msgspec.json.encode(word) + b"\n")
    sys.stdout.buffer.flush()


def film_shard(store: Store, run: str, shard: int, film: Film) -> str:
    """Do a shard of a run again; return where that ends, if it is not the end of the run."""
    from solvent.runs.agents.offers import Offers, refuse_code
    from solvent.runs.registry import existing, workflow_of
    from solvent.runs.replay import Replay

    record = existing(store, run)
    if not 0 <= shard < record.shards:
        raise RecordProblem("R401", f"the run `{run}` has no shard {shard}", hint=f"it has {record.shards}, from 0 on")
    if not record.document:
        said = f"the workflow of the run `{run}` cannot be said in a file, and the page runs no code to find it"
        raise RecordProblem("R404", said, hint=f"solvent replay {run} --trace")
    workflow = workflow_of(store, record)
    refuse_code(run, workflow, Offers({}))
    film.at = record.created
    return Replay(store, record, workflow).film(shard, film)


def make(order: Order) -> int:
    """Make a film; give how many reactions it has."""
    with Sheet(Path(order.path)) as file, open_store(order.url) as store:
        film = _Told(file)
        note = ""
        try:
            note = film_shard(store, order.run, order.shard, film)
        except SolventError as error:
            if not film.number:
                raise
            # Up to here it is as it was, and that is worth looking at.
            note = error.message
        film.finish(note=note)
        return film.number


def main() -> int:
    """Make the film that is asked for."""
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=Order)
    try:
        say(Word(make(order), is_done=True))
    except SolventError as error:
        say(Word(error=error.message, code=error.code, hint=error.hint))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
