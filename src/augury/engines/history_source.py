"""What a run stands for, in a kernel's source: nodes of the match graph, or counts of matches.

A run carries one number: a node of the graph (`GraphHistory`) or a row of counts (`CountHistory`). The kernel
says what happens to a history, begun, extended, united, completed, and these two say how it is written.
"""

from __future__ import annotations

from augury.engines.kernels import control as ctl
from augury.engines.writer import Writer


class GraphHistory:
    """Histories are nodes. Nothing is ever changed in place, so one node may serve many runs."""

    arguments: tuple[str, ...] = ("ev", "left", "right", "new", "root_event", "root_node")
    helpers: tuple[str, ...] = ()

    def __init__(self, w: Writer, bound_last: int, *, apart: bool, bounded: bool) -> None:
        self.w = w
        self.bound_last = bound_last  # the last component, if its one event is still to be bound by a match
        self.apart = apart
        self.bounded = bounded

    def prologue(self) -> None:
        self.w(f"nodes = ctl[{ctl.NODES}]; roots = ctl[{ctl.ROOTS}]")
        self.w("node_room = len(ev); root_room = len(root_event)")

    def epilogue(self) -> None:
        self.w(f"ctl[{ctl.NODES}] = nodes; ctl[{ctl.ROOTS}] = roots")

    def tight(self, _fresh: str) -> dict[str, int]:
        """Conditions under which there is no room for another event, and what to tell the host."""
        roots = "roots + total + 1" if self.apart else "roots + 1"
        return {
            "nodes + 8 * total + 8 > node_room": ctl.NODES_FULL,
            f"{roots} > root_room": ctl.ROOTS_FULL,
        }

    def reset(self) -> None:
        """A partition ends: the graph goes on, its nodes are in the past of the next one."""

    def advance(self, live: list[tuple[int, bool]]) -> None:
        """The window moves: what is out of it is seen by its newest start."""

    def begin(self, into: str) -> None:
        self._bind(into, "0", "i", 1)

    def extend(self, into: str, child: str, newest: str, state: int) -> None:
        """into = the child's history and this event; the child stays what it is."""
        self._bind(into, child, newest, state)

    def own(self, into: str, child: str) -> None:
        """into = the child's history, to be absorbed into."""
        self.w(f"{into} = {child}")

    def grow(self, node: str, newest: str, state: int) -> None:
        self._bind(node, node, newest, state)

    def grow_and_stay(self, node: str, newest: str, state: int) -> None:
        """The history with this event, and without it."""
        self._bind("longer", node, newest, state)
        self.w(
            f"ev[nodes] = i; left[nodes] = longer; right[nodes] = {node}; new[nodes] = {newest}",
            f"{node} = nodes; nodes += 1",
        )

    def absorb(self, node: str, newest: str, other: str, other_newest: str) -> None:
        """node, newest = the union with another history; the one with the newer start goes left."""
        w = self.w
        with w.block(f"if {other_newest} >= {newest}:"):
            w(f"ev[nodes] = i; left[nodes] = {other}; right[nodes] = {node}; new[nodes] = {other_newest}")
            w(f"{newest} = {other_newest}")
        with w.block("else:"):
            w(f"ev[nodes] = i; left[nodes] = {node}; right[nodes] = {other}; new[nodes] = {newest}")
        w(f"{node} = nodes; nodes += 1")

    def _bind(self, into: str, child: str, newest: str, state: int) -> None:
        self.w(
            f"ev[nodes] = i; left[nodes] = {child}; right[nodes] = {-state}; new[nodes] = {newest}",
            f"{into} = nodes; nodes += 1",
        )

    def before_event(self) -> None:
        self.w("done = 0; done_new = 0")

    def complete(self, node: str, newest: str) -> None:
        """A match, or many: one root for all of an event's, or one for those that begin alike."""
        w = self.w
        if self.apart:
            with w.maybe(f"{newest} < below[i]" if self.bounded else "True"):
                w(f"done = {node}")
                self._root(newest)
            return
        with w.block("if done == 0:"):
            w(f"done = {node}; done_new = {newest}")
        with w.block("else:"):
            self.absorb("done", "done_new", node, newest)

    def completed(self) -> str:
        return "done != 0"

    def report(self) -> None:
        if not self.apart:
            self._root("done_new")

    def _root(self, newest: str) -> None:
        if self.bound_last:
            self._bind("done", "done", newest, self.bound_last)
        self.w("root_event[roots] = i; root_node[roots] = done; roots += 1")

    def after_event(self) -> None:
        """Nodes are never too small."""


class CountHistory:
    """Histories are rows of counts (see kernels.counts), each owned by one run.

    Narrow counts are one word, and say when a word is too small; wide ones are three. A row has a place for
    each first event from `first` to `beyond`, at `base` in the words: most rows of a first component have one.
    """

    def __init__(self, w: Writer, *, windowed: bool, wide: bool, bounded: bool) -> None:
        self.w = w
        self.windowed = windowed
        self.wide = wide
        self.bounded = bounded
        self.words = ("w0", "w1", "w2") if wide else ("w0",)
        rows = ("starts", "base", "first", "beyond", "totals")
        self.arguments: tuple[str, ...] = (*rows, *self.words, "done", "out_event", "out_words")
        self.helpers: tuple[str, ...] = (
            ("add_word", "carry", "add_total", "add_number", "take_off") if wide else ()
        )
        self.head, self.tail = ("head", "tail") if windowed else ("0", "1")

    def prologue(self) -> None:
        self.w(
            f"rows = ctl[{ctl.NODES}]; outs = ctl[{ctl.ROOTS}]; head = ctl[{ctl.HEAD}]; tail = ctl[{ctl.TAIL}]",
            f"used = ctl[{ctl.USED}]",
            "width = len(starts); row_room = len(first); word_room = len(w0); out_room = len(out_event)",
            *(() if self.wide else ("large = False",)),
        )

    def epilogue(self) -> None:
        self.w(
            f"ctl[{ctl.NODES}] = rows; ctl[{ctl.ROOTS}] = outs; ctl[{ctl.HEAD}] = head; ctl[{ctl.TAIL}] = tail",
            f"ctl[{ctl.USED}] = used",
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

    def advance(self, live: list[tuple[int, bool]]) -> None:
        """First events that leave the window are taken off the totals of all live rows."""
        if not self.windowed:
            return
        w = self.w
        with w.block("while head < tail and starts[head] < low:"):
            for state, is_list in live:
                if is_list:
                    with w.block(f"for j in range(runs{state}):"):
                        w(f"row = s{state}_node[j]")
                        self._expire()
                else:
                    with w.block(f"if runs{state} > 0:"):
                        w(f"row = s{state}_node")
                        self._expire()
            w("head += 1")

    def _expire(self) -> None:
        w = self.w
        with w.block("if first[row] <= head < beyond[row]:"):
            at = "base[row] + head - first[row]"
            w(f"take_off(totals, row, w0, w1, w2, {at})" if self.wide else f"totals[row] -= w0[{at}]")

    def begin(self, into: str) -> None:
        w = self.w
        if self.windowed:
            w("starts[tail] = i; tail += 1")
        self._new_row(f"{self.tail} - 1", self.tail)
        w(*(f"{word}[used] = {int(word == 'w0')}" for word in self.words))
        w("totals[4 * rows] = 1" if self.wide else "totals[rows] = 1", "used += 1")
        w(f"{into} = rows; rows += 1")

    def _new_row(self, first: str, beyond: str) -> None:
        self.w(f"base[rows] = used; first[rows] = {first}; beyond[rows] = {beyond}")
        if self.wide:
            self.w(*(f"totals[4 * rows + {k}] = 0" for k in range(4)))
        else:
            self.w("totals[rows] = 0")

    def extend(self, into: str, child: str, _newest: str, _state: int) -> None:
        """A run of its own: a copy, since each owns its row."""
        self._new_row(self._from(child), f"beyond[{child}]")
        self._zero("beyond[rows] - first[rows]")
        self.w("rows += 1")
        self._add("rows - 1", child)
        self.w(f"{into} = rows - 1")

    def own(self, into: str, child: str) -> None:
        """Room for every first event in the window: others will be added."""
        self._new_row(self.head, self.tail)
        self._zero(f"{self.tail} - {self.head}")
        self.w("rows += 1")
        self._add("rows - 1", child)
        self.w(f"{into} = rows - 1")

    def _from(self, row: str) -> str:
        return f"max(first[{row}], head)" if self.windowed else f"first[{row}]"

    def _zero(self, size: str) -> None:
        w = self.w
        with w.block(f"for z in range(used, used + {size}):"):
            w(*(f"{word}[z] = 0" for word in self.words))
        w(f"used += {size}")

    def _add(self, row: str, other: str) -> None:
        """The counts of another row, whose first events all have places in this one; the two may be one."""
        w = self.w
        w(f"at = base[{row}] - first[{row}]; of = base[{other}] - first[{other}]")
        with w.block(f"for z in range({self._from(other)}, beyond[{other}]):"):
            if self.wide:
                w(f"add_word(totals, {row}, w0, w1, w2, at + z, of + z)")
            else:
                w("w0[at + z] += w0[of + z]")
        if self.wide:
            w(f"carry(totals, 4 * {row})")
            return
        w(f"totals[{row}] += totals[{other}]")
        with w.block(f"if totals[{row}] > {ctl.NARROW}:"):
            w("large = True")

    def grow(self, _node: str, _newest: str, _state: int) -> None:
        """As many matches with the event as without it: the row stays."""

    def grow_and_stay(self, node: str, _newest: str, _state: int) -> None:
        self._add(node, node)

    def absorb(self, node: str, newest: str, other: str, other_newest: str) -> None:
        w = self.w
        if self.windowed:
            with w.block(f"if beyond[{other}] > beyond[{node}] or {self._from(other)} < first[{node}]:"):
                self._widen(node)
        self._add(node, other)
        with w.block(f"if {other_newest} > {newest}:"):
            w(f"{newest} = {other_newest}")

    def _widen(self, row: str) -> None:
        """Move a row to where there is room for every first event in the window."""
        w = self.w
        w(f"at = used - head; of = base[{row}] - first[{row}]; row_from = {self._from(row)}")
        with w.block("for z in range(head, tail):"):
            for word in self.words:
                w(f"{word}[at + z] = {word}[of + z] if row_from <= z < beyond[{row}] else 0")
        w(f"base[{row}] = used; first[{row}] = head; beyond[{row}] = tail; used += tail - head")

    def before_event(self) -> None:
        self.w("any_done = False")

    def complete(self, node: str, newest: str) -> None:
        w = self.w
        w("any_done = True")
        if not self.bounded:
            self._complete_all(node)
            return
        with w.block(f"if {newest} < below[i]:"):
            self._complete_all(node)
        with w.block("else:"):
            w(f"of = base[{node}] - first[{node}]")
            with w.block(f"for z in range({self._from(node)}, beyond[{node}]):"):
                w("if starts[z] >= below[i]:", "    break")
                if self.wide:
                    w("add_number(done, w0, w1, w2, of + z)")
                else:
                    w("done[0] += w0[of + z]")
                    self._watch_done()

    def _complete_all(self, node: str) -> None:
        if self.wide:
            self.w(f"add_total(done, totals, {node})")
        else:
            self.w(f"done[0] += totals[{node}]")
            self._watch_done()

    def _watch_done(self) -> None:
        with self.w.block(f"if done[0] > {ctl.NARROW}:"):
            self.w("large = True")

    def completed(self) -> str:
        return "any_done"

    def report(self) -> None:
        self.w("out_event[outs] = i")
        for k in range(4 if self.wide else 1):
            place = f"4 * outs + {k}" if self.wide else "outs"
            self.w(f"out_words[{place}] = done[{k}]; done[{k}] = 0")
        self.w("outs += 1")

    def after_event(self) -> None:
        """A number that a word does not hold: whatever is counted now is wrong, the host counts again."""
        if not self.wide:
            self.w("if large:", f"    why = {ctl.TOO_LARGE}", "    break")


History = GraphHistory | CountHistory
