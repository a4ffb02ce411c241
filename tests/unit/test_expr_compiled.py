"""The source compiled by Numba says what it says uncompiled: every operator and function once or more."""

from decimal import Decimal

import numba
import pyarrow as pa
import pytest

from augury.expr import functions
from augury.lang.sase import parse_expression
from readings import Kernel, bits, interpreted, typed_over

NAN, INF = float("nan"), float("inf")
MIN, MAX = -(2**63), 2**63 - 1

TABLE = pa.table(
    {
        "x": [1.5, None, NAN, -2.5, INF, 1e300, 0.0, 2.675],
        "y": [0.0, -0.0, 2.0, 1e300, -INF, 710.0, NAN, -3.0],
        "i": [1, 2, None, MAX, MIN, -7, 0, 150],
        "j": [0, MIN, 5, -1, -1, 3, MAX, -2],
        "k": pa.array([1, 2, -128, 4, 127, 0, 100, None], pa.int8()),
        "u": pa.array([0, 2**64 - 1, None, 5, 2**63, 1, 2**53 + 1, 150], pa.uint64()),
        "d": [
            Decimal(v) if v else None
            for v in ["0.10", None, "2.50", "3.00", "-7.00", "0.00", "150.01", "150.00"]
        ],
        "s": ["aß", "b%", None, "Straße", "", "😀", "a\nb", "ab"],
        "r": ["a%", "", "%b_", "B", "%", "_", "a_b", "a\\"],
        "b": [b"a", b"", None, b"\xff", b"b", b"c", b"d", b"a"],
        "p": [True, None, False, True, None, False, True, None],
        "q": [False, True, True, None, None, False, True, False],
        "t": pa.array([1, 2, None, 3, -1, 0, MAX // 10**6, 5]).view(pa.timestamp("s")),
        "o": pa.array([1, 2, None, 3, -1, 0, 2**31 - 1, 5], pa.int32()).view(pa.date32()),
        "w": pa.array([1, -2, None, 3, 0, MAX, MIN, 5]).view(pa.duration("us")),
        "l": [
            [1.0, 2.0, 3.0],
            [1.0, 2.0],
            None,
            [4.0, 5.0, 9.0],
            [],
            [1.0, NAN],
            [1.0, None, 3.0],
            [2.0, 2.0],
        ],
        "m": [[1, 2, None], [1, 2], None, [4, 5, 8], [], [1, 2], [3, 2, 1], [1, 2]],
    }
)

NUMBERS = """
    a.x + a.y * 2 - a.x | a.x / a.y | a.x % a.y | -a.x | a.i + a.j | a.i - a.j | a.i * a.j | a.i % a.j | -a.j
    a.i / a.k | a.k + 1 | a.u + 1 | -a.u | a.d * 2 | a.t - a.o | a.t + 5 minutes | a.w * 2 / 3 seconds | abs(a.w)
    round(a.x) | round(a.x, 2) | round(a.i, -2) | ceil(a.x) | floor(a.y) | abs(a.j) | abs(a.x) | sqrt(a.x)
    ln(a.x) | exp(a.y) | pow(a.x, 2) | pow(a.x, a.y) | least(a.x, a.y, 1) | greatest(a.i, a.j) | greatest(a.x, a.y)
    least(a.u, a.u) | coalesce(a.u, a.u) | coalesce(a.x, a.y) | length(a.s) | length(a.b) | length(a.l)
    corr(a.l, a.m) | gap(a.x, a.y) | steps(a.k, 3)
"""
CONDITIONS = """
    a.u > a.i | a.u = a.j | a.u < 18446744073709551615 | a.d = 0.1 | a.d > a.i | a.d <= a.u | a.i < 2.5
    a.d IN (0.1, 3) | a.i IN (1, 2, NULL) | a.i IN (1, 2, 3, 4, 5, 6, 7, 8, 150) | a.x IN (1, 2, 3, 4, 5, 6, 7, 8, 1.5)
    a.s IN ('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'b%') | a.s LIKE '%ß%' | a.s LIKE a.r | a.s < a.r | a.b >= a.b
    lower(upper(a.s)) = 'strasse' | greatest(a.s, a.r) = a.r | coalesce(a.s, 'x') = 'x' | a.x BETWEEN 1 AND a.y
    a.x IS NULL | a.s IS NOT NULL | a.p AND a.q | a.p OR NOT a.q | NOT (a.p AND a.q) | (a.p AND a.q) = (a.p OR a.q)
    a.p < a.q | a.p = TRUE | a.x > 1 OR a.i = 2 AND a.i / a.j > 0 | a.t > '1970-01-01' | odd(a.i) AND a.p
"""


@pytest.fixture(scope="module")
def _registered():
    before = dict(functions._registered)

    def gap(x: float, y: float) -> float:
        return None if y > 1e200 else x - y

    def steps(n: int, by: int) -> int:
        return n * by

    def odd(n: int) -> bool:
        return n % 2 == 1

    for fn in (gap, steps, odd):
        functions.function(fn)
    yield
    functions._registered.clear()
    functions._registered.update(before)


@pytest.mark.slow
@pytest.mark.usefixtures("_registered")
@pytest.mark.parametrize("texts", [NUMBERS, CONDITIONS], ids=["numbers", "conditions"])
def test_compiled_and_plain_source_agree_with_the_definition(texts):
    texts = [t.strip() for line in texts.strip().splitlines() for t in line.split("|")]
    nodes = [typed_over(parse_expression(t), TABLE) for t in texts]
    kernel = Kernel(nodes, TABLE)
    expected = interpreted(nodes, TABLE)
    for found in (kernel.run(), kernel.run(numba.njit)):
        for text, values, right in zip(texts, found, expected, strict=True):
            assert [bits(v) for v in values] == [bits(v) for v in right], text
