"""Every example in a docstring runs and gives what it shows."""

import doctest
import importlib
import pkgutil

import pytest

import augury as ag

MODULES = [
    "augury",
    *(module.name for module in pkgutil.walk_packages(ag.__path__, "augury.") if "spark" not in module.name),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0
