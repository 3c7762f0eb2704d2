"""The server: reads messages, keeps the open texts, and answers.

    serve(stdin, stdout, server)   messages on two streams, until `exit` or the end of the input; returns the exit code
    server.take(message)           one message; returns the answer, if there is one

A message on a stream is a header with its length, an empty line, and JSON. The server answers at once, except that it
publishes diagnostics only when no message waits, so that fast typing does not produce one set for each key.
"""

from __future__ import annotations

import threading
from queue import Empty, SimpleQueue
from typing import IO, TYPE_CHECKING, Any

import msgspec

from solvent.errors import SolventError
from solvent.hocl.program_file import format_text
from solvent.lang.functions import Functions
from solvent.lsp.document import Document
from solvent.lsp.features import completions_at, hover_at, symbols_of
from solvent.values.limits import MAX_DEPTH, UNREADABLE, is_nested_too_deeply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    Message: TypeAlias = dict[str, Any]


MAX_BYTES = 256 * 1024 * 1024
_MAX_HEADER_BYTES = 8192


class BadMessage(Exception):
    """The input is no message. With `is_fatal`, the start of the next one cannot be found."""

    def __init__(self, text: str, *, is_fatal: bool = False) -> None:
        super().__init__(text)
        self.is_fatal = is_fatal


def read_message(stream: IO[bytes]) -> Any:
    """Return the next message, or `None` at the end of the stream; raise `BadMessage` if the input is no message."""
    length: int | None = None
    while True:
        line = stream.readline(_MAX_HEADER_BYTES)
        if not line:
            return None
        if not line.strip():
            break
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            length = int(value)
    if length is None or length > MAX_BYTES:
        raise BadMessage("a message begins with `Content-Length: BYTES` and an empty line", is_fatal=True)
    data = stream.read(length)
    if len(data) < length:
        return None
    try:
        found = msgspec.json.decode(data)
    except UNREADABLE as error:
        raise BadMessage(f"a message is no JSON: {error}") from None
    if is_nested_too_deeply(found):
        raise BadMessage(f"a message is nested more than {MAX_DEPTH} deep")
    if not isinstance(found, dict):
        raise BadMessage("a message is a JSON object")
    return found


def write_message(stream: IO[bytes], message: dict[str, Any]) -> None:
    """Write a message."""
    data = msgspec.json.encode({"jsonrpc": "2.0", **message})
    stream.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
    stream.flush()


NO_JSON, NO_REQUEST, NO_METHOD, BAD_PARAMETERS, FAULT, NOT_READY = -32700, -32600, -32601, -32602, -32603, -32002
INCREMENTAL = 2
CAPABILITIES: dict[str, Any] = {
    "positionEncoding": "utf-16",
    "textDocumentSync": {"openClose": True, "change": INCREMENTAL},
    "hoverProvider": True,
    "definitionProvider": True,
    "referencesProvider": True,
    "documentHighlightProvider": True,
    "renameProvider": {"prepareProvider": True},
    "documentSymbolProvider": True,
    "documentFormattingProvider": True,
    "completionProvider": {"triggerCharacters": [":", "."]},
}


class Refused(Exception):
    """A request that cannot be answered."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class Server:
    """One session with an editor."""

    def __init__(self, functions: Functions | None = None, *, version: str = "") -> None:
        self._functions = functions if functions is not None else Functions()
        self._version = version
        self._documents: dict[str, Document] = {}
        self._dirty: set[str] = set()
        self._is_ready = False
        self._is_shut_down = False
        #: How the process ends, once it was told to.
        self.exit_code: int | None = None
        self._requests: dict[str, Callable[[Message], Any]] = {
            "initialize": self._initialize,
            "shutdown": self._shut_down,
            "textDocument/hover": self._hover,
            "textDocument/definition": self._definition,
            "textDocument/references": self._references,
            "textDocument/documentHighlight": self._highlight,
            "textDocument/prepareRename": self._prepare_rename,
            "textDocument/rename": self._rename,
            "textDocument/documentSymbol": lambda given: symbols_of(self._document(given)),
            "textDocument/completion": self._complete,
            "textDocument/formatting": self._format,
        }
        self._notifications: dict[str, Callable[[Message], None]] = {
            "exit": self._exit,
            "textDocument/didOpen": self._open,
            "textDocument/didChange": self._change,
            "textDocument/didClose": self._close,
        }

    def take(self, message: Message) -> Message | None:
        """Handle a message; return the answer if it is a request."""
        method, given = message.get("method"), message.get("params") or {}
        if not isinstance(method, str):
            # An answer to something that was never asked.
            return None
        if "id" not in message:
            do = self._notifications.get(method)
            if do is not None:
                try:
                    do(given)
                except (Refused, KeyError, TypeError, AttributeError):
                    # A notification has no answer; the editor sends the text again with its next change.
                    return None
            return None
        try:
            return {"id": message["id"], "result": self._answer(method, given)}
        except Refused as error:
            return _refusal(message["id"], error.code, str(error))
        except (KeyError, TypeError, AttributeError) as error:
            return _refusal(message["id"], BAD_PARAMETERS, f"{type(error).__name__}: {error}")
        except Exception as error:  # noqa: BLE001 - a fault of ours must not end the session
            return _refusal(message["id"], FAULT, f"a fault in Solvent itself: {type(error).__name__}: {error}")

    def _answer(self, method: str, given: Message) -> Any:
        if not self._is_ready and method != "initialize":
            raise Refused(NOT_READY, "`initialize` comes first")
        if self._is_shut_down:
            raise Refused(NO_REQUEST, "the server is shut down")
        if method not in self._requests:
            raise Refused(NO_METHOD, f"there is no method `{method}`")
        return self._requests[method](given)

    def problems(self) -> Iterator[Message]:
        """Return the diagnostics of the texts that changed since the last call."""
        dirty, self._dirty = self._dirty, set()
        for uri in sorted(dirty):
            document = self._documents.get(uri)
            found = [] if document is None else _diagnostics(document)
            given: dict[str, Any] = {"uri": uri, "diagnostics": found}
            if document is not None and document.version is not None:
                given["version"] = document.version
            yield {"method": "textDocument/publishDiagnostics", "params": given}

    # --- The session.

    def _initialize(self, _given: Message) -> Any:
        self._is_ready = True
        return {"capabilities": CAPABILITIES, "serverInfo": {"name": "solvent", "version": self._version}}

    def _shut_down(self, _given: Message) -> None:
        self._is_shut_down = True

    def _exit(self, _given: Message) -> None:
        self.exit_code = 0 if self._is_shut_down else 1

    # --- Texts.

    def _open(self, given: Message) -> None:
        one = given["textDocument"]
        self._keep(Document(one["uri"], one["text"], one.get("version"), self._functions))

    def _change(self, given: Message) -> None:
        document = self._document(given)
        self._keep(document.changed(given["contentChanges"], given["textDocument"].get("version")))

    def _close(self, given: Message) -> None:
        uri = given["textDocument"]["uri"]
        self._documents.pop(uri, None)
        self._dirty.add(uri)

    def _keep(self, document: Document) -> None:
        self._documents[document.uri] = document
        self._dirty.add(document.uri)

    def _document(self, given: Message) -> Document:
        uri = given["textDocument"]["uri"]
        if uri not in self._documents:
            raise Refused(BAD_PARAMETERS, f"{uri} is not open")
        return self._documents[uri]

    def _place(self, given: Message) -> tuple[Document, int]:
        document = self._document(given)
        place = given["position"]
        if not (isinstance(place, dict) and all(_is_count(place.get(name)) for name in ("line", "character"))):
            raise Refused(BAD_PARAMETERS, "a position has a `line` and a `character`, each an integer from 0")
        return document, document.positions.offset(place)

    # --- Questions.

    def _hover(self, given: Message) -> Any:
        document, offset = self._place(given)
        found = hover_at(document, offset)
        if found is None:
            return None
        said, start, end = found
        return {"contents": {"kind": "markdown", "value": said}, "range": document.positions.range(start, end)}

    def _definition(self, given: Message) -> Any:
        document, offset = self._place(given)
        found = document.occurrences.at(offset)
        if found is None:
            return None
        if found.is_called:
            return _place_of_function(document, found.name)
        if found.definition is None:
            return None
        return {"uri": document.uri, "range": document.positions.range(found.definition.start, found.definition.end)}

    def _same(self, given: Message) -> tuple[Document, list[dict[str, Any]], str]:
        """Return the ranges of all occurrences of the name at a place, and the name."""
        document, offset = self._place(given)
        found = document.occurrences.at(offset)
        if found is None or found.definition is None:
            return document, [], ""
        same = document.occurrences.of(found.definition)
        return document, [document.positions.range(one.start, one.end) for one in same], found.name

    def _references(self, given: Message) -> Any:
        document, ranges, _ = self._same(given)
        return [{"uri": document.uri, "range": one} for one in ranges]

    def _highlight(self, given: Message) -> Any:
        return [{"range": one} for one in self._same(given)[1]]

    def _prepare_rename(self, given: Message) -> Any:
        document, offset = self._place(given)
        found = document.occurrences.at(offset)
        if found is None or found.definition is None:
            return None
        return {"range": document.positions.range(found.start, found.end), "placeholder": found.name}

    def _rename(self, given: Message) -> Any:
        document, ranges, name = self._same(given)
        new = given["newName"]
        if not ranges:
            raise Refused(BAD_PARAMETERS, "there is no name here that could be another")
        if not new.replace("'", "").isidentifier() or new[0].isupper() != name[0].isupper():
            case = "an upper-case" if name[0].isupper() else "a lower-case"
            raise Refused(BAD_PARAMETERS, f"`{new}` cannot stand for `{name}`: it begins with {case} letter")
        return {"changes": {document.uri: [{"range": one, "newText": new} for one in ranges]}}

    def _complete(self, given: Message) -> Any:
        return completions_at(*self._place(given))

    def _format(self, given: Message) -> Any:
        document = self._document(given)
        try:
            formatted = format_text(document.text, document.source.name)
        except SolventError as error:
            raise Refused(NO_REQUEST, f"{error.place}: {error.message}") from None
        if formatted == document.text:
            return []
        return [{"range": document.positions.range(0, len(document.text)), "newText": formatted}]


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and value >= 0


def _diagnostics(document: Document) -> list[dict[str, Any]]:
    try:
        return document.diagnostics()
    except Exception as error:  # noqa: BLE001 - a fault of ours must not end the session
        said = f"a fault in Solvent itself: {type(error).__name__}: {error}"
        return [{"range": document.positions.range(0, 0), "severity": 1, "source": "solvent", "message": said}]


def _place_of_function(document: Document, name: str) -> Any:
    """Return the location of a function that the user registered."""
    function = document.functions.find(name)
    code = getattr(function.call, "__code__", None) if function is not None and not function.is_raw else None
    if code is None:
        return None
    from pathlib import Path

    place = {"line": code.co_firstlineno - 1, "character": 0}
    return {"uri": Path(code.co_filename).resolve().as_uri(), "range": {"start": place, "end": place}}


def _refusal(number: Any, code: int, text: str) -> Message:
    return {"id": number, "error": {"code": code, "message": text}}


def serve(given: IO[bytes], out: IO[bytes], server: Server) -> int:
    """Serve an editor until it sends `exit` or closes the stream; return the exit code."""
    came: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_listen, args=(given, came), name="editor", daemon=True).start()
    while server.exit_code is None:
        try:
            message = came.get_nowait()
        except Empty:
            for one in server.problems():
                write_message(out, one)
            message = came.get()
        if message is None:
            return 1
        if isinstance(message, BadMessage):
            write_message(out, _refusal(None, NO_JSON, str(message)))
            if message.is_fatal:
                return 1
            continue
        answer = server.take(message)
        if answer is not None:
            write_message(out, answer)
    return server.exit_code


def _listen(given: IO[bytes], came: SimpleQueue[Any]) -> None:
    while True:
        try:
            message = read_message(given)
        except BadMessage as error:
            came.put(error)
            if error.is_fatal:
                return
            continue
        except (OSError, ValueError):
            message = None
        came.put(message)
        if message is None:
            return


__all__ = ["BadMessage", "Server", "read_message", "serve", "write_message"]
