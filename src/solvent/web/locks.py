"""Rings and spaces of data handover: where the token is, who has which resource and who waits, as they tell.

Processes that were asked to (`board=True`, or `SOLVENT_BOARD`) write down how things stand with them; see
`running.boards`. What all of them say of one ring, or one space, is put together here. They look at different moments,
so while a token moves faster than they look, several may say that they have had it: the latest word counts.
"""

from __future__ import annotations

import asyncio
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
"""How long a process is shown that says nothing any more."""
MAX_PROCESSES = 500
_TELLS = {
    "ring": frozenset(
        {
            "epoch",
            "ring",
            "members",
            "holder",
            "has_token",
            "is_locked",
            "waiting",
            "moves",
            "messages",
            "place",
            "address",
        }
    ),
    "space": frozenset({"resources", "claims", "founder", "messages", "address"}),
}


def seen(notices: list[Notice], now: float) -> dict[str, Any]:
    """Put together what processes tell."""
    rings: dict[tuple[str, str], list[Notice]] = defaultdict(list)
    spaces: dict[str, list[Notice]] = defaultdict(list)
    for one in notices:
        # What another version has written may lack something.
        if now - one.at <= SHOWN_SECONDS and _TELLS.get(one.kind, frozenset({""})) <= one.told.keys():
            if one.kind == "ring":
                # Rings need no name: those with other members are others.
                rings[one.name, min(one.told["members"].values(), default="")].append(one)
            else:
                spaces[one.name].append(one)
    return {
        "rings": [_ring(name, some[:MAX_PROCESSES], now) for (name, _), some in sorted(rings.items())],
        "spaces": [_space(name, some[:MAX_PROCESSES], now) for name, some in sorted(spaces.items())],
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
    # A node that was killed and started again is there twice for a while: the latest word of it counts.
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
            **{key: told[one.node][key] for key in ("is_locked", "waiting", "moves", "messages", "place", "address")},
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


def _space(name: str, notices: list[Notice], now: float) -> dict[str, Any]:
    resources: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for one in notices:
        for resource in one.told["resources"]:
            resources.setdefault(resource, {"has": [], "comes": [], "waits": []})
        for claim in one.told["claims"]:
            found = resources.setdefault(claim["resource"], {"has": [], "comes": [], "waits": []})
            is_silent = one.is_silent(now)
            found[claim["state"]].append({**claim, "node": one.node, "process": one.process, "is_silent": is_silent})
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
    """Give what can be asked."""

    async def locks(_request: Request) -> Response:
        notices = await asyncio.to_thread(read_board, site.board)
        return JSONResponse(seen(notices, time.time()))

    return [Route("/api/locks", locks)]


__all__ = ["routes", "seen"]
