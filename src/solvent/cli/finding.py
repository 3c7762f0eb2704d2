"""Files by a short name: `discriminator` for `discriminator.yaml`, or for a folder that holds a file of its name."""

from __future__ import annotations

import os.path

from solvent.errors import Misuse

_PROGRAMS = (".hocl",)
_ALL = (".yaml", ".yml", ".json", ".hocl", ".py")


def any_file(text: str) -> str:
    """Find a program or a workflow."""
    return _found(text, _ALL)


def program_file(text: str) -> str:
    """Find a program."""
    return _found(text, _PROGRAMS)


def _found(text: str, suffixes: tuple[str, ...]) -> str:
    """Give the one file that is meant; what is not found stays as it is, and whoever reads it says so."""
    # Through strings: pathlib would be imported at every start.
    if text == "-" or os.path.isfile(text):  # noqa: PTH113
        return text
    stem = text
    if os.path.isdir(text):  # noqa: PTH112
        stem = os.path.join(text, os.path.basename(os.path.abspath(text)))  # noqa: PTH100, PTH118, PTH119
    elif os.path.exists(text) or not os.path.basename(text):  # noqa: PTH110, PTH119
        return text
    matches = [stem + suffix for suffix in suffixes if os.path.isfile(stem + suffix)]  # noqa: PTH113
    if len(matches) > 1:
        message = f"`{text}` may be {', '.join(matches[:-1])} or {matches[-1]}"
        raise Misuse("H304", message, hint="write the name in full")
    return matches[0] if matches else text


__all__ = ["any_file", "program_file"]
