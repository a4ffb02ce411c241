"""The page of `augury studio`: what it is answered, to whom, and that it works in a browser, wide and narrow."""

import http.client
import json
import threading
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import augury as ag
from augury.cli.demos import DEMOS
from augury.studio.desk import Desk
from augury.studio.server import server
from browser import CHROMIUM, Browser

pytest.importorskip("matplotlib")

EVENTS = pa.table(
    {"ts": [1, 2, 3, 4], "kind": ["A", "B", "A", "C"], "x": [5, 6, 7, None], "user": [1, 1, 2, 2]}
)
ASKS = {"time": "ts", "type": "kind", "key": ["user"]}


@pytest.fixture(scope="module")
def address():
    found = server()
    threading.Thread(target=found.serve_forever, daemon=True).start()
    yield found.server_address
    found.shutdown()
    found.server_close()


def send(address, method, path, body=b"", **headers):
    connection = http.client.HTTPConnection(*address, timeout=60)
    connection.request(
        method, path, body, {"X-Augury": "studio", **{k.replace("_", "-"): v for k, v in headers.items()}}
    )
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, content, dict(answer.getheaders())


def ask(address, question, **body):
    status, content, _ = send(address, "POST", f"/ask/{question}", json.dumps(body).encode())
    assert status == 200
    return json.loads(content)


@pytest.fixture
def desk():
    found = Desk()
    found.held(EVENTS, "events")
    return found


# ------------------------------------------------------------------ what is answered


def test_a_wrong_query_is_told_with_its_place(desk):
    text = "PATTERN SEQ(A a, B b) WHERE a.x = c.x"
    error = desk.answer("check", {"query": text, **ASKS})["error"]
    assert (error["line"], error["column"]) == (1, 35)
    assert text[slice(*error["span"])] == "c.x"
    assert "pattern declares" in error["hint"]


def test_a_query_is_checked_against_the_data_that_are_chosen(desk):
    text = "PATTERN SEQ(A a, B b) WHERE a.z = b.x"
    assert "svg" in desk.answer("check", {"query": text})
    assert "no attribute z" in desk.answer("check", {"query": text, "data": "1", **ASKS})["error"]["message"]


def test_a_query_is_text_and_never_the_name_of_a_file(desk, tmp_path):
    (tmp_path / "q.sase").write_text("PATTERN A a")
    assert "error" in desk.answer("check", {"query": str(tmp_path / "q.sase")})


def test_parameters_are_values(desk):
    asked = {"query": "PATTERN A a WHERE a.x > :least", "data": "1", **ASKS}
    assert "error" in desk.answer("run", asked)
    assert desk.answer("run", {**asked, "params": "least=6"})["total"] == 1


def test_matches_come_with_the_rows_that_they_bind(desk):
    said = desk.answer("run", {"query": "PATTERN SEQ(A a, B b) RETURN a.x", "data": "1", **ASKS})
    assert said["total"] == 1
    assert said["names"] == ["match_start", "match_end", "a_x"]
    assert said["result"] == [["1", "2", "5"]]
    first, second = said["lanes"]
    assert (first["name"], second["name"]) == ("user = 1", "user = 2")
    assert first["events"] == [[0, 1, "A", None], [1, 2, "B", None]]
    assert first["matches"] == [{"start": 1, "end": 2, "events": [[0, "a"], [1, "b"]]}]
    assert second["matches"] == []


def test_a_column_can_be_drawn_over_and_nulls_are_gaps(desk):
    said = desk.answer("run", {"query": "PATTERN A a", "data": "1", **ASKS, "y": "x"})
    assert [e[3] for e in said["lanes"][1]["events"]] == [7, None]


def test_events_that_are_equal_are_bound_as_the_query_itself_binds_them():
    desk = Desk()
    desk.held(pa.table({"ts": [1, 1, 1], "kind": ["A", "A", "B"], "x": [2, 1, 0]}), "ties")
    query = "PATTERN SEQ(A a, B b) WHERE strict_contiguity(a, b) RETURN a.x"
    said = desk.answer("run", {"query": query, "data": "1", "time": "ts", "type": "kind"})
    ((row, _), _) = said["lanes"][0]["matches"][0]["events"]
    assert said["result"] == [["1", "1", str([2, 1, 0][row])]]


def test_many_matches_are_counted_and_not_listed():
    desk = Desk()
    desk.held(pa.table({"ts": range(80)}), "many")
    said = desk.answer("run", {"query": "PATTERN SEQ(A a, A b)", "data": "1", "time": "ts"})
    assert said["total"] == 80 * 79 // 2
    assert said["output"] == "non_overlap"
    assert len(said["lanes"][0]["matches"]) == 40


def test_why_is_told_of_one_event_and_its_key(desk):
    said = desk.answer(
        "why", {"query": "PATTERN SEQ(A a, C c) WHERE c.x > 1", "data": "1", **ASKS, "event": 2}
    )
    assert said["headline"] == "No match among 2 events."
    assert "row 3 at 4" in said["text"]  # as the rows of all the data are called
    assert said["changes"][0]["said"] == "without c.x > 1"
    assert (
        ag.sase(said["changes"][0]["query"]).match(EVENTS, time="ts", type="kind", key="user").num_rows == 1
    )
    assert "<svg" in said["svg"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"event": 99},
        {"event": "0"},
        {"event": 0, "data": "77"},
        {"event": 0, "time": ""},
        {"event": 0, "time": "nope"},
        {"event": 0, "query": ["PATTERN"]},
    ],
)
def test_a_question_that_makes_no_sense_is_an_error(desk, wrong):
    assert desk.answer("why", {"query": "PATTERN A a", "data": "1", **ASKS, **wrong})["error"]["message"]


@pytest.mark.parametrize("name", DEMOS)
def test_each_sample_has_matches(name):
    desk = Desk()
    said = desk.answer("sample", {"name": name})
    run = desk.answer("run", {**{k: said[k] for k in ("query", "data", "time", "type", "key")}})
    assert run["total"] > 0
    assert any(lane["matches"] for lane in run["lanes"])


def test_files_are_read_and_their_roles_guessed(tmp_path):
    desk = Desk()
    pq.write_table(EVENTS, tmp_path / "e.parquet")
    said = desk.upload("e.parquet", (tmp_path / "e.parquet").read_bytes())
    assert (said["rows"], said["time"], said["type"]) == (4, "ts", "kind")
    said = desk.upload("e.csv", b"when,kind,x\n2026-01-05 09:00:00,A,1\n")
    assert (said["rows"], said["time"]) == (1, "when")
    assert "no.parquet" in desk.upload("no.parquet", b"nothing of the kind")["error"]["message"]


def test_tables_that_were_not_used_for_long_are_let_go():
    desk = Desk()
    for n in range(20):
        desk.held(EVENTS, str(n))
    assert len(desk.tables) == 6


# ------------------------------------------------------------------ to whom


def test_it_listens_on_the_loopback_alone(address):
    assert address[0] == "127.0.0.1"


def test_the_page_asks_nothing_of_others(address):
    for path in ("/", "/page.css", "/page.js"):
        status, content, headers = send(address, "GET", path)
        assert status == 200
        text = content.decode().replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text
        assert "https://" not in text
        assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert send(address, "GET", "/../pyproject.toml")[0] == 404
    assert send(address, "POST", "/ask/held", b"{}")[0] == 404


@pytest.mark.parametrize(
    "header", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}]
)
def test_requests_of_other_pages_are_refused(address, header):
    assert send(address, "POST", "/ask/samples", b"{}", **header)[0] == 403
    assert send(address, "GET", "/", **header)[0] == 403


def test_a_question_needs_the_page_s_own_header(address):
    assert send(address, "POST", "/ask/samples", b"{}", X_Augury="")[0] == 403
    assert send(address, "POST", "/ask/samples", b"[]")[0] == 400
    assert send(address, "POST", "/ask/samples", b"{")[0] == 400


def test_a_file_that_is_too_large_is_not_read(address):
    connection = http.client.HTTPConnection(*address, timeout=60)
    connection.putrequest("POST", "/data")
    connection.putheader("X-Augury", "studio")
    connection.putheader("Content-Length", str(10**12))
    connection.endheaders()
    assert "64 MB" in connection.getresponse().read().decode()
    connection.close()


def test_a_file_s_name_may_be_anything(address):
    status, content, _ = send(address, "POST", "/data", b"ts,x\n1,2\n", X_Name=quote("<b>évents/../.csv"))
    assert status == 200
    assert json.loads(content)["rows"] == 1


def test_questions_are_answered_over_the_wire(address):
    assert len(ask(address, "samples")["samples"]) == len(DEMOS)
    assert "error" in ask(address, "check", query="PATTERN")


# ------------------------------------------------------------------ in a browser


@pytest.fixture(scope="module")
def page(address):
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine (Debian: chromium)")
    with Browser() as browser:
        browser.open(f"http://127.0.0.1:{address[1]}/")
        browser.wait("document.body && document.body.dataset.ready === 'yes'")
        yield browser
        assert browser.errors == []


def text_of(page, selector):
    return page.value(f"document.querySelector({json.dumps(selector)}).textContent")


def write(page, text):
    page.value("(() => { const q = document.getElementById('query'); q.focus(); q.select(); })()")
    page.type(text)


def choose_sample(page, name):
    before = runs(page)
    page.value(
        f"(() => {{ const s = document.getElementById('sample'); s.value = '{name}'; s.dispatchEvent(new Event('change')); }})()"
    )
    page.wait(f"Number(document.body.dataset.runs) > {before}")
    assert name in text_of(page, "#data")


def runs(page):
    return int(page.value("document.body.dataset.runs || 0"))


def test_the_page_opens_with_a_sample_that_has_run(page):
    choose_sample(page, "rfid")
    assert text_of(page, "#count") == "2 matches"
    assert page.value("document.querySelectorAll('#automaton svg').length") == 1
    assert page.value("document.querySelectorAll('#timeline circle').length") > 20


def test_errors_are_underlined_as_one_types_and_the_automaton_follows(page):
    choose_sample(page, "rfid")
    write(page, "PATTERN SEQ(Shelf a, Exit c)\nWHERE a.tag_id = c.tagid")
    page.wait("document.getElementById('error').textContent !== ''")
    assert text_of(page, ".bad") == "c.tagid"
    assert "line 2, column 18: there is no attribute tagid" in text_of(page, "#error")
    assert page.value("document.getElementById('run').disabled")
    write(page, "PATTERN SEQ(Shelf a, Exit c, Exit d, Exit e)\nWHERE a.reader = '🙂' AND c.tagid = 1")
    page.wait("document.querySelector('.bad') && document.querySelector('.bad').textContent === 'c.tagid'")
    before = text_of(page, "#automaton")
    write(page, "PATTERN SEQ(Shelf a, Exit c, Exit d, Exit e)")
    page.wait("document.getElementById('error').textContent === ''")
    page.wait(f"document.getElementById('automaton').textContent !== {json.dumps(before)}")
    assert not page.value("document.getElementById('automaton').classList.contains('old')")


def test_an_event_is_clicked_and_a_change_put_into_the_query(page):
    choose_sample(page, "rfid")
    page.value("window.scrollTo(0, 0)")
    page.click('#timeline circle[tabindex][fill="#23895a"]')
    page.wait("document.querySelectorAll('#whypicture svg').length === 1")
    assert "~(Register b) forbids there" in text_of(page, "#whytext")
    page.click("#changes button")
    page.wait("document.getElementById('count').textContent !== '2 matches'")
    assert "Register" not in page.value("document.getElementById('query').value")
    assert page.value("location.hash").startswith("#sample=rfid&q=PATTERN")


def test_a_series_is_drawn_over_a_column(page):
    choose_sample(page, "stock")
    page.value(
        "(() => { const y = document.getElementById('y'); y.value = 'price'; y.dispatchEvent(new Event('change')); })()"
    )
    page.wait("document.querySelectorAll('#timeline path').length > 1")


def test_words_of_the_query_and_the_data_are_text_on_the_page(page):
    choose_sample(page, "clicks")
    write(page, "PATTERN SEQ(view `<img src=x onerror=alert(1)>`) WHERE 1 = '<b>x'")
    page.wait("document.getElementById('error').textContent !== ''")
    assert page.value("document.querySelectorAll('main img, main b').length") == 0


@pytest.mark.parametrize("width", [1280, 820, 390, 320])
def test_nothing_is_wider_than_the_screen(page, width):
    choose_sample(page, "rfid")
    page.size(width, 900)
    page.wait(f"window.innerWidth === {width}")
    page.value("new Promise((done) => setTimeout(done, 300))")
    assert page.value("document.documentElement.scrollWidth") <= width
    cut = page.value(
        "[...document.querySelectorAll('button, select, h1, h2, label')].filter((e) => e.getBoundingClientRect().right > innerWidth + 1).length"
    )
    assert cut == 0
    page.size(1280, 900)
