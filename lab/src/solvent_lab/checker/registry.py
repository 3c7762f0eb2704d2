"""Which protocols can be checked, and where their models are.

A protocol's modules offer mappings from a name to a function that builds a `Model`: `MODELS`; `LARGE`, models that take
long and are checked only when they are named; `BROKEN`, models with one known fault, which the checker must find.
Modules are imported when they are asked for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from solvent_lab.checker.model import Model

_MODULES: dict[str, tuple[str, ...]] = {
    "capture": ("solvent_lab.models.capture", "solvent_lab.broken.capture"),
    "directory": ("solvent_lab.models.directory", "solvent_lab.broken.directory"),
    "elmp": (
        "solvent_lab.models.elmp",
        "solvent_lab.models.handover",
        "solvent_lab.broken.elmp",
        "solvent_lab.broken.handover",
    ),
    "inertia": ("solvent_lab.models.inertia", "solvent_lab.broken.inertia"),
    "link": ("solvent_lab.models.link", "solvent_lab.broken.link"),
    "token": (
        "solvent_lab.models.token",
        "solvent_lab.models.token_group",
        "solvent_lab.broken.token",
        "solvent_lab.broken.token_group",
    ),
}

_Machine = TypeVar("_Machine", bound=type)


@dataclass(frozen=True)
class Models:
    """The models of one protocol, by name."""

    sound: Mapping[str, Callable[[], Model]]
    broken: Mapping[str, Callable[[], Model]]
    #: Sound ones that take long.
    large: Mapping[str, Callable[[], Model]]


def protocols() -> tuple[str, ...]:
    """Return the names of the protocols that can be checked."""
    return tuple(_MODULES)


def models_of(protocol: str) -> Models:
    """Return the models of a protocol; a `KeyError` if there is none of that name."""
    found: dict[str, dict[str, Callable[[], Model]]] = {"MODELS": {}, "BROKEN": {}, "LARGE": {}}
    for name in _MODULES[protocol]:
        module = import_module(name)
        for kind, models in found.items():
            models.update(getattr(module, kind, {}))
    return Models(found["MODELS"], found["BROKEN"], found["LARGE"])


class Variants(dict[str, "Callable[[], Model]"]):
    """Models with one known fault each, by name; the faults are classes that override a part of a machine."""

    def add(
        self, build: Callable[..., Model], *arguments: Any, name: str = "", into: str = "machine", **options: Any
    ) -> Callable[[_Machine], _Machine]:
        """Add the model that `build` makes with the decorated class as its argument `into`.

        The model is named after the class (`KeepsIt`: "keeps-it") unless it is given a name, and its title is the
        first line of the class's docstring.
        """

        def register(machine: _Machine) -> _Machine:
            title = (machine.__doc__ or "").partition("\n")[0].rstrip(".")
            key = name or re.sub(r"(?<!^)(?=[A-Z])", "-", machine.__name__).lower()
            self[key] = partial(build, *arguments, **{into: machine, "title": title}, **options)
            return machine

        return register


__all__ = ["Models", "Variants", "models_of", "protocols"]
