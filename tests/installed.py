"""Re-rank with the installed package; print what was chosen, whether the native kernel is there, and warnings.

    python tests/installed.py [--native]

With --native a package without the kernel is an error.
"""

import sys
import warnings

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import mascot as mc
    from mascot.kernels import native

    hits = mc.Candidates(scores=[0.9, 0.8, 0.7], columns={"city": ["Rome", "Rome", "Oslo"]})
    for _ in range(2):
        ids = mc.rerank(hits, mc.spread("city"), k=2, strength=0.8).ids
print(ids, native.available(), len(caught), *(str(warning.message)[:20] for warning in caught))
if "--native" in sys.argv and not native.available():
    sys.exit("the native kernel is missing")
