"""Where hosts listen, and how they are reached."""

from __future__ import annotations

import socket
from contextlib import closing

import pytest

from solvent.errors import NodeProblem
from solvent.net.direct import places


def test_a_port_that_is_taken_is_refused_with_its_number() -> None:
    """N102, and what to do."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(NodeProblem, match=str(port)) as problem:
            places.listen(("127.0.0.1", port))
    assert problem.value.code == "N102"


def test_a_number_that_is_no_port_is_refused() -> None:
    """N101."""
    with pytest.raises(NodeProblem) as problem:
        places.listen(("127.0.0.1", 70_000))
    assert problem.value.code == "N101"


def test_an_address_of_another_machine_cannot_be_listened_at() -> None:
    """N103."""
    with pytest.raises(NodeProblem) as problem:
        places.listen(("192.0.2.1", 0))
    assert problem.value.code == "N103"


@pytest.mark.skipif(not places.HAS_NAMES, reason="this system has no names for sockets that are no files")
def test_a_host_of_this_machine_is_reached_by_its_name() -> None:
    """And one of another machine is not looked for there."""
    doors, address = places.listen(("127.0.0.1", 0))
    try:
        found = places.dial_by_name(address, ("127.0.0.1", 1))
        assert found is not None
        with closing(found[0]):
            assert found[0].family == socket.AF_UNIX
        assert places.dial_by_name(("192.0.2.1", address[1]), ("127.0.0.1", 1)) is None
    finally:
        for door in doors:
            door.close()
    assert places.dial_by_name(address, ("127.0.0.1", 1)) is None


def test_a_port_is_dialled_without_waiting() -> None:
    """It is connected when it can be written to."""
    doors, address = places.listen(("127.0.0.1", 0))
    line, _ = places.dial(address)
    with closing(line):
        assert line.getblocking() is False
        assert line.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        accepted = False
        while not accepted:
            try:
                doors[0].accept()[0].close()
                accepted = True
            except BlockingIOError:
                continue
    for door in doors:
        door.close()
