"""The references of options and errors say what the code says, and leave nothing out."""

from __future__ import annotations

import ast
import difflib
import re

from tests.repo.options import PAGE, made
from tests.repo.project import ROOT, python_files

ERRORS = ROOT / "docs" / "reference" / "errors.md"
_CODE = re.compile(r"(?:^|\[)([A-Z]\d{3})(?:$|\])")
_LISTED = re.compile(r"^\| ((?:[A-Z]\d{3}(?:, )?)+) ", re.MULTILINE)
_FAULT = "H999"
"""A fault in Solvent itself, which is no error of anybody who reads the page."""


def test_reference_of_options_is_up_to_date() -> None:
    """The page is the one that `make options` would write."""
    seen, text = PAGE.read_text(encoding="utf-8"), made()
    changes = difflib.unified_diff(seen.splitlines(), text.splitlines(), "written", "would be", lineterm="", n=0)
    assert seen == text, "run `make options`\n" + "\n".join([*changes][:20])


def test_every_error_is_listed() -> None:
    """Each code that is raised somewhere stands in the reference, and each that stands there is raised."""
    raised = {
        code
        for file in python_files("src/solvent")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for code in _CODE.findall(node.value)
    }
    listed = {code for codes in _LISTED.findall(ERRORS.read_text(encoding="utf-8")) for code in codes.split(", ")}
    assert raised - listed - {_FAULT} == set(), "not in the reference"
    assert listed - raised == set(), "raised nowhere"
