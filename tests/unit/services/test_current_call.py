"""Services are told which call they serve, where the run is recorded, however they are called."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from queue import SimpleQueue
from typing import Any

import pytest

from solvent.services import Caller
from solvent.services.current_call import CallIdentity, call
from solvent.workflows.model import Policy, Service

KNOWN = CallIdentity("run-1", "tä sk", "run-1/tä sk[2]#3")
LONG = 200.0


def answer_of(service: Service, identity: CallIdentity | None, **options: Any) -> Any:
    """Call a service as a certain call, and give its result."""
    outcomes: SimpleQueue[tuple[Any, Any, int]] = SimpleQueue()
    with Caller([service], **options) as caller:
        caller.start("s", "tä sk", [], {}, lambda *outcome: outcomes.put(outcome), identity)
        value, failure, _ = outcomes.get(timeout=LONG)
    assert failure is None
    return value


def told() -> list[Any] | None:
    """Say which call this is."""
    found = call()
    return None if found is None else list(found)


async def told_later() -> list[Any] | None:
    """Say it in an event loop."""
    return told()


@pytest.mark.parametrize("identity", [KNOWN, None])
@pytest.mark.parametrize("policy", [Policy(), Policy(retries=1)])
def test_functions_can_ask(policy: Policy, identity: CallIdentity | None) -> None:
    """In threads and in the event loop; outside of a recorded run there is nothing to say."""
    wanted = None if identity is None else list(identity)
    assert answer_of(Service("s", function=told, policy=policy), identity) == wanted
    assert answer_of(Service("s", function=told_later, policy=policy), identity) == wanted
    assert call() is None


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_functions_in_an_executor_can_ask(kind: Any) -> None:
    """A pool that somebody brought along passes it on, also to other processes."""
    with kind(1) as executor:
        for identity in (KNOWN, None):
            wanted = None if identity is None else list(identity)
            assert answer_of(Service("s", function=told), identity, executor=executor) == wanted


def test_functions_in_worker_processes_can_ask() -> None:
    """The worker knows it of the call that runs, and of no other."""
    for identity in (KNOWN, None):
        wanted = None if identity is None else list(identity)
        assert answer_of(Service("s", function=told), identity, processes=True, jobs=1) == wanted


def test_commands_have_it_in_their_environment() -> None:
    """And only there where there is a record; what the workflow sets itself counts more."""
    target = 'echo "$SOLVENT_RUN,$SOLVENT_TASK,$SOLVENT_CALL,$SOLVENT_REPEATED"'
    service = Service("s", kind="shell", target=target)
    assert answer_of(service, KNOWN) == "run-1,tä sk,run-1/tä sk[2]#3,0"
    assert answer_of(service, KNOWN._replace(repeated=True)).endswith(",1")
    assert answer_of(service, None) == ",,,"
    own = Service("s", kind="shell", target=target, options={"env": {"SOLVENT_CALL": "own"}})
    assert answer_of(own, KNOWN) == "run-1,tä sk,own,0"


class Echo(BaseHTTPRequestHandler):
    """Answers with the key it was given."""

    def do_POST(self) -> None:
        """Answer."""
        self.rfile.read(int(self.headers["content-length"]))
        data = json.dumps(self.headers.get("Idempotency-Key")).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def test_http_services_get_an_idempotency_key() -> None:
    """The key of the call, in the letters that a header may have; the service's own one counts more."""
    server = HTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    target = f"http://127.0.0.1:{server.server_port}/"
    try:
        service = Service("s", kind="http", target=target)
        assert answer_of(service, KNOWN) == "run-1/t%C3%A4%20sk[2]#3"
        assert answer_of(service, None) is None
        own = Service("s", kind="http", target=target, options={"headers": {"idempotency-key": "own"}})
        assert answer_of(own, KNOWN) == "own"
    finally:
        server.shutdown()
        server.server_close()
