"""What NATS servers are told."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from urllib.parse import quote

import pytest

from bench.store.cluster import Cluster
from solvent.store import StoreError, open_store
from solvent.store.server import Plan, Server
from tests.unheard import interrupt_unheard

FOLDER = Path('/srv/a "store"')


def test_the_plainest_configuration() -> None:
    """A server listens on loopback, and keeps things in its folder; names are quoted."""
    assert Plan(folder=FOLDER, port=4222).configuration() == (
        'server_name: "solvent"\nhost: "127.0.0.1"\nport: 4222\nmax_payload: 8388608\n'
        'jetstream {\n  store_dir: "/srv/a \\"store\\"/store"\n}\n'
    )


def test_a_durable_server_syncs_always() -> None:
    """Only a durable server is told to bring everything to the disk at once."""
    assert "  sync_interval: always\n" in Plan(folder=FOLDER, is_durable=True).configuration()
    assert "sync" not in Plan(folder=FOLDER).configuration()


def test_who_joins_a_cluster_must_know_the_secret() -> None:
    """The secret of the clients guards the way between servers, too, written as URLs have it."""
    text = Plan(folder=FOLDER, token="a b", cluster_port=1, routes=("h:1",)).configuration()  # noqa: S106
    assert 'routes: ["nats://server:a%20b@h:1"]' in text
    assert text.count('"a b"') == 2


def test_a_plan_shows_no_secrets() -> None:
    """`repr` has neither passwords nor tokens nor the path of the key."""
    plan = Plan(folder=FOLDER, password="hidden", token="hidden", user="hidden", key="hidden", more="hidden")  # noqa: S106
    assert "hidden" not in repr(plan)


def test_addresses_of_servers() -> None:
    """The address says how to connect and what is promised."""
    assert Server(Plan(folder=FOLDER, host="::1", port=1, is_durable=True)).url == "nats://[::1]:1?durable=yes"
    assert Server(Plan(folder=FOLDER, port=1, cert="c", key="k")).url == "tls://127.0.0.1:1"
    assert Cluster(FOLDER, is_durable=True).url.endswith("?replicas=3&durable=yes")


def test_what_is_beyond_ascii_is_told_as_it_is(tmp_path: Path) -> None:
    """A server starts in any folder, under any name and with any password, and lets in who knows it."""
    secret = 'é"\\\u20ac\x01'  # noqa: S105 -- of a server that lives for a test
    plan = Plan(folder=tmp_path / "données\t", name="é", user="ü", password=secret)
    with Server(plan) as server:
        url = server.url.replace("://", f"://{quote('ü')}:{quote(secret)}@")
        with open_store(url) as store:
            assert store.append("log", b"x")
        with pytest.raises(StoreError):
            open_store(url.replace("%C3%A9", "e"))
    assert (tmp_path / "données\t" / "store").is_dir()


def test_an_interrupt_that_wakes_nobody_ends_the_wait_for_a_server(tmp_path: Path) -> None:
    """Else the command goes on until the next Ctrl-C, or the next SIGTERM."""
    server = Server(Plan(folder=tmp_path))

    def wait() -> None:
        with interrupt_unheard():
            server.wait()

    with subprocess.Popen(["sleep", "30"]) as process:
        server._process = process
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            wait()
        assert time.monotonic() - began < 20
        process.kill()
