"""The generated source: what it looks like, when it calls what, and that nothing of a query gets into it."""

import io
import keyword
import re
import tokenize
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from augury.errors import QueryError
from augury.expr import functions, scalars, types
from augury.expr.check import check
from augury.expr.source import Emitter, Inputs, Scalar
from augury.expr.tree import At, Attr, Binary, Call, Len, Literal
from augury.lang.sase import parse_expression
from readings import Kernel, interpreted, typed_over, vectorised

TYPES = {
    "x": pa.float64(),
    "y": pa.float64(),
    "i": pa.int64(),
    "j": pa.int64(),
    "k": pa.int32(),
    "u": pa.uint64(),
    "d": pa.decimal128(9, 2),
    "s": pa.string(),
    "r": pa.string(),
    "p": pa.bool_(),
    "q": pa.bool_(),
    "l": pa.list_(pa.float64()),
    "t": pa.timestamp("us"),
    "o": pa.struct([("z", pa.int64())]),
}


@pytest.fixture(autouse=True)
def _registered():
    before = dict(functions._registered)
    yield
    functions._registered.clear()
    functions._registered.update(before)


def emitted(text, nullable="", what="condition"):
    """What is generated for an expression where the columns named in `nullable` may be null."""
    node = check(parse_expression(text), lambda ref: types.from_arrow(TYPES[ref.name]))
    inputs = Inputs()
    emitter = Emitter(
        lambda ref: (
            Scalar("len_a")
            if isinstance(ref, Len)
            else Scalar(f"{ref.name}[i]", f"{ref.name}_null[i]" if ref.name in nullable else None)
        ),
        inputs,
    )
    lines, found = getattr(emitter, what)(node)
    return "\n".join([*lines, found if what == "condition" else f"{found.value} unless {found.null}"])


SHAPES = [
    ("a.x > 0.8 * a.y", "", "x[i] > 0.8 * y[i]"),
    ("a.x > 0.8 * a.y", "y", "not y_null[i] and x[i] > 0.8 * y[i]"),
    ("NOT a.x > a.y", "x", "not x_null[i] and not x[i] > y[i]"),
    ("NOT a.i > a.j", "", "i[i] <= j[i]"),
    ("NOT (a.p AND a.i > 1)", "p", "not p_null[i] and not p[i] or i[i] <= 1"),
    ("a.p OR NOT a.q", "", "p[i] or not q[i]"),
    ("(a.x + a.y) * 2 - -a.x > 0", "", "(x[i] + y[i]) * 2.0 - -x[i] > 0.0"),
    ("a.x - (a.y - 1) > 0", "", "x[i] - (y[i] - 1.0) > 0.0"),
    ("a.x BETWEEN 1 AND 2", "x", "not x_null[i] and x[i] >= 1.0 and x[i] <= 2.0"),
    ("a.x / a.y > 1", "", "y[i] != 0.0 and x[i] / y[i] > 1.0"),
    ("a.x / 2 > 1", "", "x[i] / 2.0 > 1.0"),
    ("a.k + 1 > 5", "", "k[i] + 1 > 5"),
    ("a.i + 1 > 5", "", "not add_overflows(i[i], 1) and i[i] + 1 > 5"),
    ("a.s = 'IBM'", "", "s[i] == ks[0]"),
    ("a.s IN ('a', 'b')", "", "s[i] == ks[0] or s[i] == ks[1]"),
    ("a.i IN (1, 2, 3, 4, 5, 6, 7, 8, 9)", "", "member(set0, i[i])"),
    ("lower(a.s) LIKE 'a%'", "s", "not s_null[i] and matches0[lower_of[s[i]]]"),
    ("length(a.s) > 3", "", "length_of[s[i]] > 3"),
    ("a.x IS NULL", "x", "x_null[i]"),
    ("a.x IS NULL", "", "False"),
    ("a.x IS NOT NULL OR a.p", "", "True"),
    ("a.x = NULL", "", "False"),
    ("a.i > 2.5", "", "float(i[i]) > 2.5"),
    ("a.d > a.i", "", "order(i[i], signed_whole_of[d[i]], signed_part_of[d[i]]) < 0"),
    ("coalesce(a.x, 0) > 1", "x", "(x[i] if not x_null[i] else 0.0) > 1.0"),
    ("pow(a.x, 2) > 1", "", "power(x[i], kf[0]) > 1.0"),
    (
        "a.i * 2 + 1 > a.j",
        "",
        (
            "n0 = multiply_overflows(i[i], 2)\n"
            "t0 = 0 if n0 else i[i] * 2\n"
            "not n0 and not add_overflows(t0, 1) and t0 + 1 > j[i]"
        ),
    ),
    (
        "a.p AND a.i * 2 + 1 > a.j",
        "",
        (
            "c0 = p[i]\n"
            "if c0:\n"
            "    n0 = multiply_overflows(i[i], 2)\n"
            "    t0 = 0 if n0 else i[i] * 2\n"
            "    c0 = not n0 and not add_overflows(t0, 1) and t0 + 1 > j[i]\n"
            "c0"
        ),
    ),
]


@pytest.mark.parametrize(("text", "nullable", "expected"), SHAPES)
def test_the_source_can_be_read(text, nullable, expected):
    assert emitted(text, nullable) == expected


def test_a_value_comes_with_its_null_test():
    assert emitted("a.x + 1", "x", "value") == "x[i] + 1.0 unless x_null[i]"
    assert emitted("a.x + 1", "", "value") == "x[i] + 1.0 unless None"
    assert emitted("a.i % a.j", "", "value") == "remainder(i[i], j[i]) unless j[i] == 0"


def test_what_cannot_overflow_is_not_tested():
    for text in ("a.k + a.k", "a.k * a.k", "-a.k", "abs(a.k)", "a.k * 1000 - a.k", "a.LEN + 1"):
        assert emitted(text, "", "value").endswith("unless None")
    for text in ("a.i + 1", "a.k * a.k * a.k", "-a.i", "abs(a.i)", "a.t - a.t"):
        assert not emitted(text, "", "value").endswith("unless None")


@pytest.mark.parametrize(
    "text", [f"a.s {op} a.r" for op in ("<", "<=", ">", ">=")] + ["least(a.s, a.r) = 'a'", "max(a[].s) = 'b'"]
)
def test_codes_are_put_in_order_only_for_who_compares_them(text):
    def ordered(text):
        node = check(parse_expression(text), lambda ref: types.from_arrow(TYPES[ref.name]))
        inputs = Inputs()
        Emitter(lambda _: Scalar("s[i]"), inputs).condition(node)
        bound = inputs.bind({"s": (pa.array(["b", "c", "a"]), types.STRING)})
        return bound.columns["s"].values.tolist() == [1, 2, 0] or bound.domains[types.Kind.STRING].listed()

    assert ordered(text)
    assert ordered("a.s = a.r") == ["b", "c", "a"]


# ------------------------------------------------------------------ hostile text

HOSTILE = [
    "'); import os; os.system('true') #",
    'a"b',
    "a'b",
    "a\nimport os\n",
    "`; DROP",
    "наме",
    "日本",
    "a\\",
    "\0",
    "__import__",
    "\u2028x = 1",
    "ｅｖａｌ",
]
ALLOWED = re.compile(
    r"(ki|kf|ku|ks|kb|kd|not|and|or|if|else|is|None|True|False|i|float|int|bool|abs"
    r"|col\d+(_null)?|[tncr]\d+|udf\d+|set\d+|matches\d+|utf8|utf8_ends|\w+_of|lists?|list_\w+"
    r"|" + "|".join(scalars.HELPERS) + r")"
)


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_of_a_query_or_schema_reaches_the_source(name, text):
    functions.function(lambda x: x, name="udf_evil", reads=[float], returns=float)
    functions._registered[name] = functions._registered["udf_evil"]
    attr, literal = Attr(name, At.ONE, name), Literal("string", text)
    quoted = text.replace("\\", "\\\\")
    trees = [
        Binary("=", attr, literal),
        Binary("<", Call("upper", (attr,)), Call("coalesce", (literal, attr))),
        parse_expression("a.s LIKE :p OR a.s IN (:q, 'x')", {"p": quoted, "q": [text, name]}),
        parse_expression("a.s = :p", {"p": text}),
        Binary(">", Call(name, (Literal("int", 1),)), Literal("int", 0)),
    ]
    inputs = Inputs()
    emitter = Emitter(lambda _: Scalar("col0[i]", "col0_null[i]"), inputs)
    source = ""
    for tree in trees:
        lines, test = emitter.condition(check(tree, lambda _: types.STRING))
        source += "\n".join([*lines, test]) + "\n"
    source += "\n".join(inputs.arguments())
    assert source.isascii()
    found = [
        t
        for t in tokenize.generate_tokens(io.StringIO(source).readline)
        if t.type in (tokenize.NAME, tokenize.STRING)
    ]
    assert all(t.type == tokenize.NAME and ALLOWED.fullmatch(t.string) for t in found)
    assert not any(keyword.iskeyword(t.string) and t.string in ("import", "exec", "lambda") for t in found)


def test_numbers_in_the_source_are_python_numbers():
    inputs = Inputs()

    class Sly(float):
        def __repr__(self):
            return "__import__('os')"

    class SlyInt(int):
        def __repr__(self):
            return "__import__('os')"

    assert inputs.constant(Sly(1.5), types.Kind.FLOAT) == "1.5"
    assert inputs.constant(float("nan"), types.Kind.FLOAT) == "kf[0]"
    assert inputs.constant(float("inf"), types.Kind.FLOAT) == "kf[1]"
    assert inputs.constant(-(2**63), types.Kind.INT) == "ki[0]"
    with pytest.raises(AssertionError):
        inputs.constant(SlyInt(3), types.Kind.INT)


NESTED = {
    "low": ("(a.p BETWEEN ", "a.q", " AND TRUE)"),
    "high": ("(a.p BETWEEN FALSE AND ", "a.q", ")"),
    "what is tested": ("(", "(a.p = a.q)", " BETWEEN FALSE AND a.q)"),
    "a member": ("(a.p IN (TRUE, a.q, ", "(a.p = a.q)", "))"),
    "what is sought": ("(", "(a.p = a.q)", " NOT IN (a.p, a.q))"),
    "and, or": ("(a.p = (a.q AND ", "(a.p OR a.q)", " = a.p))"),
}


@pytest.mark.parametrize(("begin", "inner", "end"), NESTED.values(), ids=NESTED)
def test_source_grows_by_a_level_and_does_not_double(begin, inner, end):
    values = [True, False, None]
    table = pa.table({"p": [p for p in values for _ in values], "q": values * 3})
    sizes = []
    for levels in range(7):
        nodes = [typed_over(parse_expression(begin * levels + inner + end * levels), table)]
        kernel = Kernel(nodes, table)
        assert kernel.run() == interpreted(nodes, table)
        sizes.append(len(kernel.source))
    assert sizes[6] - sizes[5] <= 2 * (sizes[4] - sizes[3])


# ------------------------------------------------------------------ registered functions


@pytest.mark.parametrize(
    "text",
    [
        "a.p AND careful(a.x) > 0",
        "NOT (a.p AND NOT careful(a.x) > 0)",
        "NOT a.p OR careful(a.x) > 0",
        "a.p AND (a.p OR a.p) AND careful(a.x) > 0 AND careful(a.x + 1) > 0",
        "a.p AND careful(a.x) > 0 OR a.x IS NULL",
        "(a.p AND careful(a.x) > 0) = a.p",
        "(NOT a.p OR careful(a.x) > 0) IS NULL",
        "coalesce(a.p AND NOT careful(a.x) > 0 AND careful(a.x + 1) > 0, FALSE)",
        "(a.p AND careful(a.x) > 0) BETWEEN FALSE AND a.p",
    ],
)
def test_a_function_is_called_only_where_the_condition_is_open(text):
    calls = []

    @functions.function
    def careful(x: float) -> float:
        calls.append(x)
        if x == 0.0:
            raise ZeroDivisionError
        return 1.0 / x

    table = pa.table({"p": [True, False, None, True], "x": [2.0, 0.0, 4.0, None]})
    nodes = [typed_over(parse_expression(text), table)]
    seen = []
    for reading in (interpreted, vectorised, lambda nodes, table: Kernel(nodes, table).run()):
        calls.clear()
        seen.append((reading(nodes, table), sorted(set(calls))))
    assert seen[0] == seen[1] == seen[2]
    assert 0.0 not in seen[0][1]
    assert seen[0][1]


def test_functions_get_values_and_give_values():
    functions.function(
        lambda s, xs: f"{s}{sum(v for v in xs if v)}".count("1") or None,
        name="ones",
        reads=[str, list[float]],
        returns=int,
    )
    functions.function(lambda b: b == b"\xff", name="is_ff", reads=[None], returns=bool)
    functions.function(lambda: 2**70, name="huge", returns=int)
    functions.function(lambda x: "big" if x > 1 else None, name="size", reads=float, returns=str)
    table = pa.table(
        {
            "s": ["11", None, "x"],
            "l": [[1.0], [2.0], [5.0, None]],
            "b": [b"\xff", b"a", None],
            "x": [1.0, 2.0, 3.0],
        }
    )
    texts = ["ones(a.s, a.l)", "is_ff(a.b)", "huge()", "huge() IS NULL"]
    nodes = [typed_over(parse_expression(t), table) for t in texts]
    expected = [[3, None, None], [True, False, None], [None] * 3, [True] * 3]
    assert interpreted(nodes, table) == expected
    assert vectorised(nodes, table) == expected
    kernel = Kernel(nodes, table)
    assert kernel.run() == expected
    assert kernel.inputs.needs_python
    sizes = [typed_over(parse_expression("upper(size(a.x))"), table)]
    assert interpreted(sizes, table) == vectorised(sizes, table) == [[None, "BIG", "BIG"]]


@pytest.mark.parametrize(
    "text",
    [
        "joined(a.s, a.t) = 'xy'",
        "NOT length(joined(a.s, a.t)) = 2",
        "a.s = 'x' OR joined(a.s, a.t) LIKE '%y' AND a.n = 1",
        "corr(both(a.l, a.l), both(a.m, a.l)) < 0",
        "inside(a.o) = a.n",
        "joined(a.s, joined(a.t, a.s)) > a.s AND a.d = 1.5 AND a.b IS NOT NULL",
        "length(joined(a.s, a.t)) + a.n > 3",
        "coalesce(joined(a.s, a.t) = 'xy', a.d > 1)",
        "joined(a.t, a.s) IN ('yx', 'ba') OR joined(a.s, a.s) IS NULL",
    ],
)
def test_what_a_kernel_has_no_form_for_is_asked_of_the_interpreter(text):
    functions.function(lambda s, t: s + t, name="joined", reads=[str, str], returns=str)
    functions.function(lambda x, y: x + y, name="both", reads=[list[float], list[float]], returns=list[float])
    functions.function(lambda o: o["x"], name="inside", reads=[None], returns=int)
    table = pa.table(
        {
            "s": ["x", None, "b", "x"],
            "t": ["y", "y", "a", None],
            "l": [[1.0, 2.0], None, [3.0], [0.0]],
            "m": [[2.0, 1.0], [1.0], [4.0], [None]],
            "o": [{"x": 1}, {"x": 2}, None, {"x": 4}],
            "n": [1, 1, 2**63 - 1, None],
            "d": [Decimal("1.5"), None, Decimal(2), Decimal("1.5")],
            "b": [b"1", None, b"2", b"3"],
        }
    )
    nodes = [typed_over(parse_expression(text), table)]
    wanted = interpreted(nodes, table)
    assert vectorised(nodes, table) == wanted
    kernel = Kernel(nodes, table)
    assert kernel.run() == wanted
    assert kernel.inputs.needs_python


def test_a_function_that_breaks_its_promise_is_told():
    functions.function(lambda _: 5, name="liar", reads=float, returns=str)
    table = pa.table({"x": [1.0]})
    with pytest.raises(QueryError, match="liar returned a int where a string was promised"):
        interpreted([typed_over(parse_expression("liar(a.x)"), table)], table)


# ------------------------------------------------------------------ binding


def test_several_expressions_share_constants_functions_and_codes():
    table = pa.table({"s": ["b", "a", None], "r": ["c", "b", "a"], "d": [1, 2, 3]})
    texts = ["a.s = 'b'", "a.r = 'b'", "a.r LIKE 'b%'", "a.s LIKE 'b%'", "a.s < a.r"]
    kernel = Kernel([typed_over(parse_expression(t), table) for t in texts], table)
    assert kernel.inputs.arguments() == ["ks", "matches0"]
    assert len(kernel.bound.arguments["ks"]) == 1
    assert kernel.run() == interpreted(kernel.nodes, table)
    domain = kernel.bound.domains[types.Kind.STRING]
    assert domain.listed() == ["a", "b", "c"]
    assert domain.decode(np.array([2, 0])).values.distinct.to_pylist() == ["a", "b", "c"]


def test_values_of_an_earlier_batch_are_bound_like_a_column():
    inputs = Inputs()
    node = check(parse_expression("a.s > a.r"), lambda _: types.STRING)
    Emitter(lambda ref: Scalar(f"{ref.name}[i]"), inputs).condition(node)
    first = inputs.bind({"s": (pa.array(["m", "z"]), types.STRING)})
    kept = first.decode(types.Kind.STRING, first.columns["s"].values)
    second = inputs.bind({"s": (pa.array(["n", "a"]), types.STRING), "kept": (kept, types.STRING)})
    assert second.columns["kept"].values.tolist() == [1, 3]
    assert second.columns["s"].values.tolist() == [2, 0]


def test_a_plain_kernel_gets_pythons_numbers():
    table = pa.table({"u": pa.array([1], pa.uint64())})
    kernel = Kernel([typed_over(parse_expression("a.u = 18446744073709551615"), table)], table)
    assert kernel.bound.plain() == {"ku": [2**64 - 1]}
    assert type(kernel.bound.plain()["ku"][0]) is int
