/* Sorting of items of one kind; see search.h, which includes it once per kind. No `pragma once`. */

static void NAME(insert)(ITEM *a, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        const ITEM x = a[i];
        int64_t j = i;
        while (j > 0 && LESS(x, a[j - 1])) {
            a[j] = a[j - 1];
            j--;
        }
        a[j] = x;
    }
}

/* Runs of 16 by insertion, then merges from one memory to the other. Gives the memory that holds the result. */
static ITEM *NAME(merge)(ITEM *a, ITEM *b, int64_t n)
{
    for (int64_t i = 0; i < n; i += 16) NAME(insert)(a + i, n - i < 16 ? n - i : 16);
    for (int64_t run = 16; run < n; run *= 2) {
        for (int64_t i = 0; i < n; i += 2 * run) {
            const int64_t middle = i + run < n ? i + run : n, end = i + 2 * run < n ? i + 2 * run : n;
            int64_t p = i, q = middle, to = i;
            while (p < middle && q < end) {
                const int second = LESS(a[q], a[p]);
                b[to++] = second ? a[q] : a[p];
                q += second;
                p += !second;
            }
            memcpy(b + to, a + p, (size_t)(middle - p) * sizeof *a);
            to += middle - p;
            memcpy(b + to, a + q, (size_t)(end - q) * sizeof *a);
        }
        ITEM *t = a;
        a = b;
        b = t;
    }
    return a;
}

/* Sorts n items, whose keys differ in their lowest `bytes`. Gives a or b, whichever holds the result. */
static ITEM *NAME(sort)(ITEM *a, ITEM *b, int64_t n, int bytes)
{
    if (n <= 16) {
        NAME(insert)(a, n);
        return a;
    }
    if (n < 32 * bytes) return NAME(merge)(a, b, n);
    int64_t counts[8][256];
    memset(counts, 0, (size_t)bytes * sizeof counts[0]);
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < bytes; k++) counts[k][DIGIT(a[i], k)]++;
    for (int k = 0; k < bytes; k++) {
        int64_t *count = counts[k], before = 0;
        if (count[DIGIT(a[0], k)] == n) continue; /* all alike */
        for (int d = 0; d < 256; d++) {
            const int64_t here = count[d];
            count[d] = before;
            before += here;
        }
        for (int64_t i = 0; i < n; i++) b[count[DIGIT(a[i], k)]++] = a[i];
        ITEM *t = a;
        a = b;
        b = t;
    }
    return a;
}
