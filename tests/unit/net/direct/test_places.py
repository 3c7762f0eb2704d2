"""Where hosts listen, and how they are reached."""

from __future__ import annotations

import socket
from contextlib import closing

import pytest

from solvent.errors import NodeProblem
from solvent.net.direct import places


@pytest.mark.parametrize("where, code", [(("127.0.0.1", 70_000), "N101"), (("192.0.2.1", 0), "N103"), (None, "N102")])
def test_where_nobody_can_listen_is_refused(where: tuple[str, int] | None, code: str) -> None:
    """What is no port, an address of another machine and a port that is taken have codes of their own."""
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(NodeProblem) as problem:
        places.listen(where or taken.getsockname())
    assert problem.value.code == code


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
