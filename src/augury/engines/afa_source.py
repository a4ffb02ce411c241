"""The source of an automaton's kernel: runs in flat arrays, one version of them after each event.

A run is a state, registers, and the first event of its subsequence. The version after an event is a slice of the
pool, its runs in the order of their first events. The kernel makes the versions that it is asked for, from each place
in `todo` on until a version is what the event after it was computed from before: then nothing that follows can
differ. A version equal to the one before it (every run passed over the event) is the same slice.

    for each place to visit:
        its version is there already, and the one before is what it was made from: next place
        runs of the version before ─ arcs ─> new runs, a subsequence at a time, no two alike
        a run begins, if the event can

Arcs are slots (see `plan.slots`): `m0 & 4` asks whether the event may use slot 2. Names are ours alone: `s_r3` and
`s_r3z` register 3 in the pool and where it is null, `col1` and `nul1` a derived column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from augury.afa import ENDLESS, Register, Takes
from augury.engines.register_source import dtype_of
from augury.engines.writer import Writer, conjunction
from augury.expr.inputs import Inputs
from augury.expr.source import Emitter, Scalar
from augury.expr.tree import Agg, Attr, Expr, Len, typed
from augury.plan.slots import Slot

# Places in `ctl`, and what the kernel says when it comes back.
EVENT, GOING, TODO, SIZE, LIMIT, STOP, STEPS, EVALUATIONS, PEAK, FRONT, CTL = range(11)
FINISHED, FULL, TOO_MANY, ENDLESS_CYCLE, PAUSED = range(5)
WORD = 62  # bits of one mask: a signed word's, so that Numba shifts no unsigned ones


@dataclass(frozen=True, slots=True)
class Options:
    windowed: int | None = None  # W
    sequence: bool = False
    profile: bool = False
    lists: bool = False  # runs of different events differ, for their events are listed
    embedded: bool = (
        False  # the plan "can": each subsequence's configurations are one value, taken apart and put back
    )

    @property
    def extras(self) -> tuple[str, ...]:
        """What runs have besides: the latest time, where numbers give the order; what their events are."""
        return (*(("last",) if self.sequence else ()), *(("list",) if self.lists else ()))


MIX, MODULUS = 1_000_003, 2**43 - 57  # of a run's events one number: their product stays within 64 bits


@dataclass(frozen=True, slots=True)
class Source:
    text: str
    columns: tuple[tuple[str, int, bool], ...]  # (name, derived column, whether it is the null mask)
    pool: tuple[tuple[str, str], ...]  # the pool's arrays and their types
    nullable: tuple[bool, ...]  # by register
    bits: tuple[int, ...]  # by slot; -1 for those that no mask is asked about
    words: int
    constants: tuple[str, ...]
    inputs: Inputs


def write(
    slots: Sequence[Slot],
    registers: Sequence[Register],
    final: frozenset[int],
    columns: int,
    null_columns: Sequence[bool],
    options: Options,
) -> Source:
    """The kernel of some slots over as many derived columns."""
    nullable = _nullable(slots, registers, null_columns)
    return _Kernel(slots, registers, final, columns, null_columns, nullable, options).write()


def _nullable(
    slots: Sequence[Slot], registers: Sequence[Register], null_columns: Sequence[bool]
) -> tuple[bool, ...]:
    """Which registers can become null: those to which something is assigned that can be."""
    nullable = [False] * len(registers)
    while True:
        before = list(nullable)
        leaf = _Leaf(registers, nullable, null_columns)
        for slot in slots:
            for n, update in enumerate(slot.updates):
                if update is not None and not nullable[n]:
                    value = Emitter(leaf, Inputs()).value(update)
                    nullable[n] = value.scalar.null is not None
        if nullable == before:
            return tuple(nullable)


class _Leaf:
    """What a reference is called in the kernel."""

    def __init__(
        self, registers: Sequence[Register], nullable: Sequence[bool], null_columns: Sequence[bool]
    ) -> None:
        self.places = {r.name: n for n, r in enumerate(registers)}
        self.nullable = nullable
        self.null_columns = null_columns

    def __call__(self, node: Attr | Len | Agg) -> Scalar:
        assert isinstance(node, Attr)
        if not node.var:
            k = int(node.name)
            return Scalar(f"col{k}[i]", f"nul{k}[i]" if self.null_columns[k] else None)
        n = self.places[node.name]
        return Scalar(f"reg{n}", f"reg{n}z" if self.nullable[n] else None)


class _Kernel:
    def __init__(
        self,
        slots: Sequence[Slot],
        registers: Sequence[Register],
        final: frozenset[int],
        columns: int,
        null_columns: Sequence[bool],
        nullable: tuple[bool, ...],
        options: Options,
    ) -> None:
        self.slots = slots
        self.registers = registers
        self.final = final
        self.columns = columns
        self.null_columns = null_columns
        self.nullable = nullable
        self.options = options
        self.inputs = Inputs()
        self.leaf = _Leaf(registers, nullable, null_columns)
        self.w = Writer()
        self.epsilon = any(s.takes is Takes.EPSILON for s in slots)
        self.keeping = [k for k, s in enumerate(slots) if s.takes is Takes.EVENT and s.keeps and not s.tests]
        states = {0, *(s.source for s in slots), *(s.target for s in slots)}
        special = self.epsilon or options.lists or options.sequence or options.embedded
        self.passes = bool(self.keeping) and not special and max(states) < WORD
        self.states = sorted(states)

    def fields(self) -> list[tuple[str, str]]:
        """The registers' arrays, as they end in names, with their types."""
        found = []
        for n, r in enumerate(self.registers):
            found.append((f"{n}", dtype_of(r.type.kind)))
            if self.nullable[n]:
                found.append((f"{n}z", "b1"))
        return found

    def pool(self) -> list[tuple[str, str]]:
        own = [("s_id", "i8"), ("s_time", "i8"), ("s_state", "i8")]
        own += [(f"s_{name}", "i8") for name in self.options.extras]
        return own + [(f"s_r{name}", dtype) for name, dtype in self.fields()]

    # -------------------------------------------------------------- the whole

    def write(self) -> Source:
        w = self.w
        w.depth = 1
        w(
            f"i = ctl[{EVENT}]; going = ctl[{GOING}]; t = ctl[{TODO}]; n = ctl[{SIZE}]",
            f"limit = ctl[{LIMIT}]; stop = ctl[{STOP}]; steps = ctl[{STEPS}]; peak = ctl[{PEAK}]",
            f"evaluations = ctl[{EVALUATIONS}]; front = ctl[{FRONT}]; held = -1",
            f"why = {FINISHED}; done = 0; room = len(s_id)",
        )
        with w.block("while True:"):
            with w.block("if going == 0:"):
                w("while t < len(todo) and todo[t] < i:", "    t += 1")
                w("if t >= len(todo):", "    break")
                w("i = todo[t]; t += 1; going = 1; held = -1")
            w("if i >= len(times) or base[i] != 0:", "    going = 0", "    continue")
            w("plo = ver_lo[i - 1]; phi = ver_hi[i - 1]")
            with w.block("if ver_lo[i] >= 0 and hard[i] == 0:"):
                self.same("same", "plo", "phi", "ref_lo[i]", "ref_hi[i]")
                w("if same:", "    going = 0; i += 1", "    continue")
            w("if done >= stop:", f"    why = {PAUSED}", "    break")
            w("done += 1")
            self.event()
            w("i += 1")
        w(
            f"ctl[{EVENT}] = i; ctl[{GOING}] = going; ctl[{TODO}] = t; ctl[{SIZE}] = n; ctl[{STEPS}] = steps",
            f"ctl[{PEAK}] = peak; ctl[{EVALUATIONS}] = evaluations",
            "return why",
        )
        bits, words = self.bits()
        columns = [
            (f"{prefix}{k}", k, prefix == "nul")
            for k in range(self.columns)
            for prefix in (("col", "nul") if self.null_columns[k] else ("col",))
        ]
        constants = self.inputs.arguments()
        names = [
            *(
                "ctl",
                "todo",
                "ver_lo",
                "ver_hi",
                "ref_lo",
                "ref_hi",
                "base",
                "hard",
                "finals",
                "ids",
                "times",
            ),
            *(("keep_from",) if self.options.windowed is not None and not self.options.sequence else ()),
            *(("gap",) if self.options.sequence else ()),
            *(f"mask{k}" for k in range(words)),
            *(name for name, _, _ in columns),
            *(name for name, _ in self.pool()),
            *constants,
        ]
        return Source(
            f"def kernel({', '.join(names)}):\n{w.text()}",
            tuple(columns),
            tuple(self.pool()),
            self.nullable,
            tuple(bits),
            words,
            tuple(constants),
            self.inputs,
        )

    def bits(self) -> tuple[list[int], int]:
        asked = [n for n, s in enumerate(self.slots) if s.takes is not Takes.WINDOW_END]
        bits = [asked.index(n) if n in asked else -1 for n in range(len(self.slots))]
        return bits, max(1, -(-len(asked) // WORD))

    def may(self, slots: Sequence[int]) -> str:
        """The condition that the event may use one of these slots."""
        bits, _ = self.bits()
        found: dict[int, int] = {}
        for slot in slots:
            word, place = divmod(bits[slot], WORD)
            found[word] = found.get(word, 0) | 1 << place
        return " or ".join(f"m{word} & {those} != 0" for word, those in found.items()) or "False"

    def same(self, name: str, lo: str, hi: str, other_lo: str, other_hi: str) -> None:
        """Whether two slices hold the same runs."""
        w = self.w
        w(f"{name} = {hi} - {lo} == {other_hi} - {other_lo}")
        with w.block(f"if {name} and {lo} != {other_lo}:"):
            w(f"far = {other_lo} - {lo}")
            with w.block(f"for y in range({lo}, {hi}):"):
                alike = [f"{a}[y] == {a}[y + far]" for a, _ in self.pool() if not a.startswith("s_r")]
                alike += self.equal(lambda name: f"s_r{name}[y]", lambda name: f"s_r{name}[y + far]")
                with w.block(f"if not ({conjunction(alike)}):"):
                    w(f"{name} = False", "break")

    def equal(self, left: object, right: object) -> list[str]:
        """The tests that two runs have equal registers: nulls alike, NaN like NaN, zeros by their sign."""
        tests = []
        for n, r in enumerate(self.registers):
            x, y = left(f"{n}"), right(f"{n}")  # type: ignore[operator]
            test = f"same_float({x}, {y})" if dtype_of(r.type.kind) == "f8" else f"{x} == {y}"
            if self.nullable[n]:
                xz, yz = left(f"{n}z"), right(f"{n}z")  # type: ignore[operator]
                test = f"{xz} == {yz} and ({xz} or {test})"
            tests.append(test)
        return tests

    # -------------------------------------------------------------- one event

    def event(self) -> None:
        w = self.w
        _, words = self.bits()
        w("; ".join(f"m{k} = mask{k}[i]" for k in range(words)))
        w("now = times[i]; mine = n; fin = 0; full = False; endless = False")
        if self.options.sequence:
            w("if gap[i] != 0:", "    plo = phi")
        w("j = plo")
        if self.options.windowed is not None and not self.options.sequence:
            w("while j < phi and s_time[j] < keep_from[i]:", "    j += 1")
        w("alive = j")
        reach = self.reached_from_start()
        begins = self.may(
            [k for k, s in enumerate(self.slots) if s.takes is Takes.EVENT and s.source in reach]
        )
        if self.passes:
            self.passed_over(begins)
        w("part = 0; stop_at = phi; bottom = n")
        with w.block("while part < 2:"):
            with w.block("if part == 1:"):
                with w.block(f"if not ({begins}):"):
                    w("break")
                w("bottom = n")
                self.begin()
                w("j = bottom; stop_at = n")
            with w.block("while j < stop_at:"):
                w("cur = s_id[j]; first = s_time[j]; group = n")
                if self.options.lists:
                    w(f"listed = (s_list[j] * {MIX} + ids[i] + 1) % {MODULUS}")
                if self.options.sequence:
                    w("last = s_last[j]")
                    w("if now > last:", "    last = now")
                    w("if now < first:", "    first = now")
                    if self.options.windowed is not None:
                        w(f"gone = last - first >= {self.options.windowed} or last - first < 0")
                        with w.block("if gone:"):
                            w("while j < stop_at and s_id[j] == cur:", "    j += 1")
                            w("continue")
                if self.options.embedded:
                    self.taken_apart()
                with w.block("while j < stop_at and s_id[j] == cur:"):
                    self.step()
                    w("j += 1")
                if self.epsilon:
                    self.close("group")
            w("part += 1")
        with w.block("if part == 2:"):  # what began lies behind what it began from
            w("far = stop_at - bottom")
            w("for y in range(stop_at, n):", *(f"    {a}[y - far] = {a}[y]" for a, _ in self.pool()))
            w("n -= far")
        w("if full:", "    n = mine", f"    why = {FULL}", "    break")
        w("if endless:", f"    why = {ENDLESS_CYCLE}", "    break")
        w("finals[i] = fin; steps += n - mine")
        if self.passes:
            with w.block("if quick:"):
                w("if part < 2:", "    ver_hi[i] = phi")
                w("else:", "    ver_hi[i] = n")
                w("ver_lo[i] = alive; many = ver_hi[i] - alive")
                w("if many > peak:", "    peak = many")
                w("if many > limit:", f"    why = {TOO_MANY}", "    break")
                w("i += 1", "continue")
        w("if n - mine > peak:", "    peak = n - mine")
        w("if n - mine > limit:", f"    why = {TOO_MANY}", "    break")
        self.same("same", "mine", "n", "alive", "phi")
        with w.block("if same:"):
            w("ver_lo[i] = alive; ver_hi[i] = phi; n = mine")
        with w.block("else:"):
            w("ver_lo[i] = mine; ver_hi[i] = n")

    def passed_over(self, begins: str) -> None:
        """quick = every run passes over the event as it is: the version is the same slice, or that and what begins
        behind it. `held` are the states that its runs are in, by bit; -1 where they are not known.
        """
        w = self.w
        w("quick = alive < phi")
        with w.block("if quick:"):
            with w.block("if held < 0:"):
                w("held = 0", "for y in range(alive, phi):", "    held |= 1 << s_state[y]")
            for state in self.states:
                keeps = [k for k in self.keeping if self.slots[k].source == state]
                moves = [
                    k
                    for k, s in enumerate(self.slots)
                    if s.takes is Takes.EVENT and s.source == state and k not in keeps
                ]
                stuck = not keeps or state in self.final
                test = "" if stuck else f" and (({self.may(moves)}) or not ({self.may(keeps)}))"
                w(f"if held & {1 << state} != 0{test}:", "    quick = False")
            # What begins can stand behind the slice only at the pool's end, among what this call has made.
            w(f"if quick and ({begins}) and (phi != n or alive < front):", "    quick = False")
        w("if quick:", "    j = phi", "else:", "    held = 0")

    def reached_from_start(self) -> set[int]:
        """The states that ε arcs reach before the first event."""
        reached, grown = {0}, True
        while grown:
            more = {s.target for s in self.slots if s.takes is Takes.EPSILON and s.source in reached}
            grown = not more <= reached
            reached |= more
        return reached

    def begin(self) -> None:
        """The configuration before the first event, and what ε arcs make of it, at the end of the pool."""
        w = self.w
        w("group = n; cur = ids[i]; first = now")
        if self.options.sequence:
            w("last = now")
        if self.options.lists:
            w("listed = 0")
        values = {}
        for n, r in enumerate(self.registers):
            values[f"{n}"] = self.inputs.constant(r.initial, r.type.kind)
            values[f"{n}z"] = "False"
        with self.room():
            self.put(0, values, counts=False)
        if any(s.takes is Takes.EPSILON and s.source in self.reached_from_start() for s in self.slots):
            self.close("group", counts=False)

    def taken_apart(self) -> None:
        """The plan "can": the configurations of a subsequence are copied out of the one run that embeds them."""
        w = self.w
        w("taken = n; apart = j")
        with w.block("while apart < stop_at and s_id[apart] == cur:"):
            with self.room():
                w(*(f"{a}[n] = {a}[apart]" for a, _ in self.pool()))
                w("n += 1")
            w("apart += 1")
        w("for y in range(taken, n):", *(f"    {a}[y - taken + j] = {a}[y]" for a, _ in self.pool()))
        w("n = taken; group = taken")

    @contextmanager
    def room(self) -> Iterator[None]:
        w = self.w
        with w.block("if n >= room:"):
            w("full = True")
        with w.block("else:"):
            yield

    def load(self) -> None:
        self.w(*(f"reg{name} = s_r{name}[j]" for name, _ in self.fields()))

    def step(self) -> None:
        """The run at j along all arcs that it may take."""
        self.by_state("s_state[j]", Takes.EVENT, counts=True)

    def close(self, bottom: str, *, counts: bool = True) -> None:
        """The runs from `bottom` on, and what ε arcs make of them."""
        w = self.w
        w(f"q = {bottom}; made = n")
        with w.block("while q < n:"):
            w("keep = j; j = q")
            self.by_state("s_state[q]", Takes.EPSILON, counts=counts)
            w("j = keep; q += 1")
            with w.block(f"if n - made > {ENDLESS}:"):
                w("endless = True", "break")

    def by_state(self, state: str, takes: Takes, *, counts: bool) -> None:
        w = self.w
        sources = sorted({s.source for s in self.slots if s.takes is takes})
        if not sources:
            w("pass")
            return
        w(f"st = {state}")
        word = "if"
        for source in sources:
            with w.block(f"{word} st == {source}:"):
                self.load()
                for k, slot in enumerate(self.slots):
                    if slot.takes is takes and slot.source == source:
                        with w.block(f"if {self.may([k])}:"):
                            self.along(slot, counts=counts)
            word = "elif"

    def along(self, slot: Slot, *, counts: bool) -> None:
        w = self.w
        if self.options.profile and slot.tests:
            w(f"evaluations += {len(slot.tests)}")
        depth = w.depth
        for test in slot.tests:
            lines, condition = Emitter(self.leaf, self.inputs).condition(test)
            w(*lines)
            if condition != "True":
                w(f"if {condition}:")
                w.depth += 1
        values = {name: f"reg{name}" for name, _ in self.fields()}
        for n, update in enumerate(slot.updates):
            if update is not None:
                self.update(n, update, values)
        self.insert(slot.target, values, counts=counts)
        w.depth = depth

    def update(self, n: int, expr: Expr, values: dict[str, str]) -> None:
        w = self.w
        emitter = Emitter(self.leaf, self.inputs)
        lines, scalar = emitter.value(expr)
        w(*lines)
        values[f"{n}"] = f"upd{n}"
        if scalar.null is None:
            w(f"upd{n} = {scalar.value}")
            if self.nullable[n]:
                values[f"{n}z"] = "False"
            return
        default = emitter.default(typed(expr).kind).text
        w(f"upd{n}z = {scalar.null}", f"upd{n} = {default}")
        with w.block(f"if not upd{n}z:"):
            w(f"upd{n} = {scalar.value}")
        values[f"{n}z"] = f"upd{n}z"

    def insert(self, target: int, values: dict[str, str], *, counts: bool) -> None:
        """A new run, unless the subsequence has its like."""
        w = self.w
        w("known = False")
        with w.block("for y in range(group, n):"):
            tests = [f"s_state[y] == {target}"]
            tests += self.equal(lambda name: f"s_r{name}[y]", lambda name: values[name])
            with w.block(f"if {conjunction(tests)}:"):
                w("known = True", "break")
        with w.block("if not known:"), self.room():
            self.put(target, values, counts=counts)

    def put(self, target: int, values: dict[str, str], *, counts: bool) -> None:
        w = self.w
        w(f"s_id[n] = cur; s_time[n] = first; s_state[n] = {target}")
        if self.options.sequence:
            w("s_last[n] = last")
        if self.options.lists:
            w("s_list[n] = listed")
        w(*(f"s_r{name}[n] = {values[name]}" for name, _ in self.fields()))
        w("n += 1")
        if counts and target in self.final:
            w("fin += 1")
        if counts and self.passes:
            w(f"held |= {1 << target}")
