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
