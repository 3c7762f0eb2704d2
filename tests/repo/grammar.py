"""The grammar for editors, `editors/vscode/syntaxes/hocl.tmLanguage.json`: made of the words of the language.

    python -m tests.repo.grammar         write the grammar (`make grammar`)

A TextMate grammar sees one line at a time and knows no tree; the expressions below are read from left to right, and at
each place the first that fits wins. They are those of the real lexer where it has one. A test compares what is written
with what would be written, and what an editor would colour with what the Pygments lexer says.
"""

from __future__ import annotations

import json
from typing import Any

from solvent.lang.builtin import BUILTIN
from solvent.lang.lexer import FLOAT, INTEGER, KEYWORDS, MARK, NAME, OPERATOR_WORDS, RULE_WORDS
from solvent.lang.pygments_lexer import CONSTANTS, ESCAPE, HEADER_WORDS
from solvent.lang.rule import KINDS
from tests.repo.project import ROOT

FILE = ROOT / "editors" / "vscode" / "syntaxes" / "hocl.tmLanguage.json"
_ENDS = r"(?![\w'])"


def _any_of(words: frozenset[str] | set[str] | dict[str, Any]) -> str:
    """Give an expression for whole words; longer ones first, since the first that fits wins."""
    return f"(?:{'|'.join(sorted(words, key=lambda word: (-len(word), word)))}){_ENDS}"


def _simple(scope: str, expression: str) -> dict[str, Any]:
    return {"name": f"{scope}.hocl", "match": expression}


def _parts(expression: str, *scopes: str) -> dict[str, Any]:
    captures = {str(number): {"name": f"{scope}.hocl"} for number, scope in enumerate(scopes, 1)}
    return {"match": expression, "captures": captures}


def _patterns() -> list[dict[str, Any]]:
    control = KEYWORDS - CONSTANTS - OPERATOR_WORDS
    return [
        _simple("comment.line.double-slash", "//.*$"),
        _simple("comment.line.number-sign", "#.*$"),
        {"name": "comment.block.hocl", "begin": r"/\*", "end": r"\*/"},
        {
            "name": "string.quoted.double.hocl",
            "begin": '"',
            "end": '"|$',
            "patterns": [_simple("constant.character.escape", ESCAPE)],
        },
        _parts(
            rf"^\s*({'|'.join(sorted(HEADER_WORDS))})\s+([^;]*)(;)",
            "keyword.other.import",
            "entity.name.namespace",
            "punctuation.terminator",
        ),
        _parts(
            rf"(let)\s+(rec)\s+({NAME})",
            "keyword.control",
            "keyword.control",
            "entity.name.function",
        ),
        _parts(rf"(let)\s+({NAME})", "keyword.control", "entity.name.function"),
        _parts(rf"(::)\s*({_any_of(KINDS)})", "keyword.operator", "storage.type"),
        _parts(rf"(\^)\s*(inf{_ENDS})", "keyword.operator", "constant.language"),
        _simple("constant.language", _any_of(CONSTANTS)),
        _simple("keyword.operator.word", _any_of(OPERATOR_WORDS)),
        _simple("keyword.control", _any_of(control)),
        # A line that ends after the `=` names a rule too: an editor does not see the next one.
        _simple("entity.name.function", rf"{NAME}(?=\s*=\s*(?:(?:{'|'.join(sorted(RULE_WORDS))})(?![\w-])|$))"),
        _simple("variable.other", r"\p{Lu}\w*'*(?=\s*::)"),
        _simple("constant.other.symbol", r"\p{Lu}\w*'*"),
        _simple("support.function", rf"{_any_of({*filter(str.isidentifier, BUILTIN)})}(?=\s*\()"),
        _simple("entity.name.function.call", rf"{NAME}(?=\s*\()"),
        _simple("variable.other", NAME),
        _simple("constant.numeric.float", FLOAT),
        _simple("constant.numeric.integer", INTEGER),
        _simple("punctuation.separator", r"(?!::|[<>]=)[<>⟨⟩(),:;.]"),
        _simple("keyword.operator", MARK),
    ]


def made() -> str:
    """Give the text of the grammar."""
    grammar = {
        "information_for_contributors": "Made by `make grammar` of src/solvent/lang; do not edit.",
        "name": "HOCL",
        "scopeName": "source.hocl",
        "fileTypes": ["hocl"],
        "patterns": _patterns(),
    }
    return json.dumps(grammar, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(made(), encoding="utf-8")
