// Windows of images as columns of matrices, and back. CELL is the element's type. Numbers, for three spatial dims each:
// sizes of the image, of the kernel, of the grid of positions; strides, pads before the first element, dilations.
#define SIZE(a) numbers[a]
#define KERNEL(a) numbers[3 + (a)]
#define POSITIONS(a) numbers[6 + (a)]
#define STRIDE(a) numbers[9 + (a)]
#define PAD(a) numbers[12 + (a)]
#define DILATION(a) numbers[15 + (a)]

// Element of an image that offset `o` of the kernel meets at position `p`, along a dim; outside of it where it is padding.
#define MEETS(a, p, o) ((p) * STRIDE(a) + (o) * DILATION(a) - PAD(a))

// columns[image, channel, offset in the kernel, position]: strides of images and channels are given, the rest is dense.
__kernel void columns_of(__global CELL* columns, __global const CELL* x, long columns_at, long x_at, long image_step,
                         long channel_step, long offset_step, __global const long* numbers) {
    const long position = get_global_id(0), row = get_global_id(1), image = get_global_id(2);
    const long offsets = KERNEL(0) * KERNEL(1) * KERNEL(2), channel = row / offsets, offset = row - channel * offsets;
    const long o2 = offset % KERNEL(2), o1 = offset / KERNEL(2) % KERNEL(1), o0 = offset / KERNEL(2) / KERNEL(1);
    const long p2 = position % POSITIONS(2), p1 = position / POSITIONS(2) % POSITIONS(1),
               p0 = position / POSITIONS(2) / POSITIONS(1);
    const long i0 = MEETS(0, p0, o0), i1 = MEETS(1, p1, o1), i2 = MEETS(2, p2, o2);
    const long channels = get_global_size(1) / offsets;
    CELL value = 0;
    if (i0 >= 0 && i0 < SIZE(0) && i1 >= 0 && i1 < SIZE(1) && i2 >= 0 && i2 < SIZE(2))
        value = x[x_at + (((image * channels + channel) * SIZE(0) + i0) * SIZE(1) + i1) * SIZE(2) + i2];
    columns[columns_at + image * image_step + channel * channel_step + offset * offset_step + position] = value;
}

// The position whose offset `o` meets element `i` of a dim; negative, or beyond the end, where there is none.
long position_of(long i, long o, long stride, long pad, long dilation) {
    const long reach = i + pad - o * dilation;
    return reach >= 0 && reach % stride == 0 ? reach / stride : -1;
}

// x[image, channel, element]: the sum of what columns have of it, offset after offset. All of it is dense.
__kernel void images_of(__global CELL* x, __global const CELL* columns, long x_at, long columns_at,
                        __global const long* numbers) {
    const long point = get_global_id(0), channel = get_global_id(1);  // channels of all images
    const long i2 = point % SIZE(2), i1 = point / SIZE(2) % SIZE(1), i0 = point / SIZE(2) / SIZE(1);
    const long positions = POSITIONS(0) * POSITIONS(1) * POSITIONS(2);
    const long offsets = KERNEL(0) * KERNEL(1) * KERNEL(2);
    columns += columns_at + channel * offsets * positions;
    CELL sum = 0;
    for (long o0 = 0; o0 < KERNEL(0); o0++) {
        const long p0 = position_of(i0, o0, STRIDE(0), PAD(0), DILATION(0));
        if (p0 < 0 || p0 >= POSITIONS(0))
            continue;
        for (long o1 = 0; o1 < KERNEL(1); o1++) {
            const long p1 = position_of(i1, o1, STRIDE(1), PAD(1), DILATION(1));
            if (p1 < 0 || p1 >= POSITIONS(1))
                continue;
            for (long o2 = 0; o2 < KERNEL(2); o2++) {
                const long p2 = position_of(i2, o2, STRIDE(2), PAD(2), DILATION(2));
                if (p2 < 0 || p2 >= POSITIONS(2))
                    continue;
                const long offset = (o0 * KERNEL(1) + o1) * KERNEL(2) + o2;
                sum += columns[offset * positions + (p0 * POSITIONS(1) + p1) * POSITIONS(2) + p2];
            }
        }
    }
    x[x_at + channel * get_global_size(0) + point] = sum;
}
