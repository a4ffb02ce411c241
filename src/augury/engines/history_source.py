"""What a run stands for, in a kernel's source: nodes of the match graph, or counts of matches.

A run carries one number: a node of the graph (`GraphHistory`) or a row of counts (`CountHistory`). The kernel
says what happens to a history, begun, extended, united, completed, and these two say how it is written.
"""

from __future__ import annotations

from augury.engines.kernels import control as ctl
from augury.engines.writer import Writer


class GraphHistory:
    """Histories are nodes. Nothing is ever changed in place, so one node may serve many runs."""

    arguments = ("ev", "left", "right", "new", "root_event", "root_node")

    def __init__(self, w: Writer, final: int, *, single_end: bool) -> None:
        self.w = w
        self.final = final
        self.single_end = single_end

    def prologue(self) -> None:
        self.w(f"nodes = ctl[{ctl.NODES}]; roots = ctl[{ctl.ROOTS}]")
        self.w("node_room = len(ev); root_room = len(root_event)")

    def epilogue(self) -> None:
        self.w(f"ctl[{ctl.NODES}] = nodes; ctl[{ctl.ROOTS}] = roots")

    def tight(self) -> dict[str, int]:
        """Conditions under which there is no room for another event, and what to tell the host."""
        return {
            "nodes + 8 * total + 8 > node_room": ctl.NODES_FULL,
            "roots + 1 > root_room": ctl.ROOTS_FULL,
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
        with self.w.block("if done == 0:"):
            self.w(f"done = {node}; done_new = {newest}")
        with self.w.block("else:"):
            self.absorb("done", "done_new", node, newest)

    def completed(self) -> str:
        return "done != 0"

    def report(self) -> None:
        if self.single_end and self.final > 1:
            self._bind("done", "done", "done_new", self.final)
        self.w("root_event[roots] = i; root_node[roots] = done; roots += 1")


class CountHistory:
    """Histories are rows of counts (see kernels.counts), each owned by one run."""

    arguments = ("starts", "w0", "w1", "w2", "first", "beyond", "totals", "done", "out_event", "out_words")
    helpers = ("new_row", "copy_row", "add_row", "expire", "add_total")

    def __init__(self, w: Writer, *, windowed: bool) -> None:
        self.w = w
        self.windowed = windowed

    def prologue(self) -> None:
        self.w(
            f"rows = ctl[{ctl.NODES}]; outs = ctl[{ctl.ROOTS}]; head = ctl[{ctl.HEAD}]; tail = ctl[{ctl.TAIL}]",
            "width = len(starts); row_room = len(first); out_room = len(out_event)",
        )

    def epilogue(self) -> None:
        self.w(
            f"ctl[{ctl.NODES}] = rows; ctl[{ctl.ROOTS}] = outs; ctl[{ctl.HEAD}] = head; ctl[{ctl.TAIL}] = tail"
        )

    def tight(self) -> dict[str, int]:
        conditions = {
            "rows + 3 * total + 4 > row_room": ctl.NODES_FULL,
            "outs + 1 > out_room": ctl.ROOTS_FULL,
        }
        if self.windowed:
            conditions["tail + 1 > width"] = ctl.NODES_FULL
        return conditions

    def reset(self) -> None:
        self.w("rows = 0; head = 0; tail = 0")

    def advance(self, live: list[tuple[int, bool]]) -> None:
        """First events that leave the window are taken off the totals of all live rows."""
        if not self.windowed:
            return
        w = self.w
        with w.block("while head < tail and starts[head] < low:"):
            for state, is_list in live:
                if is_list:
                    with w.block(f"for j in range(runs{state}):"):
                        w(f"expire(s{state}_node[j], head, width, w0, w1, w2, first, beyond, totals)")
                else:
                    with w.block(f"if runs{state} > 0:"):
                        w(f"expire(s{state}_node, head, width, w0, w1, w2, first, beyond, totals)")
            w("head += 1")

    def begin(self, into: str) -> None:
        if self.windowed:
            self.w("starts[tail] = i", "tail += 1")
        place = "tail - 1" if self.windowed else "0"
        self.w(
            f"new_row(rows, {place}, width, w0, w1, w2, first, beyond, totals)", f"{into} = rows; rows += 1"
        )

    def extend(self, into: str, child: str, _newest: str, _state: int) -> None:
        self.own(into, child)

    def own(self, into: str, child: str) -> None:
        self.w(
            f"copy_row(rows, {child}, head, width, w0, w1, w2, first, beyond, totals)",
            f"{into} = rows; rows += 1",
        )

    def grow(self, _node: str, _newest: str, _state: int) -> None:
        """As many matches with the event as without it: the row stays."""

    def grow_and_stay(self, node: str, _newest: str, _state: int) -> None:
        self.w(f"add_row({node}, {node}, head, width, w0, w1, w2, first, beyond, totals)")

    def absorb(self, node: str, newest: str, other: str, other_newest: str) -> None:
        self.w(f"add_row({node}, {other}, head, width, w0, w1, w2, first, beyond, totals)")
        with self.w.block(f"if {other_newest} > {newest}:"):
            self.w(f"{newest} = {other_newest}")

    def before_event(self) -> None:
        self.w("any_done = False")

    def complete(self, node: str, _newest: str) -> None:
        self.w(f"add_total(done, totals, {node})", "any_done = True")

    def completed(self) -> str:
        return "any_done"

    def report(self) -> None:
        self.w("out_event[outs] = i")
        for k in range(4):
            self.w(f"out_words[4 * outs + {k}] = done[{k}]; done[{k}] = 0")
        self.w("outs += 1")


History = GraphHistory | CountHistory
