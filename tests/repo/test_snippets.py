"""The reader and the runner of snippets do what the tests of the documentation rely on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.repo.console import Exchange, exchanges_of, is_as_expected, prepare_folder, run_commands
from tests.repo.snippets import Block, blocks_of

if TYPE_CHECKING:
    from pathlib import Path


def test_block_keeps_its_language_remarks_and_line() -> None:
    """A block is found with its language, the words after it and the line of its text."""
    page = "Text.\n\n```hocl no-check\n<1>\n```\n"
    assert blocks_of(page) == [Block(language="hocl", remarks=("no-check",), text="<1>\n", line=4)]


def test_longer_fence_holds_shorter_ones() -> None:
    """A fence of four signs is not closed by one of three."""
    page = "````text\n```hocl\n<1>\n```\n````\n"
    assert [block.text for block in blocks_of(page)] == ["```hocl\n<1>\n```\n"]


def test_block_in_a_list_is_dedented() -> None:
    """A block inside a list item loses the item's indentation, and only that."""
    page = "- item\n\n  ```python\n  if x:\n      y\n  ```\n"
    assert [block.text for block in blocks_of(page)] == ["if x:\n    y\n"]


def test_block_without_an_end_is_an_error() -> None:
    """A fence that is never closed is reported with its line."""
    with pytest.raises(ValueError, match="line 3"):
        blocks_of("Text.\n\n```hocl\n<1>\n")


def test_block_may_name_a_file() -> None:
    """The remark `file=` names the file under which commands find the text."""
    page = "```hocl file=a.hocl\n<1>\n```\n```hocl\n```\n"
    assert [block.file for block in blocks_of(page)] == ["a.hocl", None]


def test_console_block_splits_into_exchanges() -> None:
    """A command owns the lines up to the next one."""
    assert exchanges_of("$ a\nx\n\ny\n\n$ b\n") == [Exchange("a", ("x", "", "y")), Exchange("b", ())]


def test_backslash_continues_a_command() -> None:
    r"""A command that ends in `\` goes on in the next line."""
    assert exchanges_of("$ a \\\n    b\nx\n") == [Exchange("a \\\n    b", ("x",))]


@pytest.mark.parametrize(
    "command",
    ["make run", "make test", "git clone URL", "pip install x", ".venv/bin/pip install x", "cd solvent"],
)
def test_setting_up_is_not_run(command: str) -> None:
    """Commands that set the project up are shown, not tried."""
    assert not Exchange(command, ()).is_run


@pytest.mark.parametrize("command", ["solvent run a.hocl", ".venv/bin/solvent check a.hocl", "cat a; cd b"])
def test_other_commands_are_run(command: str) -> None:
    """All other commands are tried."""
    assert Exchange(command, ()).is_run


@pytest.mark.parametrize(
    "expected,seen,fits",
    [
        (["a", "b"], ["a", "b"], True),
        (["a"], ["a", "b"], False),
        (["a."], ["ab"], False),
        (["a", "...", "d"], ["a", "b", "c", "d"], True),
        (["a", "..."], ["a"], True),
        (["...", "d"], ["a", "b"], False),
        (["3 reactions in 1.5 ms"], ["3 reactions in 0.02 s"], True),
        (["3 reactions in 1.5 ms"], ["4 reactions in 1.5 ms"], False),
        (["(12 seconds)"], ["(0.25 seconds)"], True),
        (["a  done  1 call       0.01 s"], ["a  done  1 call      10.01 s"], True),
        (['{"inert": true, "seconds": 0.5}'], ['{"inert": true, "seconds": 1.2e-05}'], True),
        (["<T1 : 5>"], ["<T1 : 6>"], False),
        (["two  42     0.01  holds"], ["two  42    12.50  holds"], True),
        (["two  42     0.01  holds"], ["two  43     0.01  holds"], False),
    ],
)
def test_output_is_compared_but_for_gaps_and_durations(expected: list[str], seen: list[str], *, fits: bool) -> None:
    """Output must be equal, save for durations and the lines that `...` stands for."""
    assert is_as_expected(expected, seen) is fits


def test_commands_share_a_shell(tmp_path: Path) -> None:
    """The commands of a block see each other's variables and exit status; standard error is output too."""
    commands = ["word=iron", "echo $word", "sh -c 'echo rust >&2; exit 3'", "echo $?", "printf x"]
    assert run_commands(commands, tmp_path) == [(), ("iron",), ("rust",), ("3",), ("x",)]


def test_shell_that_stops_early_is_an_error(tmp_path: Path) -> None:
    """A command that ends the shell is named."""
    with pytest.raises(ValueError, match="stopped at `exit 4`"):
        run_commands(["true", "exit 4", "true"], tmp_path)


def test_commands_find_the_files_of_their_page(tmp_path: Path) -> None:
    """A page's own files lie in the folder its commands run in."""
    prepare_folder(tmp_path, {"sub/a.hocl": "<1>\n"}, text="solvent run sub/a.hocl")
    assert run_commands(["cat sub/a.hocl", ".venv/bin/python -c 'print(2)'"], tmp_path) == [("<1>",), ("2",)]


def test_commands_find_what_they_name(tmp_path: Path) -> None:
    """Of the project's documents and examples, those that a text names are there."""
    prepare_folder(tmp_path, {}, text="$ solvent run examples/hocl/maximum/maximum.hocl")
    assert run_commands(["ls", "ls examples/hocl/maximum/maximum.hocl"], tmp_path) == [
        ("examples",),
        ("examples/hocl/maximum/maximum.hocl",),
    ]
