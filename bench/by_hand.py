"""The click funnel as one would write it by hand with NumPy: what a general engine is compared with.

It knows all that there is to know: three singletons, one key, no predicate, skip_till_next. Under it a view
goes to the user's next cart, and that cart to the next buy; each buy belongs to the views between the
cart before the last and the last one. No pattern but this one can be asked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

HOUR = 3600 * 1_000_000


def funnel(table: pa.Table) -> pa.Table:
    """view -> next cart -> next buy, of one user and within an hour: user, page, and times."""
    kind = table.column("kind").combine_chunks()
    user = table.column("user").to_numpy()
    ts = table.column("ts").cast(pa.int64()).to_numpy()
    narrow = user.astype(np.uint16) if user.max() < 1 << 16 else user
    order = np.argsort(narrow, kind="stable")  # the stream is in order of time; 16 bits are a radix sort
    of = user[order]
    is_view, is_cart, is_buy = (np.asarray(pc.equal(kind, name))[order] for name in ("view", "cart", "buy"))
    cart = _next(is_cart)
    buy = _next(is_buy)
    view = np.flatnonzero(is_view)
    end = len(order)
    second = cart[view]
    third = np.where(second < end, buy[np.minimum(second, end - 1)], end)
    found = third < end
    view, second, third = view[found], second[found], third[found]
    kept = (of[view] == of[third]) & (ts[order[third]] - ts[order[view]] < HOUR)
    a, b, c = (order[at[kept]] for at in (view, second, third))
    by_end = np.lexsort((a, c)) if len(c) else c
    a, b, c = a[by_end], b[by_end], c[by_end]
    taken = {"a_user": ("user", a), "a_page": ("page", a), "b_ts": ("ts", b), "c_ts": ("ts", c)}
    return pa.table(
        {name: table.column(n).combine_chunks().take(pa.array(at)) for name, (n, at) in taken.items()}
    )


def _next(flag: Any) -> Any:
    """For each place the first flagged place after it; the length where there is none."""
    n = len(flag)
    at = np.where(flag, np.arange(n), n)
    following = np.minimum.accumulate(at[::-1])[::-1]
    return np.append(following[1:], n)


def v_shapes(table: pa.Table) -> pa.Table:
    """Where a symbol's price, after a tick that did not fall, falls and then rises: the whole fall and rise."""
    symbol = table.column("symbol").to_numpy()
    price = table.column("price").to_numpy()
    ts = table.column("ts").to_numpy()
    order = np.argsort(symbol.astype(np.min_scalar_type(symbol.max(initial=0))), kind="stable")
    symbol, price, ts = symbol[order], price[order], ts[order]
    moved = np.sign(np.diff(price, prepend=price[:1])).astype(np.int8)
    moved[np.flatnonzero(np.diff(symbol, prepend=symbol[:1] - 1))] = (
        2  # a symbol's first tick has moved nowhere
    )
    first = np.flatnonzero(np.diff(moved, prepend=3))  # islands: stretches of ticks that moved alike
    last = np.append(first[1:], len(moved)) - 1
    way = moved[first]
    falls = np.flatnonzero((way[1:-1] == -1) & ((way[:-2] == 0) | (way[:-2] == 1)) & (way[2:] == 1)) + 1
    top, bottom, again = last[falls - 1], last[falls], last[falls + 1]
    return pa.table({"top": ts[top], "bottom": ts[bottom], "top_again": ts[again]})


def triples(table: pa.Table, within: int = 600) -> pa.Table:
    """How many A, B, C at rising prices complete at each C: for each, a matrix of the As and Bs in its window."""
    kind = np.asarray(pc.index_in(table.column("kind"), pa.array(["A", "B", "C"])))
    ts = table.column("ts").to_numpy()
    price = table.column("price").to_numpy()
    a, b, c = (np.flatnonzero(kind == k) for k in range(3))
    a_from, b_from = (np.searchsorted(ts[those], ts[c] - within, side="right") for those in (a, b))
    a_until, b_until = (np.searchsorted(those, c) for those in (a, b))
    found = np.zeros(len(c), np.int64)
    for k in range(len(c)):
        those, then = a[a_from[k] : a_until[k]], b[b_from[k] : b_until[k]]
        then = then[price[then] < price[c[k]]]
        rising = (price[those][:, None] < price[then]) & (those[:, None] < then)
        found[k] = np.count_nonzero(rising)
    some = found > 0
    return pa.table({"match_end": ts[c[some]], "count": found[some]})
