"""Resources: `RESOURCES : <grid : <SHAPE : (1000, n), DTYPE : "float32", SAVE : "grid.npy">, table : <SIZE : 4096>>`.

Numbers and paths may be inputs of the workflow, as in arguments: `n`, or `INPUT : "my n"`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.chemistry.syntax import SolutionNode
from solvent.workflow.files.resources import RESOURCE_KEYS
from solvent.workflow.hoclflow.arguments import ArgumentReader, print_argument
from solvent.workflow.hoclflow.values import print_list, print_plain_name
from solvent.workflow.model import Input, Value
from solvent.workflow.resources import Resource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.chemistry.syntax import Expression, Node

_KINDS: dict[str, tuple[type, str]] = {
    "SHAPE": (int, "a whole number"),
    "SIZE": (int, "a whole number"),
    "DTYPE": (str, "a text"),
    "FILE": (str, "a text"),
    "SAVE": (str, "a text"),
    "UNDO": (bool, "true or false"),
}


class ResourceReader(ArgumentReader):
    """Reads resources."""

    def resources(self, node: Node) -> Iterator[tuple[Resource, Node]]:
        """Read all of them, with where each stands."""
        for one in self.solution(node, "RESOURCES"):
            first, rest = self.pair(one, "a resource")
            yield self._resource(self.name(first, "a resource"), rest), first

    def _resource(self, name: str, node: Node) -> Resource:
        if not isinstance(node, SolutionNode):
            self.fail(node, f"the resource `{name}` is a solution", hint="`<SHAPE : (1000, 1000)>`")
        said: dict[str, Any] = {}
        for entry in node.items:
            first, rest = self.pair(entry, f"a molecule of the resource `{name}`")
            word = self.word(first) or ""
            if word not in _KINDS:
                known = ", ".join(_KINDS)
                self.fail(first, f"the resource `{name}` has no molecule `{word}`", code="W103", hint=f"known: {known}")
            if word.lower() in said:
                self.fail(first, f"`{word}` stands here a second time", code="W102")
            if word == "SHAPE":
                said["shape"] = tuple(self._part(word, one) for one in self.list(rest))
            else:
                said[word.lower()] = self._part(word, rest)
        return Resource(name, **said)

    def _part(self, word: str, node: Expression) -> Any:
        found = self.argument(node, in_order=False)
        if isinstance(found, Input) and word not in ("DTYPE", "UNDO"):
            return found
        kind, said = _KINDS[word]
        if not isinstance(found, Value) or type(found.value) is not kind:
            self.fail(node, f"`{word}` is {said}", code="W104")
        return found.value


def print_resource(resource: Resource) -> str:
    """Write a resource."""
    entries = []
    if resource.shape is not None:
        entries.append(f"SHAPE : {print_list([_part(length) for length in resource.shape])}")
        entries.append(f"DTYPE : {_part(resource.dtype)}")
    for key in RESOURCE_KEYS:
        value = getattr(resource, key)
        if key in ("size", "file", "save") and value:
            entries.append(f"{key.upper()} : {_part(value)}")
    if not resource.undo:
        entries.append("UNDO : false")
    return f"{print_plain_name(resource.name)} : <{', '.join(entries)}>"


def _part(value: int | str | Input) -> str:
    return print_argument(value if isinstance(value, Input) else Value(value), in_order=False)


__all__ = ["ResourceReader", "print_resource"]
