"""Why a pattern did or did not match: the nearest misses, the rule that ended each, and the smallest change that would do.

    events ─┬─ runs: how far runs came ────────────────┐
            ├─ rules: what a set of events breaks ─────┼─> Why: text, table, picture
            └─ changes: variants, asked of the definition ┘

Everything is found and settled by the definition (`semantics.sase`), so it is for the events of one key or a part of a
stream: thousands, not millions.
"""

from augury.why.answer import Why, why

__all__ = ["Why", "why"]
