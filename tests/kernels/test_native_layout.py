"""C and Python agree on constants and on the layout of the structures they exchange."""

from __future__ import annotations

import math
import re
import subprocess
from pathlib import Path

import pytest

from mascot.kernels import constants, native
from mascot.kernels.native import build_native

HEADERS = Path(build_native.__file__).parent


def test_the_header_has_the_constants_of_python() -> None:
    defined = dict(re.findall(r"^#define MASCOT_(\w+) ([-\w.+]+)", (HEADERS / "constants.h").read_text(), re.M))
    defined.pop("CONSTANTS_H", None)
    python = {name: getattr(constants, name) for name in vars(constants) if name.isupper()}
    assert {name: float(value) for name, value in defined.items()} == python
    assert math.isclose(constants.REACH, math.sqrt(2 * math.log(1 / constants.CUTOFF)), rel_tol=1e-15)


PROGRAM = """
#include <stdio.h>
#include <stddef.h>
#include "kernel.h"
int main(void) {
    printf("%zu %zu %zu\\n", sizeof(Attribute), sizeof(Quota), sizeof(Batch));
    printf("%zu %zu %zu\\n", offsetof(Attribute, axis), offsetof(Quota, stages), offsetof(Batch, stages));
    printf("%zu %zu %zu\\n", offsetof(Attribute, sign), offsetof(Batch, strength), offsetof(Batch, positions));
    printf("%d %d %d %d %d %d\\n", SHAPE_LINE, SHAPE_PLANE, SHAPE_GLOBE, SHAPE_LABELS, MISSING_LAST, MISSING_NEUTRAL);
    printf("%d %d %d ", FLAG_QUERY_WEIGHT, FLAG_NORMALIZE, FLAG_SCALE);
    printf("%d %d %d\\n", FLAG_ROBUST, FLAG_BALANCE, FLAG_BY_RELEVANCE);
    printf("%d\\n", AXIS_FIELDS);
    return 0;
}
"""


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> list[list[int]]:
    try:
        compiler = build_native.find_compiler()
    except build_native.BuildError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("layout")
    (folder / "layout.c").write_text(PROGRAM)
    command = [*compiler, f"-I{HEADERS}", str(folder / "layout.c"), "-o", str(folder / "layout")]
    subprocess.run(command, check=True, capture_output=True)
    lines = subprocess.run([str(folder / "layout")], check=True, capture_output=True, text=True).stdout.splitlines()
    return [[int(number) for number in line.split()] for line in lines]


def test_structures_have_the_same_size_and_offsets(layout: list[list[int]]) -> None:
    attribute, quota, batch = native._ATTRIBUTE.size, native._QUOTA.size, native._BATCH.size
    assert layout[0] == [attribute, quota, batch]
    assert layout[1] == [attribute - 16 * 8, quota - 8, batch - 8]
    assert layout[2] == [2 * 8, 5 * 8, batch - 7 * 8]


def test_codes_and_flags_are_the_same(layout: list[list[int]]) -> None:
    shapes = [native.LINE, native.PLANE, native.GLOBE, native.LABELS, native.LAST, native.NEUTRAL]
    flags = [native.QUERY_WEIGHT, native.NORMALIZE, native.SCALE, native.ROBUST, native.BALANCE, native.BY_RELEVANCE]
    assert layout[3:] == [shapes, flags, [len(native.PackedBins(native.LINE).axes) // 2]]


def test_the_library_and_python_are_of_one_version() -> None:
    match = re.search(r"mascot_abi\(void\) \{ return (\d+); \}", (HEADERS / "dispatch.c").read_text())
    assert match is not None
    assert int(match.group(1)) == native.ABI
    counts = re.search(r"int64_t \*counts\[(\d+)\]", (HEADERS / "kernel.c").read_text())
    assert counts is not None
    assert int(counts.group(1)) == native.MOST_QUOTAS
