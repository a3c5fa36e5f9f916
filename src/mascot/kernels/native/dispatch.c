/* Choose the variant of the kernel that fits the processor. The same source is compiled once per variant.
 * The arrangement of pages has no loops that vectors speed up; it is compiled here, once. */
#include <stdlib.h>
#include <string.h>

#include "exchange.h"

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
    int64_t failed = chosen(batch, first, last), rules = 0;
    for (int64_t c = 0; c < batch->quotas; c++) rules += batch->quota[c].places.length > 0;
    for (int64_t query = first; query < last; query++) {
        batch->arranged[query] = rules > 0;
        if (rules && !failed) failed = arrange_query(batch, query, chosen);
    }
    return failed;
}

const char *mascot_variant(void) {
    if (!name) choose();
    return name;
}

int64_t mascot_abi(void) { return 8; }
