"""What is said of a text that does not parse: where it goes wrong, and what to write instead.

    Lark's error ─> Situation: the tokens around it, open brackets, the clause ─> first rule that knows it

A parser notices an error late: no word is reserved, so `WHERE AND a.x > 1` fails at `a`. A rule may point
at an earlier token. Where no rule knows better, the message is what stands there and what could have.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import TYPE_CHECKING

from augury.errors import QueryError
from augury.expr.printing import UNITS, quoted
from augury.lang.signs import sign
from augury.lang.situation import (
    CLAUSES,
    CLOSING,
    NAMES,
    PAIRS,
    TEXTS,
    VALUES,
    WANT_VALUE,
    Finding,
    Situation,
    default,
    shown,
    situation,
    span_of,
    touch,
)

if TYPE_CHECKING:
    from lark import Token, UnexpectedToken

SHAPE = "a query is PATTERN SEQ(Type a, Type b) WHERE … WITHIN … RETURN …"


def unexpected(text: str, error: UnexpectedToken) -> QueryError:
    """The error to raise for a token that the grammar does not take."""
    s = situation(text, error)
    for rule in _RULES:
        found = rule(s)
        if found is not None:
            message = found.message or default(s)
            return QueryError(message, span=found.span or s.span, hint=found.hint)
    return QueryError(default(s), span=s.span)


Rule = Callable[[Situation], Finding | None]


# ------------------------------------------------------------------ the rules


def _beginning(s: Situation) -> Finding | None:
    if s.before or "PATTERN" not in s.expected:
        return None
    if s.at_end:
        return Finding("the query is empty", SHAPE)
    word = s.token.upper()
    hint = SHAPE
    if word in ("SELECT", "FROM", "WITH", "INSERT"):
        hint = f"this is no SQL: {SHAPE}; the table is what match() is given"
    elif word == "EVENT":
        hint = "write PATTERN for EVENT"
    elif word == "SEQ":
        hint = "write PATTERN SEQ(…)"
    elif difflib.get_close_matches(word, ["PATTERN"]):
        hint = "did you mean PATTERN?"
    elif word == "\ufeff":
        return Finding("the text begins with a byte order mark", 'read the file with encoding="utf-8-sig"')
    return Finding(f"a query begins with PATTERN, not with {shown(s.token)}", hint)


def _window(s: Situation) -> Finding | None:
    kind = s.token.type
    if s.types(1) == ("WITHIN",) and s.clause == "WITHIN":
        if kind == "MINUS":
            return Finding("WITHIN must be greater than 0", "write WITHIN 500, or WITHIN 5 minutes")
        hint = "write WITHIN 500, or WITHIN 5 minutes"
        if kind == "STRING":
            hint = "the window stands without quotes: WITHIN 5 minutes"
        elif kind == "COLON":
            hint = "the window is part of the pattern; parameters are values in WHERE and RETURN"
        return Finding(None, hint)
    if s.types(3) == ("WITHIN", "NUMBER", "NAME") and kind == "NUMBER":
        return Finding(None, "give the window in one unit: WITHIN 90 minutes")
    if s.types(2) == ("WITHIN", "NUMBER") and kind in ("STAR", "PLUS", "MINUS", "SLASH", "COMMA"):
        return Finding(None, "the window is one number and its unit: WITHIN 500, or WITHIN 5 minutes")
    return None


def _brackets(s: Situation) -> Finding | None:
    kind = s.token.type
    if kind in CLOSING and (not s.open or s.open[-1].type != CLOSING[kind]):
        if kind == "RBRACE" and not s.open:
            return Finding('there is no "{" for this "}"', _BRACES)
        if s.open:
            closing = TEXTS[PAIRS[s.open[-1].type]]
            return Finding(
                f'this "{s.token}" does not close the "{s.open[-1]}" before it', f'write "{closing}" first'
            )
        return Finding(f'there is no "{TEXTS[CLOSING[kind]]}" for this "{s.token}"', "take it away")
    if not s.open or not (s.at_end or kind in CLAUSES):
        return None
    opening = s.open[-1]
    closing = PAIRS[opening.type]
    if closing not in s.expected or (not s.at_end and _closed_later(s)):
        return None
    where = "at the end" if s.at_end else f"before {s.token}"
    return Finding(f'this "{opening}" is not closed', f'put its "{TEXTS[closing]}" {where}', span_of(opening))


def _closed_later(s: Situation) -> bool:
    depth = len(s.open)
    for t in s.after:
        depth += (t.type in PAIRS) - (t.type in CLOSING)
        if depth < len(s.open):
            return True
    return False


_BRACES = "braces follow a strategy and hold all conditions: WHERE skip_till_next_match(a, b) { … }"


def _clause_order(s: Situation) -> Finding | None:
    kind = s.token.type
    if kind not in CLAUSES or s.open or kind in s.expected or "$END" not in s.expected:
        return None
    word = s.token.upper()
    if any(t.type == kind for t in s.before):
        remedy = {
            "PATTERN": "a text holds one query, whose components stand in one SEQ(…)",
            "WHERE": "join the conditions with AND",
        }
        return Finding(f"{word} stands twice", remedy.get(kind, "keep one of them"))
    hint = "the clauses stand in the order PATTERN, WHERE, WITHIN, RETURN, each once"
    return Finding(f"{word} stands behind {s.clause}", hint)


def _swallowed(s: Situation) -> Finding | None:
    """A keyword in the place of a value, which the parser took for a name."""
    word, earlier = s.back(1), s.back(2)
    if word is None or earlier is None or earlier.type not in WANT_VALUE:
        return None
    if word.type not in {*CLAUSES, "AND", "OR", "IN", "BETWEEN", "IS", "LIKE", "AS"}:
        return None
    hint = f"a condition is missing before {word}" if word.type in ("AND", "OR") else None
    if word.type in CLAUSES and earlier.type in ("WHERE", "AND", "OR"):
        hint = f"write a condition behind {earlier}, or leave {earlier} out"
    return Finding(f"{word} stands where a value is expected", hint, span_of(word))


_LIKE_HINT = "LIKE knows the wildcards % and _; for more register a function with ag.function"
_FOREIGN = {
    "SELECT": ("SELECT", "the columns of the result stand in RETURN, at the end"),
    "FROM": ("FROM", "the table is what match() is given: ag.sase(text).match(table, time=…)"),
    "PARTITION": ("PARTITION BY", "pass key= to match(), or say that the events agree: WHERE [symbol]"),
    "GROUP": ("GROUP BY", "pass key= to match(); aggregates run over a Kleene variable: avg(a[].x)"),
    "ORDER": ("ORDER BY", "time= and tiebreak= of match() order the events; sort the result afterwards"),
    "HAVING": ("HAVING", "all conditions stand in WHERE, joined with AND"),
    "DEFINE": ("DEFINE", "all conditions stand in WHERE, joined with AND"),
    "MEASURES": ("MEASURES", "the columns of the result stand in RETURN, at the end"),
    "LIMIT": ("LIMIT", "cut the result: match(…).slice(0, 10)"),
    "AFTER": ("AFTER MATCH SKIP", 'pass output="non_overlap" to match()'),
    "ONE": ("ONE ROW PER MATCH", "each match is one row, without saying so"),
    "EVERY": ("EVERY", "a match may start at every event that fits; leave it out"),
    "DISTINCT": ("DISTINCT", "each match is one row; remove doubles from the result afterwards"),
    "INTERVAL": ("INTERVAL", "write the number and its unit without quotes: 5 minutes"),
    "CASE": ("CASE", "write the alternatives with AND and OR, or register a function with ag.function"),
    "ILIKE": ("ILIKE", "write lower(a.name) LIKE 'a%'"),
    "RLIKE": ("RLIKE", _LIKE_HINT),
    "REGEXP": ("REGEXP", _LIKE_HINT),
    "MOD": ("MOD", "write a.x % 5"),
    "DIV": ("DIV", "write floor(a.x / 5)"),
    "XOR": ("XOR", "write (x OR y) AND NOT (x AND y)"),
}


def _foreign(s: Situation) -> Finding | None:
    """Words of SQL and of other pattern languages."""
    if s.clause == "PATTERN" and s.open:
        return None
    word, earlier = s.back(1), s.back(2)
    for candidate, comes_after in ((word, earlier), (s.token, word)):
        if candidate is None or candidate.type != "NAME" or candidate.upper() not in _FOREIGN:
            continue
        if comes_after is not None and comes_after.type in ("DOT", "AS", "COLON"):
            continue
        what, hint = _FOREIGN[candidate.upper()]
        return Finding(f"there is no {what} in a query", hint, span_of(candidate))
    return None


def _component(s: Situation) -> Finding | None:
    """Everything between PATTERN and the next clause."""
    if s.clause != "PATTERN":
        return None
    kind, last = s.token.type, s.back(1)
    assert last is not None
    finding = _no_component(s, kind) if "TILDE" in s.expected else None
    if finding is not None:
        return finding
    if s.types(1) != ("PLUS",) and "NAME" in s.expected:
        return _no_variable(s, kind, last)
    if s.types(1) == ("PLUS",) and "NAME" in s.expected and (kind in ("COMMA", "RPAR", "LSQB") or s.at_end):
        type_ = s.back(2)
        if type_ is not None:
            return _without_variable(type_, "+")
    if last.type == "LSQB":
        return Finding(None, "brackets behind a variable stay empty: b[] says one event or more")
    if kind == "PLUS":
        return Finding(None, 'the "+" stands behind the type: B+ b[]')
    if kind in ("STAR", "LBRACE"):
        return Finding(None, _ONE_OR_MORE)
    if kind in NAMES and last.type == "AS":
        return Finding(
            "there is no AS in a pattern", "a type and its variable stand side by side: A a", span_of(last)
        )
    if kind in NAMES and s.open:
        return Finding(f"a comma is missing before {shown(s.token)}", "components are separated by commas")
    if kind == "MINUS" and s.open:
        return Finding(None, "components are separated by commas")
    if kind == "COMMA":
        sign = _before_bracket(s)
        negated = sign is not None and sign.type in ("TILDE", "NOT")
        hint = "each negated component has its own sign: ~(B b), ~(C c)" if negated else _SEVERAL
        return Finding(None, hint)
    if kind in ("WHERE", "WITHIN", "RETURN") and s.open:
        return Finding(None, f"{s.token} stands behind the whole pattern: PATTERN SEQ(A a, B b) {s.token} …")
    if kind == "STRATEGY":
        return Finding(None, f"a strategy is a part of WHERE: WHERE {s.token}(a, b) AND …")
    if kind in ("AND", "OR"):
        return Finding(None, "the conditions begin with WHERE" if not s.open else _ONE_SEQUENCE)
    return None


_SEVERAL = "several components stand in SEQ: PATTERN SEQ(A a, B b)"
_ONE_OR_MORE = "a component is one event, B b, or one or more, B+ b[]"
_ONE_SEQUENCE = "a pattern is one SEQ(…) of components, each a type and a variable"


def _before_bracket(s: Situation) -> Token | None:
    """What stands before the innermost open bracket."""
    place = next(i for i, t in enumerate(s.before) if t is s.open[-1]) if s.open else 0
    return s.before[place - 1] if place else None


def _no_component(s: Situation, kind: str) -> Finding | None:
    """What stands where a component begins."""
    if kind == "STRING":
        return Finding(None, "types stand without quotes, or in backticks: SEQ(A a, `log-in` b)")
    if kind == "MINUS":
        return Finding(None, "negation is ~ or NOT: ~(B b)")
    if kind == "COLON":
        return Finding(
            None, "parameters are values in WHERE and RETURN; types and variables stand in the text"
        )
    if kind in ("RPAR", "COMMA") and s.types(1) == ("COMMA",):
        return Finding("there is a comma too many", "take it away", span_of(s.before[-1]))
    return Finding(None, "a component is a type and a variable: A a, or A+ a[] for one event or more")


def _no_variable(s: Situation, kind: str, last: Token) -> Finding | None:
    """What stands between a type and its variable."""
    if kind in ("COMMA", "RPAR") or s.at_end or kind in CLAUSES:
        return _without_variable(last)
    if kind == "LPAR":
        return Finding(f"{shown(last)} is no type of event", _ONE_SEQUENCE, span_of(last))
    if kind in ("STAR", "LBRACE"):
        return Finding(None, _ONE_OR_MORE)
    if kind == "NUMBER":
        return Finding(None, "a variable's name begins with a letter")
    if kind in ("MINUS", "DOT", "COLON", "SLASH") and s.after and s.after[0].isidentifier():
        whole = f"{last}{s.token}{s.after[0]}"
        return Finding(None, f"a type whose name is not an identifier stands in backticks: {quoted(whole)}")
    if kind == "STRING":
        return Finding(None, "types and variables stand without quotes")
    return None


def _without_variable(type_: Token, plus: str = "") -> Finding:
    variable = type_.lower()[:1] if type_.type == "NAME" and type_[:1].isalpha() else "a"
    example = f"{type_}{plus} {variable}{'[]' if plus else ''}"
    return Finding(
        f"{shown(type_)} has no variable", f"a component is a type and a variable: {example}", span_of(type_)
    )


def _strategy(s: Situation) -> Finding | None:
    last = s.back(1)
    if last is not None and last.type == "STRATEGY" and "LPAR" in s.expected:
        return Finding(None, f"a strategy names the positive variables of the pattern: {last}(a, b)")
    if s.types(2) == ("STRATEGY", "LPAR") and "NAME" in s.expected:
        return Finding(None, f"a strategy names the positive variables of the pattern: {s.before[-2]}(a, b)")
    if s.types(1) == ("RBRACE",) and s.token.type in ("AND", "OR"):
        return Finding(None, "the braces hold all conditions; put this one inside")
    if s.token.type == "LBRACE":
        word = s.after[0] if s.next == "NAME" else None
        if word is not None and len(s.after) > 1 and s.after[1].type == "RBRACE":
            return Finding(
                None, f"a parameter is written :{word}, and its value given to ag.sase(text, {word}=…)"
            )
        return Finding(None, _BRACES)
    return None


def _attribute_test(s: Situation) -> Finding | None:
    """Inside [ … ] that follows no name."""
    if not s.open or s.open[-1].type != "LSQB" or s.clause != "WHERE":
        return None
    name = _before_bracket(s)
    if name is not None and name.type in NAMES:
        return (
            Finding(None, f"a range begins at the first event: {name}[..i-1]")
            if s.token.type == "DOTS"
            else None
        )
    if s.token.type == "DOT":
        return Finding(None, "a test of all events names the attribute alone: [symbol]")
    if s.token.type == "COMPARISON":
        word = s.before[-1]
        return Finding(
            None, f"[{word}] says that all events agree; a comparison has its variable: a.{word} = …"
        )
    if s.token.type == "RSQB":
        return Finding(None, "name the attribute on which all events agree: [symbol]")
    return None


def _comparison(s: Situation) -> Finding | None:
    """Comparisons that chain, and those that are written otherwise here."""
    last = s.back(1)
    if s.token.type == "COLON" and "COLON" not in s.expected:
        if s.next == "COMPARISON" and touch(s.token, s.after[0]):
            return Finding('there is no ":=" in a query', "write =", span_of(s.token, s.after[0]))
        if s.next == "COLON":
            what = 'there is no "::" in a query'
            return Finding(what, _NO_CAST, span_of(s.token, s.after[0]))
    if s.token.type != "COMPARISON":
        return None
    if last is not None and last.type in ("COMPARISON", "MINUS") and touch(last, s.token):
        sign = f"{last}{s.token}"
        remedy = {"=<": "<=", "=>": ">=", "===": "=", "!==": "<>"}.get(sign)
        hint = "an attribute follows a dot: a.x" if sign == "->" else remedy and f"write {remedy}"
        return Finding(f'there is no "{sign}" in a query', hint, span_of(last, s.token))
    if "PLUS" in s.expected and any(t.type == "COMPARISON" for t in s.before[-12:]):
        return Finding("comparisons do not chain", "write each by itself: a < b AND b < c")
    return None


_NO_CAST = "there are no casts: integers, numbers and decimals meet as they are"


def _arithmetic(s: Situation) -> Finding | None:
    kind, last = s.token.type, s.back(1)
    if last is None:
        return None
    if last.type == "SHARE" and kind in VALUES and touch(last, s.token):
        right = s.token if kind in ("NUMBER", *NAMES) else "…"
        return Finding(
            f"right behind a number a percent sign makes a share, and {shown(s.token)} cannot follow it",
            f"for modulo put spaces around the sign: {last[:-1]} % {right}",
        )
    if last.type == "PERCENT" and kind not in VALUES and s.types(2)[0] == "NUMBER":
        return Finding(None, f"a share has no space: {s.before[-2]}%")
    if kind == "PERCENT" and s.next == "NAME" and touch(s.token, s.after[0]):
        return Finding(None, "a parameter is written :name, and its value given to ag.sase(text, name=…)")
    if last.type == kind and touch(last, s.token) and kind in ("STAR", "SLASH"):
        what = f'there is no "{last}{s.token}" in a query'
        hint = "write pow(x, y)" if kind == "STAR" else "a comment begins with --"
        return Finding(what, hint, span_of(last, s.token))
    if kind == "SLASH" and s.next == "SLASH":
        return Finding(
            'there is no "//" in a query',
            "a comment begins with -- or stands between /* and */",
            span_of(s.token, s.after[0]),
        )
    if kind == "NUMBER" and s.token.startswith(".") and last.type in NAMES:
        word = s.after[0] if s.next == "NAME" and touch(s.token, s.after[0]) else ""
        return Finding(
            "a name does not begin with a digit", f"quote it with backticks: {last}.`{s.token[1:]}{word}`"
        )
    if last.type == "COLON" and kind in ("NUMBER", "STRING"):
        return Finding(None, "a parameter has a name: :limit")
    return None


def _tests(s: Situation) -> Finding | None:
    """IS, IN, NOT, BETWEEN, AS and DOT in the middle of a condition."""
    kind = s.token.type
    if s.types(1) == ("IS",) or s.types(2) == ("IS", "NOT"):
        hint = "IS is for nulls: IS NULL, IS NOT NULL; a boolean is a condition by itself"
        if kind not in ("TRUE", "FALSE"):
            hint = "IS is for nulls: IS NULL, IS NOT NULL; compare values with = or <>"
        return Finding(None, hint)
    if s.types(1) == ("NOT",) and "BETWEEN" in s.expected:
        return Finding(None, "write IS NOT NULL" if kind == "NULL" else "'not equal' is <>")
    if s.types(1) == ("IN",) and "LPAR" in s.expected:
        hint = "the values stand in parentheses: IN (1, 2)"
        if kind == "COLON" and s.after:
            hint = f"the list stands in parentheses: IN (:{s.after[0]})"
        return Finding(None, hint)
    if s.types(2) == ("IN", "LPAR") and kind == "RPAR":
        return Finding("IN needs at least one value", "write IN (1, 2), or IN (:names) with a list")
    if "AND" in s.expected and "OR" not in s.expected and "$END" not in s.expected:
        return Finding(None, "write BETWEEN low AND high")
    if s.types(3) == ("BETWEEN", "NUMBER", "NAME"):
        return Finding(None, "write BETWEEN low AND high", span_of(s.before[-1]))
    if kind == "AS" and s.open:
        return Finding(None, _NO_CAST)
    if kind == "DOT" and s.types(3)[1:] == ("DOT", "NAME"):
        return Finding(
            "an attribute has no parts", "make the field of a struct a column of its own before match()"
        )
    return None


def _items(s: Situation) -> Finding | None:
    """Everything behind RETURN."""
    if s.clause != "RETURN":
        return None
    kind, last = s.token.type, s.back(1)
    assert last is not None
    if last.type == "AS":
        hint = "AS gives the column a name: a.x AS first_x, or a.x AS `first x`"
        return Finding(None, hint)
    if last.type == "STAR" and kind == "COMMA":
        return Finding(None, "RETURN * is everything; what is listed has no star: RETURN a, b")
    if kind == "STAR" and last.type == "DOT":
        return Finding(None, f"the whole event is the variable by itself: {s.before[-2]}")
    if kind == "STAR" and s.types(2) in (("NAME", "LPAR"), ("QUOTED", "LPAR")):
        return None
    if last.type == "RETURN" and s.at_end:
        return Finding(None, "name what a match returns: RETURN a.x, or leave RETURN out")
    if kind in NAMES and "AS" in s.expected and s.after[:1] != ["."]:
        return Finding(f"AS is missing before {shown(s.token)}", f"write AS {s.token}")
    if kind in VALUES and "AS" in s.expected:
        return Finding(f"a comma is missing before {shown(s.token)}", "items are separated by commas")
    return None


def _arguments(s: Situation) -> Finding | None:
    """Commas too many, and count(*)."""
    kind = s.token.type
    if s.types(1) == ("COMMA",) and (kind in ("RPAR", "COMMA") or s.at_end):
        return Finding("there is a comma too many", "take it away", span_of(s.before[-1]))
    if kind == "STAR" and s.types(1) == ("LPAR",) and s.open:
        function = s.back(2)
        if function is not None and function.type in NAMES:
            return Finding(None, "how many events there are is a.LEN, or count(a[].x) without the nulls")
    return None


def _joined(s: Situation) -> Finding | None:
    """Conditions side by side, with nothing or the wrong thing between them."""
    kind, last, earlier = s.token.type, s.back(1), s.back(2)
    if last is None or s.clause not in ("WHERE", ""):
        return None
    near = _near_keyword(s, s.token)
    if near is not None:
        return near
    if kind == "COMMA" and ({"AND", "$END"} & s.expected) and "COMMA" not in s.expected:
        if last.type == "NUMBER" and s.next == "NUMBER" and touch(s.token, s.after[0]):
            return Finding("a number has no commas", f"write {last}{s.after[0]}")
        return Finding("conditions are joined with AND, not with a comma", "write AND")
    if last.type == "STRING" and touch(last, s.token) and kind in NAMES:
        return Finding(
            f"{shown(s.token)} stands right behind a string", "a quote inside a string is doubled: 'it''s'"
        )
    # A number and a name are a duration until what follows says otherwise.
    swallowed = earlier is not None and earlier.type == "NUMBER" and last.type == "NAME"
    if swallowed and kind in ("DOT", "LPAR", "LSQB") and last.lower().removesuffix("s") not in UNITS:
        return _missing_operator(last)
    if kind in {*VALUES, "LSQB"} and ({"AND", "COMPARISON"} & s.expected):
        if swallowed and earlier is not None and last.lower().removesuffix("s") not in UNITS:
            return _near_keyword(s, last) or _missing_operator(last)
        return _near_keyword(s, last) or _missing_operator(s.token)
    return None


def _missing_operator(token: Token) -> Finding:
    hint = "conditions are joined with AND; between values stands an operator"
    return Finding(f"AND or an operator is missing before {shown(token)}", hint, span_of(token))


def _near_keyword(s: Situation, token: Token) -> Finding | None:
    """A keyword misspelt."""
    if token.type != "NAME" or token.upper() in _FOREIGN:
        return None
    known = ["AND", "OR", "AS", "WHERE", "WITHIN", "RETURN", "BETWEEN", "LIKE", "NULL"]
    if token is s.token:
        known = [word for word in known if word in s.expected]
    near = difflib.get_close_matches(token.upper(), known, n=1, cutoff=0.7)
    if not near:
        return None
    message = None if token is s.token else f"{token} has no meaning here"
    return Finding(message, f"did you mean {near[0]}?", span_of(token))


def _anywhere(s: Situation) -> Finding | None:
    near = _near_keyword(s, s.token)
    if near is not None:
        return near
    last = s.back(1)
    if (
        last is not None
        and last.type in ("WHERE", "AND", "OR", "NOT")
        and (s.at_end or s.token.type in CLAUSES)
    ):
        return Finding(None, f"write a condition behind {last}, or leave {last} out")
    return None


_RULES: tuple[Rule, ...] = (
    _beginning,
    sign,
    _window,
    _brackets,
    _clause_order,
    _swallowed,
    _foreign,
    _component,
    _strategy,
    _attribute_test,
    _comparison,
    _arithmetic,
    _tests,
    _arguments,
    _items,
    _joined,
    _anywhere,
)
