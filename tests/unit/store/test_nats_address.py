"""Addresses of stores on NATS servers."""

from __future__ import annotations

import pytest

from solvent.errors import StoreError
from solvent.store.nats_client import Address, read_address


def test_the_plainest_address() -> None:
    """A host is enough: port and name are the usual ones."""
    assert read_address("nats://host") == Address(servers=("host:4222",), name="solvent")


def test_everything_that_an_address_can_say() -> None:
    """Servers, name, replicas, durability, and who we are."""
    address = read_address("nats://ann:a%20b%40c@one:1,[::1]:2,10.0.0.3/store-2?replicas=3&durable=yes")
    assert address.servers == ("one:1", "[::1]:2", "10.0.0.3:4222")
    assert (address.name, address.replicas, address.is_durable, address.is_tls) == ("store-2", 3, True, False)
    assert (address.user, address.password, address.token) == ("ann", "a b@c", "")


def test_a_token_is_alone_before_the_at_sign() -> None:
    """Without a colon, what is before the `@` is a token."""
    address = read_address("nats://a%3Ab@host")
    assert (address.token, address.user, address.password) == ("a:b", "", "")


@pytest.mark.parametrize("url", ["tls://host", "nats://host?ca=x", "nats://host?cert=x", "nats://host?key=x"])
def test_tls_is_meant_by_its_scheme_or_its_files(url: str) -> None:
    """Who names an authority or a certificate wants TLS."""
    assert read_address(url).is_tls


def test_what_is_shown_has_no_secrets() -> None:
    """Neither what is shown nor `repr` has a password, a token or the path of a key."""
    for url in ("tls://ann:hidden@host?key=hidden&durable=no&replicas=1", "nats://hidden@host"):
        address = read_address(url)
        assert "hidden" not in address.shown + repr(address)
    assert read_address("tls://ann:x@host?durable=no&replicas=1").shown == (
        "tls://host:4222/solvent?replicas=1&durable=no"
    )


@pytest.mark.parametrize(
    "url",
    [
        "nats://",
        "nats://hidden host",
        "nats://host:0",
        "nats://host:70000",
        "nats://host:hidden",
        "nats://@host",
        "nats://one,,two",
        "nats://host/a/hidden",
        "nats://host/a.hidden",
        "nats://host?replicas=hidden",
        "nats://host?replicas=6",
        "nats://host?replicas=0",
        "nats://host?durable=hidden",
        "nats://host?hid-den=1",
        "nats://host?creds=/none/hidden",
        "ws://host",
    ],
)
def test_addresses_that_cannot_be(url: str) -> None:
    """What is wrong is an error with a code, which repeats nothing that may be secret."""
    with pytest.raises(StoreError, match="E401") as caught:
        read_address(url)
    assert "hidden" not in caught.value.show()


@pytest.mark.parametrize("options", ["ca=/none", "cert=/none"])
def test_files_for_tls_must_be_there(options: str) -> None:
    """Certificates are read when the connection is made ready."""
    with pytest.raises(StoreError, match="E401"):
        read_address(f"tls://host?{options}").tls_context()
    assert read_address("nats://host").tls_context() is None
