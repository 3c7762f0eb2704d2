"""What is no data is kept where a service asks for pickles or its class has a codec; it is read where that is asked."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

import solvent
from solvent import register_codec, service, workflow
from solvent.values import codecs
from solvent.values.classes import StandIn, Unloaded, restore
from solvent.values.codec import Unrecordable, decode, encode, pieces, with_pickles
from solvent.values.encoding import Pieces, whole
from solvent.values.pickles import Pickled

if TYPE_CHECKING:
    from pathlib import Path


class Model:
    """No data: what it is, only its class knows."""

    def __init__(self, weights: Any) -> None:
        self._weights = weights

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and self._weights == other._weights

    def __hash__(self) -> int:
        return hash(self._weights)


@dataclass
class Fitted:
    """Data, but for its model."""

    name: str
    model: Any


class Refusing:
    """Cannot be pickled."""

    def __reduce__(self) -> Any:
        raise TypeError("not me")


VALUE = {"fitted": Fitted("a", Model(1.5)), "all": [Model((1, 2)), 3], "models": {Model(2)}}


def dump(value: Any) -> bytes:
    """Pickle a value."""
    return pickle.dumps(value)


def test_only_what_is_no_data_becomes_a_pickle() -> None:
    """The rest stays readable; as bytes all comes back, and the objects when they are asked for."""
    made = with_pickles(VALUE, dump)
    assert type(made["fitted"]) is Fitted
    assert (made["fitted"].name, type(made["fitted"].model), made["all"][1]) == ("a", Pickled, 3)
    found = decode(encode(made))
    assert repr(found["all"]) == f"[<pickled {__name__}.Model>, 3]"
    assert encode(found) == encode(made)
    assert restore(found, unpickles=True) == VALUE
    assert with_pickles([1, "a"], dump) == [1, "a"]


def test_a_large_pickle_is_not_copied() -> None:
    """It is one of the pieces that are written."""
    made = pieces(with_pickles([Model("x" * 100_000)], dump))
    assert isinstance(made, Pieces)
    assert restore(decode(whole(made)), unpickles=True) == [Model("x" * 100_000)]


def test_a_pickle_is_read_only_if_that_is_asked_for() -> None:
    """Bytes from outside become an object nowhere else, and an error says what to ask for."""
    found = decode(encode(with_pickles([Model(1)], dump)))
    with pytest.raises(Unloaded, match=r"no service of this workflow has `pickle=True`"):
        restore(found)
    with pytest.raises(ValueError, match=r"a pickle of the type `x` cannot be read: UnpicklingError"):
        restore(Pickled("x", b"no pickle"), unpickles=True)


def test_what_cannot_be_pickled_is_refused_with_its_place() -> None:
    """The reason is that of the object."""
    with pytest.raises(
        Unrecordable, match=r"^\['a'\]\[1\]: a value of the type `.*Refusing` cannot be pickled: .*not me"
    ):
        with_pickles({"a": [1, Refusing()]}, dump)


def test_a_codec_is_used_wherever_an_instance_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes back by the codec; without one there is a stand-in, which is written as the same bytes."""
    monkeypatch.setattr(codecs, "_registered", {})
    register_codec(Model, encode=lambda one: [one._weights], decode=lambda data: Model(*data))
    data = encode(VALUE)
    assert decode(data) == VALUE
    codecs._registered.clear()
    found = decode(data)
    assert type(found["all"][0]) is StandIn
    assert repr(found["all"]) == "[Model([(1, 2)]), 3]"
    assert encode(found) == data
    register_codec(Model, encode=lambda one: [one._weights], decode=lambda data: Model(*data))
    assert restore(found) == VALUE


def test_a_package_brings_codecs_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry point by the name of the class leads to its pair of functions."""
    (tmp_path / "weighing-1.dist-info").mkdir()
    (tmp_path / "weighing-1.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: weighing\nVersion: 1\n")
    (tmp_path / "weighing-1.dist-info/entry_points.txt").write_text(
        f"[{codecs.GROUP}]\n{__name__}.Model = {__name__}:OF_MODELS\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(codecs, "_registered", {})
    codecs._installed.cache_clear()
    try:
        assert decode(encode(VALUE)) == VALUE
    finally:
        codecs._installed.cache_clear()


OF_MODELS = (lambda one: one._weights, Model)


def test_only_classes_have_codecs() -> None:
    """What is registered for an instance would be used for nothing."""
    with pytest.raises(solvent.Misuse, match="not for 5"):
        register_codec(5, encode=str, decode=int)  # type: ignore[type-var,arg-type]


def test_a_codec_that_fails_is_named() -> None:
    """Its error says of which class it is."""
    data = encode(StandIn("coded", __name__, "Odd", 1))
    codecs._registered[__name__, "Odd"] = codecs.Codec(lambda one: one.nothing, lambda data: data.nothing)
    try:
        with pytest.raises(ValueError, match=r"the codec of `.*\.Odd` has failed: AttributeError"):
            decode(data)
        with pytest.raises(Unrecordable, match=r"the codec of `.*\.Odd` has failed: AttributeError"):
            encode(Odd())
    finally:
        codecs._registered.clear()


class Odd:
    """A class whose codec is wrong."""


@service(pickle=True)
def fit(weights: int) -> Model:
    """Return what is no data."""
    return Model(weights)


@service
def weigh(model: Model) -> Any:
    """Take what is no data."""
    return model._weights


@workflow
def fitted(weights: int = 3) -> tuple[Model, Any]:
    """Fit, and use the model."""
    model = fit(weights)
    return model, weigh(model)


def test_a_recorded_run_passes_pickles_on(tmp_path: Path) -> None:
    """The function gets the object, and so does who has run it; a record that is read reads no pickle by itself."""
    store = str(tmp_path / "runs.db")
    assert solvent.run(fitted, store=store, name="r").value == (Model(3), 3)
    with solvent.attach("r", store=store) as run:
        found = run.report().results["fit"]
    assert repr(found) == f"<pickled {__name__}.Model>"
    assert found.object() == Model(3)
    assert solvent.run(fitted).value == (Model(3), 3)
