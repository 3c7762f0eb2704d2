"""The server itself, without a process: whatever the text, it answers."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from solvent.lsp import Server
from solvent.lsp.document import Positions
from tests.property.amounts import examples
from tests.property.strategies import programs
from tests.unit.lang.test_lenient_parser import PIECES

URI = "untitled:one"
METHODS = ("hover", "definition", "references", "documentHighlight", "prepareRename", "completion", "documentSymbol")
TEXTS = (
    st.lists(st.sampled_from([*PIECES, "SRV", "T1 : <SRC : <>, SRV : s>", "𝔫", "ω", "\n"])).map(" ".join) | programs()
)


def _opened(text: str) -> Server:
    server = Server()
    server.take({"id": 1, "method": "initialize"})
    server.take({"method": "textDocument/didOpen", "params": {"textDocument": {"uri": URI, "text": text}}})
    return server


@examples(100)
@given(TEXTS, st.data())
def test_every_question_about_every_text_is_answered(text: str, data: st.DataObject) -> None:
    """At any place of any text every question has an answer, and what is wrong is within the text."""
    server, positions = _opened(text), Positions(text)
    (problems,) = server.problems()
    for one in problems["params"]["diagnostics"]:
        start, end = positions.offset(one["range"]["start"]), positions.offset(one["range"]["end"])
        assert one["range"] == positions.range(start, end)
        assert start <= end
    place = positions.place(data.draw(st.integers(0, len(text))))
    for method in METHODS:
        params: dict[str, Any] = {"textDocument": {"uri": URI}, "position": place}
        answer = server.take({"id": 2, "method": f"textDocument/{method}", "params": params})
        assert answer is not None
        assert "error" not in answer, answer


@examples(60)
@given(programs(), st.data())
def test_a_name_leads_to_its_definition_and_back(text: str, data: st.DataObject) -> None:
    """Where a name leads, the same name stands, and all its places lead there."""
    server, positions = _opened(text), Positions(text)

    def ask(method: str, place: Any) -> Any:
        params = {"textDocument": {"uri": URI}, "position": place}
        answer = server.take({"id": 2, "method": f"textDocument/{method}", "params": params})
        assert answer is not None
        return answer["result"]

    place = positions.place(data.draw(st.integers(0, len(text))))
    found = ask("definition", place)
    if found is None:
        return
    places = [one["range"] for one in ask("references", place)]
    assert found["range"] in places
    said = {text[positions.offset(one["start"]) : positions.offset(one["end"])] for one in places}
    assert len(said) == 1
    assert {str(ask("definition", one["start"])["range"]) for one in places} == {str(found["range"])}


def test_a_fault_of_ours_is_a_diagnostic_and_no_end() -> None:
    """Should the check itself break, the editor is told, and the session goes on."""
    server = _opened("<1>")
    server._documents[URI].findings = None  # type: ignore[method-assign,assignment]
    (problems,) = server.problems()
    assert "a fault in Solvent itself" in problems["params"]["diagnostics"][0]["message"]
