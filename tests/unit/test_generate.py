import itertools

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from augury.generate import STREAMS, clicks, cluster, disturbed, rfid, stock, stream

GENERATORS = [rfid, stock, clicks, cluster]


def is_sorted(column):
    values = column.cast(pa.int64()).to_numpy()
    return bool((values[1:] >= values[:-1]).all())


@pytest.mark.parametrize("generate", GENERATORS)
@pytest.mark.parametrize("rows", [0, 1, 2, 3, 1000])
def test_exactly_so_many_rows_of_one_schema(generate, rows):
    table = generate(rows)
    table.validate(full=True)
    assert table.num_rows == rows
    assert table.schema == generate(5).schema
    assert all(column.null_count == 0 for column in table.columns)
    assert is_sorted(table["ts"])


@pytest.mark.parametrize("generate", GENERATORS)
def test_the_seed_decides(generate):
    assert generate(500, seed=3).equals(generate(500, seed=3))
    assert not generate(500, seed=3).equals(generate(500, seed=4))


@pytest.mark.parametrize("generate", GENERATORS)
def test_rows_cannot_be_negative(generate):
    with pytest.raises(ValueError, match="rows=-1"):
        generate(-1)


def by_kind(table, column):
    """For each kind, the values of a column in the rows of that kind."""
    return {
        kind: table.filter(pc.equal(table["kind"], kind))[column].to_pylist()
        for kind in pc.unique(table["kind"]).to_pylist()
    }


def test_rfid_columns():
    table = rfid(10)
    assert table.schema.names == ["ts", "kind", "tag_id", "reader"]
    assert table.schema.types == [pa.timestamp("us", tz="UTC"), pa.string(), pa.int64(), pa.string()]


def test_rfid_readers_are_of_the_kind():
    for kind, readers in by_kind(rfid(5000), "reader").items():
        assert {reader.split("-")[0] for reader in readers} == {kind.lower()}


def test_rfid_goods_take_their_way_once_and_the_others_never_leave():
    table = rfid(5000, items=1200, theft=0.1, seed=5)
    times = {}
    for row in table.to_pylist():
        times.setdefault(row["tag_id"], []).append((row["ts"], row["kind"]))
    gone = [readings for readings in times.values() if any(kind == "Exit" for _, kind in readings)]
    assert len(gone) == 1200
    ways = [[kind for _, kind in sorted(readings)] for readings in gone]
    assert all(way in (["Shelf", "Register", "Exit"], ["Shelf", "Exit"]) for way in ways)


@pytest.mark.parametrize("theft", [0.0, 0.02, 0.3, 1.0])
def test_rfid_share_of_thefts(theft):
    table = rfid(100_000, items=20_000, theft=theft, seed=2)
    tags = by_kind(table, "tag_id")
    left = set(tags["Exit"])
    stolen = len(left - set(tags["Register"]))
    assert len(left) == 20_000
    assert stolen / 20_000 == pytest.approx(theft, abs=0.01)


def test_rfid_needs_rows_for_its_items():
    assert rfid(30, items=10).num_rows == 30
    with pytest.raises(ValueError, match="10 items need up to 30 rows; rows=29"):
        rfid(29, items=10)
    with pytest.raises(ValueError, match=r"theft=1\.5"):
        rfid(30, theft=1.5)


def test_stock_columns_and_ranges():
    table = stock(20_000, symbols=3)
    assert table.schema.names == ["ts", "kind", "symbol", "price", "volume"]
    assert table["ts"].to_pylist() == list(range(20_000))
    assert pc.unique(table["kind"]).to_pylist() == ["Stock"]
    assert sorted(pc.unique(table["symbol"]).to_pylist()) == [1, 2, 3]
    assert pc.min_max(table["volume"]).as_py() == {"min": 1, "max": 1000}
    assert pc.min_max(table["price"]).as_py() == {
        "min": 1,
        "max": 1000,
    }  # 0.55 a tick: it wraps several times


def moves(table, symbol):
    price = table.filter(pc.equal(table["symbol"], symbol))["price"].to_numpy()
    return (price[1:] - price[:-1] + 1) % 1000 - 1  # 1 after 1000 is a rise, 1000 after 1 a fall


@pytest.mark.parametrize(("p_up", "p_down"), [(0.7, 0.15), (0.55, 0.225), (0.0, 1.0), (1.0, 0.0), (0.0, 0.0)])
def test_stock_prices_move_by_at_most_one(p_up, p_down):
    table = stock(40_000, p_up=p_up, p_down=p_down, seed=9)
    for symbol in (1, 2):
        step = moves(table, symbol)
        assert set(step.tolist()) <= {-1, 0, 1}
        assert (step == 1).mean() == pytest.approx(p_up, abs=0.02)
        assert (step == -1).mean() == pytest.approx(p_down, abs=0.02)


def test_stock_symbols_are_equally_frequent():
    share = pc.mean(pc.equal(stock(40_000)["symbol"], 1)).as_py()
    assert share == pytest.approx(0.5, abs=0.02)


def test_stock_with_more_symbols_than_rows():
    assert stock(10, symbols=100_000).num_rows == 10


def test_stock_refuses_impossible_arguments():
    with pytest.raises(ValueError, match="symbols=0"):
        stock(10, symbols=0)
    with pytest.raises(ValueError, match=r"p_up \+ p_down is 1\.2"):
        stock(10, p_up=0.7, p_down=0.5)


def test_clicks_columns_and_ranges():
    table = clicks(20_000, users=50)
    assert table.schema.names == ["ts", "kind", "user", "page"]
    assert table.schema.types == [pa.timestamp("us", tz="UTC"), pa.string(), pa.int64(), pa.string()]
    assert pc.min_max(table["user"]).as_py() == {"min": 0, "max": 49}
    pages = {kind: set(values) for kind, values in by_kind(table, "page").items()}
    assert pages["cart"] == {"/cart"}
    assert pages["buy"] == {"/checkout"}
    assert all(page.startswith("/item/") for page in pages["view"])
    with pytest.raises(ValueError, match="users=0"):
        clicks(10, users=0)


def test_clicks_form_a_funnel():
    kinds = [len(values) for _, values in sorted(by_kind(clicks(50_000), "user").items())]
    buy, cart, view = kinds
    assert buy / cart == pytest.approx(0.5, abs=0.05)
    assert cart / view == pytest.approx(0.3 * 0.3, abs=0.02)  # 0.3 of the sessions, of 1 / 0.3 views each


def test_cluster_columns_and_ranges():
    table = cluster(20_000, machines=7)
    assert table.schema.names == ["ts", "kind", "job", "machine", "cpu", "memory"]
    assert len(pc.unique(table["machine"])) == 7
    assert pc.min_max(table["cpu"]).as_py()["max"] <= 100
    assert pc.min(table["memory"]).as_py() > 0
    with pytest.raises(ValueError, match="machines=0"):
        cluster(10, machines=0)


@pytest.mark.parametrize("leaking", [0.0, 0.1, 1.0])
def test_cluster_jobs_fail_exactly_if_their_memory_only_rises(leaking):
    table = cluster(30_000, leaking=leaking, seed=4)
    jobs = {}
    for row in table.to_pylist():
        jobs.setdefault(row["job"], []).append((row["kind"], row["memory"], row["machine"]))
    whole = [rows for rows in jobs.values() if rows[0][0] == "Start" and rows[-1][0] in ("End", "Fail")]
    assert len(whole) > 1500
    assert all(len({machine for _, _, machine in rows}) == 1 for rows in whole)
    failed = 0
    for rows in whole:
        memory = [m for _, m, _ in rows]
        rises = all(a < b for a, b in itertools.pairwise(memory))
        assert rises or rows[-1][0] == "End"
        failed += rows[-1][0] == "Fail"
    assert failed / len(whole) == pytest.approx(leaking, abs=0.02)


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_in_parts(name):
    parts = list(stream(name, 2500, seed=3, part=1000))
    assert [part.num_rows for part in parts] == [1000, 1000, 500]
    assert parts[0].equals(STREAMS[name](1000, seed=3))
    whole = pa.concat_tables(parts)
    assert is_sorted(whole["ts"])
    assert whole.equals(pa.concat_tables(stream(name, 2500, seed=3, part=1000)))
    assert not whole.equals(pa.concat_tables(stream(name, 2500, seed=4, part=1000)))
    assert [part.num_rows for part in stream(name, 0)] == [0]


def test_prices_go_on_from_part_to_part():
    whole = pa.concat_tables(stream("stock", 5000, symbols=3, part=500))
    assert whole["ts"].to_pylist() == list(range(5000))
    assert all(set(moves(whole, symbol).tolist()) <= {-1, 0, 1} for symbol in (1, 2, 3))


def test_goods_of_one_part_are_not_those_of_another():
    parts = list(stream("rfid", 3000, items=500, part=1000))
    tags = [set(part["tag_id"].to_pylist()) for part in parts]
    assert not tags[0] & tags[1]
    assert not tags[1] & tags[2]
    assert sum(part["kind"].to_pylist().count("Exit") for part in parts) == 500


def test_a_stream_refuses():
    with pytest.raises(ValueError, match="there is no stream 'stocks'"):
        next(stream("stocks", 10))
    with pytest.raises(ValueError, match="part=0"):
        next(stream("stock", 10, part=0))


def arrived(**disturbance):
    parts = stream("stock", 20_000, part=3000)
    return pa.concat_tables(disturbed(parts, delay=50, **disturbance))


def lateness(table):
    """How far each row's time lies behind the greatest one before it."""
    ts = table["ts"].to_numpy()
    return np.maximum.accumulate(ts) - ts


def test_undisturbed_is_as_it_was():
    assert arrived().equals(pa.concat_tables(stream("stock", 20_000, part=3000)))


def test_disorder_is_never_late():
    table = arrived(disorder=0.3, seed=2)
    behind = lateness(table)
    assert behind.max() <= 50
    assert (behind > 0).mean() == pytest.approx(0.3, abs=0.03)
    assert sorted(table["ts"].to_pylist()) == list(range(20_000))


def test_late_rows_are():
    table = arrived(late=0.05, seed=2)
    behind = lateness(table)
    assert (behind > 50).mean() == pytest.approx(0.05, abs=0.01)
    assert behind.max() <= 500
    before_the_end = table["ts"].to_numpy() < 20_000 - 500
    assert set(np.unique(behind[(behind <= 50) & before_the_end])) == {0}


def test_duplicates_are_whole_rows():
    table = arrived(duplicates=0.1, seed=2)
    assert table.num_rows / 20_000 == pytest.approx(1.1, abs=0.01)
    assert len(set(map(tuple, (row.values() for row in table.to_pylist())))) == 20_000
    assert lateness(table).max() <= 50


def test_disturbance_needs_a_delay():
    with pytest.raises(ValueError, match="delay=0"):
        list(disturbed(stream("stock", 10), delay=0, late=0.1))
    with pytest.raises(ValueError, match=r"late=1\.5"):
        list(disturbed(stream("stock", 10), delay=1, late=1.5))
