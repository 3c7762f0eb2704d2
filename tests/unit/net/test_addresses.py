"""Where nodes listen, as people write it."""

from __future__ import annotations

import pytest

from solvent.errors import NodeProblem
from solvent.net.addresses import address_from_text, peers_from_text, text_from_address


@pytest.mark.parametrize(
    "text,address",
    [
        ("127.0.0.1:7000", ("127.0.0.1", 7000)),
        ("localhost:0", ("localhost", 0)),
        ("[::1]:7000", ("::1", 7000)),
    ],
)
def test_an_address_is_read_and_written(text: str, address: tuple[str, int]) -> None:
    """A host and a port; colons inside a host are held together by brackets."""
    assert address_from_text(text) == address
    assert text_from_address(address) == text


@pytest.mark.parametrize("text", ["", "host", "host:", ":7000", "host:port", "host:-1", "host:65536", "::1:7000"])
def test_no_address_is_a_clear_error(text: str) -> None:
    """What is no address is named, with the form that is wanted."""
    with pytest.raises(NodeProblem, match="is not an address") as caught:
        address_from_text(text)
    assert "HOST:PORT" in caught.value.hint


def test_peers_are_read() -> None:
    """Several nodes may be separated by commas, blanks or lines."""
    assert peers_from_text("0=a:1, 2=b:2\n3=c:3") == {0: ("a", 1), 2: ("b", 2), 3: ("c", 3)}
    assert peers_from_text("") == {}


@pytest.mark.parametrize("text", ["a:1", "x=a:1", "-1=a:1", "0=a:1,0=b:2", "0=a"])
def test_no_peers_are_a_clear_error(text: str) -> None:
    """What is no list of nodes and addresses is refused."""
    with pytest.raises(NodeProblem):
        peers_from_text(text)
