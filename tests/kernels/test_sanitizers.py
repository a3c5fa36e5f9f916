"""The C code reads and writes only its own memory, on every instruction set of this processor."""

from __future__ import annotations

import sys

import pytest

from tests.sanitize import run_properties, variants


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the sanitizers are preloaded as on Linux")
@pytest.mark.parametrize("variant", variants())
def test_sanitizers_find_nothing(variant: str) -> None:
    result = run_properties(variant)
    assert result.returncode == 0, (result.stdout + result.stderr)[-4000:]
