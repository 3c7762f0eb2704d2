"""Everyday types come back as they went: classes, arrays, tables, and what the standard library has."""

from __future__ import annotations

import datetime as dt
import enum
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.values.classes import StandIn, Unloaded, restore
from solvent.values.codec import Unrecordable, decode, encode, pieces
from solvent.values.encoding import Pieces
from tests.property.amounts import examples
from tests.unit.values import shapes


def model() -> shapes.Order:
    """Make a model in which everything is set that it has."""
    made = shapes.Order(items=[shapes.Reading("r", [1])], colour="red")
    made._seen = 5
    return made


INSTANCES: dict[str, Any] = {
    "enum": shapes.Suit.SPADES,
    "int enum": shapes.Level.HIGH,
    "flag": shapes.Rights.READ | shapes.Rights.WRITE,
    "named tuple": shapes.Point(1.5),
    "namedtuple": shapes.Colour(1, 2, 3),
    "dataclass": shapes.Reading("a", [shapes.Point(1, 2), {"b": shapes.Suit.HEARTS}], dt.date(2026, 1, 1)),
    "frozen": shapes.Box((1, shapes.Box(None))),
    "struct": shapes.Row("Ada", 36),
    "model": model(),
    "inner": shapes.Outer.Inner(1),
    "ordered": OrderedDict([("b", 1), ("a", [2])]),
    "counter": Counter("abca"),
    "default": defaultdict(list, {"a": [1]}),
    "deque": deque([1, (2,)], maxlen=5),
    "range": range(2, 20, 3),
    "fraction": Fraction(1, 3),
    "zone": dt.datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin")),
    "time": dt.time(2, 30, fold=1, tzinfo=ZoneInfo("Asia/Tokyo")),
    "timestamp": pd.Timestamp("2026-03-29 01:30:00.123456789", tz="Europe/Berlin"),
    "seconds": pd.Timestamp("2026-03-29").as_unit("s"),
    "timedelta": pd.Timedelta(days=1, nanoseconds=5),
    "numpy float": np.float64(1.5),
    "numpy int": np.int8(-3),
    "numpy bool": np.bool_(True),
    "numpy text": np.str_("ä"),
    "numpy time": np.datetime64("2026-01-01T00:00", "ns"),
    "key": {shapes.Level.LOW: {shapes.Point(0, 0)}},
}


def same(first: Any, second: Any) -> bool:
    """Return whether two values are equal and of one type."""
    return type(first) is type(second) and bool(first == second)


@pytest.mark.parametrize("name", INSTANCES)
def test_instances_come_back(name: str) -> None:
    """An instance comes back equal and of its class."""
    value = INSTANCES[name]
    assert same(decode(encode(value)), value)
    assert same(decode(encode([{"a": value}]))[0]["a"], value)


def test_zones_fold_and_attributes_are_kept() -> None:
    """What equality does not compare comes back too: zones, folds, attributes outside of fields, private ones."""
    zone = decode(encode(INSTANCES["zone"]))
    assert (zone.tzinfo.key, zone.fold) == ("Europe/Berlin", 1)
    assert decode(encode(INSTANCES["timestamp"])).tzinfo == INSTANCES["timestamp"].tzinfo
    assert decode(encode(shapes.Sample("s"))).note == "kept"
    found = decode(encode(model()))
    assert (found._seen, found.colour, found.model_fields_set) == (5, "red", {"items", "colour"})


def test_constructors_do_not_run_again() -> None:
    """A dataclass comes back as it was, and what its constructor does is not done a second time."""
    assert decode(encode(shapes.Reading("a"))).total == 1


@pytest.mark.parametrize("value", [pd.NaT, pd.NA])
def test_missing_values_of_pandas_are_themselves(value: Any) -> None:
    """The one value of its kind comes back as itself."""
    assert decode(encode(value)) is value


ARRAYS: dict[str, Any] = {
    "objects": np.array([[1, "a"], [None, {"b": 2}]], dtype=object),
    "fields": np.array([(1, 2.5, [1, 2])], dtype=[("a", "i4"), ("b", "f8"), ("c", "u1", (2,))]),
    "texts": np.array(["a", "längere Texte als zuvor"], dtype=np.dtypes.StringDType()),
    "empty": np.zeros((0, 3)),
    "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "scalar": np.array(5),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_every_kind_come_back(name: str) -> None:
    """Arrays of objects, of fields and of texts of any length are kept, with their types and shapes."""
    value = ARRAYS[name]
    found = decode(encode(value))
    assert (found.dtype, found.shape, repr(found.tolist())) == (value.dtype, value.shape, repr(value.tolist()))


def frame() -> pd.DataFrame:
    """Make a frame with a column of each kind."""
    return pd.DataFrame(
        {
            "a": [1, 2, 3],
            "b": [1.5, np.nan, -0.0],
            "c": ["x", None, "ä"],
            "d": pd.Categorical(["u", "v", "u"], categories=["v", "u", "w"], ordered=True),
            "e": pd.to_datetime(["2026-01-01", None, "2026-01-03"]).tz_localize("Europe/Berlin"),
            "f": pd.array([1, None, 3], dtype="Int64"),
            "g": [True, False, True],
            "h": pd.to_timedelta([1, 2, 3], unit="s"),
            "i": pd.period_range("2026-01", periods=3, freq="M"),
            "j": np.array([1, 2, 3], dtype="uint8"),
            "k": pd.Series([{"x": 1}, [1, 2], shapes.Point(1, 2)], dtype=object),
            "l": pd.Series([1, "mixed", None], dtype=object),
            "m": pd.Series(["only", "texts", None], dtype=object),
        }
    )


FRAMES: dict[str, Any] = {
    "kinds": frame(),
    "empty": pd.DataFrame(),
    "no rows": frame()[:0],
    "no columns": pd.DataFrame(index=[3, 1, 2]),
    "only objects": frame()[["k"]],
    "dates": pd.DataFrame({"v": [1.0, 2.0]}, index=pd.date_range("2026-01-01", periods=2, freq="h", name="when")),
    "levels": frame().set_index(["a", "c"]),
    "labels": pd.DataFrame([[1, 2, 3]], columns=pd.Index([1, "a", None], dtype=object, name="mixed")),
    "twice": pd.DataFrame([[1, "x"]], columns=["a", "a"]),
    "column levels": pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["n", None])),
    "numbered": pd.DataFrame({0: [1], 1: [2]}, index=pd.RangeIndex(5, 6, name="r")),
    "times as labels": pd.DataFrame([[1, 2]], columns=pd.date_range("2026-01-01", periods=2)),
    "objects as index": pd.DataFrame({"a": [1, 2]}, index=pd.Index([1, "b"], dtype=object)),
}


@pytest.mark.parametrize("name", FRAMES)
def test_frames_come_back(name: str) -> None:
    """A frame of pandas comes back with its types, labels, index and attributes."""
    value = FRAMES[name].copy()
    value.attrs = {"source": "here"}
    found = decode(encode({"table": value}))["table"]
    pd.testing.assert_frame_equal(found, value, check_freq=True)
    assert found.attrs == value.attrs


@pytest.mark.parametrize("column", frame().columns)
def test_series_and_indexes_come_back(column: str) -> None:
    """A series comes back with its name and type, and so does an index of the same values."""
    value = frame()[column]
    pd.testing.assert_series_equal(decode(encode(value)), value)
    if column != "k":
        index = pd.Index(value, dtype=value.dtype, name=("a", 1))
        pd.testing.assert_index_equal(decode(encode(index)), index)


def test_frames_that_would_change_are_refused() -> None:
    """A column that would come back as another type is named."""
    sparse = pd.DataFrame({"ok": [1], "thin": pd.arrays.SparseArray([0])})
    with pytest.raises(Unrecordable, match="column `thin`"):
        encode(sparse)
    with pytest.raises(Unrecordable, match="no data that can be kept"):
        encode(pd.DataFrame({"odd": pd.Series([object()], dtype=object)}))


POLARS = pl.DataFrame({"a": [1, None], "b": ["x", "y"], "c": [[1], [2, 3]], "d": [{"e": 1}, None]})
ARROW = pa.table({"a": [1, None], "b": [["x"], []], "c": pa.array(["u", "u"]).dictionary_encode()})


def test_tables_of_polars_and_arrow_come_back() -> None:
    """Frames and series of polars, tables, batches and arrays of Arrow are kept with their types."""
    assert decode(encode(POLARS)).equals(POLARS)
    assert decode(encode(POLARS)).schema == POLARS.schema
    for name in POLARS.columns:
        assert decode(encode(POLARS[name])).equals(POLARS[name])
    for one in (ARROW, ARROW.to_batches()[0], ARROW["b"], ARROW["a"].chunk(0), ARROW.slice(1)):
        found = decode(encode(one))
        assert type(found) is type(one)
        assert found.equals(one)


def test_objects_in_polars_are_refused() -> None:
    """A column that polars cannot write is an error, and no panic."""
    with pytest.raises(Unrecordable, match="polars"):
        encode(pl.DataFrame({"a": pl.Series([object()], dtype=pl.Object)}))


LARGE: list[Any] = [
    np.arange(30_000.0),
    [shapes.Reading("x" * 70_000, [b"y" * 80_000]), (np.ones(9_000), 1)],
    {"frame": pd.DataFrame({"a": np.arange(20_000)}), "model": shapes.Order(items=[shapes.Reading("z" * 70_000)])},
    [np.array(["a" * 70_000], dtype=object), shapes.Point(1, [np.zeros(10_000)])],
]


@pytest.mark.parametrize("number", range(len(LARGE)))
def test_large_parts_are_pieces_of_the_same_bytes(number: int) -> None:
    """What is large is written without another copy, and the bytes are those of the value as a whole."""
    from solvent.values import codec

    made = pieces(LARGE[number])
    assert isinstance(made, Pieces)
    assert b"".join(made) == codec._ENCODE(codec._plain(LARGE[number], 0))
    assert len(made) == sum(len(one) for one in made)


@dataclass
class Here:
    """A class of this module."""

    a: Any


def test_a_class_that_is_not_loaded_leaves_a_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process without the class shows the value, writes the same bytes, and says what is missing when needed."""
    from solvent.values import classes

    data = encode([shapes.Outer.Inner([1]), shapes.Suit.HEARTS, Here(shapes.Point(1, 2))])
    monkeypatch.delitem(sys.modules, shapes.__name__)
    for key in [*classes._met]:
        classes._met.pop(key)
    found = decode(data)
    assert repr(found[:2]) == "[Inner(a=[1]), <Suit.HEARTS>]"
    assert type(found[2]) is Here
    assert type(found[2].a) is StandIn
    assert encode(found) == data
    with pytest.raises(
        Unloaded, match=r"`tests\.unit\.values\.shapes\.Outer\.Inner` cannot be restored: the module is not"
    ):
        restore(found)
    monkeypatch.setitem(sys.modules, shapes.__name__, shapes)
    assert restore(found) == [shapes.Outer.Inner([1]), shapes.Suit.HEARTS, Here(shapes.Point(1, 2))]


def test_what_has_no_stand_ins_is_restored_as_itself() -> None:
    """Nothing is copied where nothing is missing."""
    value = [1, {"a": (shapes.Point(1, 2), {3})}]
    assert restore(value) is value


def test_values_that_lead_back_to_themselves_are_restored_as_themselves() -> None:
    """A tree whose children know their parent is no data, and may be an argument in one process all the same."""
    root = shapes.Reading("root")
    root.values = [shapes.Reading("leaf", [], root) for _ in range(3)]
    assert restore([root])[0] is root


def test_stand_ins_in_every_holder_are_restored() -> None:
    """Stand-ins are replaced wherever a value may hold one."""
    there = shapes.Point(1.0, 2.0)
    stand_in = StandIn("named tuple", shapes.__name__, "Point", [1.0, 2.0])
    assert restore([stand_in, {stand_in: stand_in}, {stand_in}]) == [there, {there: there}, {there}]
    assert restore(deque([stand_in], maxlen=2)) == deque([there], maxlen=2)
    assert restore(OrderedDict(a=stand_in)) == OrderedDict(a=there)
    assert restore(defaultdict(list, {"a": [stand_in]})) == {"a": [there]}
    assert restore(shapes.Reading("r", [stand_in])) == shapes.Reading("r", [there])
    mixed = np.empty(1, object)
    mixed[0] = stand_in
    assert restore(mixed).tolist() == [there]


def test_reading_imports_nothing() -> None:
    """Bytes that name a module do not load it."""
    sys.modules.pop("this", None)
    data = encode([StandIn("dataclass", "this", "Zen", {"a": 1}), StandIn("enum", "antigravity", "Fly", "UP")])
    assert repr(decode(data)) == "[Zen(a=1), <Fly.UP>]"
    assert not {"this", "antigravity"} & set(sys.modules)


@pytest.mark.parametrize(
    "form, module, name, state",
    [
        ("dataclass", "subprocess", "Popen", {"a": 1}),
        ("dataclass", "tests.unit.values.shapes", "Point", {"x": 1}),
        ("enum", "tests.unit.values.shapes", "Suit", "CLUBS"),
        ("named tuple", "tests.unit.values.shapes", "Point", [1]),
        ("dataclass", "tests.unit.values.shapes", "Box", {}),
        ("dataclass", "tests.unit.values.shapes", "Box", [1]),
        ("model", "tests.unit.values.shapes", "Order", {}),
        ("struct", "tests.unit.values.shapes", "Row", {}),
        ("function", "os", "system", "true"),
    ],
)
def test_what_does_not_fit_its_class_is_no_value(form: str, module: str, name: str, state: Any) -> None:
    """Bytes that name a class of another form, or fields that it has not, are refused."""
    import subprocess  # noqa: F401 - it is loaded

    from solvent.values.codec import _ENCODE, _plain

    data = _ENCODE(_plain(StandIn(form, module, name, state), 0))
    with pytest.raises(ValueError, match="not a value"):
        decode(data)


def test_a_field_that_came_later_has_its_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value of an older version of its class is read, as far as the new fields have defaults."""
    data = encode(shapes.Box(1)), encode(shapes.Reading("a"))

    @dataclass
    class Reading:
        name: str
        unit: str = "m"

    Reading.__module__, Reading.__qualname__ = shapes.__name__, "Reading"
    monkeypatch.setattr(shapes, "Reading", Reading)
    assert decode(data[1]).unit == "m"


class Local:
    """No data."""


PLACES: list[tuple[Any, str]] = [
    ({"rows": [1, shapes.Reading("a", [(2, Local())])]}, r"^\['rows'\]\[1\]\.values\[0\]\[1\]: a value of the type"),
    (shapes.Point(1, {Local: 2}), r"^\[1\]\[<class .*Local'>\] \(the key\): "),
    ([deque([Local()])], r"^\[0\]\[0\]: "),
    (Local(), r"^a value of the type `.*Local` is no data that can be kept"),
]


@pytest.mark.parametrize("value, text", PLACES)
def test_the_place_of_what_is_no_data_is_named(value: Any, text: str) -> None:
    """The error names the part that cannot be kept, as Python would name it."""
    with pytest.raises(Unrecordable, match=text):
        encode(value)


def test_classes_inside_functions_are_no_data() -> None:
    """A class that no name leads to could not be found again, so its instances are refused."""

    class Inside(enum.Enum):
        A = 1

    with pytest.raises(Unrecordable, match="no data that can be kept"):
        encode(Inside.A)


SEEDS = [encode(one) for one in (*INSTANCES.values(), *ARRAYS.values(), *FRAMES.values(), POLARS, ARROW, ARROW["b"])]


@examples(400)
@given(st.sampled_from(SEEDS), st.data())
def test_damaged_bytes_are_read_or_refused(data: bytes, draw: st.DataObject) -> None:
    """Bytes changed or cut anywhere are a value or a `ValueError`: nothing else is raised, and nothing crashes."""
    changed = bytearray(data)
    for _ in range(draw.draw(st.integers(1, 4))):
        at = draw.draw(st.integers(0, len(changed) - 1))
        changed[at] = draw.draw(st.integers(0, 255))
    cut = draw.draw(st.sampled_from([len(changed), draw.draw(st.integers(0, len(changed)))]))
    try:
        decode(bytes(changed[:cut]))
    except ValueError:
        return
