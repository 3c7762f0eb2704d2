"""Resources in workflow files: what they are, and the arguments that claim them.

resources:
  grid: {shape: [1000, "$n"], dtype: float32, save: grid.npy}
  table: {size: 1048576}
  image: {file: image.raw, undo: false}
tasks:
  sweep: {service: s, in: [{resource: grid}]}
  look:  {service: s, in: [{resource: grid, mode: read, offset: 0, length: 10}]}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.workflow.resources import Resource
from solvent.workflow.slots import Claim, Input

if TYPE_CHECKING:
    from solvent.workflow.files.reading import Reader
    from solvent.workflow.places import Path

RESOURCE_KEYS = ("shape", "dtype", "size", "file", "save", "undo")
CLAIM_KEYS = ("resource", "mode", "offset", "length")
MODES = ("write", "read")


def read_resources(reader: Reader, data: Any, path: Path) -> tuple[Resource, ...]:
    """Read the resources of a workflow."""
    found = reader.mapping(data or {}, path, "`resources`")
    return tuple(_resource(reader, name, one, (*path, name)) for name, one in found.items())


def _resource(reader: Reader, name: str, data: Any, path: Path) -> Resource:
    found = reader.mapping(data, path, f"the resource `{name}`", RESOURCE_KEYS)
    given = {key: value for key, value in found.items() if value is not None}
    said: dict[str, Any] = {}
    if "shape" in given:
        lengths = given["shape"] if isinstance(given["shape"], list) else [given["shape"]]
        said["shape"] = tuple(
            _number(reader, length, (*path, "shape", at), "a length") for at, length in enumerate(lengths)
        )
    if "dtype" in given:
        said["dtype"] = reader.text(given["dtype"], (*path, "dtype"), "`dtype`")
        if "shape" not in given:
            reader.fail("W105", "only an array has a `dtype`", (*path, "dtype"), hint="say its `shape` too")
    if "size" in given:
        said["size"] = _number(reader, given["size"], (*path, "size"), "`size`")
    for key in ("file", "save"):
        if key in given:
            text = reader.text(given[key], (*path, key), f"`{key}`")
            said[key] = _input(text) if text.startswith("$") and text != "$" else text
    if "undo" in given:
        said["undo"] = reader.flag(given["undo"], (*path, "undo"), "`undo`")
    return Resource(name, **said)


def _number(reader: Reader, data: Any, path: Path, what: str) -> Any:
    if isinstance(data, str) and data.startswith("$") and len(data) > 1:
        return _input(data)
    return reader.whole(data, path, what)


def _input(text: str) -> Any:
    """Read `$n`, an input, or `$$n`, the text `$n`."""
    return text[1:] if text.startswith("$$") else Input(text[1:])


def read_claim(reader: Reader, data: dict[str, Any], path: Path) -> Claim:
    """Read an argument that claims a resource."""
    reader.mapping(data, path, "an argument with `resource`", CLAIM_KEYS)
    name = reader.text(data["resource"], (*path, "resource"), "the name of a resource")
    mode: Any = reader.text(data.get("mode") or "write", (*path, "mode"), "`mode`")
    if mode not in MODES:
        reader.fail_word("W105", f"a resource cannot be had to `{mode}`", (*path, "mode"), mode, MODES)
    offset, length = data.get("offset"), data.get("length")
    if offset is not None and (type(offset) is not int or offset < 0):
        reader.fail("W105", "`offset` is a position: 0, 1, 2 ...", (*path, "offset"))
    return Claim(
        name,
        mode,
        offset or 0,
        None if length is None else reader.whole(length, (*path, "length"), "`length`"),
    )


def plain_resource(resource: Resource) -> dict[str, Any]:
    """Give a resource as a file holds it."""
    found: dict[str, Any] = {}
    if resource.shape is not None:
        found |= {"shape": [_plain(length) for length in resource.shape], "dtype": resource.dtype}
    found |= {key: _plain(getattr(resource, key)) for key in ("size", "file", "save") if getattr(resource, key)}
    return found if resource.undo else found | {"undo": False}


def _plain(value: int | str | Input) -> Any:
    if isinstance(value, Input):
        return f"${value.name}"
    return f"${value}" if isinstance(value, str) and value.startswith("$") else value


def plain_claim(claim: Claim) -> dict[str, Any]:
    """Give a claim as a file holds it."""
    found: dict[str, Any] = {"resource": claim.resource}
    if claim.mode != "write":
        found["mode"] = claim.mode
    if claim.offset:
        found["offset"] = claim.offset
    return found if claim.length is None else found | {"length": claim.length}


__all__ = ["CLAIM_KEYS", "MODES", "RESOURCE_KEYS", "plain_claim", "plain_resource", "read_claim", "read_resources"]
