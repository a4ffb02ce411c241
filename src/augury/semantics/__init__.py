"""The definitions: what each language's queries mean, on a finite stream, in plain Python with no fast path.

A module for each language. They are the judges: every engine, plan and runtime is compared with them, and they use
none of those.
"""
