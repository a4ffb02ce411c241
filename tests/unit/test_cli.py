"""The command line, mostly in this process: a subprocess costs half a second."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import augury as ag
from augury.cli.app import app
from augury.generate import rfid, stream

THEFT = """PATTERN SEQ(Shelf a, ~(Register b), Exit c)
WHERE   skip_till_next_match(a, c) { [tag_id] }
WITHIN  12 hours
RETURN  a.tag_id AS tag_id, a.reader AS shelf, c.ts AS gone
"""
ROLES = ["--time", "ts", "--type", "kind"]
LIGHT = ["numba", "lark", "pandas", "pyspark", "pyarrow", "numpy"]  # what help and completion do without


def run(*words, stdin=None):
    return CliRunner().invoke(app, [str(w) for w in words], input=stdin, env={"COLUMNS": "120"})


def said(result):
    """What went to stderr, as one line of words."""
    return " ".join(result.stderr.split())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "theft.sase").write_text(THEFT)
    return tmp_path


@pytest.fixture
def readings(folder):
    table = rfid(500, theft=0.2, seed=1)
    pq.write_table(table, "r.parquet")
    return table


def expected(table, **options):
    return ag.sase(THEFT).match(table, time="ts", type="kind", **options)


# ------------------------------------------------------------------ formats


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "jsonl", "csv.gz", "jsonl.zst"])
def test_every_format_goes_round(folder, readings, ending):
    made = run("generate", "rfid", "--rows", 500, "--theft", 0.2, "--seed", 1, "-o", f"s.{ending}")
    assert made.exit_code == 0, made.stderr
    found = run("match", "theft.sase", f"s.{ending}", *ROLES, "-o", "out.parquet")
    assert found.exit_code == 0, found.stderr
    assert pq.read_table("out.parquet").to_pylist() == expected(readings).to_pylist()


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv", "jsonl"])
def test_standard_input_and_output(folder, readings, form):
    written = run("generate", "rfid", "--rows", 500, "--theft", 0.2, "--seed", 1, "-f", form)
    found = run("match", "theft.sase", "-", *ROLES, stdin=written.stdout_bytes)
    assert found.exit_code == 0, found.stderr
    rows = [json.loads(line) for line in found.stdout.splitlines()]
    assert [row["tag_id"] for row in rows] == expected(readings)["tag_id"].to_pylist()


def test_files_globs_and_folders_are_one_table(folder, readings):
    (folder / "d").mkdir()
    for k in range(3):
        pq.write_table(readings.slice(k * 200, 200), f"d/{k}.parquet")
    for data in (["d"], ["d/*.parquet"], ["d/0.parquet", "d/1.parquet", "d/2.parquet"]):
        assert run("match", "theft.sase", *data, *ROLES).stdout.count("\n") == len(expected(readings))


def test_columns_of_json_keep_their_order(folder):
    (folder / "s.jsonl").write_text('{"b":"2024-01-31","a":1,"ts":"2024-01-31 10:00:00"}\n')
    found = run("match", "PATTERN A a", "s.jsonl", "-t", "ts", "--column", "a:string").stdout
    assert list(json.loads(found)["a"]) == ["b", "a", "ts"]


def test_structs_and_lists_in_csv_and_json(folder):
    (folder / "s.csv").write_text("ts,kind,x\n1,A,1.0\n2,B,\n3,B,2.5\n")
    query = "PATTERN SEQ(A a, B+ b[])"
    csv = run("match", query, "s.csv", *ROLES, "--output", "longest", "-f", "csv").stdout
    assert csv.splitlines()[0] == '"match_start","match_end","a.ts","a.kind","a.x","b"'
    lines = run("match", query, "s.csv", *ROLES, "--output", "longest").stdout.splitlines()
    assert json.loads(lines[0])["b"] == [{"ts": 2, "kind": "B", "x": None}, {"ts": 3, "kind": "B", "x": 2.5}]
    assert '"x":1.0' in lines[0]


def test_the_columns_that_are_read_decide(folder, readings):
    wide = readings.append_column("unread", pa.array(["x"] * len(readings)).dictionary_encode())
    pq.write_table(wide, "wide.parquet")
    found = run("match", "theft.sase", "wide.parquet", *ROLES, "--match-id", "-o", "out.arrow")
    assert found.exit_code == 0, found.stderr
    ids = pa.ipc.open_file("out.arrow").read_all()["match_id"]
    assert ids.to_pylist() == expected(wide, match_id=True)["match_id"].to_pylist()


def test_compressed_and_expanded(folder, readings):
    run("match", "theft.sase", "r.parquet", *ROLES, "--output", "compressed", "-o", "c.parquet")
    found = run("expand", "c.parquet", "-o", "all.parquet")
    assert found.exit_code == 0, found.stderr
    rows = expected(readings)
    assert sorted(pq.read_table("all.parquet")["tag_id"].to_pylist()) == sorted(rows["tag_id"].to_pylist())
    refused = run("match", "theft.sase", "r.parquet", *ROLES, "--output", "compressed", "-f", "csv")
    assert refused.exit_code == 2
    assert "CSV cannot hold compressed matches" in said(refused)


# ------------------------------------------------------------------ types of text


def columns_of(path, *options):
    told = run("check", "PATTERN A a", path, "--time", "ts", "--json", *options)
    assert told.exit_code == 0, told.stderr
    return {c["name"]: c["type"] for c in json.loads(told.stdout)["columns"]}["match_start"]


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        ("7", "int64"),
        ("2024-01-31", "date"),
        ("2024-01-31 10:00:00", "timestamp[s]"),
        ("2024-01-31T10:00:00.25", "timestamp[us]"),
        ("2024-01-31T10:00:00.25+02:00", "timestamp[us, UTC]"),
        ("2024-01-31T10:00:00.000000001Z", "timestamp[ns, UTC]"),
    ],
)
def test_times_in_csv(folder, value, type_):
    (folder / "s.csv").write_text(f"ts,x\n{value},1\n")
    assert columns_of("s.csv") == type_


@pytest.mark.parametrize(
    ("value", "type_", "ends"),
    [
        ("7", "int64", 7),
        ('"2024-01-31"', "date", "2024-01-31"),
        ('"2024-01-31T10:00:00"', "timestamp[us]", "2024-01-31T10:00:00.000000"),
        ('"2024-01-31T10:00:00.25+02:00"', "timestamp[us, UTC]", "2024-01-31T08:00:00.250000Z"),
    ],
)
def test_times_in_json(folder, value, type_, ends):
    (folder / "s.jsonl").write_text(f'{{"ts":{value},"x":1}}\n')
    assert columns_of("s.jsonl") == type_
    assert json.loads(run("match", "PATTERN A a", "s.jsonl", "-t", "ts").stdout)["match_end"] == ends


@pytest.mark.parametrize(
    ("value", "column", "type_"),
    [
        ("1704103200000", "ts:timestamp[ms]", "timestamp[ms]"),
        ("2024-01-31T10:00:00Z", "ts:timestamp", "timestamp[us, UTC]"),
        ("2024-01-31 10:00:00", "ts:timestamp[us, UTC]", "timestamp[us, UTC]"),
        (" 7 ", "ts:int32", "int32"),
    ],
)
def test_a_column_is_what_it_is_said_to_be(folder, value, column, type_):
    (folder / "s.csv").write_text(f"ts,x\n{value},1\n")
    assert columns_of("s.csv", "--column", column) == type_


def test_delimiters_and_words_for_null(folder):
    (folder / "s.csv").write_text("ts;x\n1;NA\n2;3,5\n")
    (folder / "t.tsv").write_text("ts\tx\n1\tNA\n2\t4\n")
    query = "PATTERN A a WHERE a.x > 3 RETURN a.x"
    found = run("match", query, "t.tsv", "-t", "ts", "--null", "NA")
    assert [json.loads(line)["a_x"] for line in found.stdout.splitlines()] == [4]
    wrong = run("match", query, "s.csv", "-t", "ts")
    assert wrong.exit_code == 3
    assert "the columns were read as ts int64, x string; --column NAME:TYPE says otherwise" in said(wrong)


# ------------------------------------------------------------------ what is wrong, and its exit code

CASES = [
    (["thft.sase", "r.parquet"], 2, "there is no file thft.sase"),
    (["theft.sase", "r.parket"], 4, "there is no file r.parket; did you mean r.parquet?"),
    (["theft.sase", "x*.csv"], 4, "no file matches x*.csv"),
    (["theft.sase", "empty.csv"], 4, "empty.csv is empty"),
    (
        ["theft.sase", "text.parquet"],
        4,
        "text.parquet is no parquet file: it looks like csv, and --input-format csv",
    ),
    (["theft.sase", "binary.csv"], 4, "binary.csv is no csv file: it looks like parquet"),
    (["theft.sase", "header.csv"], 4, "header.csv, row 1: the header is no text in UTF-8; convert"),
    (
        ["theft.sase", "quote.csv"],
        4,
        "quote.csv: a row is longer than 8 MB; is a quote opened that is not closed?",
    ),
    (["theft.sase", "long.jsonl"], 4, "long.jsonl, line 1: the object is longer than 8 MB"),
    (["theft.sase", "latin.jsonl"], 4, "latin.jsonl, line 2 is no text in UTF-8; convert"),
    (["theft.sase", "twice.jsonl"], 4, 'twice.jsonl, line 1: "a" stands twice in an object'),
    (["theft.sase", ""], 2, "one of DATA is empty: is a variable of the shell not set?"),
    (["theft.sase", "r.parquet", "-o", ""], 2, "-o names no file"),
    (["folder", "r.parquet"], 2, "folder is a folder; the query comes first"),
    (["r.parquet", "theft.sase"], 3, "the query comes first, and then the data"),
    (["theft.sase", "wide.csv"], 3, "c18 int64, … (1,000 in all); --column"),
    (["theft.sase", "short.csv"], 4, "short.csv: row 3 (the header is row 1): expected 4 columns, got 2"),
    (
        ["theft.sase", "word.csv", "-c", "tag_id:int64"],
        4,
        "word.csv, row 3: the column tag_id holds 'abc', which is no int64",
    ),
    (["theft.sase", "latin.csv"], 4, "latin.csv, row 2: the column reader is no text in UTF-8"),
    (["theft.sase", "kinds.jsonl"], 4, "kinds.jsonl, line 3: ts is a string, and a number before"),
    (["theft.sase", "broken.jsonl"], 4, "broken.jsonl, line 2: Unterminated string"),
    (["theft.sase", "array.json"], 4, "line 1: an array, not an object"),
    (["theft.sase", "cut.parquet"], 4, "cut.parquet cannot be read as parquet"),
    (["theft.sase", "noise.bin"], 4, "noise.bin is neither parquet, Arrow, CSV nor JSON lines"),
    (["theft.sase", "r.parquet", "other.csv"], 4, "other.csv has no column ts, which --time names"),
    (["theft.sase", "r.parquet", "number.csv"], 4, "the column ts is int64 in number.csv"),
    (["theft.sase", "r.parquet", "--time", "t"], 3, "did you mean ts?"),
    (["theft.sase", "r.parquet", "--output", "some"], 3, "--output some is not known"),
    (
        ["theft.sase", "r.parquet", "--max-runs", "1", "--plan", "eager-unmerged"],
        1,
        "2 live runs exceed --max-runs 1;",
    ),
    (["theft.sase", "r.parquet", "-p", "x=1"], 3, "there is no parameter :x"),
    (["theft.sase", "r.parquet", "-p", "x"], 2, "write it as in limit=5"),
    (
        ["theft.sase", "r.parquet", "-c", "ts:flaot64"],
        2,
        "'flaot64' is no type of a column; did you mean float64?",
    ),
    (
        ["theft.sase", "r.parquet", "-c", "tag:int64"],
        2,
        "--column gives tag a type, and r.parquet has no such column",
    ),
    (["theft.sase", "r.parquet", "-o", "r.parquet"], 2, "r.parquet exists; --overwrite replaces it"),
    (["theft.sase", "r.parquet", "-o", "no/r.csv"], 2, "there is no folder no to write r.csv into"),
    (["theft.sase", "r.parquet", "-o", "r.xyz"], 2, "r.xyz does not tell a format"),
    (["theft.sase", "r.parquet", "-f", "xml"], 2, "--format xml is not known"),
    (["theft.sase", "r.parquet", "-o", "/dev/full", "-f", "csv"], 1, "no space left on device"),
    (["PATTERN SEQ(Shelf a, Exit b) WHERE a.tag = 1", "r.parquet"], 3, "hint: did you mean tag_id?"),
]


@pytest.mark.parametrize(("words", "code", "text"), CASES, ids=lambda x: x if isinstance(x, str) else "")
def test_what_is_wrong_is_told(folder, readings, words, code, text):
    head = "ts,kind,tag_id,reader\n2024-01-01 10:00:00,Shelf,2,x\n"
    cut = (folder / "r.parquet").read_bytes()[:900]
    files = {
        "empty.csv": b"",
        "short.csv": (head + "2024-01-01 10:00:00,Exit\n").encode(),
        "word.csv": (head + "2024-01-01 10:00:00,Exit,abc,x\n").encode(),
        "latin.csv": b"ts,kind,tag_id,reader\n1,Shelf,2,\xff\n",
        "kinds.jsonl": b'{"ts":1}\n{"ts":null}\n{"ts":"a"}\n',
        "broken.jsonl": b'{"ts":1}\n{"ts:2}\n',
        "array.json": b'[{"ts":1}]',
        "cut.parquet": cut,
        "noise.bin": b"\x7fELF\x00\x00",
        "other.csv": b"a,b\n1,2\n",
        "number.csv": b"ts,kind\n1,A\n",
        "text.parquet": b"ts,kind\n1,A\n",
        "binary.csv": (folder / "r.parquet").read_bytes(),
        "header.csv": b"ts,kind,r\xe9ader\n1,A,x\n",
        "quote.csv": b'"ts,kind\n1,A\n',
        "long.jsonl": b'{"ts":1,"x":"' + b"x" * (17 << 20) + b'"}\n',
        "latin.jsonl": b'{"ts":1,"x":"x"}\n{"ts":2,"x":"\xe9"}\n',
        "twice.jsonl": b'{"a":1,"a":2}\n',
        "wide.csv": (",".join(["ts", *(f"c{n}" for n in range(999))]) + "\n" + "1," * 999 + "1\n").encode(),
    }
    (folder / "folder").mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    roles = ["--type", "kind"] if "--time" in words else ROLES
    result = run("match", *words, *roles)
    assert (result.exit_code, result.stdout) == (code, "")
    assert text in said(result)
    assert "Traceback" not in result.stderr


def test_rows_may_be_long_and_begin_with_a_byte_order_mark(folder):
    (folder / "s.csv").write_bytes(b"\xef\xbb\xbfts,x\n1," + b"x" * (3 << 20) + b"\n")
    (folder / "s.jsonl").write_bytes(b'\xef\xbb\xbf{"ts":1,"x":"' + b"x" * (3 << 20) + b'"}\n')
    for name in ("s.csv", "s.jsonl"):
        assert json.loads(run("match", "PATTERN A a", name, "-t", "ts").stdout)["a"]["x"] == "x" * (3 << 20)


def test_without_a_time_its_candidates_are_told(folder, readings):
    result = run("match", "theft.sase", "r.parquet")
    assert result.exit_code == 2
    assert "--time ts (timestamp[us, UTC]) or --time tag_id (int64)" in said(result)


def test_query_errors_have_a_caret_and_the_files_name(folder, readings):
    (folder / "w.sase").write_text("PATTERN SEQ(Shelf a, Exit b)\nWHERE a.tag_id > b.reader")
    result = run("match", "w.sase", "r.parquet", *ROLES)
    assert result.exit_code == 3
    assert result.stderr.splitlines()[:4] == [
        "augury: 2:7: an integer cannot be compared with a string (>)",
        "  WHERE a.tag_id > b.reader",
        "        ^^^^^^^^^^^^^^^^^^^",
        "hint: a string is written 'so', a number without quotes",
    ]
    assert "in w.sase" in result.stderr


def test_dropped_rows_are_told(folder):
    (folder / "s.csv").write_text("ts,x\n1,1\n,2\n")
    assert run("match", "PATTERN A a", "s.csv", "-t", "ts").exit_code == 4
    result = run("match", "PATTERN A a", "s.csv", "-t", "ts", "--bad-rows", "drop")
    assert result.exit_code == 0
    assert "1 row has no time in the column ts and was dropped" in said(result)


def test_nothing_a_terminal_would_obey(folder):
    (folder / "s.csv").write_text("ts,x\n1,a\x1b[31mred[/red] [bold]\n")
    result = run("match", "PATTERN A a RETURN a.x", "s.csv", "-t", "ts", "-f", "table")
    assert result.exit_code == 0, result.stderr
    assert "a\\x1b[31mred[/red] [bold]" in result.stdout


# ------------------------------------------------------------------ parameters, check


def test_parameters_have_types(folder):
    (folder / "s.csv").write_text("ts,x,s\n1,5,5\n2,6,b\n")
    options = ["s.csv", "-t", "ts", "--column", "s:string"]
    for where, param in (
        ("a.x > :p", "p=5"),
        ("a.x > :p", "p=5.5"),
        ("a.s = :p", "p=b"),
        ("a.s != :p", "p:string=5"),
    ):
        result = run("match", f"PATTERN A a WHERE {where} RETURN a.x", *options, "-p", param)
        assert [json.loads(line)["a_x"] for line in result.stdout.splitlines()] == [6], result.stderr


def test_check(folder, readings):
    alone = run("check", "theft.sase")
    assert (alone.exit_code, alone.stdout.splitlines()[0]) == (0, "the query is right")
    fits = run("check", "theft.sase", "r.parquet", *ROLES)
    assert "the query is right and fits" in fits.stdout
    assert "gone         timestamp[us, UTC]" in fits.stdout
    by_schema = run(
        "check", "theft.sase", "--schema", "ts timestamp, kind string, tag_id bigint, reader string", *ROLES
    )
    assert by_schema.exit_code == 0, by_schema.stderr


def test_check_in_json(folder, readings):
    wrong = run("check", "PATTERN SEQ(A a, B b", "--json")
    told = json.loads(wrong.stdout)
    assert (wrong.exit_code, told["ok"], told["kind"]) == (3, False, "query")
    assert (told["line"], told["column"]) == (1, 12)
    missing = run("check", "theft.sase", "x.parquet", *ROLES, "--json")
    assert (missing.exit_code, json.loads(missing.stdout)["kind"]) == (4, "data")


def test_a_query_in_json(folder, readings):
    (folder / "q.json").write_text(ag.sase(THEFT).to_json())
    assert run("match", "q.json", "r.parquet", *ROLES).stdout.count("\n") == len(expected(readings))


# ------------------------------------------------------------------ generate, demo


def test_generate_is_the_stream(folder):
    for name in ("stock", "rfid", "clicks", "cluster"):
        result = run("generate", name, "--rows", "1k", "--seed", 3, "-o", f"{name}.parquet")
        assert result.exit_code == 0, result.stderr
        assert pq.read_table(f"{name}.parquet").equals(next(stream(name, 1000, seed=3)))


def test_generate_refuses(folder):
    for words, text in (
        (["rfid", "--rows", "10", "--items", "9"], "9 items need up to 27 rows"),
        (["stock", "--rows", "ten"], "'ten' is no number of rows"),
        (["stock", "--disorder", "0.1", "--delay", "5 minutes"], "the time of stock is a number of ticks"),
        (["rfid", "--disorder", "0.1", "--delay", "5"], "'5' is no length of time"),
    ):
        result = run("generate", *words, "-o", "x.parquet")
        assert result.exit_code == 2
        assert text in said(result)
        assert not (folder / "x.parquet").exists()


@pytest.mark.parametrize("name", ["rfid", "stock", "clicks", "cluster"])
def test_demos_find_something_and_say_how(name):
    result = run("demo", name, "--rows", "3000")
    assert result.exit_code == 0, result.stderr
    assert f"augury generate {name} --rows 3000 --seed 1" in result.stdout
    assert " 0 matches" not in result.stdout


# ------------------------------------------------------------------ files appear when they are whole


def test_a_failed_write_leaves_what_was_there(folder, monkeypatch):
    from augury.cli import outputs

    (folder / "out.csv").write_text("precious")
    table = pa.table({"x": [1]})

    def interrupted():
        with outputs.writing("out.csv", "csv", table.schema) as writer:
            writer.write(table)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [f.name for f in folder.iterdir() if "out" in f.name] == ["out.csv"]
    assert (folder / "out.csv").read_text() == "precious"


def augury(*words, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "augury", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(folder, sent):
    process = augury("generate", "stock", "--rows", "1G", "-o", "big.parquet")
    deadline = time.monotonic() + 60
    while not list(folder.glob(".big*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(process.pid, sent)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert "interrupted" in stderr
    assert not list(folder.glob("*big*"))


def test_a_reader_that_has_seen_enough(folder):
    process = augury("generate", "stock", "--rows", "3M", "-f", "jsonl", "-q")
    assert process.stdout.readline().startswith('{"ts":0,')
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(60) == 0


@pytest.mark.parametrize(
    "words", [["--help"], ["--version"], ["explain", "theft.sase"], ["check", "theft.sase", "--json"]]
)
@pytest.mark.parametrize("buffered", ["", "1"])
def test_a_full_disk_and_a_reader_that_has_left(folder, words, buffered):
    env = {**os.environ, "PYTHONUNBUFFERED": buffered}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "augury", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=env,
        )
    assert (done.returncode, done.stderr) == (1, "augury: no space left on device\n")
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "augury", *words],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env=env,
    )
    os.close(writing)
    assert done.stderr == ""
    assert done.returncode in ((0, 1) if words[0].startswith("--") else (0,))  # help is printed by Typer


def test_an_interruption_that_an_import_swallowed():
    from augury.cli.trouble import told

    @told
    def command():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)
        except KeyboardInterrupt:
            raise AttributeError("partially initialized module") from None

    import typer

    with pytest.raises(typer.Exit) as end:
        command()
    assert end.value.exit_code == 130


def test_an_interruption_may_wait_and_a_second_does_not(capsys):
    from augury.cli.trouble import ends_later

    done = []

    def asked(times):
        with ends_later("later"):
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)
            done.append(times)

    for times in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            asked(times)
    assert done == [1]
    assert capsys.readouterr().err == "later\nlater\n"


# ------------------------------------------------------------------ starting


def test_starts_light_and_soon():
    code = (
        "import sys; from augury.cli.app import app; from typer.testing import CliRunner; "
        "assert CliRunner().invoke(app, ['match', '--help']).exit_code == 0; "
        f"print([name for name in {LIGHT} if name in sys.modules])"
    )
    took = []
    for _ in range(3):
        began = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        took.append(time.perf_counter() - began)
        assert done.stdout.strip() == "[]", done.stderr
        if took[-1] < 0.5:
            return
    assert min(took) < 3, "half a second is the aim; a busy machine has six times that"


def test_every_command_shows_examples():
    for words in (
        ["match"],
        ["check"],
        ["explain"],
        ["expand"],
        ["demo"],
        ["generate"],
        ["generate", "stock"],
        ["generate", "rfid"],
    ):
        assert f"augury {' '.join(words)}" in run(*words, "--help").stdout.partition("Examples:")[2]
    top = run("--help").stdout
    assert all(f"{code}  " in top for code in (0, 1, 2, 3, 4))


def test_help_names_all_outputs():
    from augury.runtime.options import OUTPUTS

    shown = " ".join(run("match", "--help").stdout.split())
    assert all(name in shown for name in OUTPUTS)


def test_completion_offers_columns_and_files(folder, readings):
    env = {**os.environ, "_AUGURY_COMPLETE": "complete_bash"}

    def offered(line):
        given = {**env, "COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
        result = CliRunner().invoke(app, [], prog_name="augury", env=given)
        return result.stdout.split()

    assert offered("augury match theft.sase r.parquet --time ") == ["ts", "kind", "tag_id", "reader"]
    assert offered("augury match th") == ["theft.sase"]
    assert offered("augury match theft.sase --output l") == ["longest"]


def test_columns_that_paths_tell(folder, readings):
    for day, k in (("2024-01-01", 0), ("2024-01-02", 1), ("__HIVE_DEFAULT_PARTITION__", 2)):
        (folder / f"d/day={day}/shop=%C3%A9%20{k}").mkdir(parents=True)
        pq.write_table(readings.slice(k * 200, 200), f"d/day={day}/shop=%C3%A9%20{k}/part.parquet")
    (folder / "d/_SUCCESS").touch()
    query = "PATTERN Exit a WHERE a.day = '2024-01-02' RETURN a.shop, a.day"
    found = run("match", query, "d", *ROLES)
    assert found.exit_code == 0, found.stderr
    rows = [json.loads(line) for line in found.stdout.splitlines()]
    assert {(row["a_shop"], row["a_day"]) for row in rows} == {("é 1", "2024-01-02")}
    assert len(rows) == readings.slice(200, 200)["kind"].to_pylist().count("Exit")


def test_bench_runs_what_lies_in_the_checkout(folder, monkeypatch):
    from augury.cli import benching

    monkeypatch.setattr(benching, "checkout", lambda: folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    away = run("bench")
    assert (away.exit_code, "in a checkout of Augury" in said(away)) == (2, True)
    (folder / "bench").mkdir()
    (folder / "bench/__init__.py").touch()
    (folder / "bench/__main__.py").write_text("import sys; print(sys.argv[1:]); sys.exit(7)")
    monkeypatch.delitem(sys.modules, "bench", raising=False)
    here = run("bench", "--only", "stock")
    assert (here.exit_code, here.stdout.strip()) == (7, "['--only', 'stock']")


def test_standard_input_is_read_once(folder, readings):
    result = run("match", "-", "-", *ROLES, stdin=THEFT)
    assert (result.exit_code, "the query or the data, not both" in said(result)) == (2, True)
    result = run("match", "-", "r.parquet", *ROLES, stdin=THEFT)
    assert result.stdout.count("\n") == len(expected(readings))


# ------------------------------------------------------------------ explain


def test_explain_says_what_the_library_says(folder, readings):
    query = ag.sase(THEFT)
    roles = {"time": "ts", "type": "kind"}
    assert run("explain", "theft.sase").stdout == f"{query.explain()}\n"
    shown = run("explain", "theft.sase", "r.parquet", *ROLES, "--output", "count", "--key", "reader").stdout
    assert shown == f"{query.explain(readings.schema, output='count', key='reader', **roles)}\n"
    shown = run("explain", "theft.sase", "r.parquet", *ROLES, "--kernel", "--plan", "backtrack").stdout
    assert shown == f"{query.explain(readings, kernel=True, plan='backtrack', **roles)}\n"
    schema = "ts timestamp, kind string, tag_id bigint, reader string"
    shown = run("explain", "theft.sase", "--schema", schema, *ROLES, "--kernel").stdout
    assert "for columns without nulls" in shown
    assert "def kernel(" in shown


def test_explain_reads_columns_of_text_and_the_query_from_standard_input(folder, readings):
    run("generate", "rfid", "--rows", 50, "-o", "s.csv")
    result = run("explain", "-", "s.csv", *ROLES, stdin=THEFT)
    assert (result.exit_code, "columns  match_start, match_end, tag_id" in result.stdout) == (0, True)
    assert run("explain", "-", stdin=THEFT).exit_code == 0


def test_a_terminal_without_a_sign_gets_it_spelled(folder):
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "augury", "explain", "theft.sase"]
    done = subprocess.run(command, capture_output=True, check=False, env=env)
    assert (done.returncode, done.stderr) == (0, b"")
    assert rb"begin a \u2192 1" in done.stdout


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["theft.sase", "--kernel"], 2, "--kernel needs DATA or --schema"),
        (["theft.sase", "r.parquet"], 2, "--time ts (timestamp[us, UTC])"),
        (["theft.sase", "r.parquet", "--schema", "ts date"], 2, "give one of them"),
        (["theft.sase", "--schema", "ts date, kind string", *ROLES], 3, "there is no attribute tag_id"),
        (["theft.sase", "--plan", "quick"], 3, "--plan quick is not known"),
        (["theft.sase", "--output", "some"], 3, "--output some is not known"),
        (["PATTERN SEQ(A a, B b"], 3, '1:12: this "(" is not closed'),
        (["PATTERN A a WHERE a.x > :limit"], 3, "--param limit=…"),
        (["theft.sase", "missing.parquet", "--time", "ts"], 4, "missing.parquet"),
        (["missing.sase"], 2, "there is no file missing.sase"),
    ],
)
def test_what_explain_cannot_do_is_told(folder, readings, words, code, says):
    result = run("explain", *words)
    assert (result.exit_code, says in said(result)) == (code, True), result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


def test_an_explanation_has_colours_on_a_terminal_alone(folder, readings, monkeypatch):
    from augury.cli.explaining import _coloured

    (heading, *_), lines = (run("explain", "theft.sase").stdout.split("\n") for _ in range(2))
    assert "\x1b" not in "".join(lines)
    assert [span.style for span in _coloured(heading).spans] == ["bold"]
    assert {str(span.style) for line in lines for span in _coloured(line).spans} == {"bold", "dim", "cyan"}
    assert all(_coloured(line).plain == line for line in lines)


# ------------------------------------------------------------------ Spark


@pytest.mark.parametrize(
    ("words", "master"),
    [
        (["--spark", "theft.sase", "r.parquet"], None),
        (["theft.sase", "r.parquet", "--spark"], None),
        (["--spark", "local[2]", "theft.sase", "r.parquet"], "local[2]"),
        (["theft.sase", "--spark=sc://spark.test:15002", "r.parquet"], "sc://spark.test:15002"),
        (["theft.sase", "r.parquet", "--spark", "spark://spark.test:7077"], "spark://spark.test:7077"),
    ],
)
def test_spark_may_stand_alone(folder, readings, monkeypatch, words, master):
    from augury.cli import on_spark

    asked = []

    def evaluate(master, query, data, roles, options, quiet):
        asked.append((master, data.name))
        return readings.slice(0, 3), 7

    monkeypatch.setattr(on_spark, "evaluate", evaluate)
    result = run("match", *words, *ROLES)
    assert result.exit_code == 0, result.stderr
    assert asked == [(master, "r.parquet")]
    assert "3 matches (7 events" in said(result)


def test_a_word_that_is_no_master(folder, readings):
    result = run("match", "theft.sase", "r.parquet", *ROLES, "--spark=spark.test:7077")
    assert result.exit_code == 2
    assert "names no master of Spark; write local, local[4], spark://HOST:PORT" in said(result)


def test_a_wrong_query_does_not_wait_for_spark(folder, readings, monkeypatch):
    from augury.cli import on_spark

    monkeypatch.setattr(on_spark, "session_at", lambda *_, **__: pytest.fail("Spark was started"))
    result = run("match", "PATTERN Exit a WHERE a.tag = 1", "r.parquet", *ROLES, "--spark")
    assert (result.exit_code, "did you mean tag_id?" in said(result)) == (3, True)


ERRORS = {
    "py4j.protocol.Py4JJavaError: An error occurred while calling o7.collect.\n: org.apache.spark.SparkException: "
    "Job aborted due to stage failure: Task 0 in stage 1.0 failed\n\tat org.apache.spark.X.run(X.scala:7)\n"
    "Caused by: java.io.FileNotFoundException: File file:/x.parquet does not exist\n\tat y": (
        "AuguryError",
        "Spark failed: File file:/x.parquet does not exist",
    ),
    'Traceback (most recent call last):\n  File "w.py", line 1\nValueError: no such thing\n\n\tat org.apache.X': (
        "AuguryError",
        "a task on Spark failed: ValueError: no such thing",
    ),
    "Traceback (most recent call last):\n  File\naugury.errors.LimitError: 9 live runs exceed max_runs=5\n\tat x": (
        "LimitError",
        "9 live runs exceed max_runs=5",
    ),
    "[PATH_NOT_FOUND] Path does not exist: file:/x. SQLSTATE: 42K03\nmore": (
        "AuguryError",
        "Spark failed: [PATH_NOT_FOUND] Path does not exist: file:/x. SQLSTATE: 42K03",
    ),
    "ModuleNotFoundError: No module named 'augury'": (
        "AuguryError",
        "the Python of Spark's workers has no augury: install it there, or name another by PYSPARK_PYTHON",
    ),
    "": ("AuguryError", "Spark failed: no reason was given"),
}


@pytest.mark.parametrize(("text", "error"), ERRORS.items(), ids=range(len(ERRORS)))
def test_errors_of_spark_are_one_line(text, error):
    from augury.spark.running import error_of

    found = error_of(text)
    assert (type(found).__name__, str(found)) == error


@pytest.mark.parametrize(
    "master", ["sc://127.0.0.1:{}/;token=x", "spark://127.0.0.1:{}", "spark://127.0.0.1:x,127.0.0.1:{}"]
)
def test_a_master_that_does_not_answer_is_told_at_once(folder, readings, monkeypatch, master):
    pytest.importorskip("pyspark")
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    with socket.socket() as taken:  # bound, and not listening
        taken.bind(("127.0.0.1", 0))
        master = master.format(taken.getsockname()[1])
        result = run("match", "theft.sase", "r.parquet", *ROLES, "--spark", master)
    assert (result.exit_code, f"nothing answers at {master}" in said(result)) == (1, True)
