"""Faults of the file of a store: a disk that is full, a write that was torn; see `agents_faults`."""

from __future__ import annotations

import os
import random
import subprocess
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from solvent.errors import Conflict, StoreError
from solvent.runs.registry import record_of
from tests.live.agents_faults import AGENTS_COUNT, PAUSE, RUN, Outcome, ended, running, together, workflow_for
from tests.live.agents_world import World, until

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOM_BYTES = 8 << 20


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Give a folder with little room, which goes afterwards; `OSError` where none can be made."""
    folder.mkdir()
    made = subprocess.run(
        ["/bin/mount", "-t", "tmpfs", "-o", f"size={ROOM_BYTES}", "none", str(folder)], capture_output=True, check=False
    )
    if made.returncode:
        raise OSError(made.stderr.decode().strip())
    try:
        yield folder
    finally:
        subprocess.run(["/bin/umount", "-l", str(folder)], check=False)


def disk_full(url: str, seed: int) -> Outcome:
    """Fill the disk while a workflow runs, and make room again a while later; needs rights to mount."""
    assert not url
    workflow = workflow_for(seed, 120)
    with World(pause=PAUSE) as world, small_disk(world.folder / "disk") as disk:
        world.url = str(disk / "store.db")
        world.start(AGENTS_COUNT)
        together(world, AGENTS_COUNT)
        world.submit(RUN, workflow)
        world.until_calls(20)
        fill(disk / "ballast")
        until(lambda: any("there is no room" in one.said() for one in world.alive), world.words)
        # For longer than it takes to presume somebody dead: nobody can write that he is alive.
        time.sleep(2 * world.ttl)
        over = world.is_over(RUN)
        (disk / "ballast").unlink()
        found = ended(world, workflow)
        if over or len(world.alive) < AGENTS_COUNT:
            found.wrong.append(f"the run was over: {over}; agents left: {len(world.alive)}\n{world.words()}")
        world.store.close()
        for member in world.alive:
            member.kill()
        return found


def fill(path: Path) -> None:
    """Write until there is no room."""
    with path.open("wb", buffering=0) as file:
        for size in (1 << 20, 4096, 512):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue


def torn_write(url: str, seed: int) -> Outcome:
    """Kill all agents, and leave half of a write at the end of the file's log, as a loss of power does."""
    assert not url
    return _torn(seed, is_cut=False)


def cut_file(url: str, seed: int) -> Outcome:
    """Kill all agents, and cut the file's log anywhere: also what was acknowledged is gone, as on a disk that lies.

    Then all logs end at the same moment, and the run goes on from there: results are right, calls may be made again
    that were made after it; or whoever opens the file says that it is damaged.
    """
    assert not url
    return _torn(seed, is_cut=True)


def _torn(seed: int, *, is_cut: bool) -> Outcome:
    workflow, draw = workflow_for(seed), random.Random(seed)
    with running("", workflow) as world:
        for member in world.alive:
            world.kill(member)
        log = Path(world.url + "-wal")
        kept = log.read_bytes()
        # Who closes the file last would bring everything into its main part.
        os.close(os.open(log, os.O_RDONLY))
        content = Path(world.url).read_bytes()
        world.store.close()
        world._store = None
        Path(world.url).write_bytes(content)
        Path(world.url + "-shm").unlink(missing_ok=True)
        log.write_bytes(kept[: draw.randrange(len(kept))] if is_cut else kept + draw.randbytes(draw.randrange(1, 9000)))
        world.start(AGENTS_COUNT)
        try:
            if record_of(world.store, RUN) is None:
                # It was cut before it was submitted; or after it was announced, and an agent makes the record.
                with suppress(Conflict):
                    world.submit(RUN, workflow)
            found = ended(world, workflow)
        except StoreError as error:
            if not is_cut or error.code not in {"E401", "E406"}:
                raise
            return Outcome(kills=AGENTS_COUNT)
        found.leases = []
        if is_cut:
            found.wrong = [one for one in found.wrong if "made again" not in one and "announced" not in one]
        return found
