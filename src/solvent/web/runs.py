"""Runs of workflows: what the page asks about them, and cancelling, for those who know the secret."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from solvent.errors import Misuse, RecordProblem
from solvent.runs.registry import end, record_of, shards_of
from solvent.runs.signals import send_signal
from solvent.web.channel import Channels
from solvent.web.graph_layout import Layouts
from solvent.web.run_list import RunList
from solvent.web.run_lookup import Workflows, find
from solvent.web.run_source import RunSource
from solvent.web.task_details import details_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from solvent.web.channel import Source
    from solvent.web.run_lookup import FoundRun
    from solvent.web.site import Site

_PAUSE_SECONDS = 0.5
"""The delay after a wrong secret, against guessing."""


_MAX_BYTES = 1024 * 1024


class _Signal(msgspec.Struct):
    """A signal, as the page sends it."""

    name: str
    id: str
    value: Any = None


def routes(site: Site) -> list[Route]:
    """Return the routes of this part of the page."""
    workflows, layouts, channels = Workflows(), Layouts(), Channels(site)
    # Wrong secrets also wait for each other.
    refusing = asyncio.Lock()

    def found(request: Request) -> FoundRun:
        return find(site.store(), request.path_params["run"], workflows)

    async def rows(request: Request) -> Response:
        return channels.stream("", lambda: RunList(site.store, workflows), request)

    def about(request: Request) -> Response:
        return JSONResponse(_about(found(request)))

    async def events(request: Request) -> Response:
        one = await asyncio.to_thread(found, request)

        def make() -> Source:
            store = site.store()
            if store is None:
                raise RecordProblem("R401", f"there is no run `{one.run}` any more")
            return RunSource(store, one)

        # Each version of a run has a channel: it may have other tasks.
        return channels.stream(one.record.prefix, make, request)

    def graph(request: Request) -> Response:
        one, query = found(request), request.query_params
        is_whole = query.get("whole") == "1"
        return JSONResponse(layouts.of(one.workflow, one.tasks, query.getlist("open"), is_whole=is_whole))

    def task(request: Request) -> Response:
        one, store = found(request), site.store()
        assert store is not None
        return JSONResponse(details_of(store, one, request.path_params["task"]))

    async def controlled(request: Request, act: Callable[[Site, str, bytes], dict[str, Any]]) -> Response:
        """Change a run, for those who know the secret."""
        kind, _, secret = request.headers.get("authorization", "").partition(" ")
        if not site.has_control:
            said = "nothing can be changed from this page"
            return JSONResponse({"error": said, "hint": "solvent web --control --secret-file FILE"}, status_code=403)
        if kind.lower() != "bearer" or not site.is_secret(secret):
            async with refusing:
                await asyncio.sleep(_PAUSE_SECONDS)
            return JSONResponse({"error": "that is not the secret"}, status_code=401)
        data = await request.body() if int(request.headers.get("content-length", "0")) <= _MAX_BYTES else b""
        return JSONResponse(await asyncio.to_thread(act, site, request.path_params["run"], data))

    async def stop(request: Request) -> Response:
        return await controlled(request, _cancel)

    async def signal(request: Request) -> Response:
        return await controlled(request, _signal)

    return [
        Route("/api/events", rows),
        Route("/api/runs/{run}", about),
        Route("/api/runs/{run}/events", events),
        Route("/api/runs/{run}/graph", graph),
        Route("/api/runs/{run}/tasks/{task:path}", task),
        Route("/api/runs/{run}/cancel", stop, methods=["POST"]),
        Route("/api/runs/{run}/signal", signal, methods=["POST"]),
    ]


def _about(found: FoundRun) -> dict[str, Any]:
    """Return what does not change while a version of a run goes on."""
    workflow = found.workflow
    service_of = {} if workflow is None else {task.name: task.service for task in workflow.tasks}
    tasks: list[dict[str, Any]] = [{"name": name, "service": service_of.get(name, "")} for name in found.tasks]
    record = found.record
    if workflow is not None and record.by_agents:
        number_of = {name: number for number, name in enumerate(found.tasks)}
        for shard, names in enumerate(shards_of(workflow, record)[0]):
            for name in names:
                tasks[number_of[name]]["shard"] = shard
    return {
        "run": found.run,
        "version": record.version,
        "workflow": record.workflow,
        "created": record.created,
        "agents": record.by_agents,
        "file": record.file,
        "is_known": workflow is not None,
        "tasks": tasks,
    }


def _signal(site: Site, run: str, data: bytes) -> dict[str, Any]:
    """Send a signal to a run; the page gives it an id, so that one that is sent twice is heard once."""
    store = site.store()
    if store is None or record_of(store, run) is None:
        raise RecordProblem("R401", f"there is no run `{run[:100]}`")
    try:
        told = msgspec.json.decode(data, type=_Signal)
    except msgspec.MsgspecError as error:
        raise Misuse("H319", f"a signal is sent as JSON, at most {_MAX_BYTES:,} bytes: {error}") from None
    return {"run": run, "id": send_signal(store, run, told.name, told.value, id=told.id)}


def _cancel(site: Site, run: str, _data: bytes) -> dict[str, Any]:
    store = site.store()
    record = None if store is None else record_of(store, run)
    if store is None or record is None:
        raise RecordProblem("R401", f"there is no run `{run[:100]}`")
    if not record.has_ended:
        end(store, record.prefix, "cancelled", "from the page")
    return {"run": run, "is_done": True}


__all__ = ["routes"]
