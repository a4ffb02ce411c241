"""The source of the lazy kernel: matches from their rarest events on, out of a buffer for each slot.

    for each stretch of the stream, for each event of its anchor's buffer:
        what every other slot can bind in the window around it? if one can bind nothing, the event is in no match
        take the next slot: the order's, or the one with the fewest candidates in its scope (the tree)
        ask each candidate the tests that its slot and those bound before decide; keep those that pass in a list
        and so on for each of them, until all slots are bound

Partial matches wait on one stack of events, a list for each depth; what they bind is `ev`. The tests of a slot are a
loop of its own, the same for a chain, where it is known what is bound before, and for the tree, where flags tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from augury.automaton import Automaton
from augury.engines.generated import Array, Source
from augury.engines.kernels import control as ctl
from augury.engines.writer import Writer, conjunction
from augury.expr.inputs import Inputs
from augury.expr.source import Emitter, Scalar
from augury.expr.tree import Agg, Attr, Len
from augury.pattern import Clause, Part
from augury.plan.joins import Equality, Join

# What the words of `kernels.control` hold here besides what their names say.
STRETCH, ANCHOR, DEPTH, PHASE = ctl.SEGMENT, ctl.EVENT, ctl.HEAD, ctl.TAIL
NEXT_ANCHOR, EXPAND, ADVANCE = range(3)

WEIGHED = 10  # slots of which every set has shares of candidates that pass; among more, counts decide

ARRAYS = ("ev", "bound", "lo", "hi", "at_lo", "at_hi", "slot_at", "base")


@dataclass(frozen=True, slots=True)
class Shape:
    """What of the kernel is chosen for a query and an output."""

    order: tuple[int, ...] | None  # the slots in the order of a chain; None: the tree
    counting: bool = False
    bounded: bool = False  # absences bound the first events of the matches that an event completes
    gaps: bool = False  # absences narrow the scopes between neighbours
    profile: bool = False


class _Kernel:
    def __init__(
        self,
        automaton: Automaton,
        joins: Sequence[Join],
        equal: Sequence[Equality],
        nullable: Sequence[bool],
        inputs: Inputs,
        shape: Shape,
    ) -> None:
        self.automaton = automaton
        self.joins = joins
        self.equal = equal
        self.nullable = nullable
        self.inputs = inputs
        self.shape = shape
        self.slots = len(automaton.components)
        self.places = {c.var: slot for slot, c in enumerate(automaton.components)}
        self.used: dict[int, None] = {}  # columns
        self.w = Writer()

    def write(self) -> Source:
        w, m = self.w, self.slots
        w.depth = 1
        w(f"why = {ctl.FINISHED}; stretch = ctl[{STRETCH}]; anchor = ctl[{ANCHOR}]; depth = ctl[{DEPTH}]")
        w(f"phase = ctl[{PHASE}]; used = ctl[{ctl.USED}]; found = ctl[{ctl.ROOTS}]; peak = ctl[{ctl.PEAK}]")
        w(f"budget = ctl[{ctl.STOP}]; limit = ctl[{ctl.LIVE}]; begun = ctl[{ctl.BEGUN}]")
        w(f"evaluations = ctl[{ctl.EVALUATIONS}]; work = 0; held_room = len(held)")
        if not self.shape.counting:
            w(f"room = len(out) // {m}")
        with w.block("while True:"):
            with w.block(f"if phase == {NEXT_ANCHOR}:"):
                self.next_anchor()
            if m > 1:
                with w.block(f"elif phase == {EXPAND}:"):
                    self.expand()
                with w.block("else:"):
                    self.advance()
        w(f"ctl[{STRETCH}] = stretch; ctl[{ANCHOR}] = anchor; ctl[{DEPTH}] = depth; ctl[{PHASE}] = phase")
        w(f"ctl[{ctl.USED}] = used; ctl[{ctl.ROOTS}] = found; ctl[{ctl.PEAK}] = peak")
        w(f"ctl[{ctl.EVALUATIONS}] = evaluations; ctl[{ctl.BEGUN}] = begun")
        w("return why")
        columns = [
            (f"{prefix}{k}", k, prefix == "nul")
            for k in sorted(self.used)
            for prefix in (("col", "nul") if self.nullable[k] else ("col",))
        ]
        constants = self.inputs.arguments()
        names = [
            *("ctl", "anchor_slot", "anchor_from", "anchor_to", "last_from", "last_to"),
            *("buf", "starts", "lows", "ends"),
            *(("absent", "absent_at") if self.shape.gaps else ()),
            *(("below",) if self.shape.bounded else ()),
            "order" if self.shape.order is not None else "passing",
            *(name for name, _, _ in columns),
            *(f"eq{q}_{part}" for q in range(len(self.equal)) for part in ("buf", "at", "of")),
            *ARRAYS,
            *(("waits",) if self.shape.profile else ()),
            *("held", "totals" if self.shape.counting else "out"),
            *constants,
        ]
        text = f"def kernel({', '.join(names)}):\n{w.text()}"
        return Source(
            *(text, tuple(columns), (Array("held", 0, "i4"),), self._bits(), tuple(constants)),
            registers=(),
            origins=((), *w.origins),
        )

    def _bits(self) -> tuple[int, ...]:
        """A mask for each slot: the first arc of the automaton is in the first."""
        return tuple(0 if arc.source == 0 and arc.asks else -1 for arc in self.automaton.arcs)

    # -------------------------------------------------------------- the anchors

    def next_anchor(self) -> None:
        """The event with which matches are begun, and what the other slots can bind in the window around it."""
        w, m = self.w, self.slots
        windowed = (Part(Clause.WINDOW),)
        with w.block("if anchor >= anchor_to[stretch]:"):
            w("stretch += 1")
            with w.block("if stretch == len(anchor_slot):"):
                w("break")
            w("anchor = anchor_from[stretch]")
            with w.block(f"for t in range({m}):"):
                w("at_lo[t] = starts[t]; at_hi[t] = starts[t]")
            w("continue")
        with w.block("if work > budget:"):
            w(f"why = {ctl.PAUSED}", "break")
        if m == 1:
            self.only_slot()
            return
        w("s = anchor_slot[stretch]; e = buf[anchor]; anchor += 1; work += 1; alive = True")
        with w.block(f"for t in range({m}):", *windowed):
            with w.block("if t == s:"):
                w("continue")
            with w.block("if t < s:"):
                w("least = lows[e]; limit_of = e")
            with w.block("else:"):
                w("least = e + 1; limit_of = ends[e]")
            w("at_hi[t] = first_from(buf, at_hi[t], starts[t + 1], limit_of)")
            w("at_lo[t] = first_from(buf, at_lo[t], at_hi[t], least)")
            with w.block("if at_lo[t] >= at_hi[t]:"):
                w("alive = False", "break")
            w("lo[t] = at_lo[t]; hi[t] = at_hi[t]")
        with w.block("if alive:"):
            w("ev[s] = e; bound[s] = 1; slot_at[1] = s; base[1] = used; depth = 1; begun += 1")
            w(f"phase = {EXPAND}")

    def only_slot(self) -> None:
        """A sequence of one: each candidate is a match."""
        w = self.w
        if not self.shape.counting:
            with w.block("if found == room:"):
                w(f"why = {ctl.ROOTS_FULL}", "break")
        w("e = buf[anchor]; anchor += 1; work += 1; begun += 1")
        with w.maybe("e < below[e]" if self.shape.bounded else "True"):
            w("totals[e] += 1" if self.shape.counting else "out[found] = e; found += 1")

    def advance(self) -> None:
        """The next partial match: the newest that waits."""
        w = self.w
        w("t = slot_at[depth]")
        with w.block("if depth == 1 or used == base[depth]:"):
            w("bound[t] = 0; depth -= 1")
            with w.block("if depth == 0:"):
                w(f"phase = {NEXT_ANCHOR}")
        with w.block("else:"):
            w(f"used -= 1; ev[t] = held[used]; phase = {EXPAND}")

    # -------------------------------------------------------------- one more event

    def expand(self) -> None:
        """Every event that the next slot can bind."""
        w, m = self.w, self.slots
        self.scopes()
        with w.block("if not alive:"):
            w(f"phase = {ADVANCE}", "continue")
        if self.shape.order is not None:
            w("t = order[depth]")
        else:
            self.rarest()
        w(f"low = lo[depth * {m} + t]; high = hi[depth * {m} + t]; src = buf; n = used")
        with w.block("if used + high - low > held_room:"):
            w(f"why = {ctl.RUNS_FULL}", "break")
        if not self.shape.counting:
            with w.block(f"if depth == {m - 1} and found + high - low > room:"):
                w(f"why = {ctl.ROOTS_FULL}", "break")
        if self.shape.profile:
            self.waiting()
        for slot in range(m):
            here = Part(Clause.COMPONENT, self.automaton.places[slot])
            with w.block(f"{'if' if slot == 0 else 'elif'} t == {slot}:", here):
                self.filter(slot)
        with w.block(f"if depth == {m - 1}:"):
            self.complete()
            w(f"phase = {ADVANCE}")
        with w.block("else:"):
            w("depth += 1; slot_at[depth] = t; base[depth] = used; used = n; bound[t] = 1")
            with w.block("if used > peak:"):
                w("peak = used")
            w(f"phase = {ADVANCE}")
            with w.block("if used > limit:"):
                w(f"why = {ctl.TOO_MANY_RUNS}", "break")

    def scopes(self) -> None:
        """What each open slot can bind after `depth` events are bound: its row of `lo` and `hi`.

        The scope of a slot are the nearest bound events on both sides, and the window: `lows` of the newest bound event
        begins it, `ends` of the oldest one ends it. An event that must be absent between neighbours is a border, too;
        it may be bound itself.
        """
        w, m = self.w, self.slots
        w(f"row = depth * {m}; above = row - {m}; alive = True; first = 0; last = {m - 1}")
        with w.block("while bound[first] == 0:"):
            w("first += 1")
        with w.block("while bound[last] == 0:"):
            w("last -= 1")
        w("limit_of = ends[ev[first]]; least = lows[ev[last]]")
        with w.block(f"for t in range({m - 1}, -1, -1):"):
            with w.block("if bound[t] == 1:"):
                w("limit_of = ev[t]", "continue")
            w("upper = limit_of")
            with w.block(f"if t == {m - 1} and last_to[stretch] < upper:"):
                w("upper = last_to[stretch]")
            if self.shape.gaps:
                with w.block("if t > 0 and bound[t - 1] == 1:"):
                    w("border = first_from(absent, absent_at[t - 1], absent_at[t], ev[t - 1] + 1)")
                    with w.block("if border < absent_at[t] and absent[border] < upper:"):
                        w("upper = absent[border] + 1")
            w("hi[row + t] = last_before(buf, lo[above + t], hi[above + t], upper)")
            with w.block("if hi[row + t] <= lo[above + t]:"):
                w("alive = False", "break")
        with w.block("if alive:"), w.block(f"for t in range({m}):"):
            with w.block("if bound[t] == 1:"):
                w("least = ev[t] + 1", "continue")
            w("lower = least")
            with w.block(f"if t == {m - 1} and last_from[stretch] > lower:"):
                w("lower = last_from[stretch]")
            if self.shape.gaps:
                with w.block(f"if t < {m - 1} and bound[t + 1] == 1:"):
                    w("border = last_before(absent, absent_at[t], absent_at[t + 1], ev[t + 1])")
                    with w.block("if border > absent_at[t] and absent[border - 1] > lower:"):
                        w("lower = absent[border - 1]")
            w("lo[row + t] = first_from(buf, lo[above + t], hi[row + t], lower)")
            with w.block("if lo[row + t] >= hi[row + t]:"):
                w("alive = False", "break")

    def rarest(self) -> None:
        """The slot of which the fewest candidates in scope are expected to pass what is asked of them now."""
        w, m = self.w, self.slots
        w("t = -1; fewest = 0.0; those = 0")
        with w.block(f"for s in range({m}):"), w.block("if bound[s] == 1:"):
            w("those |= 1 << s")
        with w.block(f"for s in range({m}):"), w.block("if bound[s] == 0:"):
            w(
                f"many = (hi[row + s] - lo[row + s]) * passing[those * {m} + s if those < {1 << WEIGHED} else s]"
            )
            with w.block("if t < 0 or many < fewest:"):
                w("t = s; fewest = many")

    def waiting(self) -> None:
        """A partial match whose next slot is open to the end waits, in a stream, until its window has passed."""
        w, m = self.w, self.slots
        w("newest = -1; oldest = -1; above = -1")
        with w.block(f"for s in range({m}):"), w.block("if bound[s]:"):
            with w.block("if oldest < 0:"):
                w("oldest = ev[s]")
            w("newest = ev[s]; above = s")
        with w.block("if t > above:"):
            w("waits[newest] += 1; waits[ends[oldest]] -= 1")

    def filter(self, slot: int) -> None:
        """The candidates of a slot that pass the tests which it and those bound before decide: `held[used:n]`."""
        w = self.w
        order = self.shape.order
        before: frozenset[int] | None = None
        if order is not None:
            before = frozenset(order[: order.index(slot)])
            if not before:  # the anchor's
                w("pass")
                return
        self.look_up(slot, before)
        cheap: list[str] = []
        dear: list[tuple[str | None, list[str], str, Join]] = []
        asked: list[str] = []  # the flags of the tests that are asked
        for place, join in enumerate(self.joins):
            flag = self.flag(join, slot, before)
            if flag is None:
                continue
            if flag != "True":
                w(f"g{place} = {flag}")
            asked.append(f"g{place}" if flag != "True" else "1")
            lines, test = Emitter(lambda node: self.leaf(node, slot), self.inputs).condition(join.expr)
            if not lines and "(" not in test:
                cheap.append(f"({test})" if flag == "True" else f"(not g{place} or ({test}))")
            else:
                dear.append((None if flag == "True" else f"g{place}", lines, test, join))
        if self.shape.bounded and slot in (0, self.slots - 1):
            cheap.extend(self.bound_test(slot, before))
        for s, k in sorted(self.registers):
            w(f"v{s}_{k} = col{k}[ev[{s}]]")
            if self.nullable[k]:
                w(f"z{s}_{k} = nul{k}[ev[{s}]]")
        if asked:
            w(f"evaluations += (high - low) * ({' + '.join(asked)})")
        w("work += high - low")
        with w.block(
            "for y in range(low, high):", *(o for j in self.joins if slot in j.slots for o in j.origins)
        ):
            w("i = src[y]")
            test = " & ".join(cheap) or "True"
            if not dear:
                w("held[n] = i", "n += 1" if test == "True" else f"n += {test}")
                return
            with w.maybe(test):
                for flag, lines, condition, join in dear:
                    with w.about(*join.origins):
                        self.dear_test(flag, lines, condition)
                w("held[n] = i; n += 1")

    def dear_test(self, flag: str | None, lines: list[str], condition: str) -> None:
        """A test that is asked only where all before it held."""
        w = self.w
        with w.maybe(flag or "True"):
            w(*lines)
            with w.block(f"if not ({condition}):"):
                w("continue")

    def flag(self, join: Join, slot: int, before: frozenset[int] | None) -> str | None:
        """When a test is asked of a slot's candidates; None: never."""
        if slot not in join.slots:
            return None
        if before is not None:
            return "True" if join.decided(slot, before) else None
        needed = [f"bound[{s}] == 1" for s in sorted(join.slots - {slot})]
        if join.via:
            needed.append(f"not ({conjunction(f'bound[{s}] == 1' for s in sorted(join.via))})")
        return conjunction(needed)

    def bound_test(self, slot: int, before: frozenset[int] | None) -> list[str]:
        """That the first event is one that the absences before and after let the last one complete."""
        w, last = self.w, self.slots - 1
        other = last if slot == 0 else 0
        if before is not None and other not in before:
            return []
        w(f"e{other} = ev[{other}]")
        test = f"i < below[e{last}]" if slot == 0 else "e0 < below[i]"
        if before is not None:
            return [f"({test})"]
        w(f"is_bound{slot} = bound[{other}] == 1")
        return [f"(not is_bound{slot} or {test})"]

    def look_up(self, slot: int, before: frozenset[int] | None) -> None:
        """Where an equality decides: the candidates are those with the same value, out of an index."""
        w = self.w
        self.registers: set[tuple[int, int]] = set()
        word = "if"
        for q, equality in enumerate(self.equal):
            if equality.slot != slot or (before is not None and equality.other not in before):
                continue
            with w.block(f"{word} bound[{equality.other}] == 1:", *self.joins[equality.join].origins):
                w(f"group = eq{q}_of[ev[{equality.other}]]; src = eq{q}_buf; oldest_of = buf[low]")
                w("limit_of = buf[high - 1] + 1; low = 0; high = 0")
                with w.block("if group >= 0:"):
                    w(f"low = first_from(src, eq{q}_at[group], eq{q}_at[group + 1], oldest_of)")
                    w(f"high = last_before(src, low, eq{q}_at[group + 1], limit_of)")
            word = "elif"

    def leaf(self, node: Attr | Len | Agg, slot: int) -> Scalar:
        """A column of the candidate's, or of an event that is bound."""
        assert isinstance(node, Attr)
        s, k = self.places[node.var], int(node.name)
        self.used[k] = None
        if s == slot:
            return Scalar(f"col{k}[i]", f"nul{k}[i]" if self.nullable[k] else None)
        self.registers.add((s, k))
        return Scalar(f"v{s}_{k}", f"z{s}_{k}" if self.nullable[k] else None)

    def complete(self) -> None:
        """`held[used:n]` complete matches: they are written down, or counted."""
        w, m = self.w, self.slots
        if self.shape.counting:
            with w.block(f"if t == {m - 1}:"), w.block("for y in range(used, n):"):
                w("totals[held[y]] += 1")
            with w.block("else:"):
                w(f"totals[ev[{m - 1}]] += n - used")
            return
        with w.block(f"for s in range({m}):"):
            w("at = s * room + found")
            with w.block("if s == t:"), w.block("for y in range(used, n):"):
                w("out[at + y - used] = held[y]")
            with w.block("else:"):
                w("e = ev[s]")
                with w.block("for y in range(n - used):"):
                    w("out[at + y] = e")
        w("found += n - used")


def lazy_source(
    automaton: Automaton,
    joins: Sequence[Join],
    equal: Sequence[Equality],
    nullable: Sequence[bool],
    inputs: Inputs,
    shape: Shape,
) -> Source:
    """The kernel of a lazy plan."""
    return _Kernel(automaton, joins, equal, nullable, inputs, shape).write()
