"""A process with all that it has started: found, weighed and ended.

Ray, Dask and Parsl start processes in groups and sessions of their own, and some of these lose their parent. The
measured process therefore adopts its orphans, so that everything hangs below it. This needs Linux; elsewhere only the
process itself is seen.
"""

import ctypes
import os
import signal
import sys
import threading
import time
from pathlib import Path

PROCESSES = Path("/proc")
PR_SET_CHILD_SUBREAPER = 36
SAMPLE_SECONDS = 0.02
MAX_ROUNDS = 50


def adopt_orphans() -> None:
    """Become the parent of every process below this one that loses its own."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def parents() -> dict[int, int]:
    """Give the parent of each process that still runs."""
    found: dict[int, int] = {}
    for path in PROCESSES.glob("[0-9]*/stat"):
        try:
            fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            found[int(path.parent.name)] = int(fields[1])
    return found


def tree(root: int) -> list[int]:
    """Give a process and all that descend from it, parents first."""
    below: dict[int, list[int]] = {}
    for process, parent in parents().items():
        below.setdefault(parent, []).append(process)
    found = [root]
    for process in found:
        found += below.get(process, [])
    return found


def resident_bytes(process: int) -> int:
    """Give the memory that a process holds now; nothing if it is gone."""
    try:
        fields = (PROCESSES / str(process) / "statm").read_text(encoding="ascii").split()
    except OSError:
        return 0
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def max_resident_bytes(process: int) -> int:
    """Give the most memory that a process has ever held; nothing if it is gone."""
    try:
        lines = (PROCESSES / str(process) / "status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    return max((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), default=0)


def end_tree(root: int) -> None:
    """End all that a child of ours has started, and then the child; ended children must be waited for by the caller."""
    for _ in range(MAX_ROUNDS):
        below = tree(root)[1:]
        if not below:
            break
        for process in below:
            _end(process)
        time.sleep(SAMPLE_SECONDS)
    _end(root)


class Scales:
    """Weighs a process tree again and again until told to stop; keeps the peak."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.peak_bytes = 0
        self._thread.start()

    def stop(self) -> None:
        """Weigh no more."""
        self._has_ended.set()
        self._thread.join()

    def _watch(self) -> None:
        is_last = False
        while not is_last:
            is_last = self._has_ended.wait(SAMPLE_SECONDS)
            weight = sum(resident_bytes(process) for process in tree(self._root))
            self.peak_bytes = max(self.peak_bytes, weight, max_resident_bytes(self._root))


def _end(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return
