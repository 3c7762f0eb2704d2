"""Any workflow file to the model, and the model to any file: the suffix says the format.

.yaml .yml    our layout
.json         our layout, or a WfFormat trace, which has a `schemaVersion`
.hocl         HOCLflow, or chemical services, which are called `ChWS1` and so on

The other formats are imported when a file is in one of them: a command that reads YAML does
not wait for them.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from solvent.errors import WorkflowProblem, unread_file
from solvent.source import Source
from solvent.workflows.formats.yaml.reader import read_tree
from solvent.workflows.formats.yaml.tree import tree_of
from solvent.workflows.formats.yaml.writer import write_json, write_yaml

if TYPE_CHECKING:
    from solvent.workflows.model import Workflow
    from solvent.workflows.places import Loaded

SUFFIXES = (".yaml", ".yml", ".json", ".hocl")

MAX_CHARACTERS = 512 * 1024 * 1024
"""The longest file that is read; a trace of a million tasks is shorter."""


def load(path: str | Path, *, scale: float = 1.0) -> Loaded:
    """Read a workflow file; `scale` multiplies the recorded durations of a trace."""
    path = Path(path)
    try:
        size = path.stat().st_size
        _check_suffix(path)
        if size > MAX_CHARACTERS:
            raise WorkflowProblem("W100", f"`{path}` is longer than {MAX_CHARACTERS:,} bytes")
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise WorkflowProblem("W100", f"`{path}` is not UTF-8 text") from error
    except (OSError, ValueError) as error:
        # The latter for a path with a null character, or with half of a surrogate pair.
        message, hint = unread_file(path, error)
        raise WorkflowProblem("W100", message, hint=hint) from error
    return load_text(text, name=str(path), scale=scale)


def load_text(text: str, *, name: str = "workflow.yaml", scale: float = 1.0) -> Loaded:
    """Read a workflow from a text; `name` says by its suffix how, and names a workflow that has no name of its own."""
    path = Path(name)
    _check_suffix(path)
    source = Source(text, name)
    if path.suffix == ".hocl":
        from solvent.workflows.formats import chws, hoclflow

        if chws.is_chws(source):
            return chws.read(source, name=path.stem)
        return hoclflow.read(source, name=path.stem)
    tree = tree_of(source)
    if path.suffix == ".json" and isinstance(tree.data, dict) and "schemaVersion" in tree.data:
        from solvent.workflows.formats import wfformat

        return wfformat.read_tree(tree, scale=scale)
    return read_tree(tree, name=path.stem)


def write(workflow: Workflow, *, suffix: str) -> str:
    """Write a workflow in the format of a suffix."""
    _check_suffix(Path(f"workflow{suffix}"))
    if suffix == ".json":
        return write_json(workflow)
    if suffix == ".hocl":
        from solvent.workflows.formats import hoclflow

        return hoclflow.write(workflow)
    return write_yaml(workflow)


def _check_suffix(path: Path) -> None:
    if path.suffix not in SUFFIXES:
        message = f"`{path.name}` is not the name of a workflow file"
        raise WorkflowProblem("W100", message, hint=f"workflow files end in {', '.join(SUFFIXES)} or .py")
