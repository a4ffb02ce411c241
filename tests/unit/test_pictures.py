"""Pictures: what is in them, that nothing in them overlaps or is cut, and that they stay as they were stored.

Stored are not pixels but what is drawn and where: texts, and the number of strokes of each colour, in points.
`python tests/unit/test_pictures.py` stores them anew; look at the pictures it writes beside before you keep them.
"""

import datetime as dt
import itertools
import json
import random
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import augury as ag
from augury.errors import DataError, QueryError
from augury.generate import rfid
from augury.pictures import canvas

pytest.importorskip("matplotlib")

canvas._WIDER = ()  # what other fonts a machine has is none of the stored pictures' business

STORED = Path(__file__).parents[1] / "data" / "pictures"

QUERIES = {
    "theft": """PATTERN SEQ(Shelf a, ~(Register b), Exit c)
        WHERE skip_till_next_match(a, c) { [tag] AND a.weight > 5 AND b.amount > a.amount } WITHIN 12 hours""",
    "rise": """PATTERN SEQ(Stock+ a[], Stock b)
        WHERE skip_till_next_match(a[], b) { [symbol] AND a[1].volume > 1000 AND a[i].price > avg(a[..i-1].price)
              AND b.volume < 80% * a[a.LEN].volume } WITHIN 500""",
    "absences": """PATTERN SEQ(~(X n), Alert a, Ship+ b[], ~(Stop s), Ship+ c[], ~(Z z))
        WHERE strict_contiguity(a, b, c) { a.site = 's' AND b[i].tag > b[i-1].tag AND z.t = b[1].t AND count(c[].x) > 3
              AND a.a_name_that_is_long > 5 + c[1].another_name_that_is_long * 17 - c[1].something_else } WITHIN 30""",
    "any": "PATTERN SEQ(A a, B b) WITHIN 5",
    "signs": "PATTERN SEQ(`価格 $x$` `ü\n<b>`, `🙂` b) WHERE b.`a_{1}^2` = 'it''s \\alpha $'",
}


def walk(n, symbols, seed):
    """A random walk of prices, the same on every machine."""
    rng = random.Random(seed)
    price = dict.fromkeys(symbols, 50.0)
    rows = []
    for i in range(n):
        symbol = symbols[i % len(symbols)]
        price[symbol] += rng.choice([-1.5, -1, -0.5, 0.5, 1, 1.5])
        rows.append(
            (dt.datetime(2026, 1, 5, 9, tzinfo=dt.UTC) + dt.timedelta(minutes=i), symbol, price[symbol])
        )
    times, names, prices = zip(*rows, strict=True)
    return pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "symbol": names, "price": prices})


FALL = """PATTERN SEQ(S a, S+ b[], S c) WHERE strict_contiguity(a, b, c)
    { b[1].price < a.price AND b[i].price < b[i-1].price AND b.LEN > 2 AND c.price > b[b.LEN].price }"""
LETTERS = pa.table({"ts": range(1, 15), "kind": list("AXBABCBABCACBX"), "x": range(14)})
SHELF = "PATTERN SEQ(Shelf a, ~(Register b), Exit c) WHERE skip_till_next_match(a, c) { [tag_id] } WITHIN 12 hours"


def over_series():
    data = walk(120, ["ACME", "BOLT"], 7)
    return ag.plot_matches(ag.sase(FALL).match(data, time="ts", key="symbol"), data, y="price")


def in_lanes():
    data = rfid(60, items=12, theft=0.4, seed=2)
    return ag.plot_matches(
        ag.sase(SHELF).match(data, time="ts", type="kind", key="tag_id"), data, type="kind"
    )


def with_confidence():
    result = pa.table(
        {
            "k": ["u", "u", "v"],
            "range_start": [1, 5, 2],
            "range_end": [9, 12, 4],
            "confidence": [0.85, 0.3, 1.0],
            "a": [{"lo": 1, "hi": 3}, {"lo": 5, "hi": 6}, {"lo": 2, "hi": 2}],
            "b": [{"lo": 7, "hi": 9}, {"lo": 9, "hi": 12}, {"lo": 3, "hi": 4}],
        }
    )
    return ag.plot_matches(result, time=("lo", "hi"))


def strategies():
    query = ag.sase("PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_next_match(a, b, c) WITHIN 9")
    return ag.plot_strategies(query, LETTERS, time="ts", type="kind")


def machine():
    afa = ag.Automaton(start="q0", final=["q3"], registers={"n": 0, "high": 0.0})
    afa.arc("q0", "q1", when="change < 0", update={"n": "1"}, id="drop")
    afa.arc("q1", "q1", when="change < 0", update={"n": "r.n + 1"}, id="further")
    afa.arc("q1", "q2", when="change > 0 AND e.price > r.high", update={"high": "e.price"}, id="up")
    afa.arc("q2", "q1", when="change < -5", id="again", lifetime=(100, None))
    afa.arc("q1", "q3", when="change > 50", id="leap")
    afa.epsilon("q2", "q3", when="r.n = 2", id="two").window_end("q1", "q3", id="end")
    return afa.query(within=2000).plot()


def misses():
    query = ag.sase("PATTERN SEQ(A a, ~(X n), B b, C c) WHERE b.x < a.x AND c.x > 2 * b.x WITHIN 50")
    return query.why(LETTERS, time="ts", type="kind").plot()


def stream():
    ticks = ag.stream("Stock").where("vol > 10000").extend(n="1")
    rising = ticks.iterate(
        ag.stream("Stock"),
        on="name = name.last AND price > price.last",
        step=lambda x: x.extend(n="n.last + 1"),
    )
    return rising.then(ag.stream("Stock").union(ag.stream("Bond")), on="price < price.last").where("n > 3")


def a_set():
    return ag.QuerySet(
        {
            "fraud": ag.sase("PATTERN SEQ(A a, B b, C c) WHERE a.x > 5 AND b.x > a.x WITHIN 10"),
            "drop": ag.sase("PATTERN SEQ(A a, B b, D d) WHERE a.x > 5 AND b.x > a.x WITHIN 10"),
            "longer": ag.sase("PATTERN SEQ(A a, B b, D d) WHERE a.x > 5 AND b.x > a.x WITHIN 11"),
            "rising": stream(),
        }
    )


PICTURES = {
    "stream": lambda: stream().plot(),
    "set": lambda: a_set().plot(),
    "misses": misses,
    "machine": machine,
    **{name: (lambda text=text: ag.sase(text).plot()) for name, text in QUERIES.items()},
    "over_series": over_series,
    "in_lanes": in_lanes,
    "with_confidence": with_confidence,
    "strategies": strategies,
}


def texts(picture):
    """Every text that is drawn with its box, in points from the bottom left."""
    from matplotlib.backends.backend_agg import RendererAgg

    drawn = []

    class Watched(RendererAgg):
        def draw_text(self, *_where, mtext=None, **_how):
            drawn.append(mtext)

    figure = picture.figure
    width, height = figure.get_size_inches() * figure.dpi
    renderer = Watched(width, height, figure.dpi)
    figure.draw(renderer)
    scale = 72 / figure.dpi
    for artist in dict.fromkeys(drawn):
        box = artist.get_window_extent(renderer)
        yield artist.get_text(), tuple(round(float(v) * scale, 1) for v in (box.x0, box.y0, box.x1, box.y1))


def strokes(picture):
    """How many lines and shapes there are of each colour."""
    from matplotlib.colors import to_hex
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    found = {}
    for axes in picture.figure.axes:
        for artist in [*axes.lines, *axes.patches]:
            colour = artist.get_color() if isinstance(artist, Line2D) else artist.get_edgecolor()
            assert isinstance(artist, Line2D | Patch)
            found[to_hex(colour)] = found.get(to_hex(colour), 0) + 1
    return found


def described(picture):
    width, height = (round(float(v) * 72) for v in picture.figure.get_size_inches())
    return {
        "size": [width, height],
        "texts": [[text, *box] for text, box in texts(picture)],
        "strokes": strokes(picture),
    }


@pytest.fixture(scope="module", params=PICTURES)
def drawn(request):
    return request.param, PICTURES[request.param]()


def test_is_as_it_was_stored(drawn):
    name, picture = drawn
    now, then = described(picture), json.loads((STORED / f"{name}.json").read_text(encoding="utf-8"))
    assert now["size"] == pytest.approx(then["size"], abs=2)
    assert now["strokes"] == then["strokes"]
    assert [t[0] for t in now["texts"]] == [t[0] for t in then["texts"]]
    for (text, *is_at), (_, *was_at) in zip(now["texts"], then["texts"], strict=True):
        assert is_at == pytest.approx(was_at, abs=2), text


def test_texts_are_whole_and_apart(drawn):
    _, picture = drawn
    width, height = picture.figure.get_size_inches() * 72
    found = [(t, box) for t, box in texts(picture) if t.strip()]
    for text, (x0, y0, x1, y1) in found:
        assert x0 >= 0, text
        assert y0 >= -1, text
        assert x1 <= width, text
        assert y1 <= height, text
    for (one, a), (two, b) in itertools.combinations(found, 2):
        across = min(a[2], b[2]) - max(a[0], b[0])
        down = min(a[3], b[3]) - max(a[1], b[1])
        assert across <= 1 or down <= 3, (one, two)


def test_is_the_same_file_each_time(drawn):
    name, picture = drawn
    assert picture.svg() == PICTURES[name]().svg()
    assert picture.png(36) == PICTURES[name]().png(36)


def test_a_program_s_own_settings_change_nothing():
    import matplotlib as mpl

    wanted = ag.sase(QUERIES["any"]).plot().svg()
    with mpl.rc_context(
        {"font.size": 30, "text.color": "red", "axes.facecolor": "black", "svg.fonttype": "none"}
    ):
        assert ag.sase(QUERIES["any"]).plot().svg() == wanted


def words(picture):
    return [text for text, _ in texts(picture)]


def test_an_automaton_has_its_states_guards_and_registers():
    said = words(ag.sase(QUERIES["rise"]).plot())
    assert [t for t in said if t in ("0", "1", "2")] == ["0", "1", "2"]
    assert "a[i].price > avg(a[..i-1].price)" in said
    assert "remembers avg(a[].price), 0.8 * a[a.LEN].volume" in said
    assert "ignore: any event that is not for “take a[i]”" in said


def test_a_set_shares_the_states_that_are_reached_alike():
    states = [t for t in words(a_set().plot()) if t.isdigit()]
    alone = sum(sum(t.isdigit() for t in words(query.plot())) for query in a_set()._queries.values())
    assert (
        len(states) == alone - 3 - 2
    )  # one start for four, and A and B of fraud for drop; another window shares nothing
    many = ag.QuerySet({f"q{n}": ag.sase(f"PATTERN SEQ(A a, B b) WHERE b.x > {n}") for n in range(100)})
    assert any(t.startswith("24 of 100 queries") for t in words(many.plot()))
    assert ag.QuerySet({}).plot().svg()


def test_every_negated_component_is_in_the_picture():
    said = " ".join(words(ag.sase(QUERIES["absences"]).plot()))
    for absent in ("~(X n)", "no Stop s since", "~(Z z)"):
        assert absent in said
    assert "~(Register b) ends the run" in words(ag.sase(QUERIES["theft"]).plot())


def test_a_picture_is_saved_by_its_name(tmp_path):
    picture = ag.sase(QUERIES["any"]).plot()
    for name, begins in (("q.svg", b"<?xml"), ("q.PNG", b"\x89PNG"), ("q.pdf", b"%PDF")):
        picture.save(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(begins)
    with pytest.raises(ValueError, match=r"\.svg, \.png or \.pdf"):
        picture.save(tmp_path / "q.jpg")


def test_a_notebook_gets_what_it_asks_for():
    picture = ag.sase(QUERIES["any"]).plot()
    assert set(picture._repr_mimebundle_()) == {"text/plain", "image/svg+xml"}
    assert set(picture._repr_mimebundle_(include=["image/png"])) == {"text/plain", "image/png"}


def test_a_query_shows_itself_and_no_word_of_it_is_markup():
    shown = ag.sase(QUERIES["signs"])._repr_html_()
    assert "<svg" in shown
    assert "<b>" not in shown
    assert "&lt;b&gt;" in shown


def test_a_series_needs_data_and_numbers():
    data = walk(20, ["ACME"], 1)
    result = ag.sase("PATTERN SEQ(S a, S b) WITHIN 2 minutes").match(data, time="ts")
    with pytest.raises(QueryError, match="no data"):
        ag.plot_matches(result, y="price")
    with pytest.raises(QueryError, match="is a string"):
        ag.plot_matches(result, data, y="symbol")
    with pytest.raises(QueryError, match="no column"):
        ag.plot_matches(result, data, y="prize")
    with pytest.raises(DataError, match="are no matches"):
        ag.plot_matches(data, data)


def test_one_key_can_be_named():
    data = walk(60, ["ACME", "BOLT"], 7)
    result = ag.sase("PATTERN SEQ(S a, S b) WHERE b.price > a.price WITHIN 3 minutes").match(
        data, time="ts", key="symbol"
    )
    said = words(ag.plot_matches(result, data, y="price", key={"symbol": "BOLT"}))
    assert "symbol = BOLT" in said
    assert "symbol = ACME" not in said


def test_no_match_is_a_picture_too():
    data = walk(20, ["ACME"], 1)
    result = ag.sase("PATTERN SEQ(S a, S b) WHERE b.price < -5").match(data, time="ts", key="symbol")
    assert "0 matches" in words(ag.plot_matches(result, data, y="price"))
    assert "0 matches" in words(ag.plot_matches(result, data))
    assert "0 matches" in words(ag.plot_matches(result))


def test_many_matches_are_told_and_not_all_drawn():
    data = pa.table({"ts": range(30), "x": range(30)})
    result = ag.sase("PATTERN SEQ(S a, S b)").match(data, time="ts")
    said = words(ag.plot_matches(result, data, limit=20, time="ts"))
    assert "the first 20 of 435 matches" in said
    assert any("more" in text for text in said)


def test_results_of_every_language_are_drawn():
    data = pa.table({"ts": [1, 2, 3], "hi": [2, 3, 4], "kind": ["A", "B", "A"], "x": [1, 2, 3]})
    query = ag.sase("PATTERN SEQ(A a, B b)")
    uncertain = query.match(
        data,
        time=("ts", "hi"),
        type="kind",
    )
    assert "1 match" in words(ag.plot_matches(uncertain, data, time=("ts", "hi"), type="kind"))
    then = ag.stream("A").then(ag.stream("B"))
    both = ag.QuerySet({"sase": query, "cesar": then})
    afa = ag.Automaton(start="q", final="r").arc("q", "r", when="x > 1")
    for result in (
        then.match(data, time="ts", type="kind"),
        both.match(data, time="ts", type="kind"),
        afa.query().match(data, time="ts"),
        afa.query(within=2).match(data, time="ts"),
    ):
        assert any(
            t.endswith(("1 match", "2 matches")) for t in words(ag.plot_matches(result, data, time="ts"))
        )


def test_which_column_is_the_time_is_asked_only_where_it_is_not_plain():
    data = pa.table({"x": [7, 8, 9], "ts": [1, 2, 3]})
    result = ag.sase("PATTERN SEQ(S a, S b) RETURN a.x").match(data, time="ts")
    assert ag.plot_matches(result, data, y="x")
    same = pa.table({"x": [1, 2, 3], "ts": [1, 2, 3]})
    with pytest.raises(QueryError, match="not plain: x, ts could be"):
        ag.plot_matches(result, same, y="x")


def test_strategies_are_those_of_the_definition():
    query = ag.sase("PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_next_match(a, b, c) WITHIN 9")
    said = words(ag.plot_strategies(query, LETTERS, time="ts", type="kind"))
    for strategy, many in (
        ("strict_contiguity", "2"),
        ("skip_till_next_match", "6"),
        ("skip_till_any_match", "20"),
    ):
        other = ag.sase(str(query).replace("skip_till_next_match", strategy))
        assert other.match(LETTERS, time="ts", type="kind").num_rows == int(many)
        assert any(text.startswith(f"{many} matches") for text in said)


def test_strategies_of_a_stretch_know_what_stands_around_it():
    n = 60
    data = pa.table({"ts": range(n), "kind": ["X"] * 30 + ["A", "B"] + ["X"] * 26 + ["N", "X"]})
    query = ag.sase("PATTERN SEQ(A a, B b, ~(N n)) WITHIN 40")
    said = words(ag.plot_strategies(query, data, type="kind"))
    assert "0 matches, the query's" in said


if __name__ == "__main__":
    shots = Path(sys.argv[1]) if len(sys.argv) > 1 else STORED
    for key, make in PICTURES.items():
        made = make()
        lines = json.dumps(described(made), ensure_ascii=False).replace("], [", "],\n[")
        (STORED / f"{key}.json").write_text(lines + "\n", encoding="utf-8")
        if shots != STORED:
            made.save(shots / f"{key}.png")
