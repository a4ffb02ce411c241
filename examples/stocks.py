"""CESAR on a stream of stock quotes: the example queries of the Cayuga paper, and double tops in two formulations.

python examples/stocks.py --rows 20000
"""

import argparse

import numpy as np
import pyarrow as pa

import augury as ag

S = ag.stream("Stock")
QUOTE = S.project("name", "price")
SAME = "name = name.last"


def quotes(rows: int, symbols: tuple[str, ...] = ("IBM", "MSFT", "DELL"), seed: int = 7) -> pa.Table:
    """A quote a minute, of any symbol: prices that rise and fall for a while."""
    rng = np.random.default_rng(seed)
    symbol = rng.integers(0, len(symbols), rows)
    price = np.empty(rows)
    for place in range(len(symbols)):
        mine = symbol == place
        many = int(mine.sum())
        turns = np.repeat(rng.choice([-1, 1], many), rng.integers(2, 8, many))[:many]
        price[mine] = np.round(100 * np.exp(np.cumsum(turns * rng.uniform(0.01, 0.08, many))), 2) % 400 + 1
    return pa.table(
        {
            "ts": pa.array(np.arange(rows) * 60_000_000, pa.timestamp("us")),
            "name": np.array(symbols)[symbol],
            "price": price,
            "vol": rng.integers(1, 20_000, rows),
        }
    )


def monotone(first: ag.Expression, start: str, sign: str) -> ag.Expression:
    """From each event of `first` on, quotes of the same symbol that rise (or fall) one after another; the last is `p`."""
    return first.iterate(
        QUOTE.rename(price="p"),
        on=SAME,
        step=lambda s: s.where(f"p {sign} p.last"),
        init={"p": start},
    )


def queries_of_the_paper() -> dict[str, ag.Expression]:
    """Queries 1 to 8."""
    ibm, msft = S.where("name = 'IBM'"), S.where("name = 'MSFT'")
    started = QUOTE.rename(price="first")
    average = (
        ibm.project("name", "price")
        .extend(total="price", n=1)
        .iterate(
            ibm.project("name", "price"),
            step=lambda s: s.extend(total="total.last + price", n="n.last + 1"),
            on="DUR <= 8 hours",
        )
        .where("DUR >= 7 hours")
        .extend(average="total / n")
        .project("average")
    )
    falling = monotone(S.where("vol > 10000").project("name", "price").rename(price="max"), "max", "<")
    return {
        "1: IBM above 300": ibm.where("price > 300"),
        "2: IBM above 300, the next MSFT below 100": (
            ibm.where("price > 300").then(msft.project("price").rename(price="msft")).where("msft < 100")
        ),
        "3: the next quote of a stock is 5 % higher": (
            started.then(QUOTE, on=SAME).where("price > 1.05 * first")
        ),
        "4: IBM rises for 30 minutes": (
            monotone(ibm.project("name", "price").rename(price="first"), "first", ">").where(
                "DUR >= 30 minutes"
            )
        ),
        "5: any stock rises for 30 minutes": monotone(started, "first", ">").where("DUR >= 30 minutes"),
        "6: IBM above its average of some hours": (
            average.then(ibm.project("price")).where("price > 1.5 * average")
        ),
        "7: a fall from a large trade, then a jump": (
            falling.where("DUR >= 10 minutes")
            .rename(p="min")
            .then(QUOTE.rename(price="final"), on=SAME)
            .where("final > 1.05 * min")
        ),
        "8: IBM low, high and low again": (
            ibm.project("price")
            .where("price < 150")
            .then(S.project("name", "price").rename(name="n2", price="p2"))
            .where("n2 = 'IBM' AND p2 > 150")
            .then(S.project("name", "price").rename(name="n3", price="p3"))
            .where("n3 = 'IBM' AND p3 < 150")
        ),
    }


def double_top() -> ag.Expression:
    """Up by a fifth, down to about the start, up to about the top, and below the start: four monotone runs."""
    up = monotone(QUOTE.rename(price="a"), "a", ">").where("p >= 1.2 * a").rename(p="b")
    down = monotone(up, "b", "<").where("p BETWEEN 0.9 * a AND 1.1 * a").rename(p="c")
    again = monotone(down, "c", ">").where("p BETWEEN 0.9 * b AND 1.1 * b").rename(p="d")
    return monotone(again, "d", "<").where("p < a").rename(p="e")


def double_top_of_extrema() -> ag.Expression:
    """The same over a stream of local extrema, which is itself an expression: resubscription.

    An extremum lasts from the quote before it to the quote after it, and those that overlap do not follow each other: both
    formulations find the same where extrema lie well apart.
    """
    one, two, three = (QUOTE.rename(price=p) for p in ("p1", "p2", "p3"))
    pairs = one.then(two, on=SAME)
    top = pairs.where("p2 > p1").then(three, on=SAME).where("p2 > p3")
    bottom = pairs.where("p2 < p1").then(three, on=SAME).where("p2 < p3")
    extrema = (top | bottom).project("name", "p2")
    a, b, c, d, e = (extrema.rename(p2=n) for n in "abcde")
    return (
        a.then(b, on=SAME)
        .where("b >= 1.2 * a")
        .then(c, on=SAME)
        .where("c BETWEEN 0.9 * a AND 1.1 * a")
        .then(d, on=SAME)
        .where("d BETWEEN 0.9 * b AND 1.1 * b")
        .then(e, on=SAME)
        .where("e < a")
    )


def main() -> None:
    """Asks all of them of one stream, as a set."""
    parser = argparse.ArgumentParser(description="The Cayuga paper's queries on made-up quotes.")
    parser.add_argument("--rows", type=int, default=3_000)
    stream = quotes(parser.parse_args().rows)
    queries = queries_of_the_paper() | {
        "double top": double_top(),
        "double top of extrema": double_top_of_extrema(),
    }
    found = ag.QuerySet(queries).match(stream, time="ts")
    print(f"{stream.num_rows} quotes, {len(queries)} queries")
    for name in queries:
        print(f"{found.column('query').to_pylist().count(name):6} {name}")
    print(queries["7: a fall from a large trade, then a jump"])


if __name__ == "__main__":
    main()
