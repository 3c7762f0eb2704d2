"""NATS servers for tests: one, or a cluster of three, on loopback, from the wheel, in folders that go afterwards."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.store.cluster import Cluster
from solvent.store.server import Plan, Server

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def served() -> Iterator[str]:
    """Give the address of a server."""
    with server() as one:
        yield one.url


@contextmanager
def server(**options: Any) -> Iterator[Server]:
    """Start a server, with what a `Plan` may say."""
    with _folder() as folder, Server(Plan(folder=folder, **options)) as one:
        yield one


@contextmanager
def cluster(**options: Any) -> Iterator[Cluster]:
    """Start three servers that keep the same."""
    with _folder() as folder, Cluster(folder, **options) as three:
        yield three


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="solvent-test-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
