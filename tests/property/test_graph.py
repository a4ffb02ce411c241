"""The match graph keeps the order that walks and pruning rely on, whatever is matched and wherever it is looked at."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augury.engines.history_source import GraphHistory
from augury.engines.kernels import control as ctl
from augury.engines.kernels.check import first_unsorted
from augury.engines.stores import GraphStore
from augury.query import sase
from conformance.judge import answer
from conformance.plans import plan_named
from conformance.queries import cases
from conformance.test_compiled import QUERIES, stream

OUTPUTS = st.sampled_from(("all", "non_overlap", "longest", "compressed"))


class Looked:
    """Looks at every graph when roots are read, before it is compacted and when it is done."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.nodes = self.unions = self.compacted = 0
        make_room, finish = GraphStore.make_room, GraphStore.finish

        def making_room(store: GraphStore, control: Any, *rest: Any, **named: Any) -> None:
            self.look(store, control)
            before = store.cut_off
            make_room(store, control, *rest, **named)
            self.compacted += store.cut_off > before
            self.look(store, control)

        def finishing(store: GraphStore, control: Any) -> None:
            self.look(store, control)
            finish(store, control)

        patch.setattr(GraphStore, "make_room", making_room)
        patch.setattr(GraphStore, "finish", finishing)

    def look(self, store: GraphStore, control: Any) -> None:
        used = int(control[ctl.NODES])
        arrays = (store.ev, store.left, store.right, store.newest)
        bad = first_unsorted(*arrays, used)
        assert bad < 0, f"node {bad} of {used}: {[list(a[: bad + 1]) for a in arrays]}"
        self.nodes += used - 1
        self.unions += sum(r >= 0 for r in store.right[1:used])


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> Looked:
    return Looked(monkeypatch)


def test_graphs_of_random_cases_are_sorted() -> None:
    @settings(max_examples=settings().max_examples)
    @given(case=cases(), output=OUTPUTS, plan=st.sampled_from(("eager", "eager-unmerged")))
    def law(case: Any, output: str, plan: str) -> None:
        answer(plan_named(plan), case, output)

    with pytest.MonkeyPatch.context() as patch:
        seen = Looked(patch)
        law()
    assert seen.nodes > 1000
    assert seen.unions > 100


@pytest.mark.parametrize("output", ["all", "non_overlap", "longest", "compressed"])
@pytest.mark.parametrize("name", ["rising, any", "kleene, average", "every event", "absence"])
def test_graphs_that_are_compacted_stay_sorted(name: str, output: str, looked: Looked) -> None:
    sase(QUERIES[name]).match(stream(4000, 7), time="ts", type="kind", output=output, plan="eager")
    assert looked.compacted > 0
    assert looked.nodes > 0


def test_a_union_the_wrong_way_round_is_seen(looked: Looked, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that is wrong on purpose: the history with the older start goes left."""

    def absorb(self: GraphHistory, node: str, newest: str, other: str, other_newest: str) -> None:
        self.w(
            f"ev[nodes] = i; left[nodes] = {node}; right[nodes] = {other}; new[nodes] = max({newest}, {other_newest})",
            f"{newest} = new[nodes]; {node} = nodes; nodes += 1",
        )

    monkeypatch.setattr(GraphHistory, "absorb", absorb)
    with pytest.raises(AssertionError, match=r"node \d+ of"):
        sase("PATTERN SEQ(A a, B b)").match(stream(60, 7), time="ts", type="kind", plan="eager")


@pytest.mark.parametrize(
    ("node", "arrays"),
    [
        (1, ([0, 5], [0, 1], [0, -1], [-1, 5])),  # stands on itself
        (2, ([0, 5, 4], [0, 0, 0], [0, -1, -1], [-1, 5, 4])),  # its event is older than the one before
        (2, ([0, 5, 6], [0, 0, 1], [0, -1, -2], [-1, 5, 6])),  # says it began later than what it stands on
        (3, ([0, 5, 6, 6], [0, 0, 0, 1], [0, -1, -1, 2], [-1, 5, 6, 5])),  # the newer start on the right
        (1, ([0, 5], [0, 0], [0, -2], [-1, 5])),  # a second slot with nothing before it
        (-1, ([0, 5, 6, 6], [0, 0, 0, 2], [0, -1, -1, 1], [-1, 5, 6, 6])),
    ],
)
def test_what_breaks_the_order(node: int, arrays: tuple[list[int], ...]) -> None:
    assert first_unsorted(*arrays, len(arrays[0])) == node
