"""Instances of classes as data: members of enums, dataclasses, named tuples, msgspec structs, pydantic models.

What is written is the name of the class and the fields, never code. Reading imports nothing: a class is found among the
modules that the process has loaded. Where it is not there (an agent that only coordinates, `solvent status`), the value
is a `StandIn`, which prints like the value and is written as the same bytes. `restore` looks for the class once more
before a function is called with it.

Fields are set without calling the class, so what its constructor would check or do does not happen again.
"""

from __future__ import annotations

import dataclasses
import enum
import sys
from typing import Any, ClassVar
from weakref import WeakValueDictionary

import msgspec

from solvent.errors import exception_text
from solvent.values import arrays, codecs, library_types
from solvent.values.pickles import Pickled

CODED = "coded"
ENUM, FLAG, NAMED_TUPLE, DATACLASS, STRUCT, MODEL = "enum", "flag", "named tuple", "dataclass", "struct", "model"
_met: WeakValueDictionary[tuple[str, str], type] = WeakValueDictionary()
"""Classes of which this process has written instances."""
_HOLDERS = frozenset((list, tuple, set, frozenset))
_SIMPLE = frozenset((type(None), bool, int, float, str, bytes))
_MODEL_STATE = ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")


class StandIn:
    """A value whose class this process has not loaded."""

    __slots__ = ("form", "module", "name", "state")
    #: Whether this process has made one: see `needs_restoring`.
    were_made: ClassVar[bool] = False

    def __init__(self, form: str, module: str, name: str, state: Any) -> None:
        StandIn.were_made = True
        #: Which form of class it is, where it is defined, and its qualified name.
        self.form, self.module, self.name = form, module, name
        #: A member's name, the number of a flag, the items of a tuple, or the fields by their names.
        self.state = state

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StandIn) and self.described() == other.described()

    def __hash__(self) -> int:
        return hash((self.form, self.module, self.name))

    def __repr__(self) -> str:
        return _shown(self.form, self.name, self.state)

    def described(self) -> tuple[str, str, str, Any]:
        """Return all that it is written as."""
        return self.form, self.module, self.name, self.state


class Unloaded(Exception):
    """A class that this process has not loaded; the text says which."""


def describe(value: Any) -> tuple[str, str, str, Any] | None:
    """Return the form, module, name and state of an instance; None for a value that is none of these."""
    kind = type(value)
    if kind is StandIn:
        return value.described()  # type: ignore[no-any-return]
    form = _form_of(kind)
    if form is None or "<locals>" in kind.__qualname__:
        return None
    # A function that was sent by value brings its classes along, and no module names these.
    _met[kind.__module__, kind.__qualname__] = kind
    return form, kind.__module__, kind.__qualname__, _STATES[form](value)


def build(form: str, module: str, name: str, state: Any) -> Any:
    """Return the instance that was described, or its stand-in; raise `ValueError` where the class has changed."""
    if form == CODED:
        return _decoded(module, name, state)
    if form not in _BUILDERS:
        raise ValueError(f"`{module}.{name}` is of no form that is known: {form!r}")
    kind = _find(module, name)
    if kind is None:
        return StandIn(form, module, name, state)
    if _form_of(kind) != form:
        raise ValueError(f"`{module}.{name}` is not the class of a {form} any more")
    try:
        return _BUILDERS[form](kind, state)
    except Exception as error:
        raise ValueError(f"a {form} `{module}.{name}` cannot be made of what was kept: {error}") from error


def describe_coded(value: Any) -> tuple[str, str, str, Any] | None:
    """Return the form, module, name and state of an instance whose class has a codec."""
    kind = type(value)
    found = codecs.find(kind.__module__, kind.__qualname__, kind)
    if found is None:
        return None
    try:
        return CODED, kind.__module__, kind.__qualname__, found.encode(value)
    except Exception as error:
        said = f"the codec of `{kind.__module__}.{kind.__qualname__}` has failed: {exception_text(error)}"
        raise ValueError(said) from error


def _decoded(module: str, name: str, state: Any) -> Any:
    found = codecs.find(module, name)
    if found is None:
        return StandIn(CODED, module, name, state)
    try:
        return found.decode(state)
    except Exception as error:
        raise ValueError(f"the codec of `{module}.{name}` has failed: {exception_text(error)}") from error


def needs_restoring() -> bool:
    """Return whether values of this process may hold anything to be restored."""
    return StandIn.were_made or Pickled.were_made


def restore(value: Any, *, unpickles: bool = False) -> Any:
    """Return a value with its stand-ins replaced by instances, and pickles by their objects.

    Raises `Unloaded` for a class that is not loaded, and for a pickle unless who calls it `unpickles`. What holds none
    is returned as it is: it may lead back to itself, as no value that was read does.
    """
    return _restored(value, unpickles) if _has_stand_in(value) else value


def _restored(value: Any, unpickles: bool) -> Any:  # noqa: FBT001 - the second of two
    if not _has_stand_in(value):
        return value
    kind = type(value)
    if kind is Pickled:
        if not unpickles:
            raise Unloaded(
                f"a pickled value of the type `{value.kind}` is not read: no service of this workflow has `pickle=True`"
            )
        return value.object()
    if kind is StandIn:
        found = build(value.form, value.module, value.name, _restored(value.state, unpickles))
        if type(found) is StandIn:
            raise Unloaded(
                f"a value of the type `{value.module}.{value.name}` cannot be restored: the module is not loaded here; "
                f"import it at the top of the workflow's file"
            )
        return found
    if kind is dict:
        return {_restored(key, unpickles): _restored(one, unpickles) for key, one in value.items()}
    if kind in _HOLDERS:
        return kind(_restored(one, unpickles) for one in value)
    described = describe(value)
    if described is not None:
        return _BUILDERS[described[0]](kind, _restored(described[3], unpickles))
    return library_types.build(_restored(library_types.describe(value), unpickles))


def _has_stand_in(value: Any) -> bool:
    left, seen = [value], dict[int, Any]()
    while left:
        one = left.pop()
        if type(one) is StandIn or type(one) is Pickled:
            return True
        if type(one) not in _SIMPLE and id(one) not in seen:
            # It is kept, so that no other object gets its number meanwhile.
            seen[id(one)] = one
            left += _inside(one)
    return False


def _inside(value: Any) -> list[Any]:
    """Return the parts of a value in which a stand-in may be."""
    kind = type(value)
    if kind is dict:
        return [*value, *value.values()]
    if kind in _HOLDERS:
        return list(value)
    if arrays.is_array(kind) and not arrays.has_objects(value):
        return []
    described = describe(value)
    return [described[3]] if described is not None else library_types.describe(value) or []


def _form_of(kind: type) -> str | None:
    """Return which form of class it is; None for a class whose instances are not only their fields."""
    if issubclass(kind, enum.Enum):
        return FLAG if issubclass(kind, enum.Flag) else ENUM
    if issubclass(kind, tuple):
        return NAMED_TUPLE if isinstance(getattr(kind, "_fields", None), tuple) else None
    if issubclass(kind, msgspec.Struct):
        return STRUCT
    pydantic = sys.modules.get("pydantic")
    if pydantic is not None and issubclass(kind, pydantic.BaseModel):
        return MODEL
    if dataclasses.is_dataclass(kind) and kind.__new__ is object.__new__:
        return DATACLASS
    return None


def _find(module: str, name: str) -> type | None:
    """Return a class by its name, where its module is loaded."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, "__dict__", {}).get(part)
    # A name may lead to a class of another place, or to none.
    is_it = isinstance(found, type) and (found.__module__, found.__qualname__) == (module, name)
    return found if is_it else _met.get((module, name))


def _fields_of(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass, and what else was set on the instance."""
    named = {one.name: getattr(value, one.name) for one in dataclasses.fields(value) if hasattr(value, one.name)}
    return named | getattr(value, "__dict__", {})


def _model_state(value: Any) -> dict[str, Any]:
    state = value.__getstate__()
    return {name: state[name] for name in _MODEL_STATE}


_STATES: dict[str, Any] = {
    ENUM: lambda value: value._name_,
    FLAG: lambda value: value._value_,
    NAMED_TUPLE: lambda value: list(tuple.__iter__(value)),
    DATACLASS: _fields_of,
    STRUCT: lambda value: {name: getattr(value, name) for name in value.__struct_fields__},
    MODEL: _model_state,
}


def _dataclass(kind: Any, state: dict[str, Any]) -> Any:
    made: Any = object.__new__(kind)
    for one in dataclasses.fields(kind):
        if one.name not in state:
            # The class has a field more than when the value was kept.
            object.__setattr__(made, one.name, _default_of(one))
    for name, value in state.items():
        object.__setattr__(made, name, value)
    return made


def _default_of(field: dataclasses.Field[Any]) -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    raise ValueError(f"the field `{field.name}` was not kept and has no default")


def _named_tuple(kind: Any, state: list[Any]) -> Any:
    if len(state) != len(kind._fields):
        raise ValueError(f"it has {len(kind._fields)} fields, and {len(state)} were kept")
    return tuple.__new__(kind, state)


def _struct(kind: Any, state: dict[str, Any]) -> Any:
    return kind(**{name: value for name, value in state.items() if name in kind.__struct_fields__})


def _model(kind: Any, state: dict[str, Any]) -> Any:
    made = kind.__new__(kind)
    made.__setstate__({name: state[name] for name in _MODEL_STATE})
    return made


_BUILDERS: dict[str, Any] = {
    ENUM: lambda kind, state: kind.__members__[state],
    FLAG: lambda kind, state: kind(state),
    NAMED_TUPLE: _named_tuple,
    DATACLASS: _dataclass,
    STRUCT: _struct,
    MODEL: _model,
}


def _shown(form: str, name: str, state: Any) -> str:
    short = name.rpartition(".")[2]
    if form == ENUM:
        return f"<{short}.{state}>"
    if form == FLAG:
        return f"<{short}: {state!r}>"
    if form == NAMED_TUPLE:
        return f"{short}({', '.join(map(repr, state))})"
    if form == CODED:
        return f"{short}({state!r})"
    fields = state.get("__dict__", {}) if form == MODEL else state
    return f"{short}({', '.join(f'{one}={value!r}' for one, value in fields.items())})"


__all__ = ["StandIn", "Unloaded", "build", "describe", "describe_coded", "needs_restoring", "restore"]
