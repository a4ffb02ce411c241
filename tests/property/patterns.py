"""Patterns over the whole grammar, valid by construction, and other spellings of their texts."""

import datetime as dt
import math
from decimal import Decimal

from hypothesis import strategies as st

from augury.expr.tree import (
    Agg,
    At,
    Attr,
    Between,
    Binary,
    Call,
    In,
    IsNull,
    Len,
    Like,
    Literal,
    Logic,
    Name,
    Param,
    Unary,
    walk,
)
from augury.lang.lexer import tokens
from augury.lang.params import canonical
from augury.pattern import RESULT_COLUMNS, Component, Item, Pattern, Strategy
from augury.time import Window

KEYWORDS = "PATTERN SEQ WHERE WITHIN RETURN AND OR NOT IN BETWEEN IS NULL LIKE TRUE FALSE AS".split()
CALLS = {
    "abs": 1,
    "round": 2,
    "sqrt": 1,
    "pow": 2,
    "least": 3,
    "coalesce": 1,
    "length": 1,
    "lower": 1,
    "corr": 2,
}
AGGREGATES = ("count", "sum", "avg", "min", "max", "first", "last")
INT64 = 2**63

texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.text("'`\\\n-/*% ab", max_size=5),
)
odd_names = st.sampled_from(
    [
        *KEYWORDS,
        *map(str.lower, KEYWORDS),
        *(
            "Strict_Contiguity",
            "skip_till_next_match",
            "LEN",
            "len",
            "i",
            "from",
            "to",
            "type",
            "count",
            "minutes",
        ),
        *(
            "価格",
            "नमस्ते",
            "цена",
            "ⅷ",
            "x²",
            "ﬀ",
            "ıs",
            "ſeq",
            "a b",
            "it's",
            '"',
            "`",
            "``",
            "a`b",
            "2nd",
            "5",
        ),
        *(
            "--",
            "/*",
            "*/",
            "a.b",
            "a[i]",
            "\n",
            "a\nb",
            "\t",
            "\x00",
            "\u202eabc",
            "🙂",
            ":x",
            "%s",
            "{}",
            " ",
        ),
    ]
)
names = st.one_of(st.from_regex(r"[a-z][a-z0-9_]{0,3}", fullmatch=True), odd_names, texts.filter(bool))

numbers = st.one_of(
    st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-1000, max_value=1000),
    st.builds(
        lambda sign, digits, exponent: Decimal((sign, tuple(map(int, str(digits))), exponent)),
        st.integers(0, 1),
        st.integers(0, 10**40 - 1),
        st.integers(-390, 260),
    ),
)
literals = st.one_of(
    st.just(Literal("null", None)),
    st.builds(Literal, st.just("bool"), st.booleans()),
    st.builds(Literal, st.just("int"), st.integers(-100, 100) | st.integers(-INT64, 2 * INT64 - 1)),
    st.builds(Literal, st.just("number"), numbers),
    st.builds(Literal, st.just("string"), texts),
    st.builds(
        Literal,
        st.just("duration"),
        st.integers(0, 100).map(lambda n: n * 1_800_000_000) | st.integers(0, INT64 - 1),
    ),
)

zoned = st.datetimes(timezones=st.sampled_from([dt.UTC, dt.timezone(dt.timedelta(hours=-7, minutes=30))]))
instants = st.datetimes() | zoned.filter(lambda t: 1 < t.year < 9999)
values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-INT64, 2 * INT64 - 1),
    st.floats(),
    st.sampled_from([math.nan, math.inf, -math.inf, -0.0]),
    st.decimals(allow_nan=False, allow_infinity=False),
    texts,
    st.binary(max_size=4),
    st.dates(),
    instants,
    st.timedeltas(min_value=dt.timedelta(days=-100_000_000), max_value=dt.timedelta(days=100_000_000)),
)
value_lists = st.lists(values, max_size=3).map(tuple)


class _Scope:
    """What one expression may refer to. One parameter of a name has one value all over a pattern."""

    def __init__(self, draw, params, refs, variables=()):
        self.draw, self.params, self.refs, self.variables = draw, params, refs, variables

    def param(self, lists=False):
        pool = value_lists if lists else values
        name = self.draw(names)
        if name not in self.params:
            self.params[name] = canonical(name, self.draw(pool))
        value = self.params[name]
        return Param(name, value) if isinstance(value, tuple) == lists else Literal("null", None)

    def leaf(self):
        kind = self.draw(st.sampled_from(["ref", "ref", "ref", "literal", "literal", "param"]))
        if kind == "ref" and self.refs:
            return self.draw(st.sampled_from(self.refs))(self.draw)
        return self.param() if kind == "param" else self.draw(literals)

    def expr(self, depth):
        if depth == 0 or self.draw(st.integers(0, 4)) == 0:
            return self.leaf()

        def sub():
            return self.expr(depth - 1)

        match self.draw(st.integers(0, 9)):
            case 0 | 1 | 2:
                return Binary(self.draw(st.sampled_from("= <> < <= > >= + - * / %".split())), sub(), sub())
            case 3:
                return Unary("NOT", sub())
            case 4:
                arg = sub()
                return Unary("-", arg)
            case 5:
                args = tuple(sub() for _ in range(self.draw(st.integers(2, 3))))
                return Logic(self.draw(st.sampled_from(["AND", "OR"])), args)
            case 6:
                items = [sub() for _ in range(self.draw(st.integers(1, 3)))]
                if self.draw(st.booleans()):
                    items.append(self.param(lists=True))
                return In(sub(), tuple(items))
            case 7:
                return Between(sub(), sub(), sub())
            case 8:
                return self.draw(
                    st.sampled_from([IsNull(sub(), self.draw(st.booleans())), Like(sub(), sub())])
                )
            case _:
                fn = self.draw(st.sampled_from(sorted(CALLS)))
                return Call(fn, tuple(sub() for _ in range(CALLS[fn])))


def _attr(var, at):
    return lambda draw: Attr(var, at, draw(names))


def _aggregate(var, over, params):
    def make(draw):
        inside = _Scope(draw, params, [_attr(var, over)])
        arg = Attr(var, over, draw(names))
        if draw(st.booleans()):
            arg = Binary(draw(st.sampled_from("+-*/%<")), arg, inside.expr(1))
        return Agg(draw(st.sampled_from(AGGREGATES)), var, over, arg)

    return make


def _closed(c, params, *, each=True):
    """References to all of a variable's events at once, or to one that is certain."""
    if not c.kleene:
        return [_attr(c.var, At.ONE)]
    refs = [_attr(c.var, At.FIRST), _attr(c.var, At.LAST), _aggregate(c.var, At.EACH, params)]
    refs.append(lambda _: Len(c.var))
    return [*refs, _attr(c.var, At.EACH)] if each else refs


def _growing(c, params):
    """References to the current event of a variable that still grows."""
    refs = [_attr(c.var, at) for at in (At.FIRST, At.CURRENT, At.PREVIOUS)]
    return [*refs, _aggregate(c.var, At.BEFORE, params)]


@st.composite
def patterns(draw):
    """(pattern, values of its parameters)."""
    params = {}
    variables = draw(
        st.lists(names.filter(lambda n: n not in RESULT_COLUMNS), min_size=1, max_size=4, unique=True)
    )
    shapes = [draw(st.sampled_from(["one", "one", "many", "none"])) for _ in variables]
    if "one" not in shapes and "many" not in shapes:
        shapes[draw(st.integers(0, len(shapes) - 1))] = "one"
    components = tuple(
        Component(draw(names), v, kleene=s == "many", negated=s == "none")
        for v, s in zip(variables, shapes, strict=True)
    )
    positives = [c for c in components if not c.negated]
    negated = [c for c in components if c.negated]
    kleene = [c for c in components if c.kleene]

    predicates = []
    for _ in range(draw(st.integers(0, 3))):
        mode = draw(st.sampled_from(["closed", "growing", "negated"]))
        grows = draw(st.sampled_from(kleene)) if mode == "growing" and kleene else None
        refs = [r for c in positives if c is not grows for r in _closed(c, params)]
        if grows is not None:
            refs += _growing(grows, params) * 2
        elif mode == "negated" and negated:
            refs += _closed(draw(st.sampled_from(negated)), params) * 3
        predicates.append(_Scope(draw, params, refs).expr(draw(st.integers(0, 3))))

    items, taken = [], {*RESULT_COLUMNS}
    for _ in range(draw(st.integers(0, 3))):
        lists = draw(st.sampled_from([c.var for c in positives]))
        refs = [r for c in positives for r in _closed(c, params, each=c.var == lists)]
        whole = draw(st.integers(0, 4)) == 0
        expr = Name(lists) if whole else _Scope(draw, params, refs).expr(draw(st.integers(0, 2)))
        item = Item(expr, draw(st.none() | names))
        if item.name is None:
            item = Item(expr, draw(names))
        if item.name not in taken:
            taken.add(item.name)
            items.append(item)

    partition = draw(st.lists(names, max_size=2))
    strategies = [s for s in Strategy if partition or s is not Strategy.PARTITION]
    unit = draw(st.booleans())
    amount = st.integers(1, INT64 - 1).map(Decimal) | st.integers(1, 1000).map(
        lambda n: Decimal(n * 60_000_000)
    )
    if not unit:
        amount |= numbers.filter(lambda n: 0 < n < INT64)
    window = Window(draw(amount), unit)
    needed = components[0].negated or components[-1].negated
    pattern = Pattern(
        components=components,
        strategy=draw(st.sampled_from(strategies)),
        predicates=tuple(predicates),
        partition=tuple(partition),
        within=window if needed else draw(st.sampled_from([None, window])),
        returns=tuple(items) or None,
    )
    used = {n.name for e in (*predicates, *(i.expr for i in items)) for n in walk(e) if isinstance(n, Param)}
    return pattern, {name: value for name, value in params.items() if name in used}


# ------------------------------------------------------------------ other spellings

_GLUED = frozenset("()[],")
_GAPS = (" ", "\n", "\t", "  ", "\r\n", " /* a 'comment' */ ", "/**/ ", " -- one `more\n", "\n--\n")
_SYNONYMS = {"=": "==", "<>": "!=", "~": " NOT "}


@st.composite
def respelled(draw, text):
    """The text with other white space, comments, case of keywords and signs that mean the same."""
    found = list(tokens(text))
    spelled = []
    for place, token in enumerate(found):
        follows = found[place + 1].type if place + 1 < len(found) else ""
        before = found[place - 1].type if place else ""
        word = str(token)
        is_word = token.type in KEYWORDS or token.type == "STRATEGY"
        is_call = token.type == "NAME" and follows == "LPAR"
        is_unit = token.type == "NAME" and before == "NUMBER"
        if is_word or is_call or is_unit:
            word = "".join(draw(st.sampled_from([c.lower(), c.upper()])) for c in word)
        elif word in _SYNONYMS and draw(st.booleans()):
            word = _SYNONYMS[word]
        elif token.type == "NUMBER" and word.startswith("0.") and draw(st.booleans()):
            word = word[1:]
        spelled.append(word)
    pieces = [draw(st.sampled_from(["", *_GAPS]))]
    for place, word in enumerate(spelled):
        pieces.append(word)
        after = spelled[place + 1] if place + 1 < len(spelled) else ""
        if (word in _GLUED or after in _GLUED) and draw(st.booleans()):
            continue
        pieces.append(draw(st.sampled_from(_GAPS)))
    return "".join(pieces)
