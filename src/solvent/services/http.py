"""HTTP calls as services.

    Service("word", kind="http", target="http://localhost:8000/words/{0}", method="GET")

`{0}` and `{name}` in the address stand for arguments, quoted. With GET, HEAD, DELETE and OPTIONS the keywords that the
address does not name are added to its query; any other method sends `{"arguments": […], "keywords": {…}}` as JSON.
Options:

    headers     further headers
    output_max  bytes that the answer may have (64 MiB)

In a run that is recorded the header `Idempotency-Key` names the call, unless the service has one of its own: the same
whenever this call is made, also after a crash and a resumption.

In a run that is traced the header `traceparent` names the span of the attempt.

A status of 400 and above is a failure, with the beginning of the answer. Failures tell the address without its query
and without what is before an `@`. An answer that says it is JSON is read as
such, an empty one is nothing, any other is text. All calls share one client, and run in one event loop.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from solvent.errors import WorkflowProblem
from solvent.services.failure import OUTPUT_MAX, one_line
from solvent.services.placeholders import NoArgument, fill, names_in, text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx

    from solvent.services.call import Attempt
    from solvent.services.caller import Caller
    from solvent.workflow.model import Service

BYTES_MAX_DEFAULT = 64 * 1024 * 1024
CONNECT_SECONDS = 30.0
CONNECTIONS_MAX = 256
_OPTIONS = {"headers", "output_max"}
_QUERY = re.compile("[?#]")
_WITHOUT_BODY = {"GET", "HEAD", "DELETE", "OPTIONS"}


class Refused(Exception):
    """The service answered, but not with a result."""

    def __init__(self, text: str, output: str = "") -> None:
        super().__init__(text)
        self.output = output


class Clients:
    """The one client of a caller, made when first needed, in the loop in which it is used."""

    def __init__(self, caller: Caller) -> None:
        self._client: httpx.AsyncClient | None = None
        caller.loop.before_close(self.close)

    def get(self) -> httpx.AsyncClient:
        """Give the client."""
        if self._client is None:
            import httpx

            self._client = httpx.AsyncClient(
                # Time is limited by the policy; only a host that does not even answer the phone is given up here.
                timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),
                limits=httpx.Limits(max_connections=CONNECTIONS_MAX),
                follow_redirects=True,
            )
        return self._client

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()


def make_http(service: Service, caller: Caller) -> Callable[[Attempt], None]:
    """Make the launch of an HTTP call."""
    _check(service)
    clients = caller.keep("http", Clients)

    async def work(attempt: Attempt) -> Any:
        import httpx

        address = service.target
        try:
            request = _request(service, attempt)
            address = request["url"]
            return await _ask(clients.get(), request, service, attempt)
        except (NoArgument, Refused) as error:
            attempt.fail("FAILED", one_line(str(error)), getattr(error, "output", ""))
        except httpx.InvalidURL as error:
            # Where the host of such an address begins is not known, so none of it is repeated.
            cause = one_line(str(error)).partition(":")[0]
            attempt.fail("FAILED", f"{service.method}: its address is none: {cause}")
        except httpx.HTTPError as error:
            cause = one_line(str(error)) or type(error).__name__
            attempt.fail("FAILED", f"{service.method} {one_line(_told(address))}: {cause}")

    return lambda attempt: caller.loop.run(attempt, work)


def _check(service: Service) -> None:
    unknown = sorted(set(service.options) - _OPTIONS)
    problem = ""
    if not service.target.startswith(("http://", "https://", "{")):
        problem = f"`{_told(service.target)}` is no address of HTTP"
    elif unknown:
        problem = f"there is no option `{unknown[0]}`"
    elif not isinstance(service.options.get("headers", {}), dict):
        problem = "`headers` must name headers and their values"
    if problem:
        hint = f"options are {', '.join(sorted(_OPTIONS))}"
        raise WorkflowProblem("W182", f"service `{service.name}`: {problem}", hint=hint)


async def _ask(client: httpx.AsyncClient, request: dict[str, Any], service: Service, attempt: Attempt) -> Any:
    """Send the request and read the answer, no more of it than allowed."""
    bytes_max = service.options.get("output_max", BYTES_MAX_DEFAULT)
    async with client.stream(**request) as response:
        data = bytearray()
        async for chunk in response.aiter_bytes():
            attempt.beat()
            data += chunk
            if len(data) > bytes_max:
                raise Refused(f"it answered with more than {bytes_max} bytes (see `output_max`)")
        kind = response.headers.get("content-type", "")
        text = data.decode(response.encoding or "utf-8", errors="replace")
    if response.status_code >= 400:
        reason = f"status {response.status_code} {response.reason_phrase}".rstrip()
        raise Refused(f"{reason}: {one_line(text)}" if text.strip() else reason, text[:OUTPUT_MAX])
    if not data:
        return None
    if "json" not in kind:
        return text
    try:
        return json.loads(text)
    except ValueError as error:
        raise Refused(f"what it answered is no JSON: {error}", text[:OUTPUT_MAX]) from None


def _request(service: Service, attempt: Attempt) -> dict[str, Any]:
    """Put a request together."""
    arguments, keywords = attempt.arguments, attempt.keywords
    target, method = service.target, service.method.upper()
    # An address that is an argument as a whole is taken as it is.
    whole = target.startswith("{") and target.endswith("}")
    address = fill(target, arguments, keywords, text_of if whole else _quoted)
    headers = {name: text_of(value) for name, value in service.options.get("headers", {}).items()}
    if attempt.identity is not None and not any(name.lower() == "idempotency-key" for name in headers):
        headers["idempotency-key"] = quote(attempt.identity.key, safe="/[]#:")
    if attempt.trace and not any(name.lower() == "traceparent" for name in headers):
        headers["traceparent"] = attempt.trace
    request: dict[str, Any] = {"method": method, "url": address, "headers": headers}
    if method in _WITHOUT_BODY:
        used = names_in(target)
        query = {name: value for name, value in keywords.items() if name not in used}
        if query:
            request["url"] = _with_query(address, query)
    else:
        try:
            request["content"] = json.dumps({"arguments": arguments, "keywords": keywords}).encode()
        except (TypeError, ValueError) as error:
            raise Refused(f"its arguments cannot be written as JSON: {error}") from None
        headers.setdefault("content-type", "application/json")
    return request


def _told(address: str) -> str:
    """Give what may be told of an address: who is let in, and the query, may be secret."""
    scheme, sign, rest = address.partition("://")
    if not sign:
        return _QUERY.split(address)[0].rpartition("@")[2]
    host, slash, path = _QUERY.split(rest)[0].partition("/")
    return f"{scheme}{sign}{host.rpartition('@')[2]}{slash}{path}"


def _quoted(value: Any) -> str:
    return quote(text_of(value), safe="")


def _with_query(address: str, query: dict[str, Any]) -> str:
    """Add keywords to an address, after the query that it has already and before its fragment."""
    before, sign, fragment = address.partition("#")
    added = urlencode({name: _query_value(value) for name, value in query.items()}, doseq=True)
    joint = "" if before.endswith(("?", "&")) else "&" if "?" in before else "?"
    return f"{before}{joint if added else ''}{added}{sign}{fragment}"


def _query_value(value: Any) -> str | list[str]:
    return [text_of(item) for item in value] if isinstance(value, list | tuple) else text_of(value)


__all__ = ["make_http"]
