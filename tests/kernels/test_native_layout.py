"""C and Python agree on constants and on the layout of the structures they exchange."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from mascot.kernels import constants, native, quotas
from mascot.kernels.native import build_native
from mascot.kernels.reference import Options

HEADERS = Path(build_native.__file__).parent


def test_the_header_has_the_constants_of_python() -> None:
    header = (HEADERS / "constants.h").read_text()
    defined = dict(re.findall(r"^#define MASCOT_(\w+) ([-\w.+]+|{.*?})", header, re.M))
    defined.pop("CONSTANTS_H", None)
    python = {name: getattr(constants, name) for name in vars(constants) if name.isupper()}
    numbers = {name: tuple(map(float, value.strip("{}").split(","))) for name, value in defined.items()}
    assert {name: value if len(value) > 1 else value[0] for name, value in numbers.items()} == python


PROGRAM = """
#include <stdio.h>
#include <stddef.h>
#include "kernel.h"
int main(void) {
    printf("%zu %zu %zu ", sizeof(Attribute), sizeof(Quota), sizeof(Batch));
    printf("%zu %zu %zu ", offsetof(Attribute, size), offsetof(Quota, places.first), offsetof(Batch, arranged));
    printf("%zu %zu %zu ", offsetof(Attribute, sign), offsetof(Batch, strength), offsetof(Batch, positions));
    printf("%zu %zu %zu ", sizeof(PlaceRule), sizeof(PageRules), offsetof(PageRules, rows));
    printf("%d %d %d %d %d ", SHAPE_LINE, SHAPE_PLANE, SHAPE_GLOBE, SHAPE_LABELS, SHAPE_VECTORS);
    printf("%d %d ", MISSING_LAST, MISSING_NEUTRAL);
    printf("%d %d %d ", FLAG_QUERY_WEIGHT, FLAG_NORMALIZE, FLAG_SCALE);
    printf("%d %d %d %d\\n", FLAG_ROBUST, FLAG_BALANCE, FLAG_BY_RELEVANCE, AXIS_FIELDS);
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
    options = Options(1, 0, 0.0, 0.0, 0, False, False, False, False, False, False)
    flags = [options._replace(**{switch: True}).flags for switch in Options._fields[5:]]
    attribute, quota, batch = native._ATTRIBUTE.size, native._QUOTA.size, native._BATCH.size
    assert list(map(int, numbers)) == [
        attribute, quota, batch, attribute - 8, quota - 8, batch - 8, 2 * 8, 6 * 8, batch - 8 * 8,
        3 * 8, native._PAGE_RULES.size, 4 * 8,
        native.LINE, native.PLANE, native.GLOBE, native.LABELS, native.VECTORS, native.LAST, native.NEUTRAL,
        *flags, len(native.PackedBins(native.LINE).axes) // 2,
    ]  # fmt: skip


def test_the_library_and_python_are_of_one_version() -> None:
    for file, pattern, expected in (
        ("dispatch.c", r"mascot_abi\(void\) \{ return (\d+); \}", native.ABI),
        ("kernel.c", r"int64_t \*counts\[(\d+)\]", quotas.MOST_QUOTAS),
    ):
        assert re.findall(pattern, (HEADERS / file).read_text()) == [str(expected)]
