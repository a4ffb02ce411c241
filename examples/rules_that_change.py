"""Intrusion detection with rules that change while packets come out of order, and an absence at the end of a window.

Run it: python examples/rules_that_change.py
"""

import pyarrow as pa

import augury as ag

SCHEMA = pa.schema([("ts", pa.int64()), ("host", pa.string()), ("what", pa.string()), ("port", pa.int64())])


def packets(*rows: tuple[int, str, str, int]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], schema=SCHEMA)


# A scan is followed by a login on the port that was scanned; between them anything may come.
rules = ag.Automaton(start="quiet", final=["alarm"], registers={"port": 0, "rule": ""})
rules.arc("quiet", "scanned", when="what = 'scan'", update={"port": "port"})
rules.arc("scanned", "scanned", when="what <> 'login'")
rules.arc("scanned", "alarm", when="what = 'login' and port = r.port", update={"rule": "'login'"}, id="login")

# A login without a logout until its window ends.
open_sessions = ag.Automaton(start="out", final=["left open"])
open_sessions.arc("out", "in", when="what = 'login'").arc("in", "in", when="what <> 'logout'")
open_sessions.window_end("in", "left open")

if __name__ == "__main__":
    m = rules.query(within=60).matcher(SCHEMA, time="ts", key="host", speculate=None)

    def tell(title: str, changes: pa.Table) -> None:
        print(title)
        for row in changes.to_pylist():
            print(
                f"  {row['op']}: rule {row['rule']!r} on {row['host']}, {row['valid_from']} to {row['valid_to']}"
            )

    tell("a login after a scan", m.insert(packets((1, "a", "scan", 22), (9, "a", "login", 22))))
    tell("a login before it, which came late", m.insert(packets((5, "a", "login", 80))))
    tell("that one did not happen", m.retract(packets((5, "a", "login", 80))))

    new_rule = {"when": "what = 'ping' and port = r.port", "update": {"rule": "'ping'"}, "id": "ping"}
    tell("a new rule holds from now on", m.add_arc("scanned", "alarm", **new_rule))
    tell("and is matched with what comes", m.insert(packets((10, "b", "scan", 80), (12, "b", "ping", 80))))
    tell("an old one ended earlier", m.remove_arc("login", at=9))
    tell("nothing before 20 comes any more", m.advance(20))

    sessions = packets(
        (1, "a", "login", 22), (5, "a", "logout", 22), (7, "b", "login", 22), (90, "b", "logout", 22)
    )
    found = open_sessions.query(within=60).match(sessions, time="ts", key="host")
    print("left open:", found.to_pylist())
