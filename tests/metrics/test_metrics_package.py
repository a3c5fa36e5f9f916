"""The metrics room as a whole: its names, its documentation, and what importing it costs."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

from mascot import metrics
from mascot.errors import InputError, OptionError

MODULES = [
    metrics.__name__,
    *(f"{metrics.__name__}.{m.name}" for m in pkgutil.iter_modules(metrics.__path__)),
]
FUNCTIONS = [name for name in metrics.__all__ if inspect.isfunction(getattr(metrics, name))]


@pytest.mark.parametrize("module", MODULES)
def test_examples_run(module):
    result = doctest.testmod(importlib.import_module(module))
    assert result.failed == 0
    assert result.attempted > 0 or module.endswith("._checks")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_is_typed_and_documented(name):
    function = getattr(metrics, name)
    for section in ("Parameters\n", "Examples\n", ">>> "):
        assert section in function.__doc__
    signature = inspect.signature(function)
    assert signature.return_annotation is not inspect.Signature.empty
    for parameter in signature.parameters.values():
        assert parameter.annotation is not inspect.Parameter.empty
        assert parameter.name in function.__doc__


def test_all_names_exist_and_are_sorted():
    assert metrics.__all__ == sorted(metrics.__all__)
    public = {
        name
        for module in MODULES
        if not module.endswith("._checks")
        for name, value in vars(importlib.import_module(module)).items()
        if not name.startswith("_") and getattr(value, "__module__", "").startswith(metrics.__name__)
    }
    assert public == set(metrics.__all__)


def test_import_loads_nothing_but_numpy():
    program = (
        "import sys; before = set(sys.modules); import mascot.metrics;"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before};"
        "print(*sorted(new - set(sys.stdlib_module_names) - {'numpy', 'mascot'}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_metrics_know_no_other_room():
    for module in MODULES:
        source = inspect.getsource(importlib.import_module(module))
        imports = [line for line in source.splitlines() if line.startswith(("import mascot", "from mascot"))]
        assert all(line.startswith(("from mascot.metrics", "from mascot.errors")) for line in imports)


def test_arrays_are_input_and_parameters_are_options():
    with pytest.raises(InputError):
        metrics.recall_at_k([0, 1], k=1)
    for call in (
        lambda: metrics.recall_at_k([[0, 1]], k=3),
        lambda: metrics.vendi([[[1.0]]], order=-1),
        lambda: metrics.vendi([[[1.0]]], ridge=-1),
    ):
        with pytest.raises(OptionError):
            call()
    assert issubclass(InputError, ValueError)
    assert issubclass(OptionError, ValueError)


def test_no_metric_raises_a_plain_error():
    for module in MODULES:
        assert "raise ValueError" not in inspect.getsource(importlib.import_module(module))
