"""`solvent lsp`: a process that an editor talks to, in the messages of the language server protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.command import solvent
from tests.cli.editor import URI, Editor, editor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# `𝔫` is one character and two UTF-16 units, as is every other letter of this alphabet.
PROGRAM = """\
// the greatest, ⟨⟩ and 𝔫
let max = replace x::int, y by x if x ≥ y in
⟨"𝔫𝔫", 2, max, replace ?w by len(<w>)⟩
"""


@pytest.fixture(scope="module", name="open_editor")
def _open_editor() -> Iterator[Editor]:
    with editor() as found:
        yield found.begin()


def _range(line: int, start: int, end: int) -> dict[str, Any]:
    return {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}


def test_a_session_from_hello_to_goodbye() -> None:
    """A server says what it can do, and ends with 0 when it was told to."""
    with editor() as one:
        answer = one.ask("initialize", capabilities={})["result"]
        assert answer["serverInfo"]["name"] == "solvent"
        assert answer["capabilities"]["positionEncoding"] == "utf-16"
        assert one.end() == 0


def test_an_editor_that_is_gone_ends_the_server() -> None:
    """A server whose input ends does not stay."""
    with editor() as one:
        one.begin()
        assert one.process.stdin is not None
        one.process.stdin.close()
        assert one.process.wait(200) == 1


def test_errors_have_code_place_and_hint(open_editor: Editor) -> None:
    """What is wrong is told at its UTF-16 place, with its code and what to do."""
    assert open_editor.open('let max = replace x by x in\n⟨max, "𝔫𝔫", maxx, 3⟩') == [
        {
            "range": _range(1, 14, 18),
            "severity": 1,
            "code": "H201",
            "source": "solvent",
            "message": "no rule is named `maxx`\nhint: did you mean `max`?",
        }
    ]


def test_all_errors_are_told(open_editor: Editor) -> None:
    """All mistakes of a text are told at once, as `solvent check` tells them."""
    text = "let a = replace x y by x in\n<a, 3 4>"
    found = open_editor.open(text)
    checked = solvent("check", "-", "--format", "json", typed=text).json["files"][0]["errors"]
    assert [one["code"] for one in found] == [one["code"] for one in checked] == ["H120", "H120"]
    assert [one["range"]["start"] for one in found] == [
        {"line": one["line"] - 1, "character": one["column"] - 1} for one in checked
    ]


def test_warnings_are_told(open_editor: Editor) -> None:
    """What is probably not meant is a warning."""
    found = open_editor.open("let a = replace x by x in <1>")
    assert [(one["severity"], one["code"]) for one in found] == [(2, "H250")]


def test_changes_are_followed(open_editor: Editor) -> None:
    """After changes of ranges, in UTF-16, the new text is looked at."""
    assert open_editor.open('<"𝔫", 3>') == []
    change = {"range": _range(0, 5, 6), "text": " x,"}
    document = {"uri": URI, "version": 2}
    open_editor.tell("textDocument/didChange", textDocument=document, contentChanges=[change])
    heard = open_editor.heard()["params"]
    assert (heard["version"], [one["range"] for one in heard["diagnostics"]]) == (2, [_range(0, 6, 7)])
    document = {"uri": URI, "version": 3}
    open_editor.tell("textDocument/didChange", textDocument=document, contentChanges=[{"text": "<1>"}])
    assert open_editor.heard()["params"]["diagnostics"] == []
    open_editor.tell("textDocument/didClose", textDocument={"uri": URI})
    assert open_editor.heard()["params"] == {"uri": URI, "diagnostics": []}


@pytest.mark.parametrize(
    "line, character, range_, said",
    [
        (1, 5, _range(1, 4, 7), "let max = replace x::int, y by x if x ≥ y\n```\n\nTakes 2 molecules at a time"),
        (2, 14, _range(2, 12, 15), "Takes 2 molecules at a time, again and again."),
        (1, 31, _range(1, 31, 32), "x::int\n```\n\nOne molecule of kind `int`, bound by a pattern of the rule `max`."),
        (2, 26, _range(2, 26, 27), "All molecules that the other patterns of its rule leave."),
        (2, 32, _range(2, 31, 34), "len(x)\n```\n\nThe length of a list, a string, a tuple or a solution."),
        (1, 21, _range(1, 21, 24), "A kind of molecules; also"),
        (1, 12, _range(1, 10, 17), "A rule that reacts again and again."),
    ],
)
def test_hover(open_editor: Editor, line: int, character: int, range_: Any, said: str) -> None:
    """A name, a function, a kind or a keyword under the pointer is explained."""
    open_editor.open(PROGRAM)
    found = open_editor.at("hover", line, character)
    assert found["range"] == range_
    assert said in found["contents"]["value"]


def test_nothing_is_said_of_a_number(open_editor: Editor) -> None:
    """What needs no explanation gets none."""
    open_editor.open(PROGRAM)
    assert open_editor.at("hover", 2, 9) is None


@pytest.mark.parametrize(
    "line, character, place",
    [
        (2, 13, _range(1, 4, 7)),
        (1, 31, _range(1, 18, 19)),
        (1, 40, _range(1, 26, 27)),
        (2, 36, _range(2, 26, 27)),
    ],
)
def test_go_to_definition(open_editor: Editor, line: int, character: int, place: Any) -> None:
    """A name leads to the let or the pattern that binds it."""
    open_editor.open(PROGRAM)
    assert open_editor.at("definition", line, character) == {"uri": URI, "range": place}


def test_functions_of_ones_own(tmp_path: Path) -> None:
    """A function from Python is known, explained, and found in its file."""
    file = tmp_path / "functions.py"
    file.write_text('print("loud")\n\n\ndef twice(x: int) -> int:\n    """Double it."""\n    return 2 * x\n')
    with editor("--functions", file) as one:
        one.begin()
        assert one.open("<twice(3)>") == []
        assert one.at("hover", 0, 2)["contents"]["value"] == "```python\ntwice(x: int) -> int\n```\n\nDouble it."
        place = {"line": 3, "character": 0}
        assert one.at("definition", 0, 2) == {"uri": file.as_uri(), "range": {"start": place, "end": place}}


def test_references_and_rename(open_editor: Editor) -> None:
    """All places of a name are found, and can be named anew together."""
    open_editor.open(PROGRAM)
    places = [_range(1, 4, 7), _range(2, 12, 15)]
    found = open_editor.at("references", 2, 13, context={"includeDeclaration": True})
    assert found == [{"uri": URI, "range": one} for one in places]
    assert open_editor.at("documentHighlight", 2, 13) == [{"range": one} for one in places]
    changes = open_editor.at("rename", 2, 13, newName="greatest")["changes"][URI]
    assert changes == [{"range": one, "newText": "greatest"} for one in places]


def test_a_rule_is_not_renamed_to_a_symbol(open_editor: Editor) -> None:
    """A name that would mean something else is refused."""
    open_editor.open(PROGRAM)
    place = {"line": 2, "character": 13}
    answer = open_editor.ask("textDocument/rename", textDocument={"uri": URI}, position=place, newName="Max")
    assert answer["error"]["message"] == "`Max` cannot stand for `max`: it begins with a lower-case letter"


def test_completion_offers_what_is_known(open_editor: Editor) -> None:
    """Names that are known at a place come first, then other words of the text, functions and keywords."""
    open_editor.open("let max = replace x, y by  in\n<GO, max>")
    found = {one["label"]: one["sortText"][0] for one in open_editor.at("completion", 0, 26)}
    assert found["x"] == found["y"] == "0"
    assert (found["GO"], found["len"], found["replace"]) == ("1", "2", "3")


def test_completion_of_kinds(open_editor: Editor) -> None:
    """Behind `::` come the kinds of molecules, and nothing else."""
    open_editor.open("<replace x::i by x>")
    labels = {one["label"] for one in open_editor.at("completion", 0, 13)}
    assert {"int", "string", "rule"} <= labels
    assert "x" not in labels


def test_symbols_of_a_text(open_editor: Editor) -> None:
    """The rules of a program are listed, those within others below them."""
    open_editor.open("let a = replace x by let b = replace y by y in <b> in\n<a>")
    (outer,) = open_editor.ask("textDocument/documentSymbol", textDocument={"uri": URI})["result"]
    assert (outer["name"], outer["selectionRange"]) == ("a", _range(0, 4, 5))
    assert [one["name"] for one in outer["children"]] == ["b"]


def test_formatting(open_editor: Editor) -> None:
    """A text is put into the layout of `solvent fmt`."""
    text = '<1,2,   "𝔫"  >'
    open_editor.open(text)
    (edit,) = open_editor.ask("textDocument/formatting", textDocument={"uri": URI}, options={})["result"]
    assert edit == {"range": _range(0, 0, 15), "newText": solvent("fmt", "-", typed=text).out}


def test_a_workflow_is_checked_as_one(open_editor: Editor) -> None:
    """A HOCLflow text is checked as a workflow, and its tasks are symbols that lead to each other."""
    text = "<\n  T1 : <SRC : <>, SRV : s1, IN : <1>>,\n  T2 : <SRC : <T1, T3>, SRV : s1, IN : <>>\n>"
    found = open_editor.open(text)
    assert found
    assert all(one["code"].startswith("W") and one["range"]["start"]["line"] in {1, 2} for one in found)
    symbols = open_editor.ask("textDocument/documentSymbol", textDocument={"uri": URI})["result"]
    assert [one["name"] for one in symbols] == ["T1", "T2"]
    assert open_editor.at("definition", 2, 16) == {"uri": URI, "range": _range(1, 2, 4)}


@pytest.mark.parametrize(
    "method, params, code",
    [
        ("textDocument/unknown", {}, -32601),
        ("textDocument/hover", {}, -32602),
        ("textDocument/hover", {"textDocument": {"uri": "file:///other"}, "position": {}}, -32602),
    ],
)
def test_wrong_requests_are_answered(open_editor: Editor, method: str, params: Any, code: int) -> None:
    """A request that cannot be answered gets an error, and the session goes on."""
    assert open_editor.ask(method, **params)["error"]["code"] == code


def test_a_place_that_is_none(open_editor: Editor) -> None:
    """Of a place that is none it is said what one is."""
    open_editor.open("<1>")
    error = open_editor.ask("textDocument/hover", textDocument={"uri": URI}, position={"line": -1, "character": "x"})[
        "error"
    ]
    assert (error["code"], "an integer from 0" in error["message"]) == (-32602, True)


def test_requests_before_hello_are_refused() -> None:
    """Nothing is answered before `initialize`."""
    with editor() as one:
        assert one.ask("textDocument/hover")["error"]["code"] == -32002


def test_what_is_no_json_is_answered() -> None:
    """A message that is no JSON gets an error, and the next one is answered."""
    with editor() as one:
        one.write(b"Content-Length: 3\r\n\r\n{x}")
        assert one.answer_to_nobody()["error"]["code"] == -32700
        one.begin()
        assert one.end() == 0


def test_a_variable_with_a_capital_leads_to_its_pattern(open_editor: Editor) -> None:
    """A capital that a pattern gives a type is a variable to the editor: it leads to the pattern that binds it."""
    assert open_editor.open("<1, (replace X::int by Math.abs(X) if X < 5)>") == []
    place = {"textDocument": {"uri": URI}, "position": {"line": 0, "character": 32}}
    assert open_editor.ask("textDocument/definition", **place)["result"]["range"] == _range(0, 13, 14)
    assert "One molecule of kind `int`" in open_editor.ask("textDocument/hover", **place)["result"]["contents"]["value"]
    place["position"] = {"line": 0, "character": 28}
    assert "without its sign" in open_editor.ask("textDocument/hover", **place)["result"]["contents"]["value"]
