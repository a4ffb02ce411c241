"""What a matcher keeps, against a model of it: lists of rows by name."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from augury.runtime import names
from augury.runtime.kept import NEVER, Kept
from augury.runtime.names import Names

SCHEMA = pa.schema([("n", pa.int64()), ("text", pa.string())])


def lanes_of(keys: np.ndarray) -> np.ndarray:
    """Digests of keys: all of one kind begin at the same place, so that searches go on."""
    return np.stack([(keys % 5).astype(np.uint64), keys.astype(np.uint64)])


@pytest.mark.parametrize("many", [3, 10**6])
def test_names_are_those_of_a_dictionary(monkeypatch: pytest.MonkeyPatch, many: int) -> None:
    monkeypatch.setattr(names, "MANY", many)
    rng = np.random.default_rng(many)
    known: dict[int, int] = {}
    found, free = Names(), list(range(5000))
    for _ in range(300):
        asked = rng.choice(400, rng.integers(1, 60), replace=False)
        slots = found.find(lanes_of(asked))
        assert slots.tolist() == [known.get(k, -1) for k in asked.tolist()]
        new = asked[slots < 0]
        given = np.array([free.pop() for _ in new], np.int64)
        found.enter(lanes_of(new), given)
        known.update(zip(new.tolist(), given.tolist(), strict=True))
        gone = rng.permutation(list(known))[: rng.integers(0, 60)].tolist()
        found.leave(np.array([known[k] for k in gone], np.int64))
        free += [known.pop(k) for k in gone]
        assert len(found) == len(known)
    assert found.nbytes > 0
    assert (found.few is None) == (many == 3)


@pytest.mark.parametrize("many", [3, 10**6])
def test_rows_are_those_that_were_put_last(monkeypatch: pytest.MonkeyPatch, many: int) -> None:
    monkeypatch.setattr(names, "MANY", many)
    rng = np.random.default_rng(7)
    kept, model, number = Kept(SCHEMA), dict[int, list[int]](), 0
    pieces = set()
    for step in range(400):
        asked = rng.choice(60, rng.integers(1, 25), replace=False)
        slots = kept.slots_of(lanes_of(asked))
        table, place, barred = kept.taken_out(slots)
        assert table.schema == SCHEMA
        rows = [n for k in asked.tolist() for n in model.get(k, [])]
        assert table["n"].to_pylist() == rows
        assert table["text"].to_pylist() == [str(n) for n in rows]
        assert place.tolist() == [p for p, k in enumerate(asked.tolist()) for _ in model.get(k, [])]
        assert barred.tolist() == [n % 3 == 0 for n in rows]
        counts = rng.integers(0, 5, len(asked))
        new = np.arange(number, number + counts.sum())
        number += len(new)
        given = pa.table({"n": new, "text": pa.array([str(n) for n in new.tolist()], pa.string())})
        expires = np.full(len(asked), step + 5) if step % 7 == 0 else np.full(len(asked), NEVER)
        due = np.where(counts > 0, step, NEVER)
        kept.put(slots, counts, given, new % 3 == 0, due, expires, counts)
        ends = np.cumsum(counts)
        for k, count, end in zip(asked.tolist(), counts.tolist(), ends.tolist(), strict=True):
            model[k] = new[end - count : end].tolist()
        assert set(kept.due_by(step).tolist()) >= set(slots[counts > 0].tolist())
        if step % 11 == 0:
            gone = kept.expires[: kept.size] <= step
            lost = {int(k) for k in kept.names.of_slot[1][: kept.size][gone].tolist()}
            kept.drop_expired(step)
            model = {k: rows for k, rows in model.items() if k not in lost}
        pieces.add(len(kept.pool))
        alive = {k: rows for k, rows in model.items() if rows}
        assert kept.live == sum(map(len, alive.values()))
        assert len(kept.names) == len(kept.slots()) == len(alive)
        assert kept.rows <= 2 * kept.live + 1024
        assert kept.size <= 60
    assert 1 < max(pieces) <= 20
    kept.compact()
    assert len(kept.pool) == 1
    assert kept.rows == kept.live
