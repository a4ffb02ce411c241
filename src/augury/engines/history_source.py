"""What a run stands for, in a kernel's source: nodes of the match graph.

A run carries one number: a node of the graph (`GraphHistory`) or a row of counts (`CountHistory`, of
`count_source`). The kernel says what happens to a history, begun, extended, united, completed, and these two
say how it is written.
"""

from __future__ import annotations

from augury.engines.kernels import control as ctl
from augury.engines.writer import Writer


class GraphHistory:
    """Histories are nodes. Nothing is ever changed in place, so one node may serve many runs."""

    arguments: tuple[str, ...] = ("ev", "left", "right", "new", "root_event", "root_node")

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

    def advance(self) -> None:
        """The window moves: what is out of it is seen by its newest start."""

    def begin(self, into: str) -> None:
        self._bind(into, "0", "i", 1)

    def extend(self, into: str, child: str, newest: str, state: int) -> None:
        """into = the child's history and this event; the child stays what it is."""
        self._bind(into, child, newest, state)

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

    def gather(self, node: str, newest: str, other: str, other_newest: str, *, by_itself: bool) -> None:
        """One more history for the run that they will become."""
        del by_itself
        with self.w.block(f"if {newest} < 0:"):
            self.w(f"{node} = {other}; {newest} = {other_newest}")
        with self.w.block("else:"):
            self.absorb(node, newest, other, other_newest)

    def gathered(self, node: str) -> None:
        """All that will be one run have been gathered."""

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
