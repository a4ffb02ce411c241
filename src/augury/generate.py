"""Streams to try queries on: made from a seed, as Arrow tables, with no Python loop over rows.

A stream is written down column by column for all its stories at once (an item's way through a shop, a
symbol's walk, a visitor's session), and sorted by time at the end. The sorts are stable, so that rows of
equal time come in the same order on every machine: the same arguments give the same table, as long as
NumPy's generators stay as they are.

A stream that is larger than memory comes in parts from `stream`; `disturbed` makes it arrive as real ones do,
out of order, late and twice.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

__all__ = ["clicks", "cluster", "disturbed", "hadoop", "rfid", "stock", "stream"]

Seed = int | Sequence[int]

_OPENING = int(datetime(2024, 1, 1, 9, tzinfo=UTC).timestamp()) * 1_000_000
_SECOND = 1_000_000  # times are microseconds, as the library's instants
_MINUTE = 60 * _SECOND


def rfid(rows: int, *, items: int | None = None, theft: float = 0.02, seed: Seed = 0) -> pa.Table:
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


def stock(
    rows: int, *, symbols: int = 2, p_up: float = 0.7, p_down: float = 0.15, seed: Seed = 0
) -> pa.Table:
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
    return _ticks(rows, symbols, p_up, p_down, seed, None)


def _ticks(
    rows: int, symbols: int, p_up: float, p_down: float, seed: Seed, before: NDArray[np.int64] | None
) -> pa.Table:
    """Ticks from price 1 to 1000 anywhere, or from where each symbol stood `before`."""
    _at_least(0, rows=rows)
    _at_least(1, symbols=symbols)
    _probability(p_up=p_up, p_down=p_down)
    if p_up + p_down > 1 + 1e-9:
        raise ValueError(f"p_up + p_down is {p_up + p_down:g}; more than 1 cannot be")
    rng = np.random.default_rng(seed)

    symbol = rng.integers(1, symbols + 1, rows)
    chance = rng.random(rows)
    step = np.where(chance < p_up, 1, np.where(chance >= 1 - p_down, -1, 0))
    start = rng.integers(1, 1001, symbols) if before is None else before

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


def clicks(rows: int, *, users: int = 1000, seed: Seed = 0) -> pa.Table:
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


def cluster(rows: int, *, machines: int = 100, leaking: float = 0.05, seed: Seed = 0) -> pa.Table:
    """What a monitor of a compute cluster sees: jobs start, use memory, and end or fail.

    A job runs on one machine. Between its Start and its End come some 15 Loads, one every 5 to 15 seconds. The
    memory of most jobs goes up and down; that of a share of about `leaking` only rises, and those Fail in the
    place of an End. The stream is cut at `rows`, so some jobs may lack their end.

    Columns: `ts` (timestamp[us, UTC], ascending), `kind` (Start, Load, End or Fail), `job` (int64, from 0),
    `machine` (string), `cpu` (percent) and `memory` (gigabytes), both double.

    >>> from augury.generate import cluster
    >>> sorted(set(cluster(1000, leaking=0.5, seed=1)["kind"].to_pylist()))
    ['End', 'Fail', 'Load', 'Start']
    """
    _at_least(0, rows=rows)
    _at_least(1, machines=machines)
    _probability(leaking=leaking)
    rng = np.random.default_rng(seed)

    jobs = rows // 7 + 1  # a job has at least 2 + 5 events
    length = 2 + 5 + rng.poisson(10, jobs)
    jobs = int(np.searchsorted(np.cumsum(length), rows)) + 1
    length = length[:jobs]
    leaks = rng.random(jobs) < leaking
    where = rng.integers(0, machines, jobs)
    opened = _OPENING + rng.integers(0, _span(rows), jobs)

    job = np.repeat(np.arange(jobs), length)
    counts = length.astype(np.int64)
    position = np.arange(len(job)) - np.repeat(np.cumsum(counts) - counts, counts)
    ts = opened[job] + _since_first(rng.integers(5 * _SECOND, 15 * _SECOND, len(job)), counts)
    last = position == counts[job] - 1
    start, load, end, fail = 0, 1, 2, 3
    kind = np.where(position == 0, start, np.where(last, np.where(leaks[job], fail, end), load))
    rising = _since_first(rng.integers(1, 8, len(job)), counts)
    wavering = rng.integers(-12, 13, len(job))
    tenths = rng.integers(20, 80, jobs)[job] + np.where(leaks[job], rising, wavering)
    cpu = rng.integers(0, 1001, len(job)) / 10

    order = np.argsort(ts, kind="stable")[:rows]
    return pa.table(
        {
            "ts": _timestamps(ts[order]),
            "kind": _strings(["Start", "Load", "End", "Fail"], kind[order]),
            "job": job[order],
            "machine": _strings([f"node-{number}" for number in range(1, machines + 1)], where[job[order]]),
            "cpu": cpu[order],
            "memory": tenths[order] / 10,
        }
    )


def hadoop(rows: int, *, nodes: int = 10, seed: Seed = 0) -> pa.Table:
    """A job of many tasks on a few nodes, and what a monitor measures of each node, with the times as they are known.

    Made after the case study of the paper on imprecise timestamps: a job tracker logs when tasks start and finish,
    and when data is pulled and merged, by a clock that is half a second off; a monitor measures each node's load
    once in 15 seconds, some time in them. Times are tenths of a second. A thousandth of the rows are tasks, most are
    pulls; there are some 780 rows a second. A node with much to do has more load, and a merge is hard work.

    Columns: `lower` and `upper` (int64, by `lower`), `kind` (TaskStart, TaskFinish, Pull, MergeStart, MergeFinish or
    Load), `node` (string), `task` (int64, null for a Load) and `value` (percent, double, null for all but a Load).

    >>> from augury.generate import hadoop
    >>> sorted(set(hadoop(20_000, seed=1)["kind"].to_pylist()))
    ['Load', 'MergeFinish', 'MergeStart', 'Pull', 'TaskFinish', 'TaskStart']
    """
    _at_least(0, rows=rows)
    _at_least(1, nodes=nodes)
    rng = np.random.default_rng(seed)
    span = max(150, rows * 10 // 778)
    measured = np.tile(np.arange(75, span + 150, 150), nodes)
    measured = measured[: rows // 2]
    at = np.repeat(np.arange(nodes), -(-len(measured) // nodes))[: len(measured)]
    tasks, merges = rows // 1030, rows // 1400
    pulls = rows - len(measured) - 2 * tasks - 2 * merges
    where = rng.integers(0, nodes, tasks + merges)
    begun = rng.integers(0, span, tasks + merges)
    lasting = np.concatenate([rng.integers(40, 1200, tasks), rng.integers(20, 400, merges)])
    busy = np.zeros((nodes, span // 150 + 20), np.int64)
    np.add.at(busy, (where, np.minimum((begun + lasting // 2) // 150, span // 150 + 19)), 1)
    busy[where[tasks:], np.minimum(begun[tasks:] // 150, span // 150 + 19)] += 4
    load = 35 + 7 * busy[at, measured // 150] + rng.normal(0, 12, len(measured))
    ends = begun + lasting
    start, finish, pull, merge, merged, measure = range(6)
    kinds = [(start, begun[:tasks]), (finish, ends[:tasks]), (merge, begun[tasks:]), (merged, ends[tasks:])]
    kind = np.concatenate(
        [np.full(len(t), k) for k, t in kinds] + [np.full(pulls, pull), np.full(len(at), measure)]
    )
    time = np.concatenate([*(t for _, t in kinds), rng.integers(0, span, pulls), measured])
    node = np.concatenate(
        [*(np.tile(w, 2) for w in (where[:tasks], where[tasks:])), rng.integers(0, nodes, pulls), at]
    )
    own = np.arange(tasks + merges)
    of_task = [*(np.tile(w, 2) for w in (own[:tasks], own[tasks:])), rng.integers(0, max(1, tasks), pulls)]
    task = np.concatenate([*of_task, np.zeros(len(at), np.int64)])
    is_load = kind == measure
    value = np.zeros(len(kind))
    value[is_load] = np.round(np.clip(load, 0, 100), 1)
    off = np.where(is_load, 75, 5)
    order = np.argsort(time - off, kind="stable")
    is_load = is_load[order]
    return pa.table(
        {
            "lower": (time - off)[order],
            "upper": (time + off)[order],
            "kind": _strings(
                ["TaskStart", "TaskFinish", "Pull", "MergeStart", "MergeFinish", "Load"], kind[order]
            ),
            "node": _strings([f"node-{number}" for number in range(1, nodes + 1)], node[order]),
            "task": pa.array(task[order], mask=is_load),
            "value": pa.array(value[order], mask=~is_load),
        }
    )


# ------------------------------------------------------------------ streams of any size

STREAMS: dict[str, Callable[..., pa.Table]] = {
    "stock": stock,
    "rfid": rfid,
    "clicks": clicks,
    "cluster": cluster,
}
_NUMBERED = {"rfid": "tag_id", "cluster": "job"}  # goods and jobs are new ones in each part
_PART = 1 << 20


def stream(name: str, rows: int, *, seed: int = 0, part: int = _PART, **options: Any) -> Iterator[pa.Table]:
    """A stream of `rows` rows in parts, one in memory at a time: "stock", "rfid", "clicks" or "cluster".

    The first part is what the function of that name gives for so many rows; the others go on after it, prices from
    where they stood, goods and jobs with new numbers. So the same seed gives the same stream for one size of
    part, and a stream that fits one part is the function's table.

    >>> from augury.generate import stock, stream
    >>> [t.num_rows for t in stream("stock", 2500, part=1000)]
    [1000, 1000, 500]
    >>> next(stream("stock", 100, seed=3)).equals(stock(100, seed=3))
    True
    """
    if name not in STREAMS:
        raise ValueError(f"there is no stream {name!r}; there are {', '.join(STREAMS)}")
    _at_least(0, rows=rows)
    _at_least(1, part=part)
    items = options.pop("items", None)
    behind: NDArray[np.int64] | None = None
    ends = _OPENING
    numbers = 0
    for number, start in enumerate(range(0, max(rows, 1), part)):
        size = min(part, rows - start)
        own_seed = seed if number == 0 else [seed, number]
        if items is not None:  # as many of all goods as this part has of all rows
            share = items * (start + size) // max(rows, 1) - items * start // max(rows, 1)
            options["items"] = share if rows <= part else min(share, size // 3)
        if name == "stock":
            given = {"symbols": 2, "p_up": 0.7, "p_down": 0.15, **options}
            table = _ticks(size, **given, seed=own_seed, before=behind)
            behind = _last_prices(table, given["symbols"], behind)
            table = _shifted(table, "ts", start)
        else:
            table = STREAMS[name](size, seed=own_seed, **options)
            if number:
                table = _shifted(table, "ts", ends + _SECOND - _OPENING)
            if name in _NUMBERED:
                table = _shifted(table, _NUMBERED[name], numbers)
        if table.num_rows:
            ends = _numbers(table, "ts")[-1]
            if name in _NUMBERED:
                numbers = int(_numbers(table, _NUMBERED[name]).max()) + 1
        yield table


def disturbed(
    parts: Iterable[pa.Table],
    *,
    delay: int,
    disorder: float = 0.0,
    late: float = 0.0,
    duplicates: float = 0.0,
    time: str = "ts",
    seed: int = 0,
) -> Iterator[pa.Table]:
    """The rows of a stream that is sorted by time, in the order in which they arrive.

    A share `disorder` arrives up to `delay` after its time, so it is never late for who waits that long. A share
    `late` arrives 2 to 10 times `delay` after it, so it is (but at the stream's very end, where nothing comes that
    would make it so). A share `duplicates` arrives twice, the second time up
    to `delay` after the first. `delay` is in units of the time column as it is stored (microseconds in the streams
    here, ticks for stock). What must wait is held back, so the parts are of other sizes than they came.

    >>> from augury.generate import disturbed, stream
    >>> rows = pa.concat_tables(disturbed(stream("stock", 1000), delay=50, disorder=0.2))
    >>> sorted(rows["ts"].to_pylist()) == list(range(1000)), rows["ts"].to_pylist() == list(range(1000))
    (True, False)
    """
    _probability(disorder=disorder, late=late, duplicates=duplicates)
    _at_least(0 if disorder == late == duplicates == 0 else 1, delay=delay)
    waiting: pa.Table | None = None
    due = np.empty(0, np.int64)
    for number, part in enumerate(parts):
        rng = np.random.default_rng([seed, number, 1])
        ts, rows = _numbers(part, time), part.num_rows
        after = np.where(rng.random(rows) < disorder, rng.integers(0, delay + 1, rows), 0)
        after = np.where(rng.random(rows) < late, rng.integers(2 * delay, 10 * delay + 1, rows), after)
        twice = np.flatnonzero(rng.random(rows) < duplicates)
        arrival = ts + after
        again = arrival[twice] + rng.integers(0, delay + 1, len(twice))
        everything = [part] if waiting is None else [waiting, part]
        table = pa.concat_tables([*everything, part.take(pa.array(twice))])
        arrives = np.concatenate([due, arrival, again])
        order = np.argsort(arrives, kind="stable")
        # The next part begins where this one ends, so what arrives before that can go.
        ready = int(np.searchsorted(arrives[order], ts[-1])) if rows else 0
        yield table.take(pa.array(order[:ready])).combine_chunks()
        waiting, due = table.take(pa.array(order[ready:])).combine_chunks(), arrives[order[ready:]]
    if waiting is not None and waiting.num_rows:
        yield waiting


def _numbers(table: pa.Table, column: str) -> NDArray[np.int64]:
    values = table.column(column)
    if pa.types.is_date32(values.type):
        values = values.cast(pa.int32())
    found: NDArray[np.int64] = values.cast(pa.int64()).to_numpy()
    return found


def _shifted(table: pa.Table, column: str, by: int) -> pa.Table:
    """The table with a number added to one of its columns."""
    field = table.schema.field(column)
    values = pa.array(_numbers(table, column) + by).cast(field.type)
    return table.set_column(table.schema.get_field_index(column), field, values)


def _last_prices(ticks: pa.Table, symbols: int, before: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Where each symbol stands after the ticks; one that had none yet starts at 500."""
    last = np.full(symbols, 500, np.int64) if before is None else before.copy()
    last[_numbers(ticks, "symbol") - 1] = _numbers(ticks, "price")  # of equal places the last one counts
    return last


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
