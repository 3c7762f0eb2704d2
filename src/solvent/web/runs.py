"""Runs of workflows: what the page asks about them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from solvent.errors import RecordProblem
from solvent.runs.agents.plans import places_of
from solvent.web.channel import Channel
from solvent.web.finding import Workflows, find
from solvent.web.following import Following
from solvent.web.graph import Layouts
from solvent.web.rows import Rows
from solvent.web.tasks import about_task

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from solvent.web.channel import Source
    from solvent.web.finding import Found
    from solvent.web.site import Site

_STREAM = {"cache-control": "no-store", "x-accel-buffering": "no"}


def routes(site: Site) -> list[Route]:
    """Give what can be asked."""
    workflows, layouts, channels = Workflows(), Layouts(), Channels(site)

    def found(request: Request) -> Found:
        return find(site.store(), request.path_params["run"], workflows)

    async def rows(request: Request) -> Response:
        channel = channels.of("", lambda: Rows(site.store, workflows))
        return _stream(request, channel, site)

    async def about(request: Request) -> Response:
        return JSONResponse(await asyncio.to_thread(lambda: about_run(found(request))))

    async def events(request: Request) -> Response:
        one = await asyncio.to_thread(found, request)

        def make() -> Source:
            store = site.store()
            if store is None:
                raise RecordProblem("R401", f"there is no run `{one.run}` any more")
            return Following(store, one)

        return _stream(request, channels.of(one.run, make), site)

    async def graph(request: Request) -> Response:
        asked = request.query_params

        def lay() -> Response:
            one = found(request)
            whole = asked.get("whole") == "1"
            return JSONResponse(layouts.of(one.workflow, one.tasks, asked.getlist("open"), is_whole=whole))

        return await asyncio.to_thread(lay)

    async def task(request: Request) -> Response:
        def tell() -> Response:
            one, store = found(request), site.store()
            assert store is not None
            return JSONResponse(about_task(store, one, request.path_params["task"]))

        return await asyncio.to_thread(tell)

    return [
        Route("/api/events", rows),
        Route("/api/runs/{run}", about),
        Route("/api/runs/{run}/events", events),
        Route("/api/runs/{run}/graph", graph),
        Route("/api/runs/{run}/tasks/{task:path}", task),
    ]


class Channels:
    """The channels of a site: one for the list, one for each run that somebody looks at."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._channels: dict[str, Channel] = {}
        site.at_end(self._close)

    def of(self, name: str, make: Callable[[], Source]) -> Channel:
        """Give the channel of a run, or of the list (no name)."""
        self._channels = {key: one for key, one in self._channels.items() if not one.is_over}
        if name not in self._channels:
            self._channels[name] = Channel(self._site.store, make)
        return self._channels[name]

    def _close(self) -> None:
        for channel in self._channels.values():
            channel.close()


def _stream(request: Request, channel: Channel, site: Site) -> Response:
    last = request.headers.get("last-event-id") or request.query_params.get("after", "")
    told = channel.listen(last, site.is_stopping)
    return StreamingResponse(told, media_type="text/event-stream", headers=_STREAM)


def about_run(found: Found) -> dict[str, Any]:
    """Say what a run is, and what does not change while it goes on."""
    workflow = found.workflow
    service_of = {} if workflow is None else {task.name: task.service for task in workflow.tasks}
    tasks: list[dict[str, Any]] = [{"name": name, "service": service_of.get(name, "")} for name in found.tasks]
    if workflow is not None and found.plan is not None:
        number_of = {name: number for number, name in enumerate(found.tasks)}
        for place, names in enumerate(places_of(workflow, found.plan)[0]):
            for name in names:
                tasks[number_of[name]]["place"] = place
    return {
        "run": found.run,
        "workflow": found.title,
        "created": found.created,
        "agents": found.is_of_agents,
        "file": found.file,
        "is_known": workflow is not None,
        "tasks": tasks,
    }


__all__ = ["about_run", "routes"]
