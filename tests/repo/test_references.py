"""The references of options and errors say what the code says, and leave nothing out."""

from __future__ import annotations

import ast
import difflib
import re

from solvent.lang.builtin import BUILTIN
from solvent.lang.lexer import KEYWORDS
from tests.repo import operators
from tests.repo.options import PAGE, made
from tests.repo.project import ROOT, python_files

ERRORS = ROOT / "docs" / "reference" / "errors.md"
_CODE = re.compile(r"(?:^|\[)([A-Z]\d{3})(?:$|\])")
# Only files with something like it are parsed.
_LIKE_A_CODE = re.compile(r"[A-Z]\d{3}")
_LISTED = re.compile(r"^\| ((?:[A-Z]\d{3}(?:, )?)+) ", re.MULTILINE)
_FAULT = "H999"
"""A fault in Solvent itself, which is no error of anybody who reads the page."""


def test_reference_of_options_is_up_to_date() -> None:
    """The page is the one that `make reference` would write."""
    seen, text = PAGE.read_text(encoding="utf-8"), made()
    changes = difflib.unified_diff(seen.splitlines(), text.splitlines(), "written", "would be", lineterm="", n=0)
    assert seen == text, "run `make reference`\n" + "\n".join([*changes][:20])


def test_every_error_is_listed() -> None:
    """Each code that is raised somewhere stands in the reference, and each that stands there is raised."""
    raised = {
        code
        for text in (file.read_text(encoding="utf-8") for file in python_files("src/solvent", "lab/src"))
        if _LIKE_A_CODE.search(text)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for code in _CODE.findall(node.value)
    }
    listed = {code for codes in _LISTED.findall(ERRORS.read_text(encoding="utf-8")) for code in codes.split(", ")}
    assert raised - listed - {_FAULT} == set(), "not in the reference"
    assert listed - raised == set(), "raised nowhere"


def test_every_function_of_the_language_is_listed() -> None:
    """Each built-in function stands in the reference of the language, and each that stands there is built in."""
    page = (ROOT / "docs" / "reference" / "language.md").read_text(encoding="utf-8")
    table = page.partition("## Built-in functions")[2].partition("\n## ")[0]
    first = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    listed = {name for cell in first for name in re.findall(r"`([A-Za-z]+(?:[. ][A-Za-z]+)?)", cell)}
    assert listed == set(BUILTIN)


def test_table_of_operators_is_up_to_date() -> None:
    """The reference of the language lists the operators as `make reference` would write them."""
    assert operators.PAGE.read_text(encoding="utf-8") == operators.made(), "run `make reference`"


def test_every_keyword_of_the_language_is_listed() -> None:
    """The reference names just the words that the lexer keeps for itself."""
    page = (ROOT / "docs" / "reference" / "language.md").read_text(encoding="utf-8")
    found = re.search(r"^- Keywords: `([a-z -]+)`", page, re.MULTILINE)
    assert found is not None
    assert set(found[1].split()) == {one for one in KEYWORDS if one[0].islower()}
