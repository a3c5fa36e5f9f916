"""C and Python agree on constants and on the layout of the structures they exchange."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from mascot.kernels import constants, counters, native, page
from mascot.kernels.native import build_native
from mascot.kernels.objective import Options

HEADERS = Path(build_native.__file__).parent


def test_the_header_has_the_constants_of_python() -> None:
    header = (HEADERS / "constants.h").read_text()
    defined = dict(re.findall(r"^#define MASCOT_(\w+) ([-\w.+]+)", header, re.M))
    defined.pop("CONSTANTS_H", None)
    assert len(defined) > 10
    values = {name: float(value) for name, value in defined.items()}
    assert values == {name: getattr(constants, name) for name in defined}


PROGRAM = """
#include <stdio.h>
#include <stddef.h>
#include "kernel.h"
int main(void) {
    printf("%zu %zu %zu ", sizeof(Attribute), sizeof(Rule), sizeof(Batch));
    printf("%zu %zu %zu ", offsetof(Attribute, copies), offsetof(Rule, threshold), offsetof(Batch, worths));
    printf("%zu %zu %zu ", offsetof(Attribute, share), offsetof(Rule, gives), offsetof(Batch, strength));
    printf("%d %d %d %d %d ", SHAPE_LINE, SHAPE_PLANE, SHAPE_GLOBE, SHAPE_LABELS, SHAPE_VECTORS);
    printf("%d %d %d %d %d %d ", SHARED, FILLED, HELD, PINNED, PROTECTED, BEST);
    printf("%d %d %d %d ", FLAG_QUERY_WEIGHT, FLAG_GUARDED, FLAG_BALANCE, FLAG_BY_RELEVANCE);
    printf("%d %d\\n", ENTRY_FIELDS, AXIS_FIELDS);
    return 0;
}
"""


def test_structures_codes_and_flags_are_the_same(tmp_path: Path) -> None:
    try:
        compiler = build_native.find_compiler()
    except build_native.BuildError as error:
        pytest.skip(str(error))
    (tmp_path / "layout.c").write_text(PROGRAM)
    command = [*compiler, f"-I{HEADERS}", str(tmp_path / "layout.c"), "-o", str(tmp_path / "layout")]
    subprocess.run(command, check=True, capture_output=True)
    numbers = subprocess.run([str(tmp_path / "layout")], check=True, capture_output=True, text=True).stdout.split()
    attribute, rule, batch = native._ATTRIBUTE.size, native._RULE.size, native._BATCH.size
    switches = Options._fields[4:]
    flags = {name: Options(0, 0, 0.0, 0.0, *(name == own for own in switches)).flags for name in switches}
    assert list(map(int, numbers)) == [
        attribute, rule, batch, attribute - 8, rule - 8, batch - 8, 2 * 8, 3 * 8, 6 * 8,
        native.LINE, native.PLANE, native.GLOBE, native.LABELS, native.VECTORS,
        counters.SHARED, counters.FILLED, counters.HELD, page.PINNED, page.PROTECTED, page.BEST,
        flags["query_weight"], flags["guarded"], flags["balance"], flags["by_relevance"],
        native.ENTRY_FIELDS, len(native.PackedBins(native.LINE).axes) // 2,
    ]  # fmt: skip


def test_the_library_and_python_are_of_one_version() -> None:
    found = re.findall(r"mascot_abi\(void\) \{ return (\d+); \}", (HEADERS / "dispatch.c").read_text())
    assert found == [str(native.ABI)]
