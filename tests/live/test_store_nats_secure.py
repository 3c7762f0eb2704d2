"""Who may use a store on NATS servers, who may listen, and what is never told."""

from __future__ import annotations

import base64
import json
import logging
import time
import traceback
from typing import TYPE_CHECKING, Any

import pytest

from solvent.store import StoreError, open_store
from tests.live.store_certificates import HAS_OPENSSL, Certificates, make_certificates
from tests.live.store_proxy import Proxy
from tests.live.store_servers import server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from solvent.store.server import Server

needs_openssl = pytest.mark.skipif(not HAS_OPENSSL, reason="no openssl to make certificates with")
SECRET = "h0rse-staple"  # noqa: S105 - of this test


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def guarded() -> Iterator[Server]:
    with server(user="ann", password=SECRET) as started:
        yield started


def _with(url: str, who: str) -> str:
    return url.replace("://", f"://{who}@", 1)


def test_a_user_with_a_password(guarded: Server) -> None:
    """Who knows the password is let in, and nobody else."""
    with open_store(_with(guarded.url, f"ann:{SECRET}")) as store:
        assert store.append("log", b"") > 0
    for url in (guarded.url, _with(guarded.url, "ann:wrong"), _with(guarded.url, "token")):
        with pytest.raises(StoreError, match=r"E401.*refuses access") as caught:
            open_store(url)
        assert "wrong" not in str(caught.value)


def test_a_token() -> None:
    """A token is a secret that all clients know; it may have any characters, written as URLs have it."""
    token = "a/b@c:d"  # noqa: S105 - of this test
    with server(token=token) as one, open_store(_with(one.url, "a%2Fb%40c%3Ad")) as store:
        assert store.append("log", b"") > 0


def test_secrets_are_never_told(guarded: Server, caplog: pytest.LogCaptureFixture) -> None:
    """Neither the store's text, nor its errors, nor what libraries write to the log has the password."""
    caplog.set_level(logging.DEBUG)
    told = list[str]()
    with Proxy(guarded.plan.port) as proxy, open_store(_with(proxy.url, f"ann:{SECRET}"), patience=0.5) as store:
        told += [repr(store), store.url, str(vars(store)), repr(store._link), repr(store._link._servers._address)]  # type: ignore[attr-defined]
        proxy.swallows_answers = True
        with pytest.raises(StoreError, match="E409") as lost:
            store.append("log", b"")
        told += ["".join(traceback.format_exception(lost.value))]
        proxy.swallows_answers = False
        proxy.cut()
        time.sleep(0.2)
    for url in (f"nats://ann:{SECRET}@127.0.0.1:1", f"nats://{SECRET}@bad host", f"nats://a@h?{SECRET}=1"):
        with pytest.raises(StoreError) as caught:
            open_store(url, patience=0.2)
        told += ["".join(traceback.format_exception(caught.value))]
    told += [record.getMessage() for record in caplog.records] + [repr(guarded.plan)]
    assert not any(SECRET in text for text in told)


def test_the_servers_file_is_for_its_owner_only(guarded: Server) -> None:
    """Passwords stand in a file that nobody else may read."""
    file = guarded.plan.folder / "server.conf"
    assert SECRET in file.read_text()
    assert file.stat().st_mode & 0o077 == 0
    assert SECRET not in guarded.log.read_text()


@needs_openssl
def test_tls_with_an_authority_that_is_known(certificates: Certificates, tmp_path: Path) -> None:
    """A server that proves who it is is talked to; one whose authority is unknown is not."""
    other = make_certificates(tmp_path / "other")
    with server(cert=certificates.cert, key=certificates.key) as one:
        with open_store(f"{one.url}?ca={certificates.ca}") as store:
            assert one.url.startswith("tls://")
            assert store.url.startswith("tls://")
            assert store.append("log", b"") > 0
        for url in (one.url, f"{one.url}?ca={other.ca}"):
            with pytest.raises(StoreError, match=r"E401.*a certificate that is not trusted"):
                open_store(url, patience=5)


@needs_openssl
def test_clients_may_have_to_prove_who_they_are(certificates: Certificates, tmp_path: Path) -> None:
    """With an authority for clients, only those with a certificate of it are let in."""
    other = make_certificates(tmp_path / "other")
    with server(cert=certificates.cert, key=certificates.key, ca=certificates.ca) as one:
        mine = f"?ca={certificates.ca}&cert={certificates.cert}&key={certificates.key}"
        with open_store(one.url + mine) as store:
            assert store.append("log", b"") > 0
        theirs = f"?ca={certificates.ca}&cert={other.cert}&key={other.key}"
        for options in (f"?ca={certificates.ca}", theirs):
            with pytest.raises(StoreError, match=r"(?s)E40[12].* certificate"):
                open_store(one.url + options, patience=2)


@needs_openssl
def test_nothing_is_said_in_the_clear(guarded: Server, certificates: Certificates) -> None:
    """A server that offers no TLS, or somebody in between, gets no password from who wants TLS."""
    with Proxy(guarded.plan.port) as proxy:
        url = _with(proxy.url.replace("nats://", "tls://"), f"ann:{SECRET}")
        with pytest.raises(StoreError, match=r"E401.*no TLS"):
            open_store(f"{url}?ca={certificates.ca}")
        assert SECRET.encode() not in proxy.sent
        assert b"CONNECT" not in proxy.sent


@needs_openssl
def test_files_that_are_of_no_use(certificates: Certificates, tmp_path: Path) -> None:
    """A file that is missing, or no certificate, is an error with a code."""
    (tmp_path / "text").write_text("no certificate")
    for options, said in (
        (f"ca={tmp_path}/none", "the file for TLS .ca. cannot be read"),
        (f"ca={tmp_path}/text", "the files for TLS"),
        (f"cert={tmp_path}/text", "must be given together"),
        (f"creds={tmp_path}/none", ""),
    ):
        with pytest.raises(StoreError, match=f"E401.*{said}"):
            open_store(f"nats://127.0.0.1:4222?{options}")


# -------------------------------------------------------------------------------------------------- credentials files


def _token_of(claims: dict[str, Any], signer: Any) -> str:
    """Give a token as NATS' accounts have it: claims, signed by a key."""

    def part(value: bytes) -> str:
        return base64.urlsafe_b64encode(value).rstrip(b"=").decode()

    header = part(json.dumps({"typ": "JWT", "alg": "ed25519-nkey"}).encode())
    body = part(json.dumps({"iat": int(time.time()), "iss": signer.public_key.decode(), "jti": "1", **claims}).encode())
    return f"{header}.{body}.{part(signer.sign(f'{header}.{body}'.encode()))}"


def test_a_file_of_credentials(tmp_path: Path) -> None:
    """A user of an account, by a file with a token and a key, is let in; one whose file is damaged is not."""
    nkeys = pytest.importorskip("nkeys")
    operator, account, user, system = (
        nkeys.from_seed(nkeys.encode_seed(bytes([number]) * 32, prefix))
        for number, prefix in (
            (1, nkeys.PREFIX_BYTE_OPERATOR),
            (2, nkeys.PREFIX_BYTE_ACCOUNT),
            (3, nkeys.PREFIX_BYTE_USER),
            (4, nkeys.PREFIX_BYTE_ACCOUNT),
        )
    )
    everything = {"mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1}
    none = {"subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "conn": -1, "leaf": -1}
    accounts = {"type": "account", "version": 2, "limits": none | {"wildcards": True} | everything}
    users = {"type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1}
    of_operator = _token_of({"sub": operator.public_key.decode(), "nats": {"type": "operator", "version": 2}}, operator)
    of_account = _token_of({"sub": account.public_key.decode(), "name": "A", "nats": accounts}, operator)
    of_user = _token_of({"sub": user.public_key.decode(), "nats": users}, account)
    creds = tmp_path / "user.creds"
    seed = user.seed.decode()
    creds.write_text(
        f"-----BEGIN NATS USER JWT-----\n{of_user}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    )
    whole = {"type": "account", "version": 2, "limits": none | {"wildcards": True}}
    of_system = _token_of({"sub": system.public_key.decode(), "name": "S", "nats": whole}, operator)
    known = f"{account.public_key.decode()}: {of_account}\n{system.public_key.decode()}: {of_system}\n"
    more = (
        f"operator: {of_operator}\nsystem_account: {system.public_key.decode()}\n"
        f"resolver: MEMORY\nresolver_preload {{\n{known}}}\n"
    )
    with server(more=more) as one:
        with open_store(f"{one.url}?creds={creds}") as store:
            assert store.append("log", b"") > 0
            assert seed not in repr(vars(store))
        with pytest.raises(StoreError, match="E401"):
            open_store(one.url)
        creds.write_text("nothing of use")
        with pytest.raises(StoreError, match="E401"):
            open_store(f"{one.url}?creds={creds}")
