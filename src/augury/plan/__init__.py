"""From an automaton to what a kernel needs: passes in a visible order, and the choice of a plan.

Automaton ─ split (guards: per batch | per run) ─ registers (what a run remembers, where it lives) ─> Plan
"""
