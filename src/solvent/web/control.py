"""What may be done from the page, by who knows the secret: a run is cancelled."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from solvent.errors import RecordProblem
from solvent.runs.agents.plans import end, ending_of, plan_of
from solvent.runs.records.runs import cancel
from solvent.web.finding import card_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from solvent.web.site import Site

_PAUSE_SECONDS = 0.5
"""After a wrong secret, so that nobody tries many."""


def routes(site: Site) -> list[Route]:
    """Give what can be asked."""
    # Wrong secrets wait for each other, too.
    refusing = asyncio.Lock()

    async def stop(request: Request) -> Response:
        kind, _, secret = request.headers.get("authorization", "").partition(" ")
        if not site.has_control:
            said = "nothing can be changed from this page"
            return JSONResponse({"error": said, "hint": "solvent web --control --secret-file FILE"}, status_code=403)
        if kind.lower() != "bearer" or not site.knows(secret):
            async with refusing:
                await asyncio.sleep(_PAUSE_SECONDS)
            return JSONResponse({"error": "that is not the secret"}, status_code=401)
        return JSONResponse(await asyncio.to_thread(_cancel, site, request.path_params["run"]))

    return [Route("/api/runs/{run}/cancel", stop, methods=["POST"])]


def _cancel(site: Site, run: str) -> dict[str, Any]:
    store = site.store()
    card = card_of(store, run)
    if store is None or (card is None and plan_of(store, run) is None):
        raise RecordProblem("R401", f"there is no run `{run[:100]}`")
    if card is not None:
        return {"run": run, "is_done": cancel(store, card)}
    if ending_of(store, run) is None:
        end(store, run, "cancelled", "from the page")
    return {"run": run, "is_done": True}


__all__ = ["routes"]
