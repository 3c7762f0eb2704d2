"""The hash of a service's code is the same as long as the service does the same, in every process."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from solvent.services.code_hash import code_hash
from solvent.workflows.model import Policy, Service, Task, Workflow

if TYPE_CHECKING:
    from pathlib import Path

MODULE = '''
"""Services."""
from solvent import service

RATE = 2
OTHER = 1

def helper(x):
    return x * RATE

def outer(k):
    def inner(x):
        return x + k
    return inner

@service(retries=1)
def scale(x, by=1):
    """Say what it does."""
    # It multiplies.
    return helper(x) * by

three, four = outer(3), outer(4)
double, triple = (lambda x: 2 * x), lambda x: 3 * x
'''


def function(tmp_path: Path, text: str, name: str = "scale") -> Service:
    """Return the service of a function of a module with this text."""
    path = tmp_path / "steps.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("steps", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Any = getattr(module, name)
    return found if isinstance(found, Service) else Service(name, function=getattr(found, "function", found))


@pytest.mark.parametrize(
    "before,after,is_same",
    [
        ("# It multiplies.", "", True),
        ("Say what it does.", "Say it.", True),
        ("retries=1", "retries=5", True),
        ("OTHER = 1", "OTHER = 2", True),
        ("RATE = 2", "RATE = 3", False),
        ("x * RATE", "x + RATE", False),
        ("by=1", "by=2", False),
        ("helper(x) * by", "helper(x) - by", False),
    ],
)
def test_the_hash_of_a_function_is_of_its_code_and_of_what_it_uses_in_its_module(
    tmp_path: Path, before: str, after: str, *, is_same: bool
) -> None:
    """Comments, docstrings and the policy do not count, nor what it does not use."""
    first = code_hash(function(tmp_path, MODULE))
    second = code_hash(function(tmp_path, MODULE.replace(before, after)))
    assert first
    assert (first == second) is is_same


def test_functions_differ_by_their_closures_and_lambdas_of_one_line_by_their_code(tmp_path: Path) -> None:
    """Their sources are the same, or cannot be told apart."""
    names = ("three", "four", "double", "triple")
    assert len({code_hash(function(tmp_path, MODULE, name)) for name in names}) == 4


def test_another_process_finds_the_same_hash(tmp_path: Path) -> None:
    """Nothing in it depends on where things are in memory, or on the order of sets."""
    function(tmp_path, MODULE)
    code = (
        "import sys; sys.path.insert(0, '.')\n"
        "from solvent.services.code_hash import code_hash\n"
        "from solvent.workflows.model import Service\n"
        "print(code_hash(Service('s', target='steps:three')).hex())"
    )
    found = {
        subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    }
    assert found == {code_hash(function(tmp_path, MODULE, "three")).hex() + "\n"}


def test_other_kinds_are_what_their_target_options_or_file_say(tmp_path: Path) -> None:
    """How often a service is tried does not count."""
    program = tmp_path / "sum.hocl"
    program.write_text("let a = replace x, y by x + y in <1, a>")
    shell = Service("s", "shell", "echo {0}", options={"result": "json"})
    inner = Workflow("inner", (Task("t", "s"),), (shell,))
    one_of_each = [
        shell,
        Service("s", "shell", "echo {0}"),
        Service("s", "shell", "echo {1}"),
        Service("s", "http", "http://localhost/{0}"),
        Service("s", "http", "http://localhost/{0}", method="GET"),
        Service("s", "hocl", "sum.hocl"),
        Service("s", "workflow", function=inner),
        Service("s", "workflow", function=Workflow("inner", (Task("t", "s"),), (Service("s", "shell", "echo 2"),))),
    ]
    hashes = [code_hash(one, tmp_path) for one in one_of_each]
    assert len({*hashes}) == len(one_of_each)
    program.write_text("let a = replace x, y by x * y in <1, a>")
    assert code_hash(one_of_each[5], tmp_path) != hashes[5]
    assert code_hash(Service("other", "shell", "echo {1}", policy=Policy(retries=3))) == hashes[2]


def test_code_that_cannot_be_found_has_no_hash(tmp_path: Path) -> None:
    """No other is the same."""
    assert code_hash(Service("s", "hocl", "none.hocl"), tmp_path) == b""
