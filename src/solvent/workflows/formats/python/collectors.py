"""Small services that a workflow written in Python may need between its own: values, lists, items.

A task takes constants, inputs and results as arguments, but `merge([one, two])` hands on a list of results. Such a
list becomes a task of its own, which calls one of the functions here. They are importable by name, so a workflow that
uses them can be written to a file.
"""

from __future__ import annotations

from typing import Any

from solvent.workflows.model import Service


def same_value(value: Any) -> Any:
    """Return what comes in."""
    return value


def make_list(*items: Any) -> list[Any]:
    """Put results into a list."""
    return list(items)


def make_tuple(*items: Any) -> tuple[Any, ...]:
    """Put results into a tuple."""
    return items


def make_dict(keys: list[Any], *items: Any) -> dict[Any, Any]:
    """Put results under keys."""
    return dict(zip(keys, items, strict=True))


ITEM = Service("item", target="operator:getitem")
SAME = Service("value", target="solvent.workflows.formats.python.collectors:same_value")
LIST = Service("list", target="solvent.workflows.formats.python.collectors:make_list")
TUPLE = Service("tuple", target="solvent.workflows.formats.python.collectors:make_tuple")
DICT = Service("dict", target="solvent.workflows.formats.python.collectors:make_dict")
_TARGETS = frozenset(one.target for one in (ITEM, SAME, LIST, TUPLE, DICT))


def passes_on(service: Service) -> bool:
    """Return whether a service only passes on what it is given."""
    return service.kind == "delay" or service.target in _TARGETS
