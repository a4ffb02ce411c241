"""Chart patterns as automata: V-patterns that balance, V-patterns until a price is back, and head and shoulders.

Run it: python examples/chart_patterns.py
"""

import itertools

import pyarrow as pa

import augury as ag
from augury.generate import stock

V_PATTERNS = 2

balanced = ag.Automaton(start="calm", final=["done"], registers={"ticks": 0, "turns": 0})
balanced.arc("calm", "down", when="-change > 0.25")
balanced.arc("down", "down", when="change < 0", update={"ticks": "r.ticks + 1"})
balanced.arc("down", "up", when="change < 0", update={"ticks": "r.ticks + 1"})
balanced.arc("up", "up", when="change > 0", update={"ticks": "r.ticks - 1"})
balanced.arc(
    "up",
    "down",
    when=lambda e, r: (e.change > 0) & (r.turns < V_PATTERNS - 1),
    update={"ticks": "r.ticks - 1", "turns": "r.turns + 1"},
)
balanced.arc(
    "up",
    "done",
    when=lambda e, r: (e.change > 0) & (r.ticks == 1) & (r.turns == V_PATTERNS - 1),
    update={"ticks": "r.ticks - 1", "turns": "r.turns + 1"},
)

until_back = ag.Automaton(start="calm", final=["back"], registers={"before": 0.0, "turns": 0})
until_back.arc("calm", "down", when="-change > 0.25", update={"before": "price - change"})
until_back.arc("down", "down", when="change < 0").arc("down", "up", when="change < 0")
until_back.arc("up", "up", when="change > 0 and price < r.before")
until_back.arc("up", "down", when="change > 0 and price < r.before", update={"turns": "r.turns + 1"})
until_back.arc("up", "back", when="change > 0 and price >= r.before", update={"turns": "r.turns + 1"})

head = ag.Automaton(start="s", final=["end"], registers={"base": 0.0, "shoulder": 0.0, "head": 0.0})
head.arc("s", "rise", update={"base": "price", "shoulder": "price"})
head.arc("rise", "rise", when="price > r.shoulder", update={"shoulder": "price"})
head.arc("rise", "dip", when="price < r.shoulder and price > r.base", update={"head": "price"})
head.arc("dip", "dip", when="price < r.head and price > r.base", update={"head": "price"})
head.arc("dip", "climb", when="price > r.head", update={"head": "price"})
head.arc("climb", "climb", when="price > r.head", update={"head": "price"})
head.arc("climb", "fall", when="r.head > r.shoulder and price < r.head and price > r.base")
head.arc("fall", "fall", when="price > r.base and price < r.head")
head.arc("fall", "end", when="price < r.base")


def prices(ticks: int = 3000) -> pa.Table:
    """Every fifth tick of one symbol, with the change from one to the next."""
    price = stock(5 * ticks, symbols=1, p_up=0.5, p_down=0.5, seed=7).column("price").to_pylist()[::5]
    change = [0, *(after - before for before, after in itertools.pairwise(price))]
    columns = {"price": pa.array(price, pa.float64()), "change": pa.array(change, pa.float64())}
    return pa.table({"ts": range(ticks), **columns})


if __name__ == "__main__":
    ticks = prices()
    for name, automaton in (
        ("balanced Vs", balanced),
        ("until back", until_back),
        ("head and shoulders", head),
    ):
        found = automaton.query(within=100).match(ticks, time="ts", events=True)
        print(f"{name}: {found.num_rows} in {ticks.num_rows} ticks")
        for row in found.slice(0, 1).to_pylist():
            path = " ".join(f"{event['price']:.2f}" for event in row.pop("events"))
            print(f"  {row}: {path}")
