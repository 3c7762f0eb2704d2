"""How two nodes make sure of each other."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from solvent.net import handshake
from solvent.net.codec import Nonsense
from solvent.net.handshake import Challenge, Identity, Refused
from solvent.protocols.machine import NodeId

A, B = NodeId(0), NodeId(1)
DIALLER = Identity(A, "echo", "run 1", b"secret")
ACCEPTOR = Identity(B, "echo", "run 1", b"secret")


@pytest.mark.parametrize(
    "change,reason",
    [
        ({"protocol": "token"}, "the protocol `token`"),
        ({"version": 99}, "version 99"),
        ({"run": "run 2"}, "the run `run 2`"),
        ({"wants": A}, "it wants node 0"),
    ],
)
def test_a_stranger_is_refused_with_a_reason(change: dict[str, object], reason: str) -> None:
    """A node of another protocol, version or run, or one that looks for another node, hears why it is refused."""
    answer = handshake.challenge(ACCEPTOR, replace(handshake.hello(DIALLER, B), **change))
    assert isinstance(answer, Refused)
    assert reason in answer.reason


def test_an_acceptor_without_the_secret_is_noticed() -> None:
    """The dialler says nothing more to a node that does not know the secret."""
    said = handshake.hello(DIALLER, B)
    for secret in (b"", b"other"):
        asked = handshake.challenge(replace(ACCEPTOR, secret=secret), said)
        assert isinstance(asked, Challenge)
        with pytest.raises(Nonsense, match="does not know the secret"):
            handshake.prove(DIALLER, said, asked)


def test_a_missing_secret_is_named() -> None:
    """A dialler that was given no secret says so."""
    said = handshake.hello(replace(DIALLER, secret=b""), B)
    asked = handshake.challenge(ACCEPTOR, said)
    assert isinstance(asked, Challenge)
    with pytest.raises(Nonsense, match="none is given here"):
        handshake.prove(replace(DIALLER, secret=b""), said, asked)


def test_a_proof_serves_once() -> None:
    """A proof that was overheard does not open another connection."""
    said = handshake.hello(DIALLER, B)
    asked, again = handshake.challenge(ACCEPTOR, said), handshake.challenge(ACCEPTOR, said)
    assert isinstance(asked, Challenge)
    assert isinstance(again, Challenge)
    assert not handshake.is_proved(ACCEPTOR, said, again, handshake.prove(DIALLER, said, asked))


def test_an_identity_hides_its_secret() -> None:
    """The secret is not shown where an identity is."""
    assert "secret" not in repr(DIALLER)


@given(st.binary(max_size=40))
def test_any_bytes_are_a_handshake_or_nonsense(body: bytes) -> None:
    """No bytes raise anything else."""
    with contextlib.suppress(Nonsense):
        handshake.decode(body)
