"""Expressions: one typed tree for every language, and its readings.

    text ─ parse ─> tree ─ check(schema) ─> typed tree ─┬─ interpret   one value at a time: the reference
                                                        ├─ columns     a whole batch at once
                                                        └─ source      a scalar inside a generated kernel

Null logic, overflow, NaN and every function's meaning are defined once, in `interpret` and the `scalars` that
it calls; the other two readings are held to it by property tests. `physical` turns Arrow arrays into what all
three compute with; `columns` stands on `texts` and `decimals`; the names in a kernel's source are made, and
bound to a batch, by `inputs`, which knows texts and decimals by the codes of a `domain`.
"""
