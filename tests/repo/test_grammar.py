"""The grammar for editors is made of the words of the language, and colours as the Pygments lexer does."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

import pytest
from pygments import token

from solvent.lang.pygments_lexer import HoclLexer
from tests.repo.grammar import FILE, made
from tests.repo.project import ROOT, name_in_project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROGRAMS = sorted(file for folder in ("examples", "src", "lab", "tests") for file in (ROOT / folder).rglob("*.hocl"))
_UPPER = "".join(chr(code) for code in range(sys.maxunicode) if chr(code).isupper())
# What an editor calls what Pygments has classified.
_SCOPES = {
    token.Comment.Single: "comment.line",
    token.Comment.Multiline: "comment.block",
    token.String.Double: "string.quoted.double",
    token.String.Escape: "constant.character.escape",
    token.Number.Float: "constant.numeric.float",
    token.Number.Integer: "constant.numeric.integer",
    token.Keyword: "keyword.control",
    token.Keyword.Constant: "constant.language",
    token.Keyword.Type: "storage.type",
    token.Keyword.Namespace: "keyword.other.import",
    token.Operator: "keyword.operator",
    token.Operator.Word: "keyword.operator.word",
    token.Name: "variable.other",
    token.Name.Constant: "constant.other.symbol",
    token.Name.Function: "entity.name.function",
    token.Name.Builtin: "support.function",
    token.Name.Namespace: "entity.name.namespace",
    token.Punctuation: "punctuation",
}


def _expression(text: str) -> re.Pattern[str]:
    """Compile an expression of the grammar, which is written for another engine."""
    return re.compile(text.replace(r"\p{Lu}", f"[{_UPPER}]"))


class _Editor:
    """Colours a text line by line, as editors do with a grammar that nests one level."""

    def __init__(self, grammar: dict[str, Any]) -> None:
        self._rules = [self._rule(one) for one in grammar["patterns"]]

    def _rule(self, one: dict[str, Any]) -> dict[str, Any]:
        inner = [self._rule(other) for other in one.get("patterns", ())]
        compiled = {key: _expression(one[key]) for key in ("match", "begin", "end") if key in one}
        return {**one, **compiled, "patterns": inner}

    def scopes(self, text: str) -> list[str]:
        """Give the innermost scope of every character; that of one which no rule knows is empty."""
        found, inside = [], None
        for line in text.splitlines(keepends=True):
            at, colours = 0, [""] * len(line)
            body = line.rstrip("\r\n")
            while at < len(body) or (inside is not None and inside["end"].match(body, at)):
                rules = [{"match": inside["end"]}, *inside["patterns"]] if inside else self._rules
                rule, match = self._first(rules, body, at)
                scope = inside["name"] if inside else ""
                if match is None:
                    colours[at] = scope
                    at += 1
                    continue
                start, end = match.span()
                colours[start:end] = [rule.get("name", scope)] * (end - start)
                for number, part in rule.get("captures", {}).items():
                    first, last = match.span(int(number))
                    colours[first:last] = [part["name"]] * (last - first)
                at = end
                if inside and rule["match"] is inside["end"]:
                    inside = None
                elif "begin" in rule:
                    inside = rule
            found += colours
        return found

    @staticmethod
    def _first(rules: list[dict[str, Any]], line: str, at: int) -> tuple[dict[str, Any], re.Match[str] | None]:
        for rule in rules:
            match = (rule.get("match") or rule["begin"]).match(line, at)
            if match is not None:
                return rule, match
        return {}, None


def _differences(text: str, editor: _Editor) -> Iterator[tuple[str, object, set[str]]]:
    scopes, at = editor.scopes(text), 0
    for kind, piece in HoclLexer(stripnl=False, ensurenl=False).get_tokens(text):
        seen = {scope for char, scope in zip(piece, scopes[at:], strict=False) if not char.isspace()}
        at += len(piece)
        if kind not in token.Whitespace and not all(f"{scope}.".startswith(f"{_SCOPES[kind]}.") for scope in seen):
            yield piece, kind, seen


def test_grammar_for_editors_is_up_to_date() -> None:
    """The grammar is the one that `make grammar` would write."""
    assert FILE.read_text(encoding="utf-8") == made(), "run `make grammar`"


def test_the_files_beside_the_grammar_name_it() -> None:
    """The extension for editors names the grammar and the configuration, and both are there."""
    folder = FILE.parents[1]
    package = json.loads((folder / "package.json").read_text(encoding="utf-8"))["contributes"]
    assert (folder / package["grammars"][0]["path"]).samefile(FILE)
    assert package["grammars"][0]["scopeName"] == json.loads(made())["scopeName"]
    assert json.loads((folder / package["languages"][0]["configuration"]).read_text(encoding="utf-8"))["comments"]


@pytest.mark.parametrize("file", [pytest.param(file, id=name_in_project(file)) for file in PROGRAMS])
def test_editors_colour_as_pygments_does(file: Path) -> None:
    """An editor gives every part of a program the scope that goes with its class in Pygments."""
    editor = _Editor(json.loads(made()))
    assert [*_differences(file.read_text(encoding="utf-8"), editor)] == []


def test_editors_colour_what_no_program_here_has() -> None:
    """Headers, escapes, comments over lines, calls and the signs of the papers have their scopes too."""
    text = """\
package a.b;
/* two
   lines */ let rec up = replace-one x::int, y by "a\\n\\u0041 \\" b", (m = one x by A^inf) # end
   if f (x) ≥ len(y) and not true ∧ x::Integer ∈ w' in
⟨1.5e3, 12, Été, n'ew, (x <= 3), 2^n⟩ // done
"""
    assert [*_differences(text, _Editor(json.loads(made())))] == []
