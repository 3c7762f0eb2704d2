"""HTTP calls, to a real server in a thread."""

from __future__ import annotations

import gzip
import json
import sys
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import sleep
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import pytest

from solvent.errors import WorkflowProblem
from solvent.services import Caller
from solvent.workflows.model import Policy, Service
from tests.unit.services.outcomes import LONG, Outcome, call, start

if TYPE_CHECKING:
    from collections.abc import Iterator


class Handler(BaseHTTPRequestHandler):
    """Answers with what it was asked, or as the path says."""

    go = threading.Event()
    asked = threading.Event()
    left = threading.Event()
    failures = 0

    def answer(self) -> None:
        """Answer any method."""
        body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        name = self.path.split("?")[0].strip("/")
        if name == "text":
            self._send(200, "text/plain", b"plain \xc3\xa4")
        elif name == "empty":
            self._send(204, "", b"")
        elif name == "broken":
            self._send(200, "application/json", b"{oops")
        elif name == "big":
            self._send(200, "text/plain", b"x" * 100_000)
        elif name == "missing":
            self._send(404, "text/plain", b"no such thing")
        elif name == "flaky" and type(self).failures > 0:
            type(self).failures -= 1
            self._send(503, "text/plain", b"")
        elif name == "packed":
            self._send(200, "text/plain", gzip.compress(b"x" * 100_000), ("content-encoding", "gzip"))
        elif name == "cut":
            self._send(200, "text/plain", b"too little", ("content-length", "100"))
            self.close_connection = True
        elif name == "latin":
            self._send(200, "text/plain; charset=iso-8859-1", b"\xe4")
        elif name == "slowly":
            self._send_slowly()
        elif name.isdecimal() and "to=" in self.path:
            self._send(int(name), "text/plain", b"elsewhere", ("location", unquote(self.path.partition("to=")[2])))
        elif name == "hang":
            type(self).asked.set()
            type(self).go.wait(LONG)
        else:
            about = {"method": self.command, "path": self.path, "body": json.loads(body) if body else None}
            about["colour"] = self.headers.get("x-colour")
            if "authorization" in self.headers:
                about["entry"] = self.headers["authorization"]
            self._send(200, "application/json; charset=utf-8", json.dumps(about).encode())

    do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815 -- the names that the library looks for

    def _send(self, status: int, kind: str, data: bytes, header: tuple[str, str] = ("", "")) -> None:
        self.send_response(status)
        if kind:
            self.send_header("content-type", kind)
        if header[0] != "content-length":
            self.send_header("content-length", str(len(data)))
        if header[0]:
            self.send_header(*header)
        self.end_headers()
        self.wfile.write(data)

    def _send_slowly(self) -> None:
        """Send the head and the first bytes of an answer, and wait until the connection is closed."""
        self.send_response(200)
        self.send_header("content-length", "4")
        self.end_headers()
        self.wfile.write(b"ab")
        type(self).asked.set()
        with suppress(ConnectionError):
            self.rfile.read(1)
        type(self).left.set()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the library's name
        """Say nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    """Run a server and give its address."""
    Handler.go.clear()
    Handler.asked.clear()
    Handler.left.clear()
    Handler.failures = 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    Handler.go.set()
    server.shutdown()
    server.server_close()
    thread.join()


def http(target: str, method: str = "POST", policy: Policy = Policy(), **options: Any) -> Service:  # noqa: B008 -- frozen
    return Service("s", kind="http", target=target, method=method, policy=policy, options=options)


def run(service: Service, *arguments: Any, **keywords: Any) -> Outcome:
    """Call a service and wait for its outcome."""
    with Caller([service]) as caller:
        return call(caller, "s", *arguments, **keywords)


def test_arguments_go_as_json(address: str) -> None:
    """A POST sends arguments and keywords as JSON, and its JSON answer is the result."""
    answer = run(http(f"{address}/x", headers={"x-colour": "red"}), 1, "ä", name=[True]).value()
    body = {"arguments": [1, "ä"], "keywords": {"name": [True]}}
    assert answer == {"method": "POST", "path": "/x", "body": body, "colour": "red"}


@pytest.mark.parametrize(
    "target, arguments, keywords, path",
    [
        # Arguments go into the address, quoted, and the other keywords into the query.
        ("/{0}/{name}", ["a/b c"], {"name": "n", "size": 3, "tags": ["x", "y"]}, "/a%2Fb%20c/n?size=3&tags=x&tags=y"),
        # A query that the address has stays, its fragment does not.
        ("/x?z=1#end", [], {"q": [1, 2], "r": "é&"}, "/x?z=1&q=1&q=2&r=%C3%A9%26"),
    ],
)
def test_keywords_are_the_query_of_a_get(
    target: str, arguments: list[Any], keywords: Any, path: str, address: str
) -> None:
    """A GET has no body: what it is called with is in its address."""
    answer = run(http(f"{address}{target}", "get"), *arguments, **keywords).value()
    assert (answer["method"], answer["path"], answer["body"]) == ("GET", path, None)
    # An address that is nothing but an argument is taken as it is.
    assert run(http("{0}", "GET"), f"{address}{path}").value()["path"] == path


@pytest.mark.parametrize(
    "name, value",
    [("text", "plain ä"), ("latin", "ä"), ("packed", "x" * 100_000), ("empty", None)],
    ids=["text", "latin", "packed", "empty"],
)
def test_other_answers(name: str, value: object, address: str) -> None:
    """An answer that is no JSON is text, in the encoding that its type names and unpacked; an empty one is nothing."""
    assert run(http(f"{address}/{name}", "GET")).value() == value


def test_an_error_status_is_a_failure(address: str) -> None:
    """A status of 400 or more fails the call, with the beginning of the answer."""
    failure = run(http(f"{address}/missing")).failure()
    assert (failure.kind, failure.text, failure.output) == (
        "FAILED", "status 404 Not Found: no such thing", "no such thing",
    )  # fmt: skip


def test_an_error_status_is_retried(address: str) -> None:
    """A service that is unavailable for a moment is asked again."""
    Handler.failures = 2
    value, failure, attempts = run(http(f"{address}/flaky", policy=Policy(retries=3, backoff=0.01))).wait()
    assert (value["path"], failure, attempts) == ("/flaky", None, 3)


@pytest.mark.parametrize(
    "path, options, arguments, text",
    [
        ("broken", {}, (), "its answer is not JSON"),
        ("big", {"max_output": 10_000}, (), "it answered with more than 10000 bytes (see `max_output`)"),
        ("packed", {"max_output": 10_000}, (), "it answered with more than 10000 bytes (see `max_output`)"),
        ("cut", {}, (), "90 more expected"),
        ("x", {}, ({1, 2},), "its arguments cannot be written as JSON"),
        ("{0}", {}, (), "which the call does not have"),
    ],
)
def test_calls_that_fail(
    path: str, options: dict[str, Any], arguments: tuple[Any, ...], text: str, address: str
) -> None:
    """An answer that is broken, too long or cut, and arguments that cannot be sent or are not there."""
    assert text in run(http(f"{address}/{path}", **options), *arguments).failure().text


def test_nobody_there_is_a_failure() -> None:
    """A server that is not there fails the call."""
    failure = run(http("http://127.0.0.1:9/x")).failure()
    assert failure.kind == "FAILED"
    assert failure.text.startswith("POST http://127.0.0.1:9/x: ")
    assert "Connection refused" in failure.text
    assert "no connection after" not in run(http("http://solvent.invalid/x")).failure().text


def test_a_silent_server_takes_too_long(address: str) -> None:
    """A time-out ends a call that gets no answer."""
    assert run(http(f"{address}/hang", policy=Policy(timeout=0.2))).failure().kind == "TIMEOUT"


def test_a_waiting_call_can_be_cancelled(address: str) -> None:
    """Cancelling ends a call that waits for its answer."""
    with Caller([http(f"{address}/hang")]) as caller:
        outcome, handle = start(caller)
        assert Handler.asked.wait(LONG)
        handle.cancel()
        assert outcome.failure().kind == "CANCELLED"


@pytest.mark.parametrize("pause", [0, 0.3])
def test_a_call_can_be_cancelled_while_the_answer_comes(pause: float, address: str) -> None:
    """Cancelling ends a call that has read the beginning of its answer, and closes the connection."""
    with Caller([http(f"{address}/slowly", "GET")]) as caller:
        outcome, handle = start(caller)
        assert Handler.asked.wait(LONG)
        # With or without the head of the answer having been read.
        sleep(pause)
        handle.cancel()
        assert outcome.failure().kind == "CANCELLED"
        assert Handler.left.wait(LONG)


def test_calls_after_a_cancelled_one_get_their_answers(address: str) -> None:
    """A connection that was cut serves no other call."""
    with Caller([http(f"{address}/hang"), Service("t", kind="http", target=address, method="GET")]) as caller:
        assert call(caller, "t").value()["path"] == "/"
        outcome, handle = start(caller)
        assert Handler.asked.wait(LONG)
        handle.cancel()
        assert outcome.failure().kind == "CANCELLED"
        assert [call(caller, "t").value()["path"] for _ in range(3)] == ["/", "/", "/"]


@pytest.mark.parametrize(
    "status, method, then", [(301, "POST", "GET"), (302, "PUT", "GET"), (303, "POST", "GET"), (307, "POST", "POST"),
                             (308, "PUT", "PUT"), (301, "GET", "GET")]
)  # fmt: skip
def test_redirects_are_followed(status: int, method: str, then: str, address: str) -> None:
    """The answer is that of the address which the first one names; the body is sent again only where that is meant."""
    answer = run(http(f"{address}/{status}?to=/there", method), 1).value()
    body = {"arguments": [1], "keywords": {}} if then != "GET" else None
    assert answer == {"method": then, "path": "/there", "body": body, "colour": None}


def test_redirects_end(address: str) -> None:
    """An address that leads to itself fails the call."""
    failure = run(http(f"{address}/302?to={quote('/302?to=/x', safe='')}", "GET")).value()
    assert failure["path"] == "/x"
    loop = "/307?to=" * 30
    assert run(http(f"{address}{loop}", "GET")).failure().text.endswith("it redirected more than 20 times")


def test_a_redirect_leads_to_http_only(address: str) -> None:
    """Nothing but HTTP is followed, and what is secret in the target is not told."""
    failure = run(http(f"{address}/302?to=file:///etc/SECRET", "GET")).failure()
    assert "it redirected to an invalid address" in failure.text
    assert "SECRET" not in failure.text


def test_a_password_in_the_address_lets_in_but_is_not_handed_on(address: str) -> None:
    """Name and password of an address are sent to its host, and to no other that it redirects to."""
    there = address.replace("http://", "http://ann:p%40ss@")
    assert run(http(f"{there}/x", "GET")).value()["entry"] == "Basic YW5uOnBAc3M="
    assert run(http(f"{there}/302?to=/y", "GET")).value()["entry"] == "Basic YW5uOnBAc3M="
    elsewhere = address.replace("127.0.0.1", "localhost")
    assert "entry" not in run(http(f"{there}/302?to={elsewhere}/y", "GET")).value()


def test_a_header_that_cannot_be_sent_is_not_told(address: str) -> None:
    """A failure by a header does not repeat it."""
    failure = run(http(address, headers={"x-key": "SECRET\nx: y"})).failure()
    assert "characters that HTTP does not allow" in failure.text
    assert "SECRET" not in failure.text + failure.output


def test_proxies_of_the_environment_are_used(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call goes through the proxy that the environment names, unless its host is exempt."""
    monkeypatch.setenv("http_proxy", address)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert run(http("http://solvent.invalid/x", "GET")).value()["path"] == "http://solvent.invalid/x"
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert run(http(f"{address}/x", "GET")).value()["path"] == "/x"


def test_it_says_how_to_install_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package that makes calls, the workflow is refused with a hint."""
    monkeypatch.delitem(sys.modules, "solvent.services.http_client", raising=False)
    monkeypatch.setitem(sys.modules, "urllib3", None)
    with pytest.raises(WorkflowProblem, match="not installed: urllib3") as caught:
        Caller([http("http://x")])
    assert caught.value.code == "W187"
    assert caught.value.hint == "pip install 'solvent[http]', or in a clone: pip install '.[http]'"


def test_many_calls_share_a_client(address: str) -> None:
    """Many calls at once all get their own answers."""
    with Caller([http(f"{address}/{{0}}", "GET")]) as caller:
        outcomes = [call(caller, "s", number) for number in range(40)]
        assert [one.value()["path"] for one in outcomes] == [f"/{number}" for number in range(40)]


@pytest.mark.parametrize(
    "service, text",
    [
        (http("ftp://x"), "is not an HTTP address"),
        (http("http://x", colour="red"), "there is no option `colour`"),
        (http("http://x", headers="x"), "`headers` must be a mapping"),
    ],
)
def test_nonsense_is_refused(service: Service, text: str) -> None:
    """An HTTP service that could never work is refused before anything runs."""
    with pytest.raises(WorkflowProblem, match=text):
        Caller([service])


@pytest.mark.parametrize(
    "address",
    ["http://bob:SECRET@127.0.0.1:1/x?token=SECRET", "http://bob:SECRET/@127.0.0.1:1/x", "http://127.0.0.1:1/x#SECRET"],
)
def test_failures_do_not_tell_what_is_secret_in_an_address(address: str) -> None:
    """What fails is told without the password and without the query, in which tokens are."""
    with Caller([Service("s", kind="http", target=address, method="GET")]) as caller:
        said = call(caller, "s").failure().text
    assert "SECRET" not in said
    assert "127.0.0.1:1/x" in said or "is invalid" in said


def test_an_address_of_another_kind_is_told_without_its_password() -> None:
    """An address that is refused is shown, and what is before the `@` is not."""
    with pytest.raises(WorkflowProblem, match=r"`htp://host/x` is not an HTTP address"):
        Caller([Service("s", kind="http", target="htp://bob:pw@host/x?a=1", method="GET")])
