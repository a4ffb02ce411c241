"""The source of an eager kernel: an automaton unrolled into one loop over events.

    for each partition, for each event:
        from the last state back to the first: move its runs along the arcs that hold
        start a run, if the event begins the first component
        report: what this event completes

Going back to front, a run that moved forward is not met twice by one event. A state whose runs are merged
and remember nothing has at most one run, and is two local variables; any other is a list of runs in flat
arrays, `s2_node[j]`, `s2_new[j]` (newest start) and a column for each live register. Names are ours alone:
`col3` and `nul3` a derived column and where it is null, `reg5` register 5, `upd5` its value after this event.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from augury.automaton import Action, Arc, Automaton
from augury.engines.count_source import CountHistory
from augury.engines.generated import Array, Options, Source, allows
from augury.engines.guard_source import GuardCode, Ways
from augury.engines.history_source import GraphHistory
from augury.engines.kernels import control as ctl
from augury.engines.register_source import RegisterCode
from augury.engines.writer import Writer, conjunction
from augury.expr.inputs import Inputs
from augury.pattern import Clause, Part
from augury.plan.registers import Holds, Registers, readers_of
from augury.plan.split import Guard, Split

WINDOW = Part(Clause.WINDOW)


class _Kernel:
    def __init__(
        self,
        automaton: Automaton,
        split: Split,
        registers: Registers,
        nullable: Sequence[bool],
        inputs: Inputs,
        options: Options,
    ) -> None:
        self.automaton = automaton
        self.split = split
        self.registers = registers
        self.live = registers.live
        self.merged = registers.merged
        self.inputs = inputs
        self.options = options
        self.w = Writer()
        every = [r for regs in self.live for r in regs]
        self.code = RegisterCode(every, nullable, inputs, self.w, readers_of(split))
        self.nullable = nullable
        self.states = [s for s in range(1, automaton.final + 1) if automaton.is_inside(s)]
        self.history: GraphHistory | CountHistory
        if options.counting:
            self.history = CountHistory(
                self.w, windowed=options.windowed, wide=options.wide, bounded=options.bounded
            )
        else:
            bound_last = 0 if automaton.components[-1].kleene or automaton.final == 1 else automaton.final
            bounded = options.bounded and options.apart
            self.history = GraphHistory(self.w, bound_last, apart=options.apart, bounded=bounded)
        self.guards = GuardCode(automaton, split, self.code, inputs, self.w, _gather, profile=options.profile)
        self.ways, self.decide, self.bits = self.guards.ways, self.guards.decide, self.guards.bits

    # -------------------------------------------------------------- what is known of states

    def is_list(self, state: int) -> bool:
        return not self.registers.is_single(state) or self.options.apart

    def fields(self, state: int) -> list[str]:
        """The live registers' fields, as they end in names: "0", "0z"."""
        return [f"{self.code.number(r)}{f.suffix}" for r in self.live[state] for f in self.code.fields(r)]

    def own(self, state: int) -> str:
        return self.automaton.components[state - 1].var

    def same_after_take(self, state: int) -> bool:
        """Whether taking an event changes no register that is live."""
        return all(r.var != self.own(state) or r.holds is Holds.FIRST for r in self.live[state])

    def takes_in_place(self, state: int) -> bool:
        """Whether a run that takes an event is still the same run, with a longer history."""
        return not self.is_list(state) or (self.merged[state] and self.same_after_take(state))

    def agree_after(self, state: int, action: Action) -> bool:
        """Whether all runs that enter the state on one event have equal registers."""
        known = (Holds.LAST,) if action is Action.TAKE else tuple(Holds)
        merges = self.merged[state] and not self.options.apart
        return merges and all(r.var == self.own(state) and r.holds in known for r in self.live[state])

    # -------------------------------------------------------------- runs

    def insert(self, state: int, values: dict[str, str], node: str, newest: str) -> None:
        """Put a run into a state, merged with its equal there if there is one."""
        w = self.w
        if not self.is_list(state):
            expired = f" or s{state}_new < low" if self.options.windowed else ""
            with w.block(f"if runs{state} == 0{expired}:"):
                w(f"runs{state} = 1; s{state}_node = {node}; s{state}_new = {newest}")
            with w.block("else:"):
                self.unite(f"s{state}_node", f"s{state}_new", node, newest)
            return
        w(*(f"val{name} = {values[name]}" for name in self.fields(state)))
        if self.merged[state]:
            self.find(state, newest)
        with w.maybe("found < 0" if self.merged[state] else "True"):
            w(f"found = runs{state}; runs{state} += 1")
            w(f"s{state}_node[found] = {node}; s{state}_new[found] = {newest}")
            w(*(f"s{state}_r{name}[found] = val{name}" for name in self.fields(state)))
        if self.merged[state]:
            with w.block("else:"):
                w(f"known = s{state}_node[found]; known_new = s{state}_new[found]")
                if self.options.windowed:
                    with w.block("if known_new < low:"):
                        w(f"known = {node}; known_new = {newest}")
                    with w.block("else:"):
                        self.unite("known", "known_new", node, newest)
                else:
                    self.unite("known", "known_new", node, newest)
                w(f"s{state}_node[found] = known; s{state}_new[found] = known_new")

    def find(self, state: int, newest: str) -> None:
        """found = the run that agrees with the new one.

        One register is looked at first, in a loop without a way out, which processors do in bulk (200 runs
        in 20 ns, against 1 ns for each run that is compared in full).
        """
        w = self.w
        w("found = -1")
        alike = [f"s{state}_new[y] == {newest}"] if self.options.apart else []
        exact = conjunction([*alike, *(self.code.equal(state, r) for r in self.live[state])])
        whole = f"for y in range(runs{state}):"
        first = next((r for r in self.live[state] if len(self.code.fields(r)) == 1), None)
        if exact == "True" or (first is None and not alike):
            with w.block(whole), w.maybe(exact):
                w("found = y", "break")
            return
        again = ""
        if not alike:
            assert first is not None
            n = self.code.number(first)
            alike = [f"s{state}_r{n}[y] == val{n}"]
            if self.code.fields(first)[0].dtype == "f8":
                again = f" or val{n} != val{n}"  # NaN is like NaN
        with w.block(whole):
            w(f"found = y if {alike[0]} else found")
        if exact != alike[0]:
            with w.block(f"if found >= 0{again}:"):
                w("found = -1")
                with w.block(whole), w.block(f"if {exact}:"):
                    w("found = y", "break")

    def unite(self, node: str, newest: str, other: str, other_newest: str) -> None:
        self.history.absorb(node, newest, other, other_newest)
        if self.options.profile:
            self.w("merged += 1")

    def collect(self, into: str, *, by_itself: bool) -> None:
        """Gather the histories that will become one run."""
        if self.options.profile:
            self.w(f"if {into}_new >= 0:", "    merged += 1")
        self.history.gather(f"{into}_node", f"{into}_new", "node", "newest", by_itself=by_itself)

    def move(self, s: int) -> None:
        names = ["node", "new", *(f"r{name}" for name in self.fields(s))]
        self.w(*(f"s{s}_{name}[kept] = s{s}_{name}[j]" for name in names))

    def prune(self, s: int) -> None:
        """Drop the expired runs of a list."""
        w = self.w
        w("kept = 0")
        with w.block(f"for j in range(runs{s}):"), w.block(f"if s{s}_new[j] >= low:", WINDOW):
            self.move(s)
            w("kept += 1")
        w(f"runs{s} = kept")

    def holds(self, guard: Guard, prefix: str, node: str) -> str:
        return self.guards.holds(guard, prefix, node)

    # -------------------------------------------------------------- the kernel

    def write(self) -> Source:
        w = self.w
        arrays = [
            Array(f"{letter}{s}_{name}", s, dtype)
            for s in self.states
            if self.is_list(s)
            for letter in ("sp" if self.automaton.components[s - 1].kleene else "s")
            for name, dtype in self.array_types(s)
        ]
        arrays += [
            Array(f"q{s}_{name}", s, "i4")
            for s in self.states
            if self.is_list(s) and self.picks(s, self.ways(s))
            for name in ("node", "new")
        ]
        columns = [
            (f"{prefix}{k}", k, prefix == "nul")
            for k in range(len(self.split.columns))
            for prefix in (("col", "nul") if self.nullable[k] else ("col",))
        ]
        w.depth = 1
        self.prologue()
        with w.block("while g < len(segments) - 1:"):
            w("end = segments[g + 1]", "if end > stop:", "    end = stop")
            with w.block("while i < end:"):
                self.event()
                w("i += 1")
            with w.block("if why != 0:"):
                w("break")
            with w.block("if i >= stop and i < segments[g + 1]:"):
                w(f"why = {ctl.PAUSED}", "break")
            if self.options.keeps:
                w(f"since_of[g] = alive_from; alive_of[g] = {self.total()}", "alive_from = i")
            w("g += 1", *(f"runs{s} = 0" for s in self.states))
            self.history.reset()
            with w.block("if i >= stop and g < len(segments) - 1:"):
                w(f"why = {ctl.PAUSED}", "break")
        self.epilogue()
        constants = self.inputs.arguments()
        names = [
            *("ctl", "segments", *self.guards.masks, "lows"),
            *(("breaks",) if self.automaton.breaks else ()),
            *(("below",) if self.options.bounded else ()),
            *(("since_of", "alive_of") if self.options.keeps else ()),
            *(name for name, _, _ in columns),
            *(a.name for a in arrays),
            *self.history.arguments,
            *constants,
        ]
        text = f"def kernel({', '.join(names)}):\n{w.text()}"
        return Source(
            *(text, tuple(columns), tuple(arrays), tuple(self.bits), tuple(constants)),
            registers=tuple(self.code.numbers),
            origins=((), *w.origins),
        )

    def array_types(self, state: int) -> list[tuple[str, str]]:
        registers = [
            (f"r{self.code.number(r)}{f.suffix}", f.dtype)
            for r in self.live[state]
            for f in self.code.fields(r)
        ]
        return [("node", "i4"), ("new", "i4"), *registers]

    def prologue(self) -> None:
        w = self.w
        w(f"g = ctl[{ctl.SEGMENT}]; i = ctl[{ctl.EVENT}]; why = {ctl.FINISHED}")
        w(f"stop = ctl[{ctl.STOP}]; limit = ctl[{ctl.LIVE}]")
        self.history.prologue()
        if self.options.keeps:
            w(f"alive_from = ctl[{ctl.SINCE}]")
        if self.options.profile:
            w(f"evaluations = ctl[{ctl.EVALUATIONS}]; peak = ctl[{ctl.PEAK}]; merged = ctl[{ctl.MERGED}]")
            w(f"started = ctl[{ctl.BEGUN}]; steps = ctl[{ctl.STEPS}]")
        for s in self.states:
            base = ctl.STATES + 3 * s
            w(f"runs{s} = ctl[{base}]")
            w(
                f"room{s} = len(s{s}_node)"
                if self.is_list(s)
                else f"s{s}_node = ctl[{base + 1}]; s{s}_new = ctl[{base + 2}]"
            )

    def epilogue(self) -> None:
        w = self.w
        w(f"ctl[{ctl.SEGMENT}] = g; ctl[{ctl.EVENT}] = i; ctl[{ctl.WHY}] = why")
        self.history.epilogue()
        if self.options.keeps:
            w(f"ctl[{ctl.SINCE}] = alive_from")
        if self.options.profile:
            w(f"ctl[{ctl.EVALUATIONS}] = evaluations; ctl[{ctl.PEAK}] = peak; ctl[{ctl.MERGED}] = merged")
            w(f"ctl[{ctl.BEGUN}] = started; ctl[{ctl.STEPS}] = steps")
        for s in self.states:
            base = ctl.STATES + 3 * s
            w(f"ctl[{base}] = runs{s}")
            if not self.is_list(s):
                w(f"ctl[{base + 1}] = s{s}_node; ctl[{base + 2}] = s{s}_new")
        w("return why")

    def event(self) -> None:
        w = self.w
        w(self.guards.look())
        skips = all(self.ways(s).stays != "False" for s in self.states)
        if skips and not self.options.profile:  # who measures looks at the runs after each event
            with w.block(f"if {self.guards.nobodys()}:"):
                w("i += 1", "continue")
        if self.automaton.breaks:
            with w.block("if breaks[i]:", Part(Clause.STRATEGY), Part(Clause.PARTITION)):
                w(*(f"runs{s} = 0" for s in self.states))
        with w.about(*((WINDOW,) if self.options.windowed else ())):
            w("low = lows[i]" if self.options.windowed else "low = 0")
        self.capacity()
        self.history.advance()
        self.history.before_event()
        for s in reversed(self.states):
            self.state(s)
        self.start()
        with w.block(f"if {self.history.completed()}:"):
            self.history.report()
            if self.options.clear:
                w(*(f"runs{s} = 0" for s in self.states))
        if self.options.profile:
            self.measure()
        if self.options.keeps:  # no run goes on: none that lives later has an event from before
            w(f"if {self.total()} == 0:", "    alive_from = i + 1")
        self.history.after_event()

    def measure(self) -> None:
        """Runs that have expired are not live, though they may still be there."""
        w = self.w
        for s in self.states if self.options.windowed else ():
            if self.is_list(s):
                self.prune(s)
            else:
                w(f"if s{s}_new < low:", f"    runs{s} = 0")
        w(f"alive = {self.total()}", "steps += alive", "peak = max(peak, alive)")

    def fresh(self) -> str:
        """How many runs may come out of one event."""
        parts = ["1"]
        for s in self.states:
            ways = self.ways(s)
            many = f"runs{s}" if self.is_list(s) else "1"
            if ways.begin is not None and self.automaton.is_inside(self.automaton.arcs[ways.begin].target):
                parts.append("1" if self.gathers_next(ways) else many)
            in_place = self.takes_in_place(s)
            if ways.take is not None and (not in_place or ways.stays != "False"):
                parts.append("1" if not in_place and self.agree_after(s, Action.TAKE) else many)
        constant = sum(p == "1" for p in parts)
        return " + ".join([str(constant), *(p for p in parts if p != "1")])

    def total(self) -> str:
        return " + ".join(f"runs{s}" for s in self.states) or "0"

    def capacity(self) -> None:
        """No room for what one event may need: expired runs go first, then the host is asked."""
        w = self.w
        lists = [s for s in self.states if self.is_list(s)]
        reasons: dict[str, int] = {}
        for s in lists:
            before = f" + runs{s - 1}" if s > 1 else ""
            reasons[f"2 * runs{s}{before} + 2 > room{s}"] = ctl.RUNS_FULL
        reasons.update(self.history.tight(self.fresh()))
        reasons["total > limit"] = ctl.TOO_MANY_RUNS
        w(f"total = {self.total()}")
        with w.block(f"if {' or '.join(reasons)}:"):
            if self.options.windowed:
                for s in lists:
                    self.prune(s)
                w(f"total = {self.total()}")
            for condition, why in reasons.items():
                w(f"if {condition}:", f"    why = {why}")
            w("if why != 0:", "    break")

    # -------------------------------------------------------------- arcs

    def start(self) -> None:
        ((place, _),) = self.automaton.leaving(0)
        guard = self.split.guards[place]
        with self.guards.allowed(place), self.w.maybe(self.holds(guard, "reg", "0"), *guard.of_run):
            self.history.begin("node")
            if self.options.profile:
                self.w("started += 1")
            self.enter(self.automaton.arcs[place], "node", "i")

    def forward(self, arc: Arc, node: str, newest: str) -> None:
        """Begin the next component with the event."""
        if self.automaton.is_inside(arc.target):
            self.history.extend("begun", node, newest, arc.target)
            self.enter(arc, "begun", newest)
        else:
            self.history.complete(node, newest)

    def enter(self, arc: Arc, node: str, newest: str) -> None:
        """A run has begun the target's component: put it there, and see whether it is a match."""
        t = arc.target
        if not self.automaton.is_inside(t):
            self.history.complete(node, newest)
            return
        values: dict[str, str] = {}
        for r in self.live[t]:
            n = self.code.number(r)
            if r.var == self.own(t):
                values.update({f"{n}{suffix}": snippet for suffix, snippet in self.code.initial(r).items()})
            else:
                values.update({f"{n}{f.suffix}": f"reg{n}{f.suffix}" for f in self.code.fields(r)})
        if t == self.automaton.final:
            self.w(*(f"upd{name} = {snippet}" for name, snippet in values.items()))
            self.accept(node, newest, "upd")
        self.insert(t, values, node, newest)

    def accept(self, node: str, newest: str, prefix: str) -> None:
        """In the final state: a match, if the last component may be left."""
        accept = self.split.accept
        with self.w.maybe(self.holds(accept, prefix, node), *accept.origins):
            self.history.complete(node, newest)

    def state(self, s: int) -> None:
        ways = self.ways(s)
        asked = allows(self.bits[i] for i in (ways.take, ways.begin, *ways.ends) if i is not None)
        here = Part(Clause.COMPONENT, self.automaton.places[s - 1])
        if " or " in asked:
            asked = f"({asked})"
        occupied = f"if runs{s} > 0:" if ways.stays == "False" else f"if runs{s} > 0 and {asked}:"
        with self.w.block(occupied, here):
            if self.is_list(s):
                self.list_state(s, ways)
            elif self.options.windowed:
                with self.w.block(f"if s{s}_new < low:", WINDOW):
                    self.w(f"runs{s} = 0")
                with self.w.block("else:"):
                    self.single_state(s, ways)
            else:
                self.single_state(s, ways)

    def single_state(self, s: int, ways: Ways) -> None:
        """The state's one run."""
        w = self.w
        w(f"node = s{s}_node; newest = s{s}_new")
        self.decide(ways, "node")
        if ways.begin is not None:
            with w.block("if went:"):
                self.forward(self.automaton.arcs[ways.begin], "node", "newest")
        if ways.take is not None:
            with w.block("if took:"):
                self.take_in_place(s, ways)
                w(f"s{s}_node = node")
        stays = "took" if ways.take is not None and ways.stays == "False" else ways.stays
        if ways.take is not None and ways.stays != "False":
            return
        with w.about(*self.guards.strategy(s)):
            if stays == "False":
                w(f"runs{s} = 0")
            elif stays != "True":
                w(f"if not ({stays}):", f"    runs{s} = 0")

    def list_state(self, s: int, ways: Ways) -> None:
        """The state's runs, each by itself; those that stay move up to close the gaps."""
        if self.picks(s, ways):
            self.picked_state(s, ways)
            return
        w = self.w
        gathers_next = self.gathers_next(ways)
        in_place = ways.take is not None and self.takes_in_place(s)
        gathers_takes = ways.take is not None and not in_place and self.agree_after(s, Action.TAKE)
        apart = ways.take is not None and not in_place and not gathers_takes
        w("kept = 0")
        if gathers_next:
            w("next_node = 0; next_new = -1")
        if gathers_takes:
            w("more_node = 0; more_new = -1")
        if apart:
            w("waiting = 0")
        with w.block(f"for j in range(runs{s}):"):
            if self.options.windowed:
                with w.about(WINDOW):
                    w(f"if s{s}_new[j] < low:", "    continue")
            w(f"node = s{s}_node[j]; newest = s{s}_new[j]")
            w(*(f"reg{name} = s{s}_r{name}[j]" for name in self.fields(s)))
            self.decide(ways, "node")
            if ways.begin is not None:
                with w.block("if went:"):
                    if gathers_next:
                        self.collect("next", by_itself=False)
                    else:
                        self.forward(self.automaton.arcs[ways.begin], "node", "newest")
            if ways.take is not None:
                with w.block("if took:"):
                    if in_place:
                        self.take_in_place(s, ways)
                    elif gathers_takes:
                        self.collect("more", by_itself=False)
                    else:
                        self.take_apart(s)
            stays = ways.stays
            if in_place:
                stays = "took" if stays == "False" else "True"
            if stays != "False":
                with w.maybe(stays, *self.guards.strategy(s)):
                    if in_place:
                        w(f"s{s}_node[j] = node")
                    with w.block("if kept != j:"):
                        self.move(s)
                    w("kept += 1")
        w(f"runs{s} = kept")
        if gathers_next:
            self.begin_gathered(ways)
        if gathers_takes:
            self.take_gathered(s)
        if apart:
            with w.block("for x in range(waiting):"):
                values = {name: f"p{s}_r{name}[x]" for name in self.fields(s)}
                self.insert(s, values, f"p{s}_node[x]", f"p{s}_new[x]")

    def gathers_next(self, ways: Ways) -> bool:
        """Whether the runs that go forward on one event become one run over there."""
        if ways.begin is None:
            return False
        target = self.automaton.arcs[ways.begin].target
        return self.automaton.is_inside(target) and self.agree_after(target, Action.BEGIN)

    def take_in_place(self, s: int, ways: Ways) -> None:
        """The event changes nothing that the run remembers: its history grows where it stands."""
        if ways.stays != "True":
            self.history.grow("node", "newest", s)
            if s == self.automaton.final:
                self.accept("node", "newest", "reg")
            return
        if s == self.automaton.final:
            self.history.extend("longer", "node", "newest", s)
            self.accept("longer", "newest", "reg")
            self.w("longer_new = newest")
            self.history.absorb("longer", "longer_new", "node", "newest")
            self.w("node = longer")
        else:
            self.history.grow_and_stay("node", "newest", s)

    def take_apart(self, s: int) -> None:
        """A run of its own for the event's take, which waits until all have been looked at."""
        w = self.w
        for r in self.live[s]:
            n = self.code.number(r)
            if r.var == self.own(s):
                self.code.update(r)
            else:
                w(*(f"upd{n}{f.suffix} = reg{n}{f.suffix}" for f in self.code.fields(r)))
        self.history.extend("longer", "node", "newest", s)
        if s == self.automaton.final:
            self.accept("longer", "newest", "upd")
        w(f"p{s}_node[waiting] = longer; p{s}_new[waiting] = newest")
        w(*(f"p{s}_r{name}[waiting] = upd{name}" for name in self.fields(s)), "waiting += 1")

    def begin_gathered(self, ways: Ways) -> None:
        """All runs that begin the next component with the event have become one."""
        assert ways.begin is not None
        arc = self.automaton.arcs[ways.begin]
        with self.w.block("if next_new >= 0:"):
            self.history.gathered("next_node")
            self.history.grow("next_node", "next_new", arc.target)
            self.enter(arc, "next_node", "next_new")

    def take_gathered(self, s: int) -> None:
        """All runs that took the event have become one."""
        with self.w.block("if more_new >= 0:"):
            self.history.gathered("more_node")
            for r in self.live[s]:
                self.code.update(r)
            self.history.grow("more_node", "more_new", s)
            if s == self.automaton.final:
                self.accept("more_node", "more_new", "upd")
            self.insert(s, {name: f"upd{name}" for name in self.fields(s)}, "more_node", "more_new")

    # -------------------------------------------------------------- many runs that all stay

    def picks(self, s: int, ways: Ways) -> bool:
        """Whether the runs stay whatever happens, and what goes on of them needs no more than their histories.

        Then they need not be moved: those that follow an arc are picked in one loop, and what becomes of them is
        another. Neither loop has a branch to be guessed wrong.
        """
        if ways.stays != "True":
            return False
        arcs = [i for i in (ways.take, ways.begin) if i is not None]
        guards = [g for i in arcs for g in (self.split.guards[i], self.split.leaves[i])]
        if any(g.history for g in guards):
            return False
        takes = ways.take is None or (not self.takes_in_place(s) and self.agree_after(s, Action.TAKE))
        return takes and (
            ways.begin is None
            or self.gathers_next(ways)
            or not self.automaton.is_inside(self.automaton.arcs[ways.begin].target)
        )

    def picked_state(self, s: int, ways: Ways) -> None:
        w = self.w
        if self.options.windowed:
            w(f"alive = runs{s}")
        if ways.begin is not None:
            gathers = self.gathers_next(ways)
            with self.guards.allowed(ways.begin):
                if gathers:
                    w("next_node = 0; next_new = -1")
                with self.picked(s, (self.split.leaves[ways.begin], self.split.guards[ways.begin])):
                    if gathers:
                        self.collect("next", by_itself=True)
                    else:
                        self.history.complete("node", "newest")
                if gathers:
                    self.begin_gathered(ways)
        if ways.take is not None:
            with self.guards.allowed(ways.take):
                w("more_node = 0; more_new = -1")
                with self.picked(s, (self.split.guards[ways.take],)):
                    self.collect("more", by_itself=True)
                self.take_gathered(s)
        if self.options.windowed:
            few = f"alive < runs{s}" if self.options.profile else f"2 * alive + 16 < runs{s}"
            with w.block(f"if {few}:"):
                self.prune(s)

    @contextmanager
    def picked(self, s: int, guards: Sequence[Guard]) -> Iterator[None]:
        """A loop over the runs that follow an arc, each as `node` and `newest`."""
        w = self.w
        w("picked = 0", *(("alive = 0",) if self.options.windowed else ()))
        with w.block(f"for j in range(runs{s}):"):
            if self.options.windowed:
                with w.about(WINDOW):
                    w(f"inside = s{s}_new[j] >= low", "alive += inside")
                if self.options.profile:
                    w("if not inside:", "    continue")
            w(*(f"reg{name} = s{s}_r{name}[j]" for name in self.fields(s)))
            holds = conjunction([self.holds(g, "reg", "node") for g in guards])
            w(f"q{s}_node[picked] = s{s}_node[j]; q{s}_new[picked] = s{s}_new[j]")
            both = [c for c in ("inside" if self.options.windowed else "True", holds) if c != "True"]
            with w.about(*(part for g in guards for part in g.of_run)):
                w(f"picked += {' & '.join(f'({c})' for c in both) or '1'}")
        with w.block("for x in range(picked):"):
            w(f"node = q{s}_node[x]; newest = q{s}_new[x]")
            yield


def _gather(node: str, state: int) -> str:
    return f"gather(ev, left, right, {node}, {-state})"


def eager_source(
    automaton: Automaton,
    split: Split,
    registers: Registers,
    nullable: Sequence[bool],
    inputs: Inputs,
    options: Options,
) -> Source:
    """The kernel of an automaton whose guards are split and whose registers are placed."""
    return _Kernel(automaton, split, registers, nullable, inputs, options).write()
