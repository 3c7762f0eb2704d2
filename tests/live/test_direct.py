"""Direct hosts that talk to each other in one process: order, broken lines, floods, strangers, and who is lost."""

from __future__ import annotations

import random
import socket
import struct
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from solvent.net import Codec, Identity, Journal, PeerFault, handshake
from solvent.net.codec import framed
from solvent.net.direct.places import HAS_NAMES
from solvent.net.direct.way import ASKING, COUNT
from solvent.net.handshake import FORGETFUL, Challenge
from solvent.net.ports import free_ports
from solvent.protocols.machine import NodeId, PeerRestarted
from tests.live.direct_nodes import SECONDS, A, B, Clerk, Talk, Word, eventually, talking

if TYPE_CHECKING:
    from pathlib import Path

WORDS = 400


@pytest.mark.parametrize("seed", range(6))
def test_words_arrive_once_and_in_order_however_often_lines_break(seed: int) -> None:
    """Connections are cut at random while both speak; what was not taken is said again, and nothing twice."""
    chance = random.Random(seed)
    with talking(A, B) as (a, b):
        for number in range(WORDS):
            for speaker, listener in ((a, b), (b, a)):
                speaker.say(listener.node, number, letters=chance.choice((0, 10, 5000)))
                line = speaker.line_to(listener.node)
                if line is not None and chance.random() < 0.05:
                    with suppress(OSError):
                        line.shutdown(chance.choice((socket.SHUT_RDWR, socket.SHUT_RD, socket.SHUT_WR)))
        a.wait_for(B, WORDS)
        b.wait_for(A, WORDS)
        assert a.ears.numbers(B) == list(range(WORDS)) == b.ears.numbers(A)


def test_two_that_fill_each_others_buffers_go_on() -> None:
    """Far more than the system holds, said both ways before either reads: nothing blocks, and all arrives."""
    with talking(A, B) as (a, b):
        threads = [
            threading.Thread(target=one.say, args=(other, 0, 300), kwargs={"letters": 40_000})
            for one, other in ((a, B), (b, A))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        a.wait_for(B, 300)
        b.wait_for(A, 300)
        assert a.ears.numbers(B) == list(range(300)) == b.ears.numbers(A)


def test_a_message_may_be_larger_than_any_buffer() -> None:
    """And what comes behind it waits for it."""
    with talking(A, B) as (a, b):
        a.say(B, 0, letters=10_000_000)
        a.say(B, 1)
        b.wait_for(A, 2)
        assert [(one.number, one.letters) for one in b.ears.heard] == [(0, 10_000_000), (1, 0)]


def test_a_message_too_large_for_a_frame_is_told_and_the_others_arrive() -> None:
    """A batch that is too long for one frame goes in several, also across a broken line."""
    with talking(A, B, codec=Codec(Word, max_frame_bytes=2000)) as (a, b):
        a.say(B, 0, 5, letters=900)
        a.say(B, 99, letters=3000)
        a.say(B, 5, 5, letters=900)
        b.wait_for(A, 10)
        line = a.line_to(B)
        assert line is not None
        line.shutdown(socket.SHUT_RDWR)
        a.say(B, 10, 5, letters=900)
        b.wait_for(A, 15)
        assert b.ears.numbers(A) == list(range(15))
        assert "too large" in a.ears.faults[0].reason


def test_words_wait_for_a_node_that_comes_later() -> None:
    """It is found when it is there."""
    places: dict[NodeId, tuple[str, int]] = {}
    a = Talk(A, places)
    try:
        a.say(B, 0, 3)
        b = Talk(B, places)
        try:
            b.wait_for(A, 3)
            assert b.ears.numbers(A) == [0, 1, 2]
        finally:
            b.close()
    finally:
        a.close()


def test_a_node_that_nobody_told_of_is_answered_where_it_says_that_it_is() -> None:
    """Whoever dials says where it listens."""
    places: dict[NodeId, tuple[str, int]] = {}
    b = Talk(B, places, find=lambda _: None)
    a = Talk(A, places)
    try:
        a.say(B, 7, wants_echo=True)
        a.wait_for(B, 1)
    finally:
        a.close()
        b.close()


def test_close_sends_what_was_said() -> None:
    """Also what the system did not take at once."""
    with talking(A, B) as (a, b):
        a.say(B, 0, 200, letters=20_000)
        a.close()
        b.wait_for(A, 200)


def test_strangers_are_refused_and_told() -> None:
    """Nonsense, another secret, another run: dropped, and the node goes on."""
    places: dict[NodeId, tuple[str, int]] = {}
    b = Talk(B, places)
    strangers = [
        Talk(NodeId(5), dict(places), secret=b"another"),
        Talk(NodeId(6), dict(places), secret=b""),
        Talk(NodeId(7), dict(places), run="another"),
    ]
    try:
        for stranger in strangers:
            stranger.say(B, 0)
            stranger.wait(lambda stranger=stranger: bool(stranger.ears.faults))
        with socket.create_connection(b.host.address) as line:
            line.sendall(framed(b"nonsense"))
            assert line.recv(100) == b""
        with socket.create_connection(b.host.address) as line:
            line.sendall(b"\xff\xff\xff\xff")
            assert line.recv(100) == b""
        eventually(lambda: len(b.ears.faults) >= 3)
        assert all(isinstance(fault, PeerFault) for fault in b.ears.faults)
        assert b.ears.heard == []
        a = Talk(A, places)
        a.say(B, 1)
        b.wait_for(A, 1)
        a.close()
    finally:
        for one in (b, *strangers):
            one.close()


@pytest.mark.skipif(not HAS_NAMES, reason="this system has no names for sockets that are no files")
def test_where_another_has_the_name_the_port_is_dialled() -> None:
    """Two nodes at one port of two addresses of this machine: each gets its own words."""
    places: dict[NodeId, tuple[str, int]] = {}
    (port,) = free_ports(1)
    b = Talk(B, places, listen=("127.0.0.1", port))
    c = Talk(NodeId(2), places, listen=("127.0.0.2", port))
    a = Talk(A, places)
    try:
        a.say(B, 1)
        a.say(NodeId(2), 2)
        b.wait_for(A, 1)
        c.wait_for(A, 1)
        assert (b.ears.numbers(A), c.ears.numbers(A)) == ([1], [2])
        assert a.ears.faults == b.ears.faults == c.ears.faults == []
    finally:
        for one in (a, b, c):
            one.close()


def test_a_node_that_is_forgotten_is_neither_heard_nor_told_anything() -> None:
    """Its words are dropped, and its connections refused."""
    with talking(A, B) as (a, b):
        a.say(B, 0, wants_echo=True)
        a.wait_for(B, 1)
        a.host.forget(B)
        b.say(A, 5)
        a.say(B, 1)
        b.wait(lambda: not b.host._board.known)
        assert a.host.counters.messages_dropped == 1
        eventually(lambda: any("given up" in fault.reason for fault in a.ears.faults))
        assert a.ears.numbers(B) == [0]


def test_a_node_that_is_watched_is_lost_when_nobody_listens_any_more() -> None:
    """It is told once; one that is not watched is not told."""
    with talking(A, B, NodeId(2)) as (a, b, c):
        a.host.watch([B], patience=30)
        a.wait(lambda: B in a.host._board.heard)
        b.close()
        c.close()
        a.wait(lambda: bool(a.ears.losses))
        assert [peer for peer, _ in a.ears.losses] == [B]


def test_a_node_that_is_watched_is_lost_though_another_one_has_its_port_now() -> None:
    """Who answers where it was is somebody else, however often that one answers."""
    places = dict[NodeId, Any]()
    a, b = Talk(A, places), Talk(B, places)
    a.host.watch([B], patience=SECONDS)
    a.say(B, 0)
    b.wait_for(A, 1)
    b.close()
    another = Talk(NodeId(2), {}, listen=places[B])
    try:
        a.wait(lambda: bool(a.ears.losses))
        assert [peer for peer, _ in a.ears.losses] == [B]
    finally:
        a.close()
        another.close()


@pytest.mark.parametrize("is_watched_first", [True, False])
def test_a_node_that_is_watched_and_forgotten_is_lost(*, is_watched_first: bool) -> None:
    """Nothing is heard of it any more, so whoever waits for something of it must not wait for ever."""
    with talking(A, B) as (a, _):
        if is_watched_first:
            a.host.watch([B], patience=0.5)
        a.host.forget(B)
        a.host.watch([B], patience=0.5)
        a.wait(lambda: bool(a.ears.losses))
        assert [peer for peer, _ in a.ears.losses] == [B]


def test_nodes_that_are_watched_and_answer_are_not_lost() -> None:
    """Though nobody says a word, for several times the patience; one side is enough to watch."""
    with talking(A, B) as (a, b):
        a.host.watch([B], patience=1.5)
        assert a.host.wait(lambda: bool(a.ears.losses), 4.0) is False
        a.host.watch([])
        assert not a.host._board.is_watched(B)
        assert b.ears.losses == []


def _life(node: NodeId, path: Path, places: dict[NodeId, Any]) -> Talk:
    """Start a node with a journal: a new life, if it had one before."""
    return Talk(node, places, journal=Journal(path))


def _restarts(talk: Talk) -> list[Any]:
    return [outcome for outcome in talk.ears.faults if isinstance(outcome, PeerRestarted)]


def test_a_restart_is_told_before_anything_that_the_new_life_says(tmp_path: Path) -> None:
    """What was said to the former life is lost with it, and what is said afterwards arrives."""
    places = dict[NodeId, Any]()
    a, b = Talk(A, places), _life(B, tmp_path / "b", places)
    try:
        a.say(B, 0)
        b.say(A, 0)
        b.wait_for(A, 1)
        a.wait_for(B, 1)
        b.close()
        a.say(B, 1)
        b = _life(B, tmp_path / "b", places)
        b.say(A, 2)
        a.wait_for(B, 2)
        assert _restarts(a) == [PeerRestarted(B)]
        assert a.ears.heard_at_restart == [1]
        a.say(B, 3)
        b.wait_for(A, 1)
        assert b.ears.numbers(A) == [3]
    finally:
        a.close()
        b.close()


def test_a_restarted_node_that_has_nothing_to_say_greets(tmp_path: Path) -> None:
    """The others hear of its restart all the same, and of each restart once."""
    places = dict[NodeId, Any]()
    a, b = Talk(A, places), _life(B, tmp_path / "b", places)
    try:
        for lives in range(1, 4):
            b.close()
            b = _life(B, tmp_path / "b", places)
            b.host.greet([A])
            a.wait(lambda lives=lives: len(_restarts(a)) == lives)
            # Over the connection that is there.
            b.host.greet([A])
            b.say(A, lives)
            a.wait_for(B, lives)
        assert len(_restarts(a)) == 3
    finally:
        a.close()
        b.close()


def test_a_node_with_an_older_journal_is_refused(tmp_path: Path) -> None:
    """It has forgotten what it was."""
    places = dict[NodeId, Any]()
    path = tmp_path / "b"
    a, b = Talk(A, places), _life(B, path, places)
    try:
        older = path.read_bytes()
        for number in range(3):
            b.say(A, number)
            a.wait_for(B, number + 1)
            b.close()
            if number == 2:
                path.write_bytes(older)
            b = _life(B, path, places)
        b.say(A, 3)
        b.wait(lambda: any(FORGETFUL in fault.reason for fault in b.ears.faults))
        assert a.ears.numbers(B) == [0, 1, 2]
    finally:
        a.close()
        b.close()


class SlowJournal(Journal):
    """A journal on a slow disk."""

    def commit(self) -> None:
        """Take a while."""
        if self.is_pending:
            time.sleep(0.01)
        super().commit()


def test_a_count_is_said_when_what_was_saved_is_safe(tmp_path: Path) -> None:
    """Whoever hears that a message was taken finds what came of it in the journal."""
    path = tmp_path / "b"
    places = dict[NodeId, Any]()
    b = Talk(B, places, machine=Clerk(), journal=SlowJournal(path))
    identity = Identity(A, "talk", "test", b"of the tests")
    try:
        with socket.create_connection(places[B]) as line:
            hello = handshake.hello(identity, B)
            line.sendall(handshake.encode(hello))
            asked = handshake.decode(_frame(line))
            assert isinstance(asked, Challenge)
            line.sendall(handshake.encode(handshake.prove(identity, hello, asked)))
            for number in range(30):
                assert COUNT.unpack(line.recv(COUNT.size)) == (number,)
                assert len(_saved(path)) == number
                line.sendall(Codec(Word).encode([Word(number)], print) + ASKING)
    finally:
        b.close()


def _frame(line: socket.socket) -> bytes:
    (length,) = struct.unpack("!I", line.recv(4))
    return line.recv(length)


def _saved(path: Path) -> list[Any]:
    """Read the journal of a node that runs."""
    copy = path.with_suffix(".copy")
    copy.write_bytes(path.read_bytes())
    journal = Journal(copy).open()
    journal.close()
    return list(journal.saved)
