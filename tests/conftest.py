"""How hard Hypothesis tries: HYPOTHESIS_PROFILE=ci (the default), dev or long."""

import os

from hypothesis import HealthCheck, settings

# The machines that run `ci` differ in speed and share their cores: a deadline or a "too slow" would fail
# at random, so would fresh random examples. print_blob makes a failure elsewhere repeatable here.
settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# New examples in each run, for whoever works on the code; failures are kept in .hypothesis/.
settings.register_profile("dev", deadline=None)
# To be left alone for an hour.
settings.register_profile(
    "long",
    deadline=None,
    print_blob=True,
    max_examples=10_000,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
