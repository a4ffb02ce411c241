"""The languages. Each turns what a user wrote into a `Pattern`; none knows an engine."""
