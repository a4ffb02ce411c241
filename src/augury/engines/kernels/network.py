"""Many automata of CESAR in one loop, their edges and guards being data: no query has code of its own.

Events come in order of their ends; those of one end are one group, and a run sees all of them or none: it stays only if
no event of the group satisfies its filter (∀), and moves by each that does (∃). Three indexes say what to look at:

    edges by the equalities of their static part, hashed (FR), or by one range, sorted; the rest one by one
    runs by the equality of their state's filter: with a constant (AN), or with what they carry (AI)

What an index finds is tested in full, so that two keys may share a slot. Words are int64; a double is its bits, a text a
number of the host's. `program` is not here: it evaluates what depends on both, see `programs`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

DONE, PENDING_FULL, RUNS_FULL, OUTPUT_FULL = range(4)

# Places of `control`.
AT, STOP, LIVE, FREE, OUT, STAMP, PROBE, EVALUATIONS, PEAK, NEED, PENDING, VISITED = range(12)
CONTROL = 12

EQ, NE, LT, LE, GT, GE = range(6)
FLOATS = 8  # added to a comparison of doubles
COPY_EVENT, COPY_RUN, COMPUTE, CONSTANT = range(4)
NOT_INDEXED, BY_HASH, BY_RANGE, ALWAYS = range(4)  # how an edge is found
BELOW, ABOVE = range(2)  # a range list has constants that events are above (or equal), or below

_MASK = 0x7FFFFFFFFFFFFFFF
_LEAST = -0x8000000000000000


def as_float(word: int) -> float:
    return np.int64(word).view(np.float64)


def as_word(value: float) -> int:
    return np.float64(value).view(np.int64)  # type: ignore[return-value]  # a plain number, once compiled


def mix(h: int, word: int) -> int:
    h = ((h ^ (word & _MASK)) * 0x5851F42D4C957F2D) & _MASK
    return h ^ (h >> 32)


def ordered(word: int, is_float: int) -> int:
    """A word whose order as an integer is that of the value."""
    if not is_float:
        return word
    if word == _LEAST:
        return 0
    return word ^ ((word >> 63) & _MASK)


def compared(op: int, x: int, y: int) -> bool:
    if op >= 8:
        u = as_float(x)
        v = as_float(y)
        if op == 8:
            return u == v
        if op == 9:
            return u != v
        if op == 10:
            return u < v
        if op == 11:
            return u <= v
        if op == 12:
            return u > v
        return u >= v
    if op == 0:
        return x == y
    if op == 1:
        return x != y
    if op == 2:
        return x < y
    if op == 3:
        return x <= y
    if op == 4:
        return x > y
    return x >= y


def holds(first: int, last: int, e: int, ev: Any, au: Any) -> bool:
    """Whether an event satisfies some static comparisons."""
    base = e * au.width
    for a in range(first, last):
        p = base + au.atom_column[a]
        if ev.nulls[p] or not compared(au.atom_op[a], ev.words[p], au.atom_word[a]):
            return False
    return True


def program(p: int, k: int, e: int, ev: Any, au: Any, st: Any) -> tuple[int, bool]:
    """Here for readers: the sources are joined, and the one of `machine` (or of an interpreter) takes its place."""
    raise NotImplementedError


def satisfied(p: int, k: int, e: int, ev: Any, au: Any, st: Any) -> bool:
    """Whether a program's condition is true for a run and an event."""
    st.control[EVALUATIONS] += 1
    word, null = program(p, k, e, ev, au, st)
    return word != 0 and not null


# ------------------------------------------------------------------ indexes


def index_edges(first: int, last: int, au: Any) -> None:
    """Chains some edges into the hash table of their signatures."""
    size = len(au.found_head) - 1
    for edge in range(first, last):
        s = au.edge_signature[edge]
        if s < 0:
            continue
        h = mix(0, s)
        for c in range(au.signature_start[s], au.signature_start[s + 1]):
            a = au.edge_atoms[edge]
            while au.atom_column[a] != au.signature_column[c] or au.atom_op[a] != EQ:
                a += 1
            h = mix(h, au.atom_word[a])
        slot = h & size
        au.edge_found[edge] = au.found_head[slot]
        au.found_head[slot] = edge


def slot_of_run(node: int, k: int, au: Any, st: Any) -> int:
    """The slot of the table in which a run waits."""
    column = au.node_column[node]
    word = 0
    if column >= 0:
        register = au.node_register[node]
        word = au.node_word[node] if register < 0 else st.regs[k * au.registers + register]
    return mix(mix(column + 1, word), st.key[k]) & (len(st.head) - 1)


def index_runs(au: Any, st: Any) -> None:
    """Chains all live runs anew, after the table has grown."""
    for slot in range(len(st.head)):
        st.head[slot] = -1
    for k in range(len(st.node)):
        if st.node[k] >= 0:
            slot = slot_of_run(st.node[k], k, au, st)
            st.next[k] = st.head[slot]
            st.head[slot] = k


def chain_free(first: int, st: Any) -> None:
    """Gives new places, from one on, to those that take runs."""
    for k in range(len(st.node) - 1, first - 1, -1):
        st.node[k] = -1
        st.next[k] = st.control[FREE]
        st.control[FREE] = k


def expired(start: int, end: int, longest: int) -> bool:
    """Whether a run is too old for its filter, or for all of its edges, to be true ever again."""
    return longest != _MASK and end - start >= longest


def sweep(now: int, au: Any, st: Any) -> None:
    """Drops the runs that no event from an instant on can move. All chains must be made anew."""
    for k in range(len(st.node)):
        node = st.node[k]
        if node >= 0 and (au.node_dead[node] or expired(st.start[k], now, au.node_longest[node])):
            st.node[k] = -1
            st.control[LIVE] -= 1
    st.control[FREE] = -1
    for k in range(len(st.node) - 1, -1, -1):
        if st.node[k] < 0:
            st.next[k] = st.control[FREE]
            st.control[FREE] = k


# ------------------------------------------------------------------ one event, one group


def same_row(p: int, q: int, width: int, st: Any) -> bool:
    if st.pending_node[p] != st.pending_node[q] or st.pending_start[p] != st.pending_start[q]:
        return False
    if st.pending_key[p] != st.pending_key[q]:
        return False
    for r in range(width):
        if st.pending_null[p * width + r] != st.pending_null[q * width + r]:
            return False
        if st.pending_regs[p * width + r] != st.pending_regs[q * width + r]:
            return False
    return True


def emit(edge: int, k: int, e: int, ev: Any, au: Any, st: Any) -> bool:
    """A new run by an edge from a run (or none) and an event, unless the group has made an equal one."""
    p = st.control[PENDING]
    if p >= len(st.pending_node):
        return False
    width = au.registers
    node = au.edge_target[edge]
    st.pending_node[p] = node
    st.pending_start[p] = ev.start[e] if k < 0 else st.start[k]
    st.pending_key[p] = ev.key[e]
    base = p * width
    h = mix(mix(node, st.pending_start[p]), ev.key[e])
    for m in range(au.edge_moves[edge], au.edge_moves_end[edge]):
        kind = au.move_kind[m]
        source = au.move_source[m]
        word = 0
        null = False
        if kind == COPY_EVENT:
            word = ev.words[e * au.width + source]
            null = ev.nulls[e * au.width + source] != 0
        elif kind == COPY_RUN:
            word = st.regs[k * width + source]
            null = st.null[k * width + source] != 0
        elif kind == CONSTANT:
            word = au.constants[source]
            null = au.constant_null[source] != 0
        else:
            word, null = program(source, k, e, ev, au, st)
        if null:
            word = 0
        r = base + au.move_target[m]
        st.pending_regs[r] = word
        st.pending_null[r] = null
        h = mix(h, word)
    for r in range(base + au.node_registers[node], base + width):
        st.pending_regs[r] = 0
        st.pending_null[r] = 0
    # Equal runs of one group are one: a set has no copies.
    size = len(st.twin_stamp) - 1
    slot = h & size
    while st.twin_stamp[slot] == st.control[STAMP]:
        if same_row(st.twin[slot], p, width, st):
            return True
        slot = (slot + 1) & size
    st.twin_stamp[slot] = st.control[STAMP]
    st.twin[slot] = p
    st.control[PENDING] = p + 1
    return True


def take_edge(edge: int, e: int, ev: Any, au: Any, st: Any) -> bool:
    """An edge whose index key an event has: a start edge is taken, another noted with its source."""
    if au.edge_dead[edge] or not holds(au.edge_atoms[edge], au.edge_atoms_end[edge], e, ev, au):
        return True
    source = au.edge_source[edge]
    if source < 0:
        if ev.end[e] < au.edge_from[edge]:
            return True
        if au.edge_program[edge] >= 0 and not satisfied(au.edge_program[edge], -1, e, ev, au, st):
            return True
        return emit(edge, -1, e, ev, au, st)
    if st.noted_stamp[source] != st.control[PROBE]:
        st.noted_stamp[source] = st.control[PROBE]
        st.noted_head[source] = -1
    st.noted_next[edge] = st.noted_head[source]
    st.noted_head[source] = edge
    return True


def find_edges(e: int, ev: Any, au: Any, st: Any) -> bool:
    """All edges whose static part an event satisfies, of those that are indexed."""
    base = e * au.width
    size = len(au.found_head) - 1
    for s in range(len(au.signature_start) - 1):
        h = mix(0, s)
        known = True
        for c in range(au.signature_start[s], au.signature_start[s + 1]):
            p = base + au.signature_column[c]
            if ev.nulls[p]:
                known = False
                break
            h = mix(h, ev.words[p])
        if not known:
            continue
        edge = au.found_head[h & size]
        while edge >= 0:
            if au.edge_signature[edge] == s and not take_edge(edge, e, ev, au, st):
                return False
            edge = au.edge_found[edge]
    for r in range(len(au.range_column)):
        p = base + au.range_column[r]
        if ev.nulls[p]:
            continue
        word = ordered(ev.words[p], au.range_float[r])
        at = au.range_start[r]
        last = au.range_start[r + 1]
        step = 1
        if au.range_side[r] == ABOVE:
            at, last, step = last - 1, at - 1, -1
        while at != last:
            if (au.range_word[at] > word) if step > 0 else (au.range_word[at] < word):
                break
            if not take_edge(au.range_edge[at], e, ev, au, st):
                return False
            at += step
    for i in range(len(au.always)):  # noqa: SIM110  # Numba compiles no generators
        if not take_edge(au.always[i], e, ev, au, st):
            return False
    return True


def move_run(k: int, e: int, ev: Any, au: Any, st: Any) -> bool:
    """What an event does to a run that it found: nothing, or the run is hit and moves by all edges that it can."""
    node = st.node[k]
    if au.node_dead[node] or expired(st.start[k], ev.end[e], au.node_longest[node]):
        st.hit[k] = st.control[STAMP]
        return True
    if ev.start[e] <= st.end[k]:
        return True
    if not holds(au.node_atoms[node], au.node_atoms_end[node], e, ev, au):
        return True
    for i in range(au.node_programs[node], au.node_programs_end[node]):
        if not satisfied(i, k, e, ev, au, st):
            return True
    st.hit[k] = st.control[STAMP]
    edge = au.node_edge[node]
    while edge >= 0:
        if (
            not au.edge_dead[edge]
            and holds(au.edge_atoms[edge], au.edge_atoms_end[edge], e, ev, au)
            and (au.edge_program[edge] < 0 or satisfied(au.edge_program[edge], k, e, ev, au, st))
            and not emit(edge, k, e, ev, au, st)
        ):
            return False
        edge = au.edge_next[edge]
    if st.noted_stamp[node] == st.control[PROBE]:
        edge = st.noted_head[node]
        while edge >= 0:
            asks = au.edge_program[edge]
            if (asks < 0 or satisfied(asks, k, e, ev, au, st)) and not emit(edge, k, e, ev, au, st):
                return False
            edge = st.noted_next[edge]
    return True


def move_runs(e: int, ev: Any, au: Any, st: Any) -> bool:
    """All runs that an event may move, by the columns that index them."""
    control = st.control
    size = len(st.head) - 1
    key = ev.key[e]
    for i in range(len(au.run_column)):
        column = au.run_column[i]
        word = 0
        if column >= 0:
            p = e * au.width + column
            if ev.nulls[p]:
                continue
            word = ev.words[p]
        slot = mix(mix(column + 1, word), key) & size
        k = st.head[slot]
        if k < 0:
            continue
        if st.slot_stamp[slot] != control[STAMP]:
            st.slot_stamp[slot] = control[STAMP]
            st.visited[control[VISITED]] = slot
            control[VISITED] += 1
        while k >= 0:
            mine = au.node_column[st.node[k]] == column and st.key[k] == key
            if mine and not move_run(k, e, ev, au, st):
                return False
            k = st.next[k]
    return True


def settle(au: Any, st: Any, end: int) -> None:
    """The end of a group: runs that were hit go, new ones come, and what is final is put out."""
    control = st.control
    width = au.registers
    for v in range(control[VISITED]):
        slot = st.visited[v]
        before = -1
        k = st.head[slot]
        while k >= 0:
            after = st.next[k]
            if st.hit[k] == control[STAMP]:
                if before < 0:
                    st.head[slot] = after
                else:
                    st.next[before] = after
                st.node[k] = -1
                st.next[k] = control[FREE]
                control[FREE] = k
                control[LIVE] -= 1
            else:
                before = k
            k = after
    for p in range(control[PENDING]):
        node = st.pending_node[p]
        base = p * width
        if au.node_final[node]:
            o = control[OUT]
            st.out_node[o] = node
            st.out_start[o] = st.pending_start[p]
            st.out_end[o] = end
            st.out_key[o] = st.pending_key[p]
            for r in range(width):
                st.out_regs[o * width + r] = st.pending_regs[base + r]
                st.out_null[o * width + r] = st.pending_null[base + r]
            control[OUT] = o + 1
            continue
        k = control[FREE]
        control[FREE] = st.next[k]
        control[LIVE] += 1
        st.node[k] = node
        st.start[k] = st.pending_start[p]
        st.end[k] = end
        st.key[k] = st.pending_key[p]
        st.hit[k] = 0
        for r in range(width):
            st.regs[k * width + r] = st.pending_regs[base + r]
            st.null[k * width + r] = st.pending_null[base + r]
        slot = slot_of_run(node, k, au, st)
        st.next[k] = st.head[slot]
        st.head[slot] = k
    control[PEAK] = max(control[PEAK], control[LIVE])


def group(first: int, last: int, ev: Any, au: Any, st: Any) -> int:
    """The events of one end. Where it says that there is no room, nothing has been changed."""
    control = st.control
    control[STAMP] += 1
    control[PENDING] = 0
    control[VISITED] = 0
    for e in range(first, last):
        control[PROBE] += 1
        if not find_edges(e, ev, au, st) or not move_runs(e, ev, au, st):
            return PENDING_FULL
    if control[OUT] + control[PENDING] > len(st.out_node):
        return OUTPUT_FULL
    if control[LIVE] + control[PENDING] > len(st.node):
        return RUNS_FULL
    settle(au, st, ev.end[first])
    return DONE


def drive(ev: Any, au: Any, st: Any) -> int:
    """Events from AT on, as far as there is room."""
    control = st.control
    first = control[AT]
    stop = control[STOP]
    while first < stop:
        last = first + 1
        while last < stop and ev.end[last] == ev.end[first]:
            last += 1
        why = group(first, last, ev, au, st)
        if why != DONE:
            control[AT] = first
            return why
        first = last
    control[AT] = first
    return DONE


FUNCTIONS = (
    "as_float",
    "as_word",
    "mix",
    "ordered",
    "compared",
    "holds",
    "program",
    "satisfied",
    "index_edges",
    "slot_of_run",
    "index_runs",
    "chain_free",
    "expired",
    "sweep",
    "same_row",
    "emit",
    "take_edge",
    "find_edges",
    "move_run",
    "move_runs",
    "settle",
    "group",
    "drive",
)
"""In an order in which each calls only those before it."""

CALLED = ("index_edges", "index_runs", "chain_free", "sweep", "drive")
"""Those that are called from outside. The others become part of them."""
