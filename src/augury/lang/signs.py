"""What is said of signs that the language does not have: those of other languages, and those that look alike."""

from __future__ import annotations

from augury.lang.situation import NAMES, Finding, Situation, shown, span_of, touch

_SIGN_HINTS = {
    "&": "write AND",
    "|": "write OR",
    "!": "write NOT, or <> for 'not equal'",
    ";": "a query has one statement and no semicolon",
    "^": "write pow(x, y)",
    "#": "a comment begins with -- or stands between /* and */",
    "\\": "a query goes on over lines without a sign",
    "≤": "write <=",
    "≥": "write >=",
    "≠": "write <>",
    "−": "write an ordinary minus: -",
    "–": "write an ordinary minus: -",
    "×": "write *",
    "÷": "write /",
    "√": "write sqrt(x)",
    "\x00": "take it away",
    "‘": "write straight quotes: 'so'",
    "’": "write straight quotes: 'so'",
    "“": "write straight single quotes: 'so'",
    "”": "write straight single quotes: 'so'",
}
_PATTERN_SIGNS = {
    "!": "negation is ~ or NOT: ~(B b)",
    "?": "a component is one event, B b, or one or more, B+ b[]",
    "|": "a component has one type; put both into one column of types, or run a query for each",
    ";": "components are separated by commas",
    "&": "components follow each other, separated by commas",
}


def sign(s: Situation) -> Finding | None:
    """Signs that the language does not have."""
    if s.token.type != "UNKNOWN":
        return None
    found = str(s.token)
    doubled = s.after[0] if s.after and s.after[0] == found and touch(s.token, s.after[0]) else s.token
    what = shown(s.token) if doubled is s.token else f'"{found}{found}"'
    hint = _SIGN_HINTS.get(found)
    if s.clause == "PATTERN" and s.open:
        hint = _PATTERN_SIGNS.get(found, hint)
    elif found in "$@?":
        word = s.after[0] if s.next in NAMES and touch(s.token, s.after[0]) else "name"
        hint = f"a parameter is written :{word}, and its value given to ag.sase(text, {word}=…)"
    elif found == '"':
        return Finding("a double quote has no meaning here", _double_quote(s))
    elif found.isspace():
        what, hint = f"U+{ord(found):04X} looks like a space, and", "write an ordinary space"
        return Finding(f"{what} has no meaning here", hint)
    return Finding(f"{what} has no meaning here", hint, span_of(s.token, doubled))


def _double_quote(s: Situation) -> str:
    if s.types(1) in (("AS",), ("DOT",)) or s.clause == "PATTERN":
        return "a name that is not an identifier stands in backticks: `so`"
    return "strings stand in single quotes: 'so'; a name that is not an identifier stands in backticks: `so`"
