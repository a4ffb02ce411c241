"""From files to one table.

Several files are one table: columns go by name, a column that a file lacks is null there, and types that differ
are widened if nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any

import pyarrow as pa

from augury.cli import textfiles
from augury.cli.files import STDIN, Source, mistaken, sources_from
from augury.cli.screen import Meter
from augury.cli.trouble import UsageError, of_the_system
from augury.cli.types import shown
from augury.cli.words import listed
from augury.errors import DataError


@dataclass(frozen=True, slots=True)
class Data:
    """All sources of a command, and what was said of their columns."""

    sources: tuple[Source, ...]
    text: textfiles.TextOptions = field(default_factory=textfiles.TextOptions)

    @property
    def name(self) -> str:
        return self.sources[0].name if len(self.sources) == 1 else f"{len(self.sources)} files"

    @property
    def known_by_metadata(self) -> bool:
        """Whether the columns are known before the rows are read."""
        return all(s.format in ("parquet", "arrow") and s.path != STDIN for s in self.sources)

    def schemas(self) -> list[pa.Schema]:
        """The columns of each file: from the metadata, or from how a file of text begins."""
        return [self._schema_of(s) for s in self.sources]

    def schema(self) -> pa.Schema:
        """The columns of all files together."""
        schemas = self.schemas()
        schema = _unified([(s, schema) for s, schema in zip(self.sources, schemas, strict=True)])
        self._check_typed(schema)
        return schema

    def _check_typed(self, schema: pa.Schema) -> None:
        for name in self.text.columns:
            if name not in schema.names:
                raise UsageError(
                    f"--column gives {name} a type, and {self.name} has no such column: there is {listed(schema.names)}"
                )

    def read(self, columns: Sequence[str] | None = None, *, quiet: bool = False) -> pa.Table:
        """All rows as one table, with a meter where it takes long."""
        sizes = [s.size for s in self.sources]
        total = None if any(size is None for size in sizes) else sum(size or 0 for size in sizes)
        with Meter.of_bytes(f"reading {self.name}", total, quiet=quiet) as meter:
            tables = [
                self._with_partition(s, _read(s, self.text, columns, meter), columns) for s in self.sources
            ]
        schema = _unified([(s, t.schema) for s, t in zip(self.sources, tables, strict=True)])
        if columns is None:
            self._check_typed(schema)
        if len(tables) == 1:
            return tables[0]
        return pa.concat_tables([_fitted(t, schema) for t in tables])

    def check_columns(self, names: dict[str, str]) -> None:
        """Of many files each must have the columns that play a role: a stray file is not silently null."""
        if len(self.sources) < 2:
            return
        for source in self.sources:
            have = self._schema_of(source).names
            for role, name in names.items():
                if name not in have:
                    raise DataError(
                        f"{source.name} has no column {name}, which {role} names; its columns are {listed(have)}"
                    )

    def _schema_of(self, source: Source) -> pa.Schema:
        schema = schema_of(source, self.text)
        if source.format in ("parquet", "arrow"):
            types = self.text.columns
            fields = [f.with_type(types.get(f.name, f.type)) for f in schema]
            schema = pa.schema(fields, metadata=schema.metadata)
        return self._with_partition(source, schema.empty_table(), None).schema

    def _with_partition(self, source: Source, table: pa.Table, columns: Sequence[str] | None) -> pa.Table:
        """The table with the columns that its path tells; what the file itself says of them goes first."""
        for name, value in source.partition:
            if name not in table.schema.names and (columns is None or name in columns):
                type_ = self._partition_type(name)
                values = pa.repeat(pa.scalar(value, pa.string()), table.num_rows).cast(type_)
                table = table.append_column(name, values)
        return table

    def _partition_type(self, name: str) -> pa.DataType:
        """The type of a column of paths: what all its values can be read as, or what was asked for."""
        if name in self.text.columns:
            return self.text.columns[name]
        values = pa.array({v for s in self.sources for n, v in s.partition if n == name}, pa.string())
        for type_ in (pa.int64(), pa.date32()):
            try:
                values.cast(type_)
            except pa.ArrowInvalid:
                continue
            return type_
        return pa.string()


def data_from(
    paths: Sequence[str], input_format: str | None = None, text: textfiles.TextOptions | None = None
) -> Data:
    """The data that the words name."""
    return Data(sources_from(paths, input_format), textfiles.TextOptions() if text is None else text)


def schema_of(source: Source, text: textfiles.TextOptions) -> pa.Schema:
    """A source's columns, from as little of it as will do; standard input can still be read after that."""
    try:
        if source.format == "parquet":
            import pyarrow.parquet as pq

            return pq.read_schema(source.path)
        if source.format == "arrow":
            with _arrow_reader(source) as reader:
                return reader.schema
        _check_format(source)
        return textfiles.sampled(source.start(textfiles.SAMPLE), source.format, source.name, text).schema
    except (pa.ArrowException, OSError, EOFError) as error:
        raise _damaged(source, error) from None


def _read(
    source: Source, text: textfiles.TextOptions, columns: Sequence[str] | None, meter: Meter
) -> pa.Table:
    try:
        if source.format == "parquet":
            table = _read_parquet(source, columns, meter)
        elif source.format == "arrow":
            table = _read_arrow(source, columns, meter)
        else:
            _check_format(source)
            return textfiles.read(source, text, meter)
    except (pa.ArrowException, OSError, EOFError) as error:
        raise _damaged(source, error) from None
    return textfiles.retyped(table, text.columns, source.name, first_row=1)


def _read_parquet(source: Source, columns: Sequence[str] | None, meter: Meter) -> pa.Table:
    import pyarrow.parquet as pq

    file = pq.ParquetFile(source.path if source.stream is None else _whole(source.stream))
    names = None if columns is None else [c for c in file.schema_arrow.names if c in columns]
    if file.num_row_groups == 0:
        return file.read(columns=names)
    share = (source.size or 0) / file.num_row_groups
    parts = []
    for group in range(file.num_row_groups):
        parts.append(file.read_row_group(group, columns=names))
        meter.advance(int(share))
    return pa.concat_tables(parts)


@contextmanager
def _arrow_reader(source: Source) -> Iterator[Any]:
    """A reader of an Arrow file, or of a stream where it is no file."""
    if not source.head(6).startswith(b"ARROW1"):
        with source.unpacked() as file:
            yield pa.ipc.open_stream(file)
    else:
        yield pa.ipc.open_file(pa.memory_map(source.path) if source.stream is None else _whole(source.stream))


def _read_arrow(source: Source, columns: Sequence[str] | None, meter: Meter) -> pa.Table:
    with _arrow_reader(source) as reader:
        table = reader.read_all()
    meter.advance(source.size or 0)
    return table if columns is None else table.select([c for c in table.schema.names if c in columns])


def _damaged(source: Source, error: Exception) -> DataError:
    if isinstance(error, OSError) and error.errno:
        return DataError(f"{source.name}: {of_the_system(error).rpartition(': ')[2]}")
    if not isinstance(error, OSError) and not source.size and source.path != STDIN:
        return DataError(f"{source.name} is empty")
    _check_format(source)
    said = str(error).strip().partition("\n")[0]
    return DataError(f"{source.name} cannot be read as {source.format}: {said}")


def _check_format(source: Source) -> None:
    found = mistaken(source)
    if found is not None:
        raise DataError(
            f"{source.name} is no {source.format} file: it looks like {found}, and --input-format {found} reads it so"
        )


def _unified(found: list[tuple[Source, pa.Schema]]) -> pa.Schema:
    """One schema for all files."""
    whole = found[0][1]
    for source, schema in found[1:]:
        try:
            whole = pa.unify_schemas([whole, schema], promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            for f in schema:
                before = whole.field(f.name).type if f.name in whole.names else f.type
                try:
                    pa.unify_schemas(
                        [pa.schema([(f.name, before)]), pa.schema([f])], promote_options="permissive"
                    )
                except (pa.ArrowInvalid, pa.ArrowTypeError):
                    raise DataError(
                        f"the column {f.name} is {shown(f.type)} in {source.name} and {shown(before)} before it, in "
                        f"{found[0][0].name}; say which it is: --column {f.name}:TYPE"
                    ) from None
            raise DataError(f"{source.name} has other columns than the files before it") from None
    return whole


def _fitted(table: pa.Table, schema: pa.Schema) -> pa.Table:
    arrays = []
    for f in schema:
        if f.name in table.schema.names:
            arrays.append(table.column(f.name).cast(f.type))
        else:
            arrays.append(pa.nulls(table.num_rows, f.type))
    return pa.table(arrays, schema=schema)


def _whole(file: IO[bytes]) -> Any:
    return pa.BufferReader(file.read())
