"""Why did a pattern not match? The nearest misses, what ended them, and the smallest changes that would match.

python examples/why_not.py
"""

import pyarrow as pa

import augury as ag

QUERY = """\
PATTERN SEQ(Login a, ~(Logout b), Transfer c)
WHERE   [user] AND c.amount > 10 * a.usual
WITHIN  5 minutes"""

SECONDS = [0, 40, 200, 260, 400, 700]


def main() -> None:
    """Asks of all events, then of two of them."""
    events = pa.table(
        {
            "ts": pa.array(SECONDS, pa.timestamp("s")),
            "kind": ["Login", "Login", "Transfer", "Logout", "Transfer", "Transfer"],
            "user": ["kim", "lee", "kim", "lee", "lee", "kim"],
            "usual": [20, 30, None, None, None, None],
            "amount": [None, None, 150, None, 900, 260],
        }
    )
    query = ag.sase(QUERY)
    print(QUERY)
    answer = query.why(events, type="kind")
    print(f"\n{answer}")
    for change in answer.changes:
        found = change.query.match(events, time="ts", type="kind").num_rows
        print(f"\n{change}: {found} {'match' if found == 1 else 'matches'}")
    print("\nAre rows 1 and 4 a match?")
    print(query.why(events, type="kind", events={"a": 1, "c": 4}))


if __name__ == "__main__":
    main()
