"""Measurements: of the engine, of the SASE+ paper's experiments, of other systems; records of them, and a report.

    workloads    the engine's figures, and what they must reach ──┐
    experiments  the paper's section 6, by plan, query and window ├─> records (JSON) ─> report (Markdown, figures)
    questions    what several systems can answer ─> peers ────────┘                      findings (the verdicts)

`python -m bench` (`sh dev bench`) measures everything, `--only` a part; `python -m bench.report` (`sh dev report`) makes
docs/evaluation.md of it. What cannot finish is given a part of its stream (`growing`), and its record says so.
"""
