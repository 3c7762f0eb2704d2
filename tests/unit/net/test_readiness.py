"""Waiting for files and sockets."""

from __future__ import annotations

import os
import resource
import socket
from typing import TYPE_CHECKING

import pytest

from solvent.net.readiness import is_readable, is_writable

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def far() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Two connected sockets; the first one's number is above 1,023."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2000:
        pytest.skip("a process may not open so many files here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2000), hard))
    near, other = socket.socketpair()
    number = next(number for number in range(1500, 2000) if not _is_open(number))
    os.dup2(near.fileno(), number)
    near.close()
    with socket.socket(fileno=number) as one, other:
        yield one, other
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def test_a_file_of_any_number_is_waited_for(far: tuple[socket.socket, socket.socket]) -> None:
    """A process with more than a thousand open files waits for the next one like for the others."""
    one, other = far
    assert not is_readable(one, 0)
    assert is_writable(one, 0)
    other.sendall(b"x")
    assert is_readable(one, 10)
