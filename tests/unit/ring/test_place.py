"""What is given to a ring, read and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from solvent.errors import SolventError
from solvent.ring import join

if TYPE_CHECKING:
    from pathlib import Path

    from solvent.ring.place import RingPlace

PEERS = {0: "127.0.0.1:7000", 1: "127.0.0.1:7001"}


def _place(**given: Any) -> RingPlace:
    return join(**given)._node.place


def test_first_members_know_each_other() -> None:
    """A node listens where the list says it is, whether the list is text or a mapping."""
    place = _place(node=1, peers=PEERS)
    assert place.listen == ("127.0.0.1", 7001)
    assert place.members == {0: ("127.0.0.1", 7000), 1: ("127.0.0.1", 7001)}
    assert _place(node=1, peers="0=127.0.0.1:7000,1=127.0.0.1:7001") == place
    assert _place(node=1, peers={0: ("127.0.0.1", 7000), 1: ("127.0.0.1", 7001)}) == place


def test_where_a_node_listens_may_differ_from_where_it_is_found() -> None:
    """It listens everywhere, and the others find it at its address."""
    place = _place(node=1, peers=PEERS, listen="0.0.0.0:9000", secret=b"s")
    assert place.listen == ("0.0.0.0", 9000)  # noqa: S104
    assert place.address == ("127.0.0.1", 7001)
    assert _place(listen="[::]:9000", address="[::1]:9000", secret=b"s").address == ("::1", 9000)


@pytest.mark.parametrize(
    "given",
    [
        {"listen": "10.0.0.1:7000"},
        {"join": "10.0.0.1:7000"},
        {"peers": "0=127.0.0.1:7000,1=10.0.0.1:7000"},
        {"address": "10.0.0.1:7000"},
        {"peers": PEERS, "listen": "0.0.0.0:9000"},
    ],
)
def test_beyond_this_machine_a_secret_is_required(given: dict[str, Any]) -> None:
    """A node that others of other machines can reach needs a secret, or the word that none is wanted."""
    with pytest.raises(SolventError) as caught:
        _place(**given)
    assert caught.value.code == "S210"
    assert _place(**given, secret=False).secret == b""


def test_a_node_alone_begins_a_ring() -> None:
    """Without anybody else it is the first member, at any free port of this machine."""
    place = _place()
    assert (place.node, place.listen, list(place.members)) == (0, ("127.0.0.1", 0), [0])


def test_a_newcomer_gets_a_number() -> None:
    """Two newcomers that do not know of each other get different ones."""
    one, other = _place(join="127.0.0.1:7000"), _place(join=["127.0.0.1:7000", "127.0.0.1:7001"])
    assert one.node != other.node
    assert not one.members
    assert other.contacts == (("127.0.0.1", 7000), ("127.0.0.1", 7001))
    assert _place(join=("127.0.0.1", 7000)).contacts == (("127.0.0.1", 7000),)


def test_a_journal_may_be_a_folder(tmp_path: Path) -> None:
    """Nodes that share a folder have files of their own."""
    assert _place(node=0, journal=tmp_path).journal == tmp_path / "ring-0.journal"
    assert _place(node=0, journal=tmp_path / "mine").journal == tmp_path / "mine"
    assert _place(node=0).journal is None


def test_a_secret_may_be_text() -> None:
    """It is bytes in the end, and is never shown."""
    place = _place(secret="open sesame")  # noqa: S106 - for this test alone
    assert place.secret == b"open sesame"
    assert "sesame" not in repr(place)


@pytest.mark.parametrize(
    "given,code",
    [
        ({"peers": PEERS, "join": "127.0.0.1:7000"}, "P340"),
        ({"node": -1}, "P340"),
        ({"node": "0"}, "P340"),
        ({"node": True}, "P340"),
        ({"peers": ["127.0.0.1:7000"]}, "P340"),
        ({"peers": {"0": "127.0.0.1:7000"}}, "P340"),
        ({"peers": {0: "here"}}, "N104"),
        ({"peers": {0: ("127.0.0.1", 99_999)}}, "N104"),
        ({"peers": "here"}, "N105"),
        ({"join": "here"}, "N104"),
        ({"join": 7000}, "N104"),
        ({"listen": "here"}, "N104"),
        ({"listen": "0.0.0.0:7000"}, "N106"),
        ({"patience": 0}, "P340"),
        ({"patience": float("nan")}, "P340"),
        ({"patience": "long"}, "P340"),
        ({"kept": -1}, "P340"),
        ({"name": None}, "P340"),
    ],
)
def test_what_cannot_be_is_a_clear_error(given: dict[str, Any], code: str) -> None:
    """Whatever is wrong is told at the call, before anything is opened."""
    with pytest.raises(SolventError) as wrong:
        join(**given)
    assert wrong.value.code == code
