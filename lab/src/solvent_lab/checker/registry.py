"""Which protocols can be checked, and where their models are.

A protocol's modules offer `MODELS` and `BROKEN`, mappings from a name to a function that builds a `Model`. A broken
model is a copy with one known fault; the checker must find it. Some offer `LARGE` as well: models that take long,
and are checked only when they are named. Modules are imported when they are asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from solvent_lab.checker.model import Model

_MODULES: dict[str, tuple[str, ...]] = {
    "capture": ("solvent_lab.models.capture",),
    "directory": ("solvent_lab.models.directory",),
    "elmp": ("solvent_lab.models.elmp", "solvent_lab.models.handover"),
    "inertia": ("solvent_lab.models.inertia",),
    "link": ("solvent_lab.models.link",),
    "token": ("solvent_lab.models.token", "solvent_lab.models.token_group"),
}


@dataclass(frozen=True)
class Models:
    """The models of one protocol, by name."""

    sound: Mapping[str, Callable[[], Model]]
    broken: Mapping[str, Callable[[], Model]]
    #: Sound ones that take long.
    large: Mapping[str, Callable[[], Model]]


def protocols() -> tuple[str, ...]:
    """Give the names of the protocols that can be checked."""
    return tuple(_MODULES)


def models_of(protocol: str) -> Models:
    """Give the models of a protocol; a `KeyError` if there is none of that name."""
    sound: dict[str, Callable[[], Model]] = {}
    broken: dict[str, Callable[[], Model]] = {}
    large: dict[str, Callable[[], Model]] = {}
    for name in _MODULES[protocol]:
        module = import_module(name)
        sound |= module.MODELS
        broken |= module.BROKEN
        large |= getattr(module, "LARGE", {})
    return Models(sound, broken, large)


__all__ = ["Models", "models_of", "protocols"]
