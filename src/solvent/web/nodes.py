"""Programs that run over nodes: the status of each node, its messages and their recipients.

Runs of this machine are found by their folders, as `solvent top` finds them, and their nodes are asked; the status of
runs in the page's store is read there. Nodes are asked once per interval, however many viewers there are.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from solvent.errors import Misuse, SolventError
from solvent.runs.nodes.folder import RUN, known_runs, load_run
from solvent.runs.nodes.looking import AskedNodes, SharedNodes, is_going_on
from solvent.runs.nodes.shared import Board, runs_in

if TYPE_CHECKING:
    from starlette.requests import Request

    from solvent.runs.nodes.looking import Nodes
    from solvent.web.site import Site

LOOK_SECONDS = 0.5
MAX_KEPT = 8
_MAX_SHARED = 50


class _Watched(NamedTuple):
    """A run that is being viewed, with its last status."""

    nodes: Nodes
    looking: threading.Lock
    #: The last status, and when it was read.
    seen: list[tuple[float, dict[str, Any]]]


class Programs:
    """The runs of programs that a page can show."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._watched: dict[tuple[str, str], _Watched] = {}
        self._guard = threading.Lock()
        site.at_end(self.close)

    def all(self) -> list[dict[str, Any]]:
        """Return the known runs, the latest first."""
        found = []
        for folder in self._folders():
            with suppress(Misuse):
                record = load_run(folder)
                found.append(
                    {
                        "run": record.run, "where": "here", "program": record.name, "nodes": len(record.addresses),
                        "started": record.started_at, "is_over": not is_going_on(folder),
                    }
                )  # fmt: skip
        store = self._site.store()
        if store is None:
            return found
        for run in runs_in(store)[-_MAX_SHARED:]:
            with suppress(SolventError):
                board = Board(store, run)
                shared = board.record()
                found.append(
                    {
                        "run": run, "where": "store", "program": shared.name, "nodes": shared.nodes,
                        "started": shared.started_at, "is_over": board.look().ending is not None,
                    }
                )  # fmt: skip
        return sorted(found, key=lambda one: (one["is_over"], -one["started"]))

    def _folders(self) -> list[Path]:
        return [*map(Path, self._site.folders), *(one for one in known_runs() if is_going_on(one))]

    def look(self, where: str, run: str) -> dict[str, Any]:
        """Return the status of the nodes of a run."""
        with self._guard:
            watched = self._watched.get((where, run))
            if watched is None:
                while len(self._watched) >= MAX_KEPT:
                    self._watched.pop(next(iter(self._watched))).nodes.close()
                watched = self._watched[where, run] = _Watched(self._nodes(where, run), threading.Lock(), [])
        with watched.looking:
            if watched.seen and time.monotonic() - watched.seen[0][0] < LOOK_SECONDS:
                return watched.seen[0][1]
            nodes = watched.nodes
            told = nodes.as_json(nodes.look()) | {"count": nodes.count, "is_over": nodes.is_over, "at": time.time()}
            watched.seen[:] = [(time.monotonic(), told)]
            return told

    def _nodes(self, where: str, run: str) -> Nodes:
        if where == "here":
            for folder in self._folders():
                if (folder / RUN).exists() and load_run(folder).run == run:
                    return AskedNodes(folder)
        store = self._site.store()
        if where != "store" or store is None:
            raise Misuse("H346", f"no program runs as `{run[:100]}`, as far as is known here")
        return SharedNodes(store, run)

    def close(self) -> None:
        """Stop looking at all runs."""
        with self._guard:
            for one in self._watched.values():
                one.nodes.close()
            self._watched.clear()


def routes(site: Site) -> list[Route]:
    """Return the routes of this part of the page."""
    programs = Programs(site)

    def every(_request: Request) -> Response:
        return JSONResponse({"runs": programs.all()})

    def one(request: Request) -> Response:
        return JSONResponse(programs.look(request.path_params["where"], request.path_params["run"]))

    return [Route("/api/programs", every), Route("/api/programs/{where}/{run}", one)]


__all__ = ["routes"]
