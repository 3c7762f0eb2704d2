"""Rings and shared data: where the token is, which process holds which resource, and which wait.

Processes with `board=True` or `SOLVENT_BOARD` write their status into files (`net.status_files`). This module joins the
files of each ring and of each name of shared data. They are written at different moments, so while a token moves
faster than that, several processes may claim it: the latest file counts.
"""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from solvent.net.status_files import read_board

if TYPE_CHECKING:
    from starlette.requests import Request

    from solvent.net.status_files import Notice
    from solvent.web.site import Site

SHOWN_SECONDS = 30.0
"""How long a process is shown after its last status."""
MAX_PROCESSES = 500
_NODE_FIELDS = ("is_locked", "waiting", "moves", "messages", "place", "address")
_FIELDS = {
    "ring": {"epoch", "ring", "members", "holder", "has_token", *_NODE_FIELDS},
    "space": {"resources", "claims", "founder", "messages", "address"},
}


def status_of(notices: list[Notice], now: float) -> dict[str, Any]:
    """Return the status of rings and shared data, joined from the notices of their processes."""
    rings: dict[tuple[str, str], list[Notice]] = defaultdict(list)
    shared: dict[str, list[Notice]] = defaultdict(list)
    for one in notices:
        # Another version may have written other fields.
        if now - one.at <= SHOWN_SECONDS and _FIELDS.get(one.kind, {""}) <= one.told.keys():
            if one.kind == "ring":
                # Rings need no name: those with other members are different rings.
                rings[one.name, min(one.told["members"].values(), default="")].append(one)
            else:
                shared[one.name].append(one)
    return {
        "rings": [_ring(name, some[:MAX_PROCESSES], now) for (name, _), some in sorted(rings.items())],
        "shared": [_shared(name, some[:MAX_PROCESSES], now) for name, some in sorted(shared.items())],
    }


def _process(notice: Notice, now: float) -> dict[str, Any]:
    return {
        "node": notice.node,
        "process": notice.process,
        "host": notice.host,
        "is_silent": notice.is_silent(now),
        "at": notice.at,
    }


def _ring(name: str, notices: list[Notice], now: float) -> dict[str, Any]:
    # A node that was killed and started again is there twice for a while: its latest notice counts.
    notices = list({one.node: one for one in sorted(notices, key=lambda one: one.at)}.values())
    told = {one.node: one.told for one in notices}
    alive = [one for one in notices if not one.is_silent(now)]
    latest = max((one for one in alive), key=lambda one: (one.told["epoch"], one.at), default=None)
    has_it = [one for one in alive if one.told["has_token"]]
    holder = None
    if has_it:
        holder = max(has_it, key=lambda one: (one.told["epoch"], one.told["is_locked"], one.at)).node
    elif latest is not None:
        holder = latest.told["holder"]
    nodes = [
        {
            **_process(one, now),
            **{key: told[one.node][key] for key in _NODE_FIELDS},
            "has_token": one.node == holder,
        }
        for one in sorted(notices, key=lambda one: one.node)
    ]
    return {
        "name": name,
        "epoch": 0 if latest is None else latest.told["epoch"],
        "ring": [] if latest is None else latest.told["ring"],
        "members": [] if latest is None else sorted(map(int, latest.told["members"])),
        "holder": holder,
        "moves": sum(one["moves"] for one in nodes),
        "nodes": nodes,
    }


def _shared(name: str, notices: list[Notice], now: float) -> dict[str, Any]:
    resources: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for one in notices:
        for resource in (*one.told["resources"], *(claim["resource"] for claim in one.told["claims"])):
            resources.setdefault(resource, {"has": [], "comes": [], "waits": []})
        about = {"node": one.node, "process": one.process, "is_silent": one.is_silent(now)}
        for claim in one.told["claims"]:
            resources[claim["resource"]][claim["state"]].append({**claim, **about})
    processes = [
        {**_process(one, now), "messages": one.told["messages"], "address": one.told["address"]}
        for one in sorted(notices, key=lambda one: one.node)
    ]
    founders = [one.told["founder"] for one in notices if not one.is_silent(now)]
    return {
        "name": name,
        "founder": founders[-1] if founders else None,
        "processes": processes,
        "resources": [{"name": resource, **claims} for resource, claims in sorted(resources.items())],
    }


def routes(site: Site) -> list[Route]:
    """Return the routes of this part of the page."""

    def locks(_request: Request) -> Response:
        return JSONResponse(status_of(read_board(site.status_folder), time.time()))

    return [Route("/api/locks", locks)]


__all__ = ["SHOWN_SECONDS", "routes", "status_of"]
