"""Every package can be imported first: none relies on another having been there before it."""

from __future__ import annotations

import subprocess
import sys

from tests.repo.project import ROOT, python_files

MAX_SECONDS = 200

# A child per package, split off from one parent that has none of ours, but what others wrote and most of ours import:
# starting Python once is enough.
_IMPORT_EACH = """
import asyncio, dataclasses, msgspec, os, sqlite3, sys, traceback, yaml
assert not any(name.startswith("solvent") for name in sys.modules)
wrong = 0
for package in sys.argv[1:]:
    child = os.fork()
    if not child:
        try:
            __import__(package)
        except BaseException:
            print(package, traceback.format_exc(), sep="\\n", flush=True)
            os._exit(1)
        os._exit(0)
    wrong += os.waitpid(child, 0)[1] != 0
print(len(sys.argv) - 1, "tried,", wrong, "wrong")
"""


def test_every_package_can_be_imported_first() -> None:
    """No package of the sources needs another to be imported before it."""
    files = [file.relative_to(ROOT / "src") for file in python_files("src") if file.name == "__init__.py"]
    packages = [".".join(file.parent.parts) for file in files]
    done = subprocess.run(
        [sys.executable, "-c", _IMPORT_EACH, *packages],
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=MAX_SECONDS,
    )
    assert (done.stdout, done.stderr) == (f"{len(packages)} tried, 0 wrong\n", "")
    assert "solvent.workflows.formats.hoclflow" in packages
