"""Tables of pandas, polars and Arrow as data: streams of Arrow IPC.

A library is imported by who made a table, or by who reads one. pandas needs `pyarrow` for it (the extra `arrow`). A
frame of pandas is more than Arrow says, so labels, the frequency of an index and columns of mixed objects are written
as values beside the stream. A frame that would come back with other types is refused.
"""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

FRAME, SERIES, INDEX = "pandas frame", "pandas series", "pandas index"
POLARS_FRAME, POLARS_SERIES = "polars frame", "polars series"
TABLE, BATCH, ARRAY, CHUNKS = "arrow table", "arrow batch", "arrow array", "arrow chunks"
_NAMES = {
    "pandas": {"DataFrame": FRAME, "Series": SERIES},
    "polars": {"DataFrame": POLARS_FRAME, "Series": POLARS_SERIES},
    "pyarrow": {"Table": TABLE, "RecordBatch": BATCH, "ChunkedArray": CHUNKS},
}
_AS_THEY_WERE = frozenset({"string", "bytes", "empty"})
"""What columns of objects may hold that Arrow brings back as it was."""


class NoTable(Exception):
    """A table that would not come back as it is; the text says why."""


def form_of(kind: type) -> str | None:
    """Return which form of table a class is; None for another class."""
    library = kind.__module__.partition(".")[0]
    module = sys.modules.get(library)
    if library not in _NAMES or module is None:
        return None
    for name, form in _NAMES[library].items():
        if kind is getattr(module, name, None):
            return form
    if library == "pandas" and issubclass(kind, module.Index):
        return INDEX
    return ARRAY if library == "pyarrow" and issubclass(kind, module.Array) else None


def parts_of(form: str, value: Any) -> tuple[Any, bytes | memoryview]:
    """Return what of a table is written as a value, and the stream; raise `NoTable` for one that would be changed."""
    return _WRITERS[form](value)


def table_from(form: str, described: Any, stream: memoryview) -> Any:
    """Read a table; raise `ValueError` for bytes that are none."""
    try:
        return _READERS[form](described, stream)
    except ImportError as error:
        raise ValueError(f"a {form} needs `{error.name}`, which is not installed here") from error
    except (MemoryError, KeyboardInterrupt):
        raise
    except BaseException as error:  # what fails in the code of polars is no `Exception`
        raise ValueError(f"not a {form}: {error}") from error


# --- Arrow.


def _arrow(form: str) -> Any:
    try:
        import pyarrow as pa
    except ImportError:
        raise NoTable(f"a {form} is kept with `pyarrow`, which is not installed (the extra `arrow`)") from None
    return pa


def _stream_of(table: Any) -> memoryview:
    """Write a table or a batch as a stream."""
    arrow = _arrow(TABLE)
    sink = arrow.BufferOutputStream()
    with arrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write(table)
    return memoryview(sink.getvalue())


def _reader_of(stream: memoryview) -> Any:
    import pyarrow as pa

    return pa.ipc.open_stream(pa.py_buffer(stream))


def _valid(found: Any) -> Any:
    """Return a table that was looked through: offsets in bytes from outside may lead anywhere."""
    found.validate(full=True)
    return found


def _table_of(stream: memoryview) -> Any:
    return _valid(_reader_of(stream).read_all())


def _batch_of(stream: memoryview) -> Any:
    return _valid(_reader_of(stream).read_next_batch())


def _from_array(value: Any) -> tuple[Any, memoryview]:
    return None, _stream_of(_arrow(ARRAY).record_batch([value], names=["value"]))


def _from_chunks(value: Any) -> tuple[Any, memoryview]:
    return None, _stream_of(_arrow(CHUNKS).table([value], names=["value"]))


# --- pandas.


def _from_frame(frame: Any) -> tuple[Any, memoryview]:
    import pandas as pd

    arrow = _arrow(FRAME)
    index = frame.index
    plain = frame.copy(deep=False).reset_index(drop=True)
    plain.columns = [str(at) for at in range(plain.shape[1])]
    shown = {str(at): f"column `{label}`" for at, label in enumerate(frame.columns)}
    is_range = type(index) is pd.RangeIndex
    if not is_range:
        for at in range(index.nlevels):
            level = index.get_level_values(at)
            # Without its type pandas would look for a better one.
            plain[f"i{at}"] = pd.Series(level.array, dtype=level.dtype)
            shown[f"i{at}"] = "the index"
    objects = {name: plain.pop(name).tolist() for name in [*plain.columns] if _is_mixed(plain[name])}
    categories = {}
    for name in plain.columns:
        if isinstance(plain[name].dtype, pd.CategoricalDtype):
            # Arrow leaves the categories of a column without rows out.
            categories[name] = [_labels(plain[name].dtype.categories), plain[name].dtype.ordered]
            plain[name] = plain[name].cat.codes
    table = _table_from(arrow, plain, shown)
    back = table.slice(0, 0).to_pandas().dtypes
    changed = [name for name in plain.columns if plain[name].dtype != back[name]]
    for name in changed:
        if plain[name].dtype != object:
            raise NoTable(f"{shown[name]} of a frame, of the type `{plain[name].dtype}`, would come back changed")
    if changed:
        objects |= {name: plain.pop(name).tolist() for name in changed}
        table = _table_from(arrow, plain, shown)
    index_part = _labels(index) if is_range else [list(index.names), _frequency_of(index), index.nlevels > 1]
    return [_labels(frame.columns), index_part, objects, categories, dict(frame.attrs)], _stream_of(table)


def _table_from(arrow: Any, plain: Any, shown: dict[str, str]) -> Any:
    try:
        return arrow.Table.from_pandas(plain, preserve_index=False)
    except (arrow.ArrowException, TypeError, ValueError, NotImplementedError):
        for name in plain.columns:
            try:
                arrow.Table.from_pandas(plain[[name]], preserve_index=False)
            except (arrow.ArrowException, TypeError, ValueError, NotImplementedError) as error:
                raise NoTable(f"{shown[name]} of a frame cannot be written: {error}") from error
        raise


def _is_mixed(column: Any) -> bool:
    """Return whether a column holds objects that have to be written one by one."""
    from pandas.api.types import infer_dtype

    return column.dtype == object and infer_dtype(column, skipna=False) not in _AS_THEY_WERE


def _frame_of(described: Any, stream: memoryview) -> Any:
    import pandas as pd

    labels, index_part, objects, categories, attributes = described
    plain = _table_of(stream).to_pandas()
    for name, (known, is_ordered) in categories.items():
        kind = pd.CategoricalDtype(_labels_from(known), is_ordered)
        plain[name] = pd.Categorical.from_codes(plain[name], dtype=kind)
    columns = _labels_from(labels)
    rows = max([len(plain), *(len(one) for one in objects.values())])
    if index_part[0] == "range":
        index = _labels_from(index_part)
    else:
        names, frequency, is_multiple = index_part
        levels = []
        for at, name in enumerate(names):
            level = _objects(objects.pop(f"i{at}")) if f"i{at}" in objects else plain.pop(f"i{at}")
            levels.append(pd.Index(level.array, dtype=level.dtype, name=name))
        index = pd.MultiIndex.from_arrays(levels, names=names) if is_multiple else levels[0]
        if frequency is not None:
            index.freq = frequency
        rows = len(index)
    if rows > len(plain) and not len(plain.columns):
        plain = pd.DataFrame(index=pd.RangeIndex(rows))
    for name, values in objects.items():
        plain[name] = _objects(values)
    if plain.shape[1] != len(columns):
        raise ValueError(f"{plain.shape[1]} columns for {len(columns)} labels")
    if objects:
        plain = plain[[str(at) for at in range(len(columns))]]
    plain.index, plain.columns = index, columns
    plain.attrs = dict(attributes)
    return plain


def _objects(values: list[Any]) -> Any:
    import pandas as pd

    return pd.Series(values, dtype=object)


def _labels(index: Any) -> list[Any]:
    """Return an index as a value."""
    import pandas as pd

    if type(index) is pd.RangeIndex:
        return ["range", index.start, index.stop, index.step, index.name]
    if isinstance(index, pd.MultiIndex):
        made = ["multiple", list(index.names), index.tolist()]
    else:
        made = ["single", index.name, str(index.dtype), index.tolist(), _frequency_of(index)]
    back = _labels_from(made)
    if not back.equals(index) or back.dtype != index.dtype:
        raise NoTable(f"labels of the type `{index.dtype}` would come back changed")
    return made


def _frequency_of(index: Any) -> str | None:
    """Return the frequency that an index was given, where its type does not say it."""
    import pandas as pd

    return index.freqstr if isinstance(index, pd.DatetimeIndex | pd.TimedeltaIndex) else None


def _labels_from(made: list[Any]) -> Any:
    import pandas as pd

    match made:
        case ["range", start, stop, step, name]:
            return pd.RangeIndex(start, stop, step, name=name)
        case ["multiple", names, labels]:
            return pd.MultiIndex.from_tuples(labels, names=names)
        case ["single", name, kind, labels, frequency]:
            found = pd.Index(labels, dtype=kind, name=name)
            if frequency is not None:
                found.freq = frequency
            return found
    raise ValueError("no labels")


def _from_series(value: Any) -> tuple[Any, memoryview]:
    described, stream = _from_frame(value.to_frame(name="value"))
    return [value.name, dict(value.attrs), described], stream


def _series_of(described: Any, stream: memoryview) -> Any:
    name, attributes, frame = described
    found = _frame_of(frame, stream).iloc[:, 0].rename(name)
    found.attrs = dict(attributes)
    return found


def _from_index(value: Any) -> tuple[Any, memoryview]:
    import pandas as pd

    return _from_frame(pd.DataFrame(index=value))


# --- polars.


def _from_polars(value: Any) -> tuple[Any, bytes | memoryview]:
    import polars as pl

    mixed = [name for name, kind in value.schema.items() if "Object" in str(kind)]
    if mixed:
        raise NoTable(f"column `{mixed[0]}` of a frame of polars holds Python objects, which polars cannot write")
    sink = io.BytesIO()
    try:
        value.write_ipc_stream(sink)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, TypeError) as error:
        raise NoTable(f"a frame of polars cannot be written: {error}") from error
    return None, sink.getbuffer()


def _polars_of(_: Any, stream: memoryview) -> Any:
    import polars as pl

    return pl.read_ipc_stream(io.BytesIO(stream))


_WRITERS: dict[str, Callable[[Any], tuple[Any, bytes | memoryview]]] = {
    FRAME: _from_frame,
    SERIES: _from_series,
    INDEX: _from_index,
    POLARS_FRAME: _from_polars,
    POLARS_SERIES: lambda value: _from_polars(value.to_frame()),
    TABLE: lambda value: (None, _stream_of(value)),
    BATCH: lambda value: (None, _stream_of(value)),
    ARRAY: _from_array,
    CHUNKS: _from_chunks,
}
_READERS: dict[str, Callable[[Any, memoryview], Any]] = {
    FRAME: _frame_of,
    SERIES: _series_of,
    INDEX: lambda described, stream: _frame_of(described, stream).index,
    POLARS_FRAME: _polars_of,
    POLARS_SERIES: lambda described, stream: _polars_of(described, stream).to_series(),
    TABLE: lambda _, stream: _table_of(stream),
    BATCH: lambda _, stream: _batch_of(stream),
    ARRAY: lambda _, stream: _batch_of(stream).column(0),
    CHUNKS: lambda _, stream: _table_of(stream).column(0),
}

__all__ = ["NoTable", "form_of", "parts_of", "table_from"]
