"""What `explain` says is what `match` does: facts that must be in the text, for queries of every shape."""

import ast
import copy
import pickle
import re
import traceback

import pyarrow as pa
import pytest

import augury as ag
from augury.engines import eager, passes
from augury.pattern import Clause, Part, lines_of_pattern, text_of_part
from augury.plan.choice import ELSEWHERE, ENGINES, PLANS, choose
from augury.runtime.options import OUTPUTS

THEFT = "PATTERN SEQ(Shelf a, ~(Register b), Exit c) WHERE skip_till_next_match(a, c) { a.tag = b.tag AND a.tag = c.tag } WITHIN 500"
CHAIN = "PATTERN SEQ(Alert a, Ship+ b[]) WHERE a.site = 's' AND b[1].tag = a.tag AND b[i].tag > b[i-1].tag WITHIN 30"
RISE = """PATTERN SEQ(Stock+ a[], Stock b)
WHERE skip_till_next_match(a[], b) { [symbol] AND a[1].volume > 1000 AND a[i].price > avg(a[..i-1].price)
      AND b.volume < 80% * a[a.LEN].volume }
WITHIN 500"""

COLUMNS = pa.schema(
    [
        ("ts", pa.int64()),
        ("kind", pa.string()),
        ("symbol", pa.string()),
        ("site", pa.string()),
        ("tag", pa.int64()),
        ("price", pa.float64()),
        ("volume", pa.int64()),
    ]
)
ROLES = {"time": "ts", "type": "kind"}
TABLE = pa.table(
    {
        "ts": [1, 2, 3, 4],
        "kind": ["Stock"] * 4,
        "symbol": ["X"] * 4,
        "site": ["s"] * 4,
        "tag": [1, 2, 3, 4],
        "price": [10.0, 12.0, 13.0, None],
        "volume": [1200, 1100, 900, 500],
    },
    schema=COLUMNS,
)


def told(text, *data, **arguments):
    return ag.sase(text).explain(*data, **arguments)


def section(explanation, title):
    """The lines of a section, joined: where a sentence is broken is no fact."""
    parts = dict(part.split("\n", 1) for part in explanation.split("\n\n") if "\n" in part)
    return " ".join(parts[title].split())


def titles(explanation):
    return [line for line in explanation.split("\n") if line and not line.startswith(" ")]


# ------------------------------------------------------------------ the text itself


def test_a_prompt_shows_the_text_itself():
    shown = told(THEFT)
    assert repr(shown) == str(shown)
    assert shown.startswith("QUERY\n   1  PATTERN SEQ(Shelf a, ~(Register b), Exit c)\n")
    assert pickle.loads(pickle.dumps(shown)) == copy.copy(shown) == shown
    assert isinstance(shown, str)


def test_lines_of_the_query_are_numbered_and_each_predicate_has_one():
    query = ag.sase(RISE)
    lines = lines_of_pattern(query.pattern)
    assert "\n".join(line for line, _ in lines) == str(query)
    shown = section(query.explain(), "QUERY")
    for number, (line, _) in enumerate(lines, 1):
        assert f"{number} {line.strip()}" in shown
    assert [parts for _, parts in lines][3] == (Part(Clause.PREDICATE, 1),)
    assert text_of_part(query.pattern, Part(Clause.PREDICATE, 1)) == "a[i].price > avg(a[..i-1].price)"
    assert text_of_part(query.pattern, Part(Clause.PARTITION)) == "[symbol]"


def test_sections_that_have_nothing_to_say_are_left_out():
    assert titles(told("PATTERN A a")) == [
        "QUERY",
        "PLAN",
        "AUTOMATON",
        "MEMORY",
        "OUTPUT",
        "SLICES",
        "KERNEL",
    ]
    assert "Nothing: an event is a match by itself." in told("PATTERN A a")


def test_lines_are_as_wide_as_a_screen():
    for text in (THEFT, CHAIN, RISE):
        assert max(map(len, told(text, COLUMNS, **ROLES).split("\n"))) < 110


# ------------------------------------------------------------------ the plan


def test_the_choice_says_why_and_why_none_of_the_others():
    choice = choose()
    assert choice.plan == "eager"
    assert set(choice.rejected) == {"eager-unmerged", "backtrack", "lazy-chain", "lazy-tree", "definition"}
    shown = section(told(THEFT), "PLAN")
    for plan, reason in choice.rejected.items():
        assert f"{plan} not taken: {reason}" in shown
    assert f"eager taken: {choice.because}" in shown


@pytest.mark.parametrize("engine", ENGINES, ids=[e.plan for e in ENGINES])
def test_a_forced_plan_is_explained(engine):
    shown = section(told(THEFT, plan=engine.plan), "PLAN")
    assert f'{engine.plan} taken: plan="{engine.plan}" was asked for {engine.how}' in shown
    assert "not taken" not in shown


def test_what_is_declared_of_plans_is_what_their_engines_do():
    from augury.engines import backtrack

    assert ("auto", *(e.plan for e in ENGINES), *ELSEWHERE) == PLANS
    declared = {e.plan: e for e in ENGINES}
    assert declared["eager"].shares is eager.Evaluation.shares is True
    assert declared["backtrack"].shares is backtrack.Evaluation.shares is False


@pytest.mark.parametrize(("argument", "value"), [("plan", "quick"), ("output", "some")])
def test_what_match_does_not_know_is_refused(argument, value):
    with pytest.raises(ag.QueryError, match=f"{argument}='{value}' is not known"):
        told(THEFT, **{argument: value})


# ------------------------------------------------------------------ the automaton


def test_states_arcs_and_their_conditions_in_the_querys_words():
    shown = section(told(RISE), "AUTOMATON")
    assert "state 0 no event yet begin a[1] → 1 it is a Stock line 1 a[1].volume > 1000 line 3" in shown
    assert (
        "state 1 a[] has begun take a[i] → 1 it is a Stock line 1 a[i].price > avg(a[..i-1].price) line 4"
        in shown
    )
    assert "begin b → 2 it is a Stock line 1 b.volume < 0.8 * a[a.LEN].volume line 5" in shown
    assert "ignore → 1 any event that is not for “take a[i]” line 2 state 2 b is bound: a match" in shown
    assert "every arc event's time - first event's time < 500: " in shown
    assert "A run leaves a[] only with an event that begins b" in shown


def test_with_columns_a_type_is_a_value_of_one():
    shown = section(told(RISE, COLUMNS, **ROLES), "AUTOMATON")
    assert "begin a[1] → 1 kind is Stock" in shown
    assert "event.ts - first event.ts < 500" in shown
    assert "begin a[1] → 1 any event" in section(told(RISE, COLUMNS, time="ts"), "AUTOMATON")


@pytest.mark.parametrize(
    ("strategy", "says"),
    [
        ("skip_till_any_match", "ignore → 1 any event, also one that another arc takes"),
        ("skip_till_next_match", "ignore → 1 any event that is not for “begin b” line 2"),
        (
            "strict_contiguity",
            "no ignore an event that no arc takes, or of another partition, ends the run line 2",
        ),
        ("partition_contiguity", "no ignore an event of the partition that no arc takes ends the run line 2"),
    ],
)
def test_strategies_are_arcs_that_ignore(strategy, says):
    assert says in section(told(f"PATTERN SEQ(A a, B b) WHERE {strategy}(a, b) {{ [k] }}"), "AUTOMATON")


def test_strict_contiguity_without_a_partition():
    shown = section(told("PATTERN SEQ(A a, B b) WHERE strict_contiguity(a, b)"), "AUTOMATON")
    assert "no ignore an event that no arc takes ends the run line 2" in shown
    assert "ignore →" not in shown
    last = section(told("PATTERN SEQ(A a, B b[]) WHERE strict_contiguity(a, b[])"), "AUTOMATON")
    assert (
        "state 2 b[] has begun: a match, which more events may follow take b[i] → 2 it is a B line 1 no ignore"
        in last
    )


def test_what_must_hold_to_leave_a_series_and_to_be_a_match():
    shown = section(told("PATTERN SEQ(A+ a[], B b) WHERE count(a[].x) > 2"), "AUTOMATON")
    assert "begin b → 2 it is a B line 1 a[] may end: count(a[].x) > 2 line 2" in shown
    shown = section(told("PATTERN SEQ(A a, B+ b[]) WHERE sum(b[].x) > 2"), "AUTOMATON")
    assert "state 2 b[] has begun: a match, which more events may follow" in shown
    assert "a match only if sum(b[].x) > 2 line 2" in shown


# ------------------------------------------------------------------ predicates


def test_a_predicate_on_one_event_is_in_the_mask_and_others_are_asked_of_runs():
    shown = section(told(RISE), "PREDICATES")
    assert "line 3 a[1].volume > 1000 begin a[1]: once for each event, by itself" in shown
    assert "take a[i]: for each run, which remembers avg(a[].price)" in shown
    assert "begin b: for each run, which remembers 0.8 * a[a.LEN].volume" in shown


def test_a_predicate_is_told_in_parts():
    shown = section(told("PATTERN SEQ(A a, B b) WHERE (b.x > 3 AND b.y BETWEEN a.y AND 7)"), "PREDICATES")
    assert (
        "begin b: in part once for each event, by itself (in the mask), in part for each run, which remembers a.y"
        in shown
    )


def test_a_predicate_on_every_event_walks_them():
    text = "PATTERN SEQ(A+ a[], B b) WHERE a[].x < b.x"
    assert "begin b: for each run, and there for each event of a[] that it has bound" in section(
        told(text), "PREDICATES"
    )
    assert "for every event of a[]: a[].x < b.x" in section(told(text), "AUTOMATON")
    assert "runs are kept apart: line 2 must ask the events of each" in section(told(text), "MEMORY")
    assert "line 2 must ask the events of each" in section(told(text, output="count"), "OUTPUT")


def test_parameters_are_shown_by_their_names():
    query = ag.sase("PATTERN SEQ(A a, B b) WHERE (a.x IN (b.y, :many) OR b.x > :least)", many=[1, 2], least=3)
    shown = section(query.explain(), "MEMORY")
    assert "state 1 a.x runs that agree" in shown
    assert "columns x, y, x > :least" in shown


def test_a_predicate_of_two_moments_is_told_at_both():
    shown = section(told("PATTERN SEQ(A+ a[], B b) WHERE a[].x > 3"), "PREDICATES")
    assert shown.index("take a[i]: once for each event") > shown.index("begin a[1]: once for each event")


# ------------------------------------------------------------------ memory


def test_registers_have_types_where_there_is_a_schema():
    assert "state 1 avg(a[].price) number 0.8 * a[a.LEN].volume number" in section(
        told(RISE, COLUMNS, **ROLES), "MEMORY"
    )
    assert "state 1 avg(a[].price) 0.8 * a[a.LEN].volume runs that agree" in section(told(RISE), "MEMORY")
    assert "columns price, volume, 0.8 * volume (of every event" in section(told(RISE), "MEMORY")


def test_where_runs_live():
    text = "PATTERN SEQ(A a, B b, C c) WHERE a.x < c.x"
    assert "runs that agree in this are merged; kept in arrays, an entry for each run" in section(
        told(text), "MEMORY"
    )
    alone = section(told("PATTERN SEQ(A a, B b)"), "MEMORY")
    assert "state 1 nothing all runs are merged: there is one at most, in two local variables" in alone
    assert "runs are kept apart, as this plan does" in section(told(text, plan="eager-unmerged"), "MEMORY")
    assert "on a stack" in section(told(text, plan="backtrack"), "MEMORY")
    defined = told(text, plan="definition")
    assert "MEMORY" not in titles(defined)
    assert "This plan reads the pattern itself." in defined
    counted = section(told("PATTERN SEQ(A+ a[], ~(B b), C c)"), "MEMORY")
    assert "state 1 how many B events came before the last of a[]" in counted


def test_constants_are_shown_as_a_query_has_them():
    dated = pa.schema([("ts", pa.timestamp("us")), ("kind", pa.string()), ("day", pa.date32())])
    text = "PATTERN SEQ(A a, B b) WHERE (a.day > '2026-01-31' OR b.day IS NULL) AND (a.kind = 'it''s' OR b.day IS NULL)"
    shown = section(told(text, dated, **ROLES), "MEMORY")
    assert "state 1 a.day > '2026-01-31' boolean a.kind = 'it''s' boolean" in shown


# ------------------------------------------------------------------ negation, partitions, output


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (THEFT, "~(Register b) a Register ends the runs that wait in state 1"),
        ("PATTERN SEQ(A+ a[], ~(B b), C c)", "c begins only if there are no more by then"),
        ("PATTERN SEQ(A a, ~(B b)) WITHIN 5", "its window is over when the next B comes"),
        (
            "PATTERN SEQ(~(B b), A a) WITHIN 5",
            "begin before the first B in the window that its last event closes",
        ),
        ("PATTERN SEQ(A a, ~(B b)) WHERE b.x = a.x WITHIN 5", "is there a B after a, in the window?"),
        ("PATTERN SEQ(A a, ~(B b), C c) WHERE b.x = c.x", "is there a B between a and c?"),
    ],
)
def test_how_each_absence_is_told(text, says):
    assert says in section(told(text), "NEGATION")
    assert "each match is asked when it is complete" in section(told(text, plan="definition"), "NEGATION")


def test_predicates_of_negated_components():
    shown = section(told("PATTERN SEQ(A a, ~(B b)) WHERE b.x = a.x AND b.y > 3 WITHIN 5"), "PREDICATES")
    assert "b.x = a.x ~b: for each complete match and each B" in shown
    assert "b.y > 3 ~b: once for each B" in shown
    assert "end b: for each run, which remembers a.tag" in section(told(THEFT), "PREDICATES")


def test_partitions():
    shown = section(told(RISE, COLUMNS, key="site", **ROLES), "PARTITIONS")
    assert "key= by site; nulls are one key line 6 by symbol; an event with a null there is in none" in shown
    assert "key= by site and tag" in section(told(THEFT, key=["site", "tag"]), "PARTITIONS")


@pytest.mark.parametrize("output", OUTPUTS)
def test_whether_matches_are_listed(output):
    simple = section(told("PATTERN SEQ(A a, B b)", output=output), "OUTPUT")
    asked = section(told("PATTERN SEQ(A a, ~(N n), B b) WHERE n.x = b.x", output=output), "OUTPUT")
    assert ("listed" in simple) == (output != "all")
    assert not re.search("matches are listed one by one", simple)
    assert ("matches are listed one by one" in asked) == (output != "all")
    if output != "all":
        assert "followed" in section(told("PATTERN SEQ(A a, B b)", output=output, plan="backtrack"), "OUTPUT")


def test_a_chosen_output_keeps_runs_apart():
    shown = section(told("PATTERN SEQ(A a, B b)", output="longest"), "MEMORY")
    assert 'agree in this and in their first event are merged, since output="longest"' in shown


def test_the_columns_of_the_result():
    assert "columns match_end, count" in section(told(RISE, COLUMNS, output="count", **ROLES), "OUTPUT")
    assert "columns" not in section(told(RISE), "OUTPUT")


def test_compiled_or_not():
    assert "compiled by Numba from 100,000 events on" in section(told(RISE), "KERNEL")
    assert "These are 4: it starts as Python." in section(told(RISE, TABLE, **ROLES), "KERNEL")
    longer = pa.concat_tables([TABLE] * 25_000)
    assert "These are 100,000: it is compiled." in section(told(RISE, longer, **ROLES), "KERNEL")


def test_a_small_table_with_much_work_is_compiled_after_all():
    for shown in (told(RISE), told(RISE, TABLE, **ROLES)):
        after_all = "more than a second of work is left, it is compiled after all, and starts again"
        assert after_all in section(shown, "KERNEL")


@pytest.mark.parametrize(
    ("components", "says"),
    [
        (
            20,
            "lines long, so it starts as Python, however many events there are. If it turns out that more than",
        ),
        (120, "lines long, which would take minutes to compile: it runs as Python."),
    ],
)
def test_a_long_kernel_starts_as_python(components, says):
    text = f"PATTERN SEQ({', '.join(f'E a{n}' for n in range(components))}) WITHIN 9"
    shown = section(told(text, COLUMNS, time="ts", output="count"), "KERNEL")
    assert says in shown
    assert "compiled by Numba from" not in shown


@pytest.mark.parametrize(
    ("text", "arguments", "says"),
    [
        (RISE, {}, "a match belongs to the slice of its first event. A slice is evaluated by itself, with the events of one window (500) after it."),
        (RISE, {"output": "count"}, "the slice of its last event. A slice is evaluated by itself, with the events of one window (500) before it."),
        ("PATTERN SEQ(~(A n), A a, A b) WITHIN 3", {}, "of one window (3) before and after it."),
        ("PATTERN SEQ(A a, A b)", {}, "as a whole, in memory that grows with it: without WITHIN a match may reach over all of its partition."),
        (RISE, {"plan": "definition"}, "as a whole, in memory that grows with it: the definition looks at whole partitions."),
        ("PATTERN SEQ(~(A n), A a, A b) WITHIN 3", {"output": "non_overlap"}, "as a whole, in memory that grows with it: non_overlap goes on behind"),
    ],
)  # fmt: skip
def test_how_a_large_partition_is_cut_or_why_not(text, arguments, says):
    for shown in (told(text, **arguments), told(text, COLUMNS, time="ts", type="kind", **arguments)):
        assert says in section(shown, "SLICES")
        assert ("from 1,048,576 events" in section(shown, "SLICES")) == ("as a whole" not in says)


def test_a_registered_function_is_not_compiled(monkeypatch):
    from augury.expr import functions

    monkeypatch.setattr(functions, "_registered", dict(functions._registered))
    ag.function(lambda x, y: x < y, name="lower_than", reads=[int, int], returns=bool)
    alone = told("PATTERN SEQ(A a, B b) WHERE lower_than(b.tag, 3)")
    assert "once for each event, by itself (in the mask), where the tests before it hold" in alone
    assert "compiled by Numba" in section(alone, "KERNEL")
    text = "PATTERN SEQ(A a, B b) WHERE lower_than(a.tag, b.tag)"
    for shown in (told(text), told(text, COLUMNS, **ROLES)):
        assert "It calls lower_than, which cannot be compiled: it runs as Python." in section(shown, "KERNEL")


# ------------------------------------------------------------------ data


def test_data_is_what_match_takes_or_a_schema():
    pandas = TABLE.to_pandas()
    reader = TABLE.to_reader()
    shown = told(RISE, COLUMNS, **ROLES)
    assert told(RISE, pandas, **ROLES) == shown
    assert told(RISE, reader, **ROLES) == shown
    assert reader.read_all().num_rows == 4, "columns are looked at, rows are not"


def test_what_does_not_fit_the_data_is_an_error_with_its_place():
    with pytest.raises(ag.QueryError) as caught:
        told("PATTERN A a WHERE a.nothing = 1", COLUMNS, **ROLES)
    assert (caught.value.line, caught.value.column) == (1, 19)
    with pytest.raises(ag.QueryError, match="not which of its columns is the time"):
        told(RISE, COLUMNS)
    with pytest.raises(ag.QueryError, match="needs data or a schema"):
        told(RISE, kernel=True)
    with pytest.raises(ag.DataError, match="data of type int is no table"):
        told(RISE, 5, **ROLES)


# ------------------------------------------------------------------ the kernel


def listing(explanation):
    """The program in an explanation, without what stands beside it."""
    text = explanation.split("\nIts text, after the numbers of the query's lines\n")[1]
    return "\n".join(line.split(" | ", 1)[1].split("  # ")[0] for line in text.split("\n"))


def executed(monkeypatch, query, table, **arguments):
    """The program that `match` runs."""
    seen = []
    real = eager.plain

    def plain(source, *args, **named):
        seen.append(source)
        return real(source, *args, **named)

    monkeypatch.setattr(eager, "plain", plain)
    query.match(table, **arguments)
    return seen[0]


@pytest.mark.parametrize("plan", ["eager", "eager-unmerged", "backtrack"])
@pytest.mark.parametrize("output", OUTPUTS)
def test_the_program_that_is_shown_is_the_one_that_runs(monkeypatch, plan, output):
    query = ag.sase(RISE)
    ran = executed(monkeypatch, query, TABLE, output=output, plan=plan, **ROLES)
    shown = listing(query.explain(TABLE, output=output, plan=plan, kernel=True, **ROLES))
    assert ast.dump(ast.parse(shown)) == ast.dump(ast.parse(ran))


def test_lines_of_the_kernel_name_lines_of_the_query():
    shown = told(RISE, COLUMNS, kernel=True, **ROLES)
    for expected in (
        r"\n +1,3 \| +if m & 1: +# Stock\+ a\[\]; a\[1\].volume > 1000",
        r"\n +4 \| +took = col0\[i\] > .*reg0 / reg0n.* +# a\[i\].price > avg",
        r"\n +5 \| +went = col1\[i\] < reg1 +# b.volume < 0.8 \* a\[a.LEN\].volume",
        r"\n +2 \| +if not took: +# skip_till_next_match",
        r"\n +7 \| +low = lows\[i\] +# WITHIN 500",
        r"\n  reg1 +of a run: 0.8 \* a\[a.LEN\].volume",
    ):
        assert re.search(expected, shown), expected


def test_a_kernel_depends_on_where_nulls_are():
    assumed, found = (told(RISE, data, kernel=True, **ROLES) for data in (COLUMNS, TABLE))
    assert "for columns without nulls" in section(assumed, "KERNEL")
    assert "In these data there are nulls in price." in section(found, "KERNEL")
    assert "nul0" in found
    assert "nul0" not in assumed
    assert "no nulls in the columns that it reads" in told(RISE, TABLE.slice(0, 3), kernel=True, **ROLES)


def test_the_definition_has_no_kernel():
    assert "There is none: this plan is plain Python" in told(
        RISE, TABLE, plan="definition", kernel=True, **ROLES
    )


def test_every_line_of_a_kernel_has_its_origins():
    from augury.resolve import resolve
    from augury.schema import Columns, Roles

    query = resolve(ag.sase(RISE).pattern, Columns.of(COLUMNS), Roles("ts", "kind"))
    source = eager.Evaluation(passes.plan(query), TABLE, max_runs=10).source
    assert len(source.origins) == len(source.text.splitlines()) == len(source.words(query.pattern))


def test_a_traceback_out_of_a_kernel_names_the_query_and_its_line(monkeypatch):
    from augury.expr import functions

    monkeypatch.setattr(functions, "_registered", dict(functions._registered))

    def refuse(x: int, y: int) -> bool:
        raise ZeroDivisionError("not today")

    ag.function(refuse)
    query = ag.sase("PATTERN SEQ(Stock a, Stock b) WHERE refuse(a.tag, b.tag)")
    with pytest.raises(ZeroDivisionError) as caught:
        query.match(TABLE, **ROLES)
    shown = "".join(traceback.format_exception(caught.value))
    assert "of PATTERN SEQ(Stock a, Stock b)>" in shown
    assert "# refuse(a.tag, b.tag)" in shown


@pytest.mark.parametrize(
    ("text", "output", "said"),
    [
        ("PATTERN SEQ(A a, B b)", "all", "one task, one after another, since without WITHIN"),
        ("PATTERN SEQ(A a, B b) WITHIN 5", "all", "matches what is between in parallel"),
        ("PATTERN SEQ(A a, B b) WITHIN 5", "count", "matches what is between in parallel"),
        ("PATTERN SEQ(A a, B b) WITHIN 5", "non_overlap", "one task, one after another, since non_overlap"),
        ("PATTERN SEQ(A a, B b) WHERE [x]", "non_overlap", "Spark matches partitions in parallel"),
    ],
)
def test_it_tells_what_spark_must_do_one_after_another(text: str, output: str, said: str) -> None:
    told = " ".join(ag.sase(text).explain(output=output).split())
    assert said in told


# ------------------------------------------------------------------ lazy plans


def test_estimates_are_told_where_there_is_data():
    rows = 3000
    kinds = ["C" if i % 300 == 299 else "AB"[i % 2] for i in range(rows)]
    table = pa.table({"ts": range(rows), "kind": kinds, "x": [i * 7919 % 1000 for i in range(rows)]})
    query = ag.sase("PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 300")
    shown = " ".join(str(query.explain(table, time="ts", type="kind")).split())
    assert "taken: it is estimated to cost least: in the order c," in shown
    assert "a 1,500, b 1,490 and c 10 candidates among 3,000 events" in shown
    assert "eager not taken: about" in shown
    assert "lines 2 and 3 what follows for a and c is asked while b is open" in shown
    forced = " ".join(str(query.explain(table, time="ts", type="kind", plan="eager")).split())
    assert 'plan="auto" takes lazy-chain: it is estimated to cost least' in forced


def test_a_lazy_plan_tells_its_buffers():
    shown = section(told("PATTERN SEQ(A a, B b) WHERE a.x < b.x", plan="lazy-tree"), "BUFFERS")
    assert "A a every A that passes the tests on it alone" in shown
    assert "line 2 asked when a and b are bound, in whatever order" in shown
