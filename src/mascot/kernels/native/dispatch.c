/* Choose the variant of the kernel that fits the processor. The same source is compiled once per variant. */
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

int64_t select_baseline(const Batch *batch, int64_t first, int64_t last);
#ifdef MASCOT_X86_VARIANTS
int64_t select_avx2(const Batch *batch, int64_t first, int64_t last);
int64_t select_avx512(const Batch *batch, int64_t first, int64_t last);
#endif

static SelectFunction chosen;
static const char *name;

static void choose(void) {
#ifdef MASCOT_X86_VARIANTS
    const char *wanted = getenv("MASCOT_KERNEL"); /* at most this variant, for tests and measurements */
    int most = !wanted ? 2 : !strcmp(wanted, "baseline") ? 0 : !strcmp(wanted, "avx2") ? 1 : 2;
    __builtin_cpu_init();
    if (most > 1 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
        name = "avx512";
        chosen = select_avx512;
        return;
    }
    if (most > 0 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        name = "avx2";
        chosen = select_avx2;
        return;
    }
#endif
    name = "baseline";
    chosen = select_baseline;
}

int64_t mascot_select(const Batch *batch, int64_t first, int64_t last) {
    if (!chosen) choose(); /* if two threads choose, they choose the same */
    return chosen(batch, first, last);
}

const char *mascot_variant(void) {
    if (!name) choose();
    return name;
}

int64_t mascot_abi(void) { return 9; }
