"""The extension for VS Code, as it is copied, run by Node: it starts the language server and passes on what it says."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import Any

import pytest

from tests.cli.command import environment
from tests.repo.project import ROOT

NODE = shutil.which("node")
TEXT = "let max = replace x, y by x if x >= y in\n<maxx, 2,3>\n"

pytestmark = pytest.mark.skipif(NODE is None, reason="there is no Node here")


def _run(command: list[str]) -> Any:
    assert NODE is not None
    words = [NODE, str(ROOT / "tests/repo/vscode.js"), str(ROOT / "editors/vscode/extension.js"), json.dumps(command)]
    done = subprocess.run([*words, TEXT], capture_output=True, env=environment(), timeout=200, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def test_the_extension_passes_on_what_the_server_says() -> None:
    """Errors come and go with the text; what the pointer, the outline and the keyboard ask for is answered."""
    found = _run([sys.executable, "-m", "solvent"])
    assert (found["opened"], found["changed"]) == (["H201"], [])
    assert "Takes 2 molecules at a time" in found["hover"]
    assert (found["definition"], found["references"]) == ({"line": 0, "character": 4}, 2)
    assert (found["symbols"], found["formatting"]) == (["max"], 1)
    assert {"max", "len", "replace"} <= set(found["completion"])


def test_a_server_that_cannot_be_started_is_told() -> None:
    """Where there is no Solvent, colours are left, and a word about it."""
    assert "cannot start /no/such/solvent" in _run(["/no/such/solvent"])["shown"][0]
