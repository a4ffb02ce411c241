"""Streams to try queries on: made from a seed, as Arrow tables, with no Python loop over rows.

A stream is written down column by column for all its stories at once (an item's way through a shop, a
symbol's walk, a visitor's session), and sorted by time at the end. The sorts are stable, so that rows of
equal time come in the same order on every machine: the same arguments give the same table, as long as
NumPy's generators stay as they are.
"""

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

__all__ = ["clicks", "rfid", "stock"]

_OPENING = int(datetime(2024, 1, 1, 9, tzinfo=UTC).timestamp()) * 1_000_000
_SECOND = 1_000_000  # times are microseconds, as the library's instants
_MINUTE = 60 * _SECOND


def rfid(rows: int, *, items: int | None = None, theft: float = 0.02, seed: int = 0) -> pa.Table:
    """Readings of tagged goods in a shop: most are paid for, some are not.

    Each of `items` goods is read at a shelf, 5 to 45 minutes later at a register, and 1 to 5 minutes after
    that at an exit; a share of about `theft` skips the register. The other rows are readings of goods that
    stay: at shelves, some at a register, none at an exit. A good has one reading of each kind, so the
    goods with an exit and no register are what Query 1 of the SASE+ paper finds, one match for each.

    Columns: `ts` (timestamp[us, UTC], ascending, about a reading a second), `kind` (Shelf, Register or Exit),
    `tag_id` (int64) and `reader` (string).

    >>> from augury.generate import rfid
    >>> table = rfid(1000, theft=0.1, seed=7)
    >>> table.num_rows, table.column_names
    (1000, ['ts', 'kind', 'tag_id', 'reader'])
    """
    _at_least(0, rows=rows)
    items = rows // 5 if items is None else items
    _at_least(0, items=items)
    _probability(theft=theft)
    if 3 * items > rows:
        raise ValueError(f"{items} items need up to {3 * items} rows; rows={rows} is too few")
    rng = np.random.default_rng(seed)

    tags = rng.permutation(2 * items + 1)  # the second half stays in the shop
    gone, staying = tags[:items], tags[items:]
    paid = rng.random(items) >= theft
    picked = _OPENING + rng.integers(0, _span(rows), items)
    at_register = picked + rng.integers(5 * _MINUTE, 45 * _MINUTE, items)
    at_exit = at_register + rng.integers(1 * _MINUTE, 5 * _MINUTE, items)
    others = rows - 2 * items - int(paid.sum())

    shelf, register, leave = 0, 1, 2
    kind = np.concatenate(
        [
            np.full(items, shelf),
            np.full(int(paid.sum()), register),
            np.full(items, leave),
            np.where(rng.random(others) < 0.9, shelf, register),
        ]
    )
    ts = np.concatenate(
        [
            picked,
            at_register[paid],
            at_exit,
            _OPENING + rng.integers(0, _span(rows) + 50 * _MINUTE, others),
        ]
    )
    tag = np.concatenate([gone, gone[paid], gone, rng.choice(staying, others)])

    readers = [("shelf", 40), ("register", 8), ("exit", 2)]
    first = np.cumsum([0, *(count for _, count in readers)])[:-1]
    count = np.array([count for _, count in readers])
    reader = first[kind] + rng.integers(0, count[kind])
    names = [f"{place}-{number}" for place, many in readers for number in range(1, many + 1)]

    order = np.argsort(ts, kind="stable")
    return pa.table(
        {
            "ts": _timestamps(ts[order]),
            "kind": _strings(["Shelf", "Register", "Exit"], kind[order]),
            "tag_id": tag[order],
            "reader": _strings(names, reader[order]),
        }
    )


def stock(rows: int, *, symbols: int = 2, p_up: float = 0.7, p_down: float = 0.15, seed: int = 0) -> pa.Table:
    """The stock ticks of the SASE+ paper's experiments (section 6).

    Each tick belongs to one of `symbols` symbols, all equally frequent. A symbol's price starts anywhere from
    1 to 1000 and then rises by 1 with probability `p_up`, falls by 1 with `p_down`, or stays; past 1000 it
    goes on at 1, below 1 at 1000. The paper's p is `p_up`, with `p_down` half of the rest.

    Columns, all int64 but `kind`: `ts` (0, 1, 2, ... over all symbols), `kind` (always Stock), `symbol` (from 1),
    `price` and `volume` (1 to 1000).

    >>> from augury.generate import stock
    >>> stock(3, seed=1).column_names
    ['ts', 'kind', 'symbol', 'price', 'volume']
    """
    _at_least(0, rows=rows)
    _at_least(1, symbols=symbols)
    _probability(p_up=p_up, p_down=p_down)
    if p_up + p_down > 1 + 1e-9:
        raise ValueError(f"p_up + p_down is {p_up + p_down:g}; more than 1 cannot be")
    rng = np.random.default_rng(seed)

    symbol = rng.integers(1, symbols + 1, rows)
    chance = rng.random(rows)
    step = np.where(chance < p_up, 1, np.where(chance >= 1 - p_down, -1, 0))
    start = rng.integers(1, 1001, symbols)

    # All walks at once: one running sum over the ticks in order of symbol, less what it was where each symbol
    # begins. The narrow type makes the stable sort a radix sort.
    grouped = np.argsort(symbol.astype(np.min_scalar_type(symbols)), kind="stable")
    moved = _since_first(step[grouped], np.bincount(symbol - 1, minlength=symbols))
    price = np.empty(rows, np.int64)
    price[grouped] = (start[symbol[grouped] - 1] + moved - 1) % 1000 + 1

    return pa.table(
        {
            "ts": np.arange(rows, dtype=np.int64),
            "kind": _strings(["Stock"], np.zeros(rows, np.int64)),
            "symbol": symbol,
            "price": price,
            "volume": rng.integers(1, 1001, rows),
        }
    )


def clicks(rows: int, *, users: int = 1000, seed: int = 0) -> pa.Table:
    """Clicks of visitors in a web shop: sessions of views, some with a cart, some of those with a purchase.

    A session is one user's: 1, 2, 3, ... views (each further one with probability 0.7), then in 3 of 10 sessions
    a cart, then in half of these a buy, 1 to 90 seconds apart. Sessions of one user may overlap, as tabs do.
    The stream is cut at `rows`, so one session may lack its end.

    Columns: `ts` (timestamp[us, UTC], ascending, about a click a second), `kind` (view, cart or buy), `user` (int64,
    from 0) and `page` (string; a few of the 1000 items draw most of the views).

    >>> from augury.generate import clicks
    >>> sorted(set(clicks(500, users=10, seed=3)["kind"].to_pylist()))
    ['buy', 'cart', 'view']
    """
    _at_least(0, rows=rows)
    _at_least(1, users=users)
    rng = np.random.default_rng(seed)

    views = rng.geometric(0.3, rows)  # for `rows` sessions: enough even if each were one click
    cart = rng.random(rows) < 0.3
    buy = cart & (rng.random(rows) < 0.5)
    length = views + cart + buy
    needed = int(np.searchsorted(np.cumsum(length), rows)) + 1
    views, length = views[:needed], length[:needed]
    sessions = len(length)

    session = np.repeat(np.arange(sessions), length)[:rows]
    gap = rng.integers(1 * _SECOND, 90 * _SECOND, rows)
    opened = _OPENING + rng.integers(0, _span(rows), sessions)
    counts = np.bincount(session, minlength=sessions)
    ts = opened[session] + _since_first(gap, counts)
    position = np.arange(rows) - np.repeat(np.cumsum(counts) - counts, counts)
    view, in_cart = 0, 1
    kind = np.maximum(position - views[session] + 1, view)  # 0 for all views, then 1, then 2
    user = rng.integers(0, users, sessions)[session]

    items = 1000
    item = (items * rng.random(rows) ** 3).astype(np.int64)
    pages = [*(f"/item/{number}" for number in range(items)), "/cart", "/checkout"]
    page = np.where(kind == view, item, items + kind - in_cart)

    order = np.argsort(ts, kind="stable")
    return pa.table(
        {
            "ts": _timestamps(ts[order]),
            "kind": _strings(["view", "cart", "buy"], kind[order]),
            "user": user[order],
            "page": _strings(pages, page[order]),
        }
    )


def _since_first(step: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Running sums that begin anew, at 0, in each of the consecutive groups of `counts` steps."""
    total = np.cumsum(step)
    filled = counts[counts > 0]
    before: NDArray[np.int64] = np.repeat(total[np.cumsum(filled) - filled], filled)
    return total - before


def _strings(names: list[str], codes: NDArray[np.int64]) -> pa.Array:
    return pc.take(pa.array(names, pa.string()), pa.array(codes))


def _timestamps(micros: NDArray[np.int64]) -> pa.Array:
    return pa.array(micros).cast(pa.timestamp("us", tz="UTC"))


def _span(rows: int) -> int:
    return max(rows, 1) * _SECOND


def _at_least(least: int, **arguments: int) -> None:
    for name, value in arguments.items():
        if value < least:
            raise ValueError(f"{name}={value} must be at least {least}")


def _probability(**arguments: float) -> None:
    for name, value in arguments.items():
        if not 0 <= value <= 1:
            raise ValueError(f"{name}={value} must lie between 0 and 1")
