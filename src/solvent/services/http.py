"""HTTP calls as services.

    Service("word", kind="http", target="http://localhost:8000/words/{0}", method="GET")

`{0}` and `{name}` in the address stand for arguments, quoted. With GET, HEAD, DELETE and OPTIONS the keywords that the
address does not name are added to its query; any other method sends `{"arguments": […], "keywords": {…}}` as JSON.
Options:

    headers     further headers
    max_output  limit of the answer in bytes (64 MiB)

In a recorded run the header `Idempotency-Key` identifies the call, unless the service sets one of its own: the same
whenever this call is made, also after a crash. In a traced run the header `traceparent` names the span of the attempt.

A status of 400 and above is a failure, with the beginning of the answer. Failures show the address without its query
and without user and password. An answer of a JSON type is parsed, an empty one is `None`, any other is text. All calls
share one client, and have threads of their own.

The client needs the extra `http` (`solvent.services.http_client`).
"""

from __future__ import annotations

import codecs
import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from solvent.errors import WorkflowProblem, install_hint
from solvent.services.failure import MAX_OUTPUT, Told, one_line
from solvent.services.substitution import NoArgument, fill, names_in, text_of
from solvent.workflows.value_checks import refuse_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.services.call import Attempt, Facilities
    from solvent.services.http_client import Answer
    from solvent.workflows.model import Service

BYTES_MAX_DEFAULT = 64 * 1024 * 1024
_OPTIONS = {"headers", "max_output"}
_QUERY = re.compile("[?#]")
_CHARSET = re.compile(r"charset=[\"']?([\w.:-]+)", re.IGNORECASE)
_WITHOUT_BODY = {"GET", "HEAD", "DELETE", "OPTIONS"}


def make_http(service: Service, caller: Facilities) -> Callable[[Attempt], None]:
    """Return the launch of an HTTP call."""
    _check(service)
    try:
        from solvent.services.http_client import MAX_CONNECTIONS, BadAddress, Client, NoAnswer, Request
    except ModuleNotFoundError as error:
        message = f"service `{service.name}`: HTTP calls need a package that is not installed: {error.name}"
        raise WorkflowProblem("W187", message, hint=install_hint("http")) from None

    client = caller.keep("http client", lambda _: Client())
    threads = caller.keep("http threads", lambda _: caller.open_threads(MAX_CONNECTIONS, client.close))
    max_bytes = service.options.get("max_output", BYTES_MAX_DEFAULT)

    def work(attempt: Attempt, request: Request) -> Any:
        address = service.target
        try:
            what = _request(service, attempt)
            address = what["address"]
            answer = client.ask(request, **what, max_bytes=max_bytes, on_data=attempt.beat)
            if answer is None:
                raise Told(f"it answered with more than {max_bytes} bytes (see `max_output`)")
            return _result(answer)
        except NoArgument as error:
            raise Told(str(error)) from None
        except BadAddress as error:
            raise Told(f"{service.method}: its address is invalid: {error}") from None
        except NoAnswer as error:
            raise Told(f"{service.method} {_told(address)}: {error}") from None

    def launch(attempt: Attempt) -> None:
        request = Request()
        attempt.function = lambda *_, **__: work(attempt, request)

        def stop() -> None:
            request.cut()
            threads.give_up(attempt)

        attempt.on_stop(stop)
        threads.put(attempt)

    return launch


def _check(service: Service) -> None:
    refuse_options("W182", service, _OPTIONS)
    problem = ""
    if not service.target.startswith(("http://", "https://", "{")):
        problem = f"`{_told(service.target)}` is not an HTTP address"
    elif not isinstance(service.options.get("headers", {}), dict):
        problem = "`headers` must be a mapping of names to values"
    if problem:
        raise WorkflowProblem("W182", f"service `{service.name}`: {problem}")


def _result(answer: Answer) -> Any:
    """Return the result of an answer."""
    kind = answer.headers.get("content-type", "")
    text = answer.data.decode(_encoding(kind), errors="replace")
    if answer.status >= 400:
        reason = f"status {answer.status} {answer.reason}".rstrip()
        raise Told(f"{reason}: {one_line(text)}" if text.strip() else reason, text[:MAX_OUTPUT])
    if not answer.data:
        return None
    if "json" not in kind:
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Told(f"its answer is not JSON: {error}", text[:MAX_OUTPUT]) from None


def _encoding(kind: str) -> str:
    """Return the encoding that the type of an answer names, if it exists."""
    found = _CHARSET.search(kind)
    try:
        return codecs.lookup(found[1]).name if found else "utf-8"
    except LookupError:
        return "utf-8"


def _request(service: Service, attempt: Attempt) -> dict[str, Any]:
    """Return the parts of a request."""
    arguments, keywords = attempt.arguments, attempt.keywords
    target, method = service.target, service.method.upper()
    # An address that is nothing but an argument is not quoted.
    whole = target.startswith("{") and target.endswith("}")
    address = fill(target, arguments, keywords, text_of if whole else _quoted)
    headers = {name: text_of(value) for name, value in service.options.get("headers", {}).items()}
    if attempt.identity is not None and not any(name.lower() == "idempotency-key" for name in headers):
        headers["idempotency-key"] = quote(attempt.identity.key, safe="/[]#:")
    if attempt.trace and not any(name.lower() == "traceparent" for name in headers):
        headers["traceparent"] = attempt.trace
    request: dict[str, Any] = {"method": method, "address": address, "headers": headers, "body": None}
    if method in _WITHOUT_BODY:
        used = names_in(target)
        query = {name: value for name, value in keywords.items() if name not in used}
        if query:
            request["address"] = _with_query(address, query)
    else:
        try:
            request["body"] = json.dumps({"arguments": arguments, "keywords": keywords}).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise Told(f"its arguments cannot be written as JSON: {error}") from None
        headers.setdefault("content-type", "application/json")
    return request


def _told(address: str) -> str:
    """Return an address without user, password and query, which may be secret."""
    scheme, sign, rest = address.partition("://")
    if not sign:
        return _QUERY.split(address)[0].rpartition("@")[2]
    host, slash, path = _QUERY.split(rest)[0].partition("/")
    return f"{scheme}{sign}{host.rpartition('@')[2]}{slash}{path}"


def _quoted(value: Any) -> str:
    return quote(text_of(value), safe="")


def _with_query(address: str, query: dict[str, Any]) -> str:
    """Add keywords to an address, after its query and before its fragment."""
    before, sign, fragment = address.partition("#")
    added = urlencode({name: _query_value(value) for name, value in query.items()}, doseq=True)
    joint = "" if before.endswith(("?", "&")) else "&" if "?" in before else "?"
    return f"{before}{joint if added else ''}{added}{sign}{fragment}"


def _query_value(value: Any) -> str | list[str]:
    return [text_of(item) for item in value] if isinstance(value, list | tuple) else text_of(value)


__all__ = ["make_http"]
