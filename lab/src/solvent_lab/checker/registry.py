"""Which protocols can be checked, and where their models are.

A protocol's modules offer mappings from a name to a function that builds a `Model`: `MODELS`; `LARGE`, models that take
long and are checked only when they are named; `BROKEN`, models with one known fault, which the checker must find.
Modules are imported when they are asked for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from solvent_lab.variants import Variant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from solvent_lab.checker.model import Model

_MODULES: dict[str, tuple[str, ...]] = {
    "capture": ("solvent_lab.models.capture", "solvent_lab.broken.capture"),
    "channel": ("solvent_lab.models.channel", "solvent_lab.broken.channel"),
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

_Fault = TypeVar("_Fault", bound=type | Variant)


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
    """Models with one known fault each, by name."""

    def add(
        self, build: Callable[..., Model], *arguments: Any, name: str = "", into: str = "machine", **options: Any
    ) -> Callable[[_Fault], _Fault]:
        """Add the model that `build` makes, with the decorated fault: a variant of the protocol's functions.

        The model is named after the variant (`keeps_it`: "keeps-it") unless it is given a name, and has its title. A
        fault can be a class instead that overrides a part of a machine; `build` takes it as its argument `into`.
        """

        def register(fault: _Fault) -> _Fault:
            if isinstance(fault, Variant):
                made = partial(_varied, fault, build, *arguments, **options)
                self[name or fault.name.replace("_", "-")] = made
                return fault
            title = (fault.__doc__ or "").partition("\n")[0].rstrip(".")
            key = name or re.sub(r"(?<!^)(?=[A-Z])", "-", fault.__name__).lower()
            self[key] = partial(build, *arguments, **{into: fault, "title": title}, **options)
            return fault

        return register


def _varied(variant: Variant, build: Callable[..., Model], *arguments: Any, **options: Any) -> Model:
    model = build(*arguments, **options)
    return replace(model, title=variant.title, variants=(*model.variants, variant))


__all__ = ["Models", "Variants", "models_of", "protocols"]
