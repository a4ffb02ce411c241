"""History: the runs after each event, kept from the last punctuation on, and what they are made from.

    events of one call ─┐
    events taken back ──┼─> places to visit ─ kernel ─> versions that differ ─> output events that come and go
    arcs that changed ──┘                                     │
    punctuation ────────────────────────────── bases <────────┘ what lies before it is forgotten

An ordered stream visits the new places only. What comes late is computed from the version before it, and no further
than to where a version is again what the one after it was made from: there every run that spans the change has ended.
A version that equals the one before it is the same slice of the pool, so events that all runs pass over cost an
entry, and one that comes late takes nothing back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.afa import Arc, Ready, Takes
from augury.engines.afa import Runs, Stepper, Stretch, slices
from augury.engines.afa_lists import View, mixed
from augury.engines.afa_outputs import Found, accepted, ended, names_of, no_outputs
from augury.engines.afa_pool import Kept, Pool
from augury.engines.afa_whole import Whole, gaps, ordered
from augury.engines.batch import COMPILED_FROM
from augury.expr.columns import from_arrow
from augury.expr.types import INT64_MAX, INT64_MIN
from augury.match.gather import no_rows, rows_of_table
from augury.match.identity import value_digests

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

CHUNKS = 64  # pieces of the table of events, before they are put together
SPARE = 1 << 14  # runs of the pool that may be garbage, besides as many as are not
FAST_FROM = 1 << 18  # steps of runs after which a matcher's kernel is worth compiling


@dataclass(slots=True)
class Changes:
    """Output events that come or go. `key` numbers their keys; `lists` are rows of `events`, if they are asked for."""

    found: Found
    key: Ints
    lists: pa.Array | None = None


class History:
    """The versions of all keys' streams, and the events that they are made of."""

    def __init__(
        self, stepper: Stepper, schema: pa.Schema, *, events: bool = False, restarts: bool = False
    ) -> None:
        self.stepper = stepper
        self.schema = schema
        self.events = events
        self.restarts = restarts
        query = stepper.query
        self.sequence = query.sequence
        self.pool = Pool(query, stepper.options.extras)
        self.kept = Kept.none()
        self.table = no_rows(schema)
        self.names = np.zeros(0, np.int64)  # of the keys, by their numbers
        self.by_name: dict[int, int] = {}
        self.keys = no_rows(pa.schema([schema.field(n) for n in query.roles.key]))
        self.base_lo = self.base_hi = np.zeros(0, np.int64)
        self.base_rank = np.zeros(0, np.int64)  # the last number that was forgotten; INT64_MIN: none
        self.base_id = np.zeros(0, np.int64)
        self.base_time = np.zeros(0, np.int64)
        self.archive = no_rows(schema)  # forgotten events that a list may still need
        self.archived = Kept.none()
        self.next_id = 0
        self.frontier: int | None = None
        self.fast = False
        self._swept = 0
        self.counts = {"recomputed": 0, "stale_numbers": 0}

    @property
    def query(self) -> Ready:
        return self.stepper.query

    # -------------------------------------------------------------- events that come

    def times(self, table: pa.Table, name: str) -> Ints:
        read = from_arrow(table.column(name), self.query.columns.types[name])
        return np.asarray(read.values).astype(np.int64)

    def _key_numbers(self, table: pa.Table) -> Ints:
        """The number of each row's key; new keys get new ones."""
        roles, types = self.query.roles, self.query.columns.types
        if not roles.key and len(self.names):
            return np.zeros(table.num_rows, np.int64)
        if roles.key:
            lanes = value_digests(table, roles.key, types)
            words = (lanes[0] ^ (lanes[1] << np.uint64(1))).view(np.int64)
        else:
            words = np.zeros(table.num_rows, np.int64)
        distinct, first, places = np.unique(words, return_index=True, return_inverse=True)
        numbers = np.empty(len(distinct), np.int64)
        fresh = []
        for n, word in enumerate(distinct.tolist()):
            if word not in self.by_name:
                self.by_name[word] = len(self.by_name)
                fresh.append(int(first[n]))
            numbers[n] = self.by_name[word]
        if fresh:
            more = len(fresh)
            self.names = np.concatenate([self.names, words[fresh]])
            rows = rows_of_table(table.select(list(roles.key)), np.array(fresh)) if roles.key else None
            if rows is not None:
                self.keys = pa.concat_tables([self.keys, rows])
            zeros = np.zeros(more, np.int64)
            self.base_lo, self.base_hi = (np.concatenate([a, zeros]) for a in (self.base_lo, self.base_hi))
            least = np.full(more, INT64_MIN)
            self.base_rank, self.base_time, self.base_id = (
                np.concatenate([a, least]) for a in (self.base_rank, self.base_time, self.base_id)
            )
        return numbers[places.reshape(-1)]

    # -------------------------------------------------------------- a step

    def follow(self, new: pa.Table) -> Changes:
        """Events behind all that came before, and before the frontier: only each key's last version is kept."""
        fresh = self._fresh(new)

        def before(rows: Ints) -> tuple[Runs, Ints, Ints]:
            keys = fresh.key[rows]
            lo, hi = self.base_lo[keys], self.base_hi[keys]
            which, _ = slices(lo, hi)
            ends = np.cumsum(hi - lo)
            return self.pool.runs(which), ends - (hi - lo), ends

        whole = Whole(self.stepper, new, fast=self._compiles(new.num_rows), ids=fresh.id, before=before)
        found = whole.run()
        for places, lengths, runs in whole.ends:
            rows = whole.rows[places]
            keys = fresh.key[rows]
            ends = self.pool.append(runs) + np.cumsum(lengths)
            self.base_lo[keys], self.base_hi[keys] = ends - lengths, ends
            self.base_rank[keys], self.base_time[keys] = fresh.rank[rows], fresh.time[rows]
            self.base_id[keys] = fresh.id[rows]
        self.fast = self.fast or self.stepper.measures["run_steps"] > FAST_FROM
        self._sweep()
        return Changes(found, fresh.key[whole.rows[found.end]])

    @property
    def follows(self) -> bool:
        """Whether events that are certain can be followed without a history."""
        waits = any(a.takes is Takes.WINDOW_END for a in self.query.arcs)
        return not (len(self.kept) or self.events or self.restarts or self.sequence or waits)

    def change(
        self, new: pa.Table | None = None, gone: Mask | None = None, arcs: Iterable[Arc] = ()
    ) -> tuple[Changes, Changes]:
        """Events come and go, arcs have changed: the output events that are taken back, and those that come.

        `gone` marks kept events; `arcs` are the lifetimes in which some arc is another now.
        """
        kept = self.kept
        hard = np.zeros(len(kept), np.bool_)
        arcs = list(arcs)
        newest = int(kept.time.max()) if len(kept) else INT64_MIN
        for arc in arcs:
            if arc.low > newest:
                continue
            hard |= (kept.time >= arc.low) & ((kept.time < arc.high) if arc.high is not None else True)
        if self.restarts and arcs:
            hard[:] = True
        gone = np.zeros(len(kept), np.bool_) if gone is None else gone.copy()
        new = no_rows(self.schema) if new is None else new
        fresh = self._fresh(new)
        if self.sequence is not None and len(fresh):
            new, fresh = self._revised(new, fresh, gone)
        if not len(fresh) and not gone.any() and not hard.any():
            return self._nothing(), self._nothing()
        least = [int(kept.rank[m].min()) for m in (gone, hard) if m.any()]
        if len(fresh):
            least.append(int(fresh.rank.min()))
        cut = int(np.searchsorted(kept.rank, min(least), side="left"))
        return self._region(cut, new, fresh, gone[cut:], hard[cut:])

    def _fresh(self, new: pa.Table) -> Kept:
        rows = new.num_rows
        time = self.times(new, self.query.roles.time)
        rank = time if self.sequence is None else self.times(new, self.sequence)
        ids = np.arange(self.next_id, self.next_id + rows)
        self.next_id += rows
        none = np.full(rows, -1, np.int64)
        return Kept(rank, time, ids, self._key_numbers(new), none, none.copy(), np.zeros(rows, np.int64))

    def _revised(self, new: pa.Table, fresh: Kept, gone: Mask) -> tuple[pa.Table, Kept]:
        """A number that comes again is a revision: the event that had it is gone, the last one that has it counts."""
        good = fresh.rank > self.base_rank[fresh.key]
        self.counts["stale_numbers"] += int((~good).sum())
        seen: set[tuple[int, int]] = set()
        pairs = list(zip(fresh.key.tolist(), fresh.rank.tolist(), strict=True))
        for n in reversed(range(len(pairs))):
            if pairs[n] in seen:
                good[n] = False
            seen.add(pairs[n])
        suspects = np.flatnonzero(np.isin(self.kept.rank, fresh.rank))
        for n in suspects.tolist():
            if (int(self.kept.key[n]), int(self.kept.rank[n])) in seen:
                gone[n] = True
        if good.all():
            return new, fresh
        rows = np.flatnonzero(good)
        return rows_of_table(new, rows), fresh.take(rows)

    def _nothing(self) -> Changes:
        return Changes(no_outputs(self.query), np.zeros(0, np.int64))

    def _region(
        self, cut: int, new: pa.Table, fresh: Kept, gone: Mask, hard: Mask
    ) -> tuple[Changes, Changes]:
        """Everything from some rank on, made anew where it must be."""
        kept = self.kept
        old = kept.take(slice(cut, None))
        both = Kept.joined([old, fresh])
        table = pa.concat_tables([self.table.slice(cut), new])
        gone = np.concatenate([gone, np.zeros(len(fresh), np.bool_)])
        hard = np.concatenate([hard, np.zeros(len(fresh), np.bool_)])
        order, segments = ordered(table, self.query, fast=table.num_rows >= COMPILED_FROM)
        filled = np.flatnonzero(np.diff(segments))
        heads = segments[filled]
        keys = both.key[order[heads]] if len(heads) else np.zeros(0, np.int64)
        before = self._versions_before(cut, keys)
        # In the order of the events: of each old one the version that it was made from.
        is_old = both.lo[order] >= 0
        made_from = self._references(order, heads, both, is_old, before)
        stays = ~gone[order]
        seg = np.repeat(np.arange(len(heads)), np.diff(segments)[filled])
        stretch = self._stretch(table, both, order, seg, stays, hard, made_from, before)
        begin, lo, hi = self._gathered(stretch)
        stretch.ver_lo, stretch.ver_hi = lo["ver"], hi["ver"]
        stretch.ref_lo, stretch.ref_hi = lo["ref"], hi["ref"]
        was_lo, was_hi = stretch.ver_lo.copy(), stretch.ver_hi.copy()
        before_steps = self.stepper.measures["run_steps"]
        drive = self.stepper.drive(table, both.time, stretch, begin, fast=self._compiles(table.num_rows))
        drive.go()
        self.fast = self.fast or self.stepper.measures["run_steps"] > FAST_FROM
        self.counts["recomputed"] += self.stepper.measures["run_steps"] - before_steps
        is_event = ~stretch.base
        made = is_event & ((stretch.ver_lo != was_lo) | (stretch.ver_hi != was_hi) | (was_lo < 0))
        rows = stretch.rows[is_event]
        new_lo, new_hi = both.lo.copy(), both.hi.copy()
        finals = both.finals.copy()
        at = self.pool.append(drive.runs(np.arange(len(begin), drive.size)))
        g_lo, g_hi = self._back(stretch, made, begin, at)
        changed = stretch.rows[made]
        new_lo[changed], new_hi[changed] = g_lo, g_hi
        finals[changed] = stretch.finals[made]
        after = replace(both, lo=new_lo, hi=new_hi, finals=finals)
        # What was there of the events that changed or are gone, and what is.
        lost = np.zeros(len(both), np.bool_)
        lost[changed] = True
        lost |= gone
        retracted = self._outputs(both, np.flatnonzero(lost & (both.lo >= 0)))
        inserted = self._outputs(after, changed)
        if self.restarts and self.frontier is not None:  # what a restarted operator cannot know is final
            retracted = retracted.take(retracted.valid_from >= self.frontier)
            inserted = inserted.take(inserted.valid_from >= self.frontier)
        old_view = View(self, cut, table, both, order[is_old])
        new_view = View(self, cut, table, both, order[stays])
        result = self._difference(retracted, inserted, old_view, new_view, both)
        self._put(cut, table, after, rows)
        return result

    def _compiles(self, rows: int) -> bool | None:
        if rows >= COMPILED_FROM:
            return True
        return self.fast

    def _versions_before(self, cut: int, keys: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """For each key its last version before the region, and that event's number and time."""
        last = np.full(len(self.names), -1, np.int64)
        if cut:
            if len(self.names) == 1:
                last[0] = cut - 1
            else:
                np.maximum.at(last, self.kept.key[:cut], np.arange(cut))
        last = last[keys]
        known = last >= 0
        safe = np.maximum(last, 0)
        if not len(self.kept):
            return (self.base_lo[keys], self.base_hi[keys], self.base_rank[keys], last)
        return (
            np.where(known, self.kept.lo[safe], self.base_lo[keys]),
            np.where(known, self.kept.hi[safe], self.base_hi[keys]),
            np.where(known, self.kept.rank[safe], self.base_rank[keys]),
            last,
        )

    def _references(
        self,
        order: Ints,
        heads: Ints,
        both: Kept,
        is_old: Mask,
        before: tuple[Ints, Ints, Ints, Ints],
    ) -> tuple[Ints, Ints, Ints]:
        """By place in the order: the version that an old event was made from, and the event of it; -1 for a base."""
        many = len(order)
        # The place of the last old event before each place, or -1 - segment where there is none.
        seg = np.repeat(np.arange(len(heads)), np.diff(np.append(heads, many)))
        mark = np.where(is_old, np.arange(many), -1)
        shifted = np.concatenate([[-1], mark[:-1]]) if many else mark
        shifted[heads] = -1
        last = np.maximum.accumulate(np.where(shifted >= 0, shifted, heads[seg] - 1)) if many else shifted
        inside = last >= heads[seg] if many else np.zeros(0, np.bool_)
        safe = np.maximum(last, 0)
        lo = np.where(inside, both.lo[order[safe]], before[0][seg]) if many else order
        hi = np.where(inside, both.hi[order[safe]], before[1][seg]) if many else order
        maker = np.where(inside, both.id[order[safe]], -1) if many else order
        return np.where(is_old, lo, -1), np.where(is_old, hi, -1), maker

    def _stretch(
        self,
        table: pa.Table,
        both: Kept,
        order: Ints,
        seg: Ints,
        stays: Mask,
        hard: Mask,
        made_from: tuple[Ints, Ints, Ints],
        before: tuple[Ints, Ints, Ints, Ints],
    ) -> Stretch:
        """The events that stay, by key behind a base, and which of them are to be visited."""
        events, of = order[stays], seg[stays]
        segs, first = np.unique(of, return_index=True)
        many = len(events) + len(segs)
        bases = first + np.arange(len(segs))
        place = np.ones(many, np.bool_)
        place[bases] = False
        rows = np.full(many, -1, np.int64)
        rows[place] = events

        def spread(values: Ints, base: Any) -> Ints:
            found = np.empty(many, np.int64)
            found[place] = values
            found[bases] = base
            return found

        gap = gaps(table, self.query, rows)
        if self.sequence is not None and len(segs):
            numbers = both.rank[events[first]]
            known = before[2][segs]
            gap[bases + 1] = numbers != np.where(known == INT64_MIN, numbers, known) + 1
        hard_at = np.zeros(many, np.uint8)
        hard_at[place] = hard[events]
        ver_lo = spread(both.lo[events], before[0][segs])
        stretch = Stretch(
            rows=rows,
            ids=spread(both.id[events], -1),
            times=spread(both.time[events], 0),
            gap=gap,
            ver_lo=ver_lo,
            ver_hi=spread(both.hi[events], before[1][segs]),
            ref_lo=spread(made_from[0][stays], -1),
            ref_hi=spread(made_from[1][stays], -1),
            hard=hard_at,
            todo=np.zeros(0, np.int64),
        )
        if (
            self.sequence is not None and many
        ):  # whether a number is missing before an event hangs on its neighbour
            neighbour = np.concatenate([[-1], stretch.ids[:-1]])
            hard_at |= ((ver_lo >= 0) & place & (spread(made_from[2][stays], -1) != neighbour)).astype(
                np.uint8
            )
        # To be visited: what is new or hard, and what stands behind something that was not there or is not there now.
        visits = (ver_lo < 0) | (hard_at != 0)
        follows = np.zeros(many, np.bool_)
        if many:
            follows[1:] = (ver_lo[1:] >= 0) & place[1:]
            follows[1:] &= (stretch.ref_lo[1:] != ver_lo[:-1]) | (stretch.ref_hi[1:] != stretch.ver_hi[:-1])
        stretch.todo = np.flatnonzero((visits | follows) & place)
        return stretch

    def _gathered(self, s: Stretch) -> tuple[Runs, dict[str, Ints], dict[str, Ints]]:
        """The runs of all versions of a stretch, and its slices among them."""
        los, his = np.concatenate([s.ver_lo, s.ref_lo]), np.concatenate([s.ver_hi, s.ref_hi])
        known = los >= 0
        united, which = _united(los[known], his[known])
        starts = np.concatenate([[0], np.cumsum(united[1] - united[0])])
        rows, _ = slices(*united)
        self._from = (starts, united[0])
        lo, hi = np.full(len(los), -1, np.int64), np.full(len(los), -1, np.int64)
        moved = starts[:-1][which] - united[0][which]
        lo[known], hi[known] = los[known] + moved, his[known] + moved
        half = len(s.ver_lo)
        return (
            self.pool.runs(rows),
            {"ver": lo[:half], "ref": lo[half:]},
            {"ver": hi[:half], "ref": hi[half:]},
        )

    def _back(self, s: Stretch, made: Mask, begin: Runs, at: int) -> tuple[Ints, Ints]:
        """Slices of the stretch's runs as slices of the pool."""
        lo, hi = s.ver_lo[made], s.ver_hi[made]
        starts, origins = self._from
        fresh = lo >= len(begin)
        which = np.clip(np.searchsorted(starts, lo, side="right") - 1, 0, max(len(origins) - 1, 0))
        # A slice of what was there before begins inside one of those that were gathered.
        shared = origins[which] + lo - starts[which] if len(origins) else lo
        g_lo = np.where(fresh, lo - len(begin) + at, shared)
        empty = lo == hi
        g_lo = np.where(empty, 0, g_lo)
        return g_lo, g_lo + (hi - lo)

    def _outputs(self, events: Kept, rows: Ints) -> Found:
        """The output events at some events, `end` being their ids."""
        rows = rows[events.finals[rows] > 0]
        which, of = slices(events.lo[rows], events.hi[rows])
        good = np.isin(self.pool.arrays["state"][which], list(self.query.final))
        which, of = which[good], rows[of[good]]
        return accepted(self.pool.runs(which), events.id[of], events.time[of], self.query)

    def _difference(
        self, old: Found, new: Found, old_view: View, new_view: View, both: Kept
    ) -> tuple[Changes, Changes]:
        """What is in one of them only."""
        if len(old) and len(new):
            tokens = [mixed(names_of(f, self.query)) for f in (old, new)]
            in_new, in_old = np.isin(tokens[0], tokens[1]), np.isin(tokens[1], tokens[0])
            old, new = old.take(~in_new), new.take(~in_old)
        return self._changes(old, old_view, both), self._changes(new, new_view, both)

    def _changes(self, found: Found, view: View, both: Kept) -> Changes:
        if not len(found):
            return self._nothing()
        by_id = np.argsort(both.id, kind="stable")
        key = both.key[by_id[np.searchsorted(both.id[by_id], found.end)]]
        return Changes(found, key, view.lists(found) if self.events else None)

    def _put(self, cut: int, table: pa.Table, after: Kept, rows: Ints) -> None:
        """Keep what stays, in order of rank."""
        stays = after.take(rows)
        if len(rows) and bool((stays.rank[1:] < stays.rank[:-1]).any()):
            rows = rows[np.argsort(stays.rank, kind="stable")]
            stays = after.take(rows)
        if len(rows) == table.num_rows and bool((rows[1:] > rows[:-1]).all()):
            tail = table
        else:
            tail = rows_of_table(table, rows)
        if cut:
            head = self.kept.take(slice(0, cut))
            stays = Kept.joined([head, stays])
            tail = pa.concat_tables([self.table.slice(0, cut), tail])
        self.kept, self.table = stays, tail
        if self.table.num_columns and self.table.column(0).num_chunks > CHUNKS:
            self.table = self.table.combine_chunks()
        self._sweep()

    def _sweep(self) -> None:
        """Drop the runs that no version has any more, when they are many: looked for when the pool has doubled."""
        if self.pool.size <= max(SPARE, 2 * self._swept):
            return
        lo, hi = (np.concatenate([getattr(self.kept, n), getattr(self, f"base_{n}")]) for n in ("lo", "hi"))
        united, which = _united(lo, hi)
        lengths = united[1] - united[0]
        self._swept = self.pool.size
        if self.pool.size <= 2 * int(lengths.sum()) + SPARE:
            return
        rows, _ = slices(*united)
        old, self.pool = self.pool, Pool(self.query, self.stepper.options.extras)
        self.pool.append(old.runs(rows))
        moved = (np.cumsum(lengths) - lengths - united[0])[which]
        lo, hi = lo + moved, hi + moved
        many = len(self.kept)
        self.kept = replace(self.kept, lo=lo[:many], hi=hi[:many])
        self.base_lo, self.base_hi = lo[many:], hi[many:]

    # -------------------------------------------------------------- windows that end

    def window_ends(self, frontier: int | None) -> Changes:
        """The output events of arcs that wait for the window's end, of windows that end before the frontier."""
        waits = [a.source for a in self.query.arcs if a.takes is Takes.WINDOW_END]
        window = self.query.window
        if not waits or window is None:
            return self._nothing()
        # Places: each key's base, then its events.
        many = len(self.names)
        lo, hi = (np.concatenate([getattr(self, f"base_{n}"), getattr(self.kept, n)]) for n in ("lo", "hi"))
        key = np.concatenate([np.arange(many), self.kept.key])
        time = np.concatenate([self.base_time, self.kept.time])
        ids = np.concatenate([self.base_id, self.kept.id])
        order = np.argsort(key, kind="stable")
        after = np.full(len(key), INT64_MAX, np.int64)
        nxt = order[1:]
        same = key[order[:-1]] == key[nxt]
        after[order[:-1][same]] = time[nxt[same]]
        has_next = np.zeros(len(key), np.bool_)
        has_next[order[:-1][same]] = True
        rows, of = slices(lo, hi)
        good = np.isin(self.pool.arrays["state"][rows], waits)
        rows, of = rows[good], of[good]
        first = self.pool.arrays["first"][rows]
        end = np.where(
            first > INT64_MAX - window,
            INT64_MAX,
            first + np.minimum(window, INT64_MAX - np.maximum(first, 0)),
        )
        passed = ~has_next[of] | (end <= after[of])
        if frontier is not None:
            passed &= end <= frontier
        if self.frontier is not None:
            passed &= end > self.frontier
        rows, of = rows[passed], of[passed]
        if not len(rows):
            return self._nothing()
        runs = self.pool.runs(rows)
        known = self._known_at(np.unique(of), lo, hi, ids, time)
        found = ended(runs, ids[of], self.query, known)
        by_id = {int(i): int(k) for i, k in zip(ids[of], key[of], strict=True)}
        keys = np.array([by_id[int(i)] for i in found.end], np.int64)
        view = View(self, len(self.kept), no_rows(self.schema), Kept.none(), np.zeros(0, np.int64))
        return Changes(found, keys, view.lists(found) if self.events else None)

    def _known_at(self, places: Ints, lo: Ints, hi: Ints, ids: Ints, time: Ints) -> Found:
        rows, of = slices(lo[places], hi[places])
        good = np.isin(self.pool.arrays["state"][rows], list(self.query.final))
        rows, of = rows[good], places[of[good]]
        return accepted(self.pool.runs(rows), ids[of], time[of], self.query)

    # -------------------------------------------------------------- what is forgotten

    def oldest(self, frontier: int) -> int:
        """The earliest time of an event that may be matched anew after the frontier: a restart begins a window before."""
        if not self.restarts:
            return frontier
        window = self.query.window
        return INT64_MIN if window is None or frontier <= INT64_MIN + window else frontier - window + 1

    def forget(self, frontier: int) -> None:
        """No event before the frontier comes any more: what lies before it becomes each key's base."""
        before = self.kept.time < self.oldest(frontier)
        if (
            self.sequence is not None
        ):  # of each key what stands before its first event that may have company yet
            first = np.full(len(self.names), len(self.kept), np.int64)
            np.minimum.at(first, self.kept.key[~before], np.flatnonzero(~before))
            before = np.arange(len(self.kept)) < first[self.kept.key]
        old = np.flatnonzero(before)
        self.frontier = frontier
        if len(old):
            last = np.full(len(self.names), -1, np.int64)
            np.maximum.at(last, self.kept.key[old], old)
            keys = np.flatnonzero(last >= 0)
            at = last[keys]
            self.base_lo[keys], self.base_hi[keys] = self.kept.lo[at], self.kept.hi[at]
            self.base_rank[keys], self.base_time[keys] = self.kept.rank[at], self.kept.time[at]
            self.base_id[keys] = self.kept.id[at]
            if self.restarts:
                self.base_lo[keys] = self.base_hi[keys] = 0
            if self.events:
                self.archive = pa.concat_tables([self.archive, rows_of_table(self.table, old)])
                self.archived = Kept.joined([self.archived, self.kept.take(old)])
            rest = np.flatnonzero(~before)
            if len(rest) and rest[0] + len(rest) == len(self.kept):
                self.table = self.table.slice(int(rest[0]))
            else:
                self.table = rows_of_table(self.table, rest)
            self.kept = self.kept.take(rest)
        self._expire(frontier)
        if self.events:
            self._forget_lists()
        self._swept = 0
        self._sweep()

    def _expire(self, frontier: int) -> None:
        """Drop from the bases the runs whose windows have passed."""
        window = self.query.window
        if window is None or self.sequence is not None or frontier < INT64_MIN + window:
            return
        rows, of = slices(self.base_lo, self.base_hi)
        gone = self.pool.arrays["first"][rows] <= frontier - window
        self.base_lo = self.base_lo + np.bincount(of[gone], minlength=len(self.base_lo))

    def _forget_lists(self) -> None:
        """Keep of the forgotten events what stands behind the first one of a run."""
        if not len(self.archived):
            return
        lo, hi = (np.concatenate([getattr(self, f"base_{n}"), getattr(self.kept, n)]) for n in ("lo", "hi"))
        rows, _ = slices(lo, hi)
        ids = np.unique(self.pool.arrays["id"][rows])
        needed = np.isin(self.archived.id, ids)
        first = np.full(len(self.names), INT64_MAX, np.int64)
        np.minimum.at(first, self.archived.key[needed], self.archived.rank[needed])
        stays = np.flatnonzero(self.archived.rank >= first[self.archived.key])
        if len(stays) < len(self.archived):
            self.archive = rows_of_table(self.archive, stays)
            self.archived = self.archived.take(stays)

    # -------------------------------------------------------------- what is told

    @property
    def live_runs(self) -> int:
        """The runs of each key's newest version."""
        last = np.full(len(self.names), -1, np.int64)
        np.maximum.at(last, self.kept.key, np.arange(len(self.kept)))
        sizes = self.base_hi - self.base_lo
        known = last >= 0
        sizes = sizes.copy()
        sizes[known] = self.kept.hi[last[known]] - self.kept.lo[last[known]]
        return int(sizes.sum())

    @property
    def nodes(self) -> int:
        """The runs of all versions that are kept, shared ones once."""
        lo, hi = (np.concatenate([getattr(self.kept, n), getattr(self, f"base_{n}")]) for n in ("lo", "hi"))
        united, _ = _united(lo, hi)
        return int((united[1] - united[0]).sum())


def _united(lo: Ints, hi: Ints) -> tuple[tuple[Ints, Ints], Ints]:
    """The stretches of the pool that some slices cover, each row once, and in which of them each slice lies."""
    if not len(lo):
        return (lo, hi), lo
    order = np.lexsort((hi, lo))
    ends = np.maximum.accumulate(hi[order])
    fresh = np.ones(len(lo), np.bool_)
    fresh[1:] = lo[order[1:]] >= ends[:-1]  # those that touch stay apart: an empty one lies in its own
    begins = np.flatnonzero(fresh)
    which = np.empty(len(lo), np.int64)
    which[order] = np.cumsum(fresh) - 1
    return (lo[order[begins]], ends[np.append(begins[1:], len(lo)) - 1]), which
