"""Questions that several systems can answer: one stream, one query, and what a peer needs to know to ask the same.

clicks      a view, the user's next cart, the next buy, within an hour
v           a price that falls and then rises again: one row for each whole V
w1/…        the template of the SASE+ paper, by strategy and predicate
abc         three rising prices of three types, anything in between: the number of triples
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import augury as ag
from augury.generate import clicks, stock
from bench import by_hand
from bench.workloads import ABC, FUNNEL, SHORT, letters, template

if TYPE_CHECKING:
    import pyarrow as pa

HOUR = 3600 * 1_000_000

V = """
PATTERN SEQ(Stock p, Stock a, Stock+ d[], Stock+ u[])
WHERE strict_contiguity(p, a, d, u) {
        p.price <= a.price
    AND d[1].price < a.price AND d[i].price < d[i-1].price
    AND u[1].price > d[d.LEN].price AND u[i].price > u[i-1].price }
"""
V_ROWS = f"{V} RETURN a.ts AS top, d[d.LEN].ts AS bottom, u[u.LEN].ts AS top_again"


@dataclass(frozen=True)
class Question:
    """What is asked, of which stream, and of whom."""

    name: str
    asks: str  # for the report
    stream: Callable[..., pa.Table]  # of so many rows
    rows: int
    text: str
    output: str
    key: str | None = None
    by_hand: Callable[[pa.Table], pa.Table] | None = None
    counted: str | None = None  # the query whose matches Flink finds, where that is not `text`
    flink: tuple[str | None, ...] | None = None  # the columns behind its ts, kind, key, price, volume
    flink_window: int = 0
    flink_first: int = 20_000
    flink_differs: str | None = None
    spark: bool = False  # on Spark, by us
    plain: bool = False  # on Spark, by hand: `bench.peers.spark` knows how

    def ours(self, table: pa.Table, *, output: str | None = None) -> pa.Table:
        """What Augury finds in process."""
        return self.query.match(table, output=output or self.output, **self.roles)

    def flink_should_find(self, table: pa.Table) -> int:
        """How many matches Flink must find, by our count."""
        query = ag.sase(self.counted or self.text)
        return int(sum(query.match(table, output="count", **self.roles).column("count").to_pylist()))

    @property
    def query(self) -> ag.Query:
        return ag.sase(self.text)

    @property
    def roles(self) -> dict[str, Any]:
        return {"time": "ts", "type": "kind"} | ({"key": self.key} if self.key else {})


PREFIXES = (
    "In Flink a+ followedBy b gives each beginning of a[] with the one b that comes next after it; under skip_till_next_match SASE+ gives "
    "each b with all of a[] before it"
)


def questions(*, quick: bool) -> Iterator[Question]:
    """All of them, at full or at reduced size."""
    scale = 10 if quick else 1
    yield Question(
        "clicks",
        "view → cart → buy of one user within an hour, skip_till_next_match, key, RETURN",
        functools.partial(clicks, users=10_000),
        5_000_000 // scale,
        SHORT,
        "all",
        key="user",
        by_hand=by_hand.funnel,
        counted=FUNNEL,
        flink=("ts", "kind", "user", None, None),
        flink_window=HOUR,
        spark=True,
        plain=True,
    )
    yield Question(
        "v",
        "V shapes of 1,000 symbols: Kleene steps under strict_contiguity, key, longest",
        functools.partial(stock, symbols=1000, p_up=0.45, p_down=0.45),
        2_000_000 // scale,
        V_ROWS,
        "longest",
        key="symbol",
        by_hand=by_hand.v_shapes,
        counted=V,
        flink=("ts", "kind", "symbol", "price", "volume"),
        flink_window=1 << 60,
        spark=True,
        plain=True,
    )
    for strategy, iterator in (
        ("contiguity", "true"),
        ("contiguity", "rising"),
        ("contiguity", "min"),
        ("next", "true"),
        ("next", "rising"),
        ("next", "min"),
    ):
        if quick and iterator != "rising":
            continue
        yield Question(
            f"w1/{strategy}/{iterator}",
            f"the paper's template, {'partition_contiguity' if strategy == 'contiguity' else 'skip_till_next_match'}, "
            f"{iterator}",
            functools.partial(stock, symbols=2, p_up=0.7, p_down=0.15),
            200_000,
            template(strategy, iterator),
            "all",
            flink=("ts", "kind", "symbol", "price", "volume"),
            flink_window=500,
            flink_first=5_000,
            flink_differs=PREFIXES if strategy == "next" else None,
            spark=(strategy, iterator) == ("next", "rising") and not quick,
        )
    yield Question(
        "abc",
        "A, B, C at rising prices, skip_till_any_match, 200 of each in a window, count",
        functools.partial(letters, rare=1 / 3),
        1_000_000 // scale,
        f"{ABC} WITHIN 600",
        "count",
        by_hand=by_hand.triples,
        flink=("ts", "kind", None, "price", None),
        flink_window=600,
        flink_first=200,
        spark=True,
        plain=True,
    )
