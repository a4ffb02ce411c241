"""CESAR expressions as JSON and back: operators, texts, values of parameters. What is read goes through the methods
that users call, so that nothing gets in that they could not have written.
"""

from __future__ import annotations

import json
from typing import Any

from augury import algebra
from augury.cesar import Expression, stream
from augury.errors import QueryError
from augury.lang.params import decoded_value, encoded
from augury.query import VERSION

LANGUAGE = "cesar"


def written(node: algebra.Node) -> str:
    return json.dumps({"augury": VERSION, "language": LANGUAGE, "stream": _out(node)})


def read(data: dict[str, Any]) -> Expression:
    """The expression of a JSON object that `written` made."""
    found = data.get("stream")
    try:
        return _in(found, None)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise QueryError(
            f"this JSON holds no CESAR expression: {error!r}", hint="from_json reads what to_json wrote"
        ) from None


def _text(text: algebra.Text | None) -> Any:
    if text is None:
        return None
    if text.text is None:
        return {"value": encoded(text.values[0][1])}
    return {"text": text.text, "params": {n: encoded(v) for n, v in text.params.items()}}


def _out(node: algebra.Node) -> Any:
    match node:
        case algebra.Base():
            return {"base": node.type}
        case algebra.Hole():
            return {"step": True}
        case algebra.Where():
            return {"where": _text(node.condition), "of": _out(node.arg)}
        case algebra.Project():
            return {"project": list(node.names), "of": _out(node.arg)}
        case algebra.Rename():
            return {"rename": [list(pair) for pair in node.pairs], "of": _out(node.arg)}
        case algebra.Extend():
            return {"extend": [[n, _text(v)] for n, v in node.values], "of": _out(node.arg)}
        case algebra.Union():
            return {"union": [_out(node.left), _out(node.right)]}
        case algebra.Then():
            return {"then": [_out(node.left), _out(node.right)], "on": _text(node.on)}
        case algebra.Iterate():
            return {
                "iterate": [_out(node.left), _out(node.right)],
                "on": _text(node.on),
                "by": _out(node.step),
                "init": dict(node.init),
            }


def _in(data: Any, hole: Expression | None) -> Expression:
    if not isinstance(data, dict):
        raise TypeError(f"{data!r} is no operator")
    if "base" in data:
        return stream(data["base"])
    if "step" in data:
        if hole is None:
            raise ValueError("a step stands alone")
        return hole
    if "union" in data:
        left, right = (_in(d, None) for d in data["union"])
        return left.union(right)
    if "then" in data:
        left, right = (_in(d, None) for d in data["then"])
        text, params = _given(data["on"])
        return left.then(right, on=text, **params)
    if "iterate" in data:
        left, right = (_in(d, None) for d in data["iterate"])
        text, params = _given(data["on"])
        by = data["by"]
        return left.iterate(right, on=text, step=lambda s: _in(by, s), init=data["init"] or None, **params)
    of = _in(data["of"], hole)
    if "where" in data:
        text, params = _given(data["where"])
        if text is None:
            raise ValueError("a condition is missing")
        return of.where(text, **params)
    if "project" in data:
        return of.project(*data["project"])
    if "rename" in data:
        return of.rename({old: new for old, new in data["rename"]})  # noqa: C416  # pairs that must be pairs
    values = {n: v["text"] if "text" in v else decoded_value(v["value"]) for n, v in data["extend"]}
    return of.extend(values)


def _given(data: Any) -> tuple[str | None, dict[str, Any]]:
    if data is None:
        return None, {}
    return data["text"], {n: decoded_value(v) for n, v in data["params"].items()}
