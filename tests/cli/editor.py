"""An editor, as far as a language server sees it: a process that it starts, and messages over pipes."""

from __future__ import annotations

import json
import subprocess
import threading
from contextlib import contextmanager
from queue import Queue
from typing import TYPE_CHECKING, Any, Self

from tests.cli.command import MAX_SECONDS, arguments, environment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

URI = "file:///folder/program.hocl"


class Editor:
    """Talks to a language server."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._number = 0
        self._came: Queue[Any] = Queue()
        self._kept: list[Any] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        out = self.process.stdout
        assert out is not None
        while header := out.readline():
            length = int(header.removeprefix(b"Content-Length: "))
            assert out.readline() == b"\r\n"
            self._came.put(json.loads(out.read(length)))

    def write(self, data: bytes) -> None:
        """Send bytes."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, **message: Any) -> None:
        """Send a message."""
        data = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode()
        self.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)

    def tell(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self.send(method=method, params=params)

    def ask(self, method: str, **params: Any) -> Any:
        """Send a request and give its answer, whole."""
        self._number += 1
        self.send(id=self._number, method=method, params=params)
        return self._wait(lambda one: one.get("id") == self._number)

    def heard(self) -> Any:
        """Give the next message that is no answer."""
        return self._wait(lambda one: "method" in one)

    def answer_to_nobody(self) -> Any:
        """Give the next answer without a number."""
        return self._wait(lambda one: "id" in one and one["id"] is None)

    def _wait(self, fits: Any) -> Any:
        while True:
            for one in self._kept:
                if fits(one):
                    self._kept.remove(one)
                    return one
            self._kept.append(self._came.get(timeout=MAX_SECONDS))

    def begin(self) -> Self:
        """Say hello."""
        assert "hoverProvider" in self.ask("initialize", capabilities={})["result"]["capabilities"]
        self.tell("initialized")
        return self

    def open(self, text: str, uri: str = URI) -> list[Any]:
        """Open a text, and give what is wrong with it."""
        self.tell("textDocument/didOpen", textDocument={"uri": uri, "languageId": "hocl", "version": 1, "text": text})
        found: list[Any] = self.heard()["params"]["diagnostics"]
        return found

    def at(self, method: str, line: int, character: int, **more: Any) -> Any:
        """Ask something about a place."""
        place = {"line": line, "character": character}
        return self.ask(f"textDocument/{method}", textDocument={"uri": URI}, position=place, **more)["result"]

    def end(self) -> int:
        """Say goodbye, and give the exit code of the server."""
        self.ask("shutdown")
        self.tell("exit")
        return self.process.wait(MAX_SECONDS)


@contextmanager
def editor(*words: str | Path, cwd: Path | None = None) -> Iterator[Editor]:
    """Start a language server, and talk to it."""
    started = subprocess.Popen(
        arguments("lsp", *words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(), cwd=cwd
    )
    with started as process:
        try:
            yield Editor(process)
        finally:
            process.kill()
