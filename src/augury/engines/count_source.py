"""Histories as counts of matches, in a kernel's source: what a run carries when nothing is enumerated.

A run owns a row (see kernels.counts): how many matches it stands for, by their first event. Numbers are one word
while all are small, and say when a word is too small; wide ones are two words and how large they are about.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from augury.engines.kernels import control as ctl
from augury.engines.kernels.counts import MASK, UNIT
from augury.engines.writer import Writer


class CountHistory:
    """Histories are rows of counts.

    Rows hold running sums from the newest first event back, so that what is in the window is one number. Only
    where absences bound the first events from above and numbers are wide, whose sums cannot be taken apart
    again, rows hold each first event's own number, and a match's completion adds them up.
    """

    def __init__(self, w: Writer, *, windowed: bool, wide: bool, bounded: bool) -> None:
        self.w = w
        self.windowed = windowed
        self.wide = wide
        self.bounded = bounded
        self.summed = not (bounded and wide)
        self.words = ("w0", "w1", "wf") if wide else ("w0",)
        self.done = ("done0", "done1", "donef") if wide else ("done0",)
        self.out = ("out0", "out1", "outf") if wide else ("out0",)
        rows = ("starts", "first", "beyond", "place", "scattered")
        self.arguments: tuple[str, ...] = (*rows, *self.words, "out_event", *self.out)
        self.head, self.tail = ("head", "tail") if windowed else ("0", "1")

    # -------------------------------------------------------------- around the loop

    def prologue(self) -> None:
        self.w(
            f"rows = ctl[{ctl.NODES}]; outs = ctl[{ctl.ROOTS}]; head = ctl[{ctl.HEAD}]; tail = ctl[{ctl.TAIL}]",
            f"used = ctl[{ctl.USED}]; fresh = 0; units = 0",
            "width = len(starts); row_room = len(first); word_room = len(w0); out_room = len(out_event)",
            *(() if self.wide else ("large = False",)),
        )

    def epilogue(self) -> None:
        self.w(
            f"ctl[{ctl.NODES}] = rows; ctl[{ctl.ROOTS}] = outs; ctl[{ctl.HEAD}] = head; ctl[{ctl.TAIL}] = tail",
            f"ctl[{ctl.USED}] = used; ctl[{ctl.NEED}] = fresh",
        )

    def tight(self, fresh: str) -> dict[str, int]:
        """`fresh`: how many runs may come out of one event. Each has a row, and may be united with an older one."""
        conditions = {
            "rows + fresh > row_room": ctl.NODES_FULL,
            f"used + 2 * fresh * ({self.tail} - {self.head} + 1) > word_room": ctl.NODES_FULL,
            "outs + 1 > out_room": ctl.ROOTS_FULL,
        }
        if self.windowed:
            conditions["tail + 1 > width"] = ctl.NODES_FULL
        self.w(f"fresh = {fresh}")
        return conditions

    def reset(self) -> None:
        self.w("rows = 0; used = 0; head = 0; tail = 0")

    def advance(self) -> None:
        """First events leave the window: no row is touched, sums are read from where the window begins."""
        if self.windowed:
            self.w("while head < tail and starts[head] < low:", "    head += 1")

    # -------------------------------------------------------------- histories

    def begin(self, into: str) -> None:
        w = self.w
        if self.windowed:
            w("starts[tail] = i; tail += 1")
        w(f"first[rows] = {self.tail} - 1; beyond[rows] = {self.tail}; place[rows] = {UNIT}")
        w(f"{into} = rows; rows += 1")

    def extend(self, into: str, child: str, _newest: str, _state: int) -> None:
        """A run of its own: a copy, since each owns its row."""
        w = self.w
        w(f"first[rows] = first[{child}]; beyond[rows] = beyond[{child}]; place[rows] = {UNIT}")
        with w.block(f"if place[{child}] != {UNIT}:"):
            w(f"at = used - {self.head}; of = place[{child}]")
            with w.block(f"for z in range({self.head}, beyond[{child}]):"):
                w(*(f"{word}[at + z] = {word}[of + z]" for word in self.words))
            w(f"place[rows] = at; first[rows] = {self.head}; used += beyond[{child}] - {self.head}")
        w(f"{into} = rows; rows += 1")

    def grow(self, _node: str, _newest: str, _state: int) -> None:
        """As many matches with the event as without it: the row stays."""

    def grow_and_stay(self, node: str, _newest: str, _state: int) -> None:
        with self.w.block(f"if place[{node}] == {UNIT}:"):
            self._store(node)
        self._add(node, node)

    def absorb(self, node: str, newest: str, other: str, other_newest: str) -> None:
        w = self.w
        adjacent = f"first[{other}] == beyond[{node}]"
        with w.block(f"if place[{node}] == {UNIT} and place[{other}] == {UNIT} and {adjacent}:"):
            w(f"beyond[{node}] = beyond[{other}]")
        with w.block("else:"):
            with w.block(f"if place[{node}] == {UNIT} or beyond[{other}] > beyond[{node}]:"):
                self._store(node)
            self._add(node, other)
        with w.block(f"if {other_newest} > {newest}:"):
            w(f"{newest} = {other_newest}")

    def gather(self, node: str, newest: str, other: str, other_newest: str, *, by_itself: bool) -> None:
        """One more history for the run that they will become; `by_itself`: until `gathered`, no other is made."""
        w = self.w
        with w.block(f"if {newest} < 0:"):
            w(f"{newest} = {other_newest}; {node} = rows; rows += 1; at = used - {self.head}")
            with w.block(f"for z in range(used, used + {self.tail} - {self.head}):"):
                w(*(f"{word}[z] = 0" for word in self.words))
            w(f"place[{node}] = at; first[{node}] = {self.head}; beyond[{node}] = {self.tail}")
            w(f"used += {self.tail} - {self.head}")
        with w.block(f"elif {other_newest} > {newest}:"):
            w(f"{newest} = {other_newest}")
        if not (by_itself and self.summed):
            self._add(node, other)
            return
        with w.block(f"if place[{other}] == {UNIT}:"):
            w("units += 1")
            with w.block(f"for z in range({self._from(other)}, beyond[{other}]):"):
                w("scattered[z] += 1")
        with w.block("else:"):
            self._add_stored(node, other)

    def gathered(self, node: str) -> None:
        """What was scattered is summed up, in one pass for all."""
        if not self.summed:
            return
        w = self.w
        with w.block("if units > 0:"):
            w(f"at = place[{node}]; several = 0")
            with w.block(f"for z in range({self.tail} - 1, {self.head} - 1, -1):"):
                w("several += scattered[z]; scattered[z] = 0")
                self._sum_one("several")
            w("units = 0")
            self._watch(node)

    # -------------------------------------------------------------- completed matches

    def before_event(self) -> None:
        w = self.w
        w("any_done = False")
        w(*(f"{word} = {'0.0' if word == 'donef' else '0'}" for word in self.done))
        if self.bounded:
            w("cut = -1")

    def complete(self, node: str, newest: str) -> None:
        w = self.w
        w("any_done = True")
        if not self.bounded:
            self._complete_all(node)
            return
        with w.block(f"if {newest} < below[i]:"):
            self._complete_all(node)
        with w.block("else:"):
            with w.block("if cut < 0:"):
                w("cut = tail", "while cut > head and starts[cut - 1] >= below[i]:", "    cut -= 1")
            self._complete_below(node)

    def completed(self) -> str:
        return "any_done"

    def report(self) -> None:
        self.w("out_event[outs] = i")
        self.w(*(f"{out}[outs] = {word}" for out, word in zip(self.out, self.done, strict=True)))
        self.w("outs += 1")

    def after_event(self) -> None:
        """A number that a word does not hold: whatever is counted now is wrong, the host counts again."""
        if not self.wide:
            self.w("if large:", f"    why = {ctl.TOO_LARGE}", "    break")

    def _complete_all(self, node: str) -> None:
        w = self.w
        if not self.summed:
            self._each_done(node, f"beyond[{node}]")
            return
        with w.block(f"if place[{node}] == {UNIT}:"):
            self._done_one(f"beyond[{node}] - {self._from(node)}")
        with w.block("else:"):
            w(f"of = place[{node}] + {self.head}")
            self._done_word("of")
        self._watch_done()

    def _complete_below(self, node: str) -> None:
        """The matches whose first event is among those before `cut`."""
        w = self.w
        if not self.summed:
            self._each_done(node, f"min(beyond[{node}], cut)")
            return
        with w.block(f"if place[{node}] == {UNIT}:"):
            w(f"done0 += max(min(beyond[{node}], cut) - {self._from(node)}, 0)")
        with w.block("elif cut > head:"):
            w(f"of = place[{node}]", "done0 += w0[of + head]")
            w(f"if cut < beyond[{node}]:", "    done0 -= w0[of + cut]")
        self._watch_done()

    def _each_done(self, node: str, beyond: str) -> None:
        w = self.w
        w(f"of = place[{node}]")
        with w.block(f"for z in range({self._from(node)}, {beyond}):"):
            with w.block(f"if of == {UNIT}:"):
                self._done_one("1")
            with w.block("else:"):
                self._done_word("of + z")

    def _done_one(self, value: str) -> None:
        if self.wide:
            self.w(f"value = {value}; s = done0 + value; done0 = s & {MASK}")
            self.w(f"done1 = (done1 + ((s >> 63) & 1)) & {MASK}; donef += float(value)")
        else:
            self.w(f"done0 += {value}")

    def _done_word(self, of: str) -> None:
        if self.wide:
            self.w(f"s = done0 + w0[{of}]; done0 = s & {MASK}")
            self.w(f"done1 = (done1 + w1[{of}] + ((s >> 63) & 1)) & {MASK}; donef += wf[{of}]")
        else:
            self.w(f"done0 += w0[{of}]")

    def _watch_done(self) -> None:
        if not self.wide:
            self.w(f"if done0 > {ctl.NARROW}:", "    large = True")

    # -------------------------------------------------------------- numbers

    def _from(self, row: str) -> str:
        return f"max(first[{row}], head)" if self.windowed else f"first[{row}]"

    @contextmanager
    def _over(self, begin: str, end: str) -> Iterator[None]:
        with self.w.block(f"for z in range({begin}, {end}):"):
            yield

    def _store(self, row: str) -> None:
        """Give a row numbers of its own, with room for every first event in the window."""
        w = self.w
        w(f"at = used - {self.head}; of = place[{row}]; edge = beyond[{row}]; since = first[{row}]")
        with w.block(f"if of == {UNIT}:"), self._over(self.head, "edge"):
            value = "edge - max(z, since)" if self.summed else "1 if z >= since else 0"
            w(f"value = {value}", "w0[at + z] = value")
            if self.wide:
                # As a float from the start: where the kernel runs as Python, an integer grows until no float holds it.
                w("w1[at + z] = 0; wf[at + z] = float(value)")
        with w.block("else:"), self._over(self.head, "edge"):
            w(*(f"{word}[at + z] = {word}[of + z]" for word in self.words))
        with self._over("edge", self.tail):
            w(*(f"{word}[at + z] = 0" for word in self.words))
        w(f"place[{row}] = at; first[{row}] = {self.head}; beyond[{row}] = {self.tail}")
        w(f"used += {self.tail} - {self.head}")

    def _add(self, row: str, other: str) -> None:
        """The numbers of another row, whose first events all have places in this one; the two may be one."""
        w = self.w
        with w.block(f"if place[{other}] == {UNIT}:"):
            w(f"at = place[{row}]; edge = beyond[{other}]; since = {self._from(other)}")
            with self._over(self.head if self.summed else "since", "edge"):
                self._sum_one("edge - max(z, since)" if self.summed else "1")
            self._watch(row)
        with w.block("else:"):
            self._add_stored(row, other)

    def _add_stored(self, row: str, other: str) -> None:
        w = self.w
        w(f"at = place[{row}]; of = place[{other}]")
        with self._over(self.head, f"beyond[{other}]"):
            if self.wide:
                w(f"s = w0[at + z] + w0[of + z]; w0[at + z] = s & {MASK}")
                w(f"w1[at + z] = (w1[at + z] + w1[of + z] + ((s >> 63) & 1)) & {MASK}")
                w("wf[at + z] += wf[of + z]")
            else:
                w("w0[at + z] += w0[of + z]")
        self._watch(row)

    def _sum_one(self, value: str) -> None:
        """Add a small number to the one at z."""
        if self.wide:
            self.w(f"value = {value}; s = w0[at + z] + value; w0[at + z] = s & {MASK}")
            self.w(f"w1[at + z] = (w1[at + z] + ((s >> 63) & 1)) & {MASK}; wf[at + z] += float(value)")
        else:
            self.w(f"w0[at + z] += {value}")

    def _watch(self, row: str) -> None:
        """The sum over the whole window is the largest number of a row."""
        if not self.wide:
            self.w(f"if w0[place[{row}] + {self.head}] > {ctl.NARROW}:", "    large = True")
