"""Lambdas and local functions as services in worker processes: they need `cloudpickle`."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest

import solvent
from solvent import service, workflow

CLOUDPICKLE = "define it at the top of a module, install `cloudpickle`, or run without worker processes"
PLAIN = "define it at the top of a module, or run without worker processes"


def _local(factor: int) -> Any:
    """Make a workflow of a lambda, of a function that closes over a value, and of one that calls itself."""
    more = service(lambda x: x + 1)

    @service
    def times(x: int) -> int:
        return factor * x

    @service
    def factorial(x: int) -> int:
        return x * factorial(x - 1) if x > 1 else 1

    @workflow
    def flow(x: int) -> int:
        return factorial(times(more(x)))

    return flow


def test_lambdas_and_local_functions_run_in_worker_processes() -> None:
    """With `cloudpickle` installed, services made of a lambda or of a local function run in worker processes."""
    pytest.importorskip("cloudpickle")
    report = solvent.run(_local(2), {"x": 1}, jobs=1, processes=True)
    assert list(report.results.values()) == [24], report.failures


def test_without_cloudpickle_the_hint_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `cloudpickle` the error says to install it, before anything runs."""
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(solvent.SolventError) as caught:
        solvent.run(_local(2), {"x": 1}, processes=True)
    assert (caught.value.code, caught.value.hint) == ("W176", CLOUDPICKLE)


def test_what_cloudpickle_cannot_send_is_not_blamed_on_its_absence() -> None:
    """A function that keeps what no process can pass on is refused, without the advice to install what is there."""
    pytest.importorskip("cloudpickle")
    lock = threading.Lock()
    locked = service(lambda: not lock.locked())

    @workflow
    def flow() -> bool:
        return locked()

    with pytest.raises(solvent.SolventError) as caught:
        solvent.run(flow, processes=True)
    assert (caught.value.code, caught.value.hint) == ("W176", PLAIN)
    assert "cannot pickle '_thread.lock' object" in caught.value.message
