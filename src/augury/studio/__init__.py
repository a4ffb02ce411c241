"""A page to try queries on: one writes a query, sees its automaton and its errors, runs it, and asks why.

    browser ── server: loopback only ──> desk: check, run, why ──> the same calls that a program makes

The page is three files beside this one; nothing is built and nothing is fetched from elsewhere.
"""
