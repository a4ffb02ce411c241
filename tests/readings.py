"""The three readings of an expression over the rows of a table, as lists that can be compared."""

from __future__ import annotations

import math
import struct

import numpy as np
import pyarrow as pa

from augury.expr import types
from augury.expr.check import check
from augury.expr.columns import evaluate, from_arrow, physical_values
from augury.expr.interpret import interpret
from augury.expr.physical import values
from augury.expr.source import Emitter, Inputs, Scalar
from augury.expr.types import Kind
from augury.lang.sase import parse_expression


def typed_over(node, table):
    """The checked form of an expression that names columns as `a.column`."""
    found = {name: types.from_arrow(table.schema.field(name).type) for name in table.column_names}
    return check(node, lambda reference: found[reference.name])


def interpreted(nodes, table):
    columns = {n: physical_values(table[n], types.from_arrow(table[n].type)) for n in table.column_names}
    rows = range(table.num_rows)
    return [[interpret(node, lambda ref, row=row: columns[ref.name][row]) for row in rows] for node in nodes]


def vectorised(nodes, table):
    columns = {n: from_arrow(table[n], types.from_arrow(table[n].type)) for n in table.column_names}
    return [
        values(evaluate(node, lambda ref: columns[ref.name], table.num_rows), node.type) for node in nodes
    ]


def read(text, params=None, /, **columns):
    """The values of an expression, a row for each row of the columns, in which all readings agree."""
    columns = {n: c if isinstance(c, pa.Array | pa.ChunkedArray) else pa.array(c) for n, c in columns.items()}
    table = pa.table(columns or {"row": [0]})
    nodes = [typed_over(parse_expression(text, params), table)]
    (expected,) = interpreted(nodes, table)
    for found in (vectorised(nodes, table), Kernel(nodes, table).run()):
        assert [bits(v) for v in found[0]] == [bits(v) for v in expected]
    return expected


class Kernel:
    """Generated code that writes the value of each expression for each row; columns are named x0, x1, …"""

    def __init__(self, nodes, table):
        self.nodes = nodes
        self.table = table
        self.inputs = Inputs()
        columns = {n: from_arrow(table[n], types.from_arrow(table[n].type)) for n in table.column_names}
        self.columns = {n: (columns[n], types.from_arrow(table[n].type)) for n in table.column_names}
        names = {n: f"x{i}" for i, n in enumerate(table.column_names)}
        nullable = {n for n, (column, _) in self.columns.items() if column.valid is not None}

        def leaf(ref):
            name = names[ref.name]
            return Scalar(f"{name}[i]", f"{name}_null[i]" if ref.name in nullable else None)

        lines = []
        for k, node in enumerate(nodes):
            emitter = Emitter(leaf, self.inputs)
            before, (value, null) = emitter.value(node)
            if null is None:
                lines += [*before, f"out{k}[i] = {value}", f"out{k}_null[i] = False"]
            else:
                test = [f"if {null}:", f"    out{k}_null[i] = True", "else:", f"    out{k}[i] = {value}"]
                lines += [*before, *test, f"    out{k}_null[i] = False"]
            if node.type.kind is Kind.BOOL:
                before, test = emitter.condition(node)
                lines += [*before, f"out{k}_true[i] = {test}"]
        bound = self.inputs.bind(self.columns)
        self.bound = bound
        self.arrays = dict(bound.arguments)
        for name, column in bound.columns.items():
            self.arrays[names[name]] = column.values
            if column.null is not None:
                self.arrays[names[name] + "_null"] = column.null
        rows = table.num_rows
        for k, node in enumerate(nodes):
            self.arrays[f"out{k}"] = np.zeros(rows, types_of_codes(node.type.kind))
            self.arrays[f"out{k}_null"] = np.zeros(rows, np.bool_)
            if node.type.kind is Kind.BOOL:
                self.arrays[f"out{k}_true"] = np.zeros(rows, np.bool_)
        body = "".join(f"        {line}\n" for line in lines)
        self.source = f"def kernel(n, {', '.join(self.arrays)}):\n    for i in range(n):\n{body}"

    def run(self, jit=None):
        """The values of all expressions; compiled if there is something to compile with."""
        namespace = self.inputs.helpers(compilable=jit is not None)
        if jit is not None:
            namespace = {name: jit(fn) for name, fn in namespace.items()}
        namespace |= {
            "float": float,
            "int": int,
            "bool": bool,
            "abs": abs,
            "range": range,
            "__builtins__": {},
        }
        exec(compile(self.source, "<kernel>", "exec"), namespace)
        kernel = namespace["kernel"]
        if jit is None:
            arrays = {n: a.tolist() if isinstance(a, np.ndarray) else a for n, a in self.arrays.items()}
        else:
            kernel = jit(kernel)
            arrays = {n: a if isinstance(a, np.ndarray) else jit(a) for n, a in self.arrays.items()}
        kernel(self.table.num_rows, *arrays.values())
        arrays = {n: a.tolist() if isinstance(a, np.ndarray) else a for n, a in arrays.items()}
        return [self._result(k, node, arrays) for k, node in enumerate(self.nodes)]

    def _result(self, k, node, arrays):
        found, nulls = arrays[f"out{k}"], arrays[f"out{k}_null"]
        if node.type.kind in self.bound.domains:
            listed = self.bound.domains[node.type.kind].listed()
            found = [listed[code] for code in found]
        elif node.type.kind is Kind.LIST:
            found = [arrays["lists"][place] for place in found]
        found = [None if is_null else v for v, is_null in zip(found, nulls, strict=True)]
        if node.type.kind is Kind.BOOL:
            assert arrays[f"out{k}_true"] == [v is True for v in found], (
                "the test of a condition is its value"
            )
        return found


def types_of_codes(kind):
    return {Kind.BOOL: np.bool_, Kind.FLOAT: np.float64, Kind.UINT: np.uint64}.get(kind, np.int64)


def bits(value):
    """What tells values apart: the bits of doubles, all NaNs being one; numbers without their scale."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else struct.pack(">d", value)
    if isinstance(value, list):
        return [bits(v) for v in value]
    return (type(value), value)
