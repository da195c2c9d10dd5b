// Elements from one strided place to another. RANK dims, outermost first; CELL has the size of an element. Numbers:
// sizes, strides of the target, strides of the source, in elements.
__kernel void copy(__global CELL* target, __global const CELL* source, long target_at, long source_at, long count,
                   __global const long* numbers) {
    for (long point = get_global_id(0); point < count; point += get_global_size(0)) {
        long rest = point, to = target_at, of = source_at;
        for (int a = RANK - 1; a >= 0; a--) {
            const long size = numbers[a], outer = rest / size, index = rest - outer * size;
            to += index * numbers[RANK + a];
            of += index * numbers[2 * RANK + a];
            rest = outer;
        }
        target[to] = source[of];
    }
}
