"""The source of the backtracking kernel: one run at a time, depth first.

    for each partition, for each event that begins the first component:
        put the run that it starts on the stack
        while the stack is not empty: take the top run, and read events again from where it waits
            an event that it can use: put every way to go on the stack, the way forward on top
            an event that it can only pass over: go on;  none of it: the run has failed

The run at hand owns the path of bound events. A postponed run is a place on the stack: its state, the next
event that it reads, how much of the path is its own, the slot that it binds the event before to, its registers.
"""

from __future__ import annotations

from collections.abc import Sequence

from augury.automaton import Action, Automaton
from augury.engines.generated import Array, Source
from augury.engines.guard_source import GuardCode
from augury.engines.kernels import control as ctl
from augury.engines.register_source import RegisterCode
from augury.engines.writer import Writer
from augury.expr.inputs import Inputs
from augury.pattern import Clause, Part
from augury.plan.registers import Registers, readers_of
from augury.plan.split import Split

# What the words of `kernels.control` hold here besides what their names say.
TOP, READS, SIZE, FARTHEST = ctl.HEAD, ctl.TAIL, ctl.USED, ctl.NODES


class _Kernel:
    def __init__(
        self,
        automaton: Automaton,
        split: Split,
        registers: Registers,
        nullable: Sequence[bool],
        inputs: Inputs,
        *,
        windowed: bool,
        counting: bool,
        bounded: bool,
    ) -> None:
        self.automaton = automaton
        self.split = split
        self.live = registers.live
        self.inputs = inputs
        self.windowed = windowed
        self.counting = counting
        self.bounded = bounded
        self.w = Writer()
        every = list(dict.fromkeys(r for regs in self.live for r in regs))
        self.code = RegisterCode(every, nullable, inputs, self.w, readers_of(split))
        self.fields = {
            f"{self.code.number(r)}{f.suffix}": f.dtype for r in every for f in self.code.fields(r)
        }
        self.nullable = nullable
        self.guards = GuardCode(automaton, split, self.code, inputs, self.w, _gather, profile=True)
        self.states = [s for s in range(1, automaton.final + 1) if automaton.is_inside(s)]

    def write(self) -> Source:
        w = self.w
        w.depth = 1
        w(f"g = ctl[{ctl.SEGMENT}]; start = ctl[{ctl.EVENT}]; why = {ctl.FINISHED}")
        w(f"budget = ctl[{ctl.STOP}]; limit = ctl[{ctl.LIVE}]; top = ctl[{TOP}]; reads = 0")
        w(f"found = ctl[{ctl.ROOTS}]; size = ctl[{SIZE}]; farthest = ctl[{FARTHEST}]")
        w(f"evaluations = ctl[{ctl.EVALUATIONS}]; peak = ctl[{ctl.PEAK}]")
        w("run_room = len(p_state); path_room = len(path)")
        if not self.counting:
            w("out_room = len(out); found_room = len(ends)")
        with w.block("while g < len(segments) - 1:"):
            w("end = segments[g + 1]")
            with w.block("while start < end:"):
                with w.block("if top == 0:"):
                    self.start()
                with w.block("while top > 0:"):
                    self.room()
                    self.resume()
                    self.read()
                with w.block("if why != 0:"):
                    w("break")
                w("start += 1")
            with w.block("if why != 0:"):
                w("break")
            w("g += 1")
        w(f"ctl[{ctl.SEGMENT}] = g; ctl[{ctl.EVENT}] = start; ctl[{TOP}] = top; ctl[{READS}] += reads")
        w(f"ctl[{ctl.ROOTS}] = found; ctl[{SIZE}] = size; ctl[{FARTHEST}] = farthest")
        w(f"ctl[{ctl.EVALUATIONS}] = evaluations; ctl[{ctl.PEAK}] = peak")
        w("return why")
        arrays = [Array(f"p_{name}", 0, "i4") for name in ("state", "next", "depth", "slot")]
        arrays += [Array(f"p_r{name}", 0, dtype) for name, dtype in self.fields.items()]
        columns = [
            (f"{prefix}{k}", k, prefix == "nul")
            for k in range(len(self.split.columns))
            for prefix in (("col", "nul") if self.nullable[k] else ("col",))
        ]
        constants = self.inputs.arguments()
        names = [
            *("ctl", "segments", *self.guards.masks, "lows"),
            *(("breaks",) if self.automaton.breaks else ()),
            *(("below",) if self.bounded else ()),
            *(name for name, _, _ in columns),
            *(a.name for a in arrays),
            *("path", "path_slot"),
            *(("totals",) if self.counting else ("out", "ends")),
            *constants,
        ]
        text = f"def kernel({', '.join(names)}):\n{w.text()}"
        return Source(
            *(text, tuple(columns), tuple(arrays), tuple(self.guards.bits), tuple(constants)),
            registers=tuple(self.code.numbers),
            origins=((), *w.origins),
        )

    def start(self) -> None:
        """The run that the event starts, if it begins the first component."""
        ((place, arc),) = self.automaton.leaving(0)
        w = self.w
        w("i = start", self.guards.look(), "depth = 0; reads += 1")
        guard = self.split.guards[place]
        with self.guards.allowed(place), w.maybe(self.guards.holds(guard, "reg", "depth"), *guard.of_run):
            self.push(arc.target, Action.BEGIN)

    def room(self) -> None:
        """What the run at hand may need until the next one; a long search looks up now and then."""
        w = self.w
        reasons = {
            "top + 3 > run_room": ctl.RUNS_FULL,
            "p_depth[top - 1] + 1 > path_room": ctl.NODES_FULL,
            "reads > budget": ctl.PAUSED,
            "top > limit": ctl.TOO_MANY_RUNS,
        }
        if not self.counting:
            slots = self.automaton.final
            full = f"size + p_depth[top - 1] + 1 > out_room or found + {slots} > found_room"
            reasons[full] = ctl.ROOTS_FULL
        for condition, why in reasons.items():
            w(f"if {condition}:", f"    why = {why}")
        w("if why != 0:", "    break")

    def resume(self) -> None:
        """The top run is the one at hand; what it binds and whether that is a match."""
        w = self.w
        with w.block("if top > peak:"):
            w("peak = top")
        w("top -= 1", "state = p_state[top]; i = p_next[top]; depth = p_depth[top]; slot = p_slot[top]")
        w(*(f"reg{name} = p_r{name}[top]" for name in self.fields))
        with w.block("if slot >= 0:"):
            w("path[depth] = i - 1; path_slot[depth] = slot; depth += 1")
            final = self.automaton.final
            with (
                w.block(f"if slot == {final - 1}:"),
                w.maybe("start < below[i - 1]" if self.bounded else "True"),
                w.maybe(self.guards.holds(self.split.accept, "reg", "depth")),
            ):
                self.report()
            if not self.automaton.is_inside(final):
                w(f"if slot == {final - 1}:", "    continue")

    def report(self) -> None:
        """The path is a match."""
        w = self.w
        if self.counting:
            w("totals[i - 1] += 1")
            return
        with w.block("for k in range(depth):"):
            w("out[size + k] = path[k]")
            w("ends[found + path_slot[k]] = size + k + 1")
        w(f"size += depth; found += {self.automaton.final}")

    def read(self) -> None:
        """Events one after another, until the run has used one or failed."""
        w = self.w
        w("going = True")
        within = " and lows[i] <= start" if self.windowed else ""
        windowed = (Part(Clause.WINDOW),) if self.windowed else ()
        with w.block(f"while going and i < end{within}:", *windowed):
            if self.automaton.breaks:
                with w.about(Part(Clause.STRATEGY), Part(Clause.PARTITION)):
                    w("if breaks[i]:", "    break")
            w(self.guards.look(), "reads += 1")
            for s in self.states:
                here = Part(Clause.COMPONENT, self.automaton.places[s - 1])
                with w.block(f"{'if' if s == self.states[0] else 'elif'} state == {s}:", here):
                    self.state(s)
            w("i += 1")
        with w.block("if i - start > farthest:"):
            w("farthest = i - start")

    def state(self, s: int) -> None:
        w = self.w
        ways = self.guards.ways(s)
        self.guards.decide(ways, "depth")
        used = " or ".join(
            name for name, arc in (("took", ways.take), ("went", ways.begin)) if arc is not None
        )
        with w.block(f"if {used}:"):
            if ways.stays == "True":
                self.push(s, Action.IGNORE)
            elif ways.stays != "False":
                with w.block(f"if {ways.stays}:", *self.guards.strategy(s)):
                    self.push(s, Action.IGNORE)
            if ways.take is not None:
                with w.block("if took:"):
                    self.push(s, Action.TAKE)
            if ways.begin is not None:
                with w.block("if went:"):
                    self.push(self.automaton.arcs[ways.begin].target, Action.BEGIN)
            w("going = False")
        if ways.stays == "False":
            with w.block("else:", *self.guards.strategy(s)):
                w("going = False")
        elif ways.ends:
            with w.block("elif ended:", *self.guards.strategy(s)):
                w("going = False")

    def push(self, target: int, action: Action) -> None:
        """A run that goes on after the event at hand."""
        w = self.w
        for r in self.live[target]:
            n = self.code.number(r)
            own = r.var == self.automaton.components[target - 1].var
            if own and action is Action.BEGIN:
                w(*(f"p_r{n}{suffix}[top] = {snippet}" for suffix, snippet in self.code.initial(r).items()))
                continue
            prefix = "reg"
            if own and action is Action.TAKE:
                self.code.update(r)
                prefix = "upd"
            w(*(f"p_r{n}{f.suffix}[top] = {prefix}{n}{f.suffix}" for f in self.code.fields(r)))
        slot = -1 if action is Action.IGNORE else target - 1
        w(f"p_state[top] = {target}; p_next[top] = i + 1; p_depth[top] = depth; p_slot[top] = {slot}")
        w("top += 1")


def _gather(depth: str, state: int) -> str:
    return f"gather_path(path, path_slot, {depth}, {state - 1})"


def backtrack_source(
    automaton: Automaton,
    split: Split,
    registers: Registers,
    nullable: Sequence[bool],
    inputs: Inputs,
    *,
    windowed: bool,
    counting: bool,
    bounded: bool,
) -> Source:
    """The kernel of the backtracking plan."""
    kernel = _Kernel(
        *(automaton, split, registers, nullable, inputs),
        windowed=windowed,
        counting=counting,
        bounded=bounded,
    )
    return kernel.write()
