import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

/**
 * Runs a model once, and a hundred times for its latency, through the interface in C (Java 22 or later).
 *
 * <pre>java --enable-native-access=ALL-UNNAMED Predict.java LIBRARY MODEL INPUT SIZE...</pre>
 *
 * LIBRARY is libumiak_inference.so, and MODEL the file of a saved model; or a compiled model with its weights inside, and "-". INPUT
 * is the name of an input of float32, which is filled with numbers that follow from their places. The first numbers of
 * each output of float32 are printed.
 */
public final class Predict {
    private static final int RUNS = 100, SHOWN = 8, MAX_RANK = 16, FLOAT32 = 0;

    private static final MemoryLayout INFO = MemoryLayout.structLayout(
        ADDRESS.withName("name"), JAVA_INT.withName("dtype"), JAVA_INT.withName("rank"),
        MemoryLayout.sequenceLayout(MAX_RANK, JAVA_LONG).withName("shape"));
    private static final long DTYPE = INFO.byteOffset(PathElement.groupElement("dtype"));
    private static final long RANK = INFO.byteOffset(PathElement.groupElement("rank"));
    private static final long SHAPE = INFO.byteOffset(PathElement.groupElement("shape"));

    /** A tensor that a predictor gives. */
    public record Output(String name, long[] shape, float[] data) {}

    /** The functions of a library. Java calls what takes a size_t with a long. */
    public static final class Library {
        private final SymbolLookup symbols;
        private final MethodHandle lastError;

        public Library(Path path, Arena arena) {
            symbols = SymbolLookup.libraryLookup(path, arena);
            lastError = Linker.nativeLinker().downcallHandle(symbols.findOrThrow("umiak_last_error"), FunctionDescriptor.of(ADDRESS));
        }

        private MethodHandle function(String name, MemoryLayout... parameters) {
            return Linker.nativeLinker().downcallHandle(
                symbols.findOrThrow("umiak_" + name), FunctionDescriptor.of(JAVA_INT, parameters));
        }

        private void check(int status) throws Throwable {
            if (status != 0) {
                throw new IllegalStateException(text((MemorySegment) lastError.invokeExact()));
            }
        }
    }

    /** A predictor, which one thread uses at a time. */
    public static final class Predictor implements AutoCloseable {
        private final Library library;
        private final MemorySegment predictor;
        private final MethodHandle setInput, run, outputInfo, outputData, destroy;

        public Predictor(Library library, String model) throws Throwable {
            this.library = library;
            setInput = library.function("set_input", ADDRESS, JAVA_LONG, ADDRESS, JAVA_INT, JAVA_INT, ADDRESS);
            run = library.function("run", ADDRESS);
            outputInfo = library.function("output_info", ADDRESS, JAVA_LONG, ADDRESS);
            outputData = library.function("output_data", ADDRESS, JAVA_LONG, ADDRESS, ADDRESS);
            destroy = library.function("predictor_destroy", ADDRESS);
            MethodHandle create = library.function("predictor_create", ADDRESS, ADDRESS, ADDRESS, ADDRESS);
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment place = arena.allocate(ADDRESS);
                MemorySegment path = model == null ? MemorySegment.NULL : arena.allocateFrom(model);
                library.check((int) create.invokeExact(path, MemorySegment.NULL, MemorySegment.NULL, place));
                predictor = place.get(ADDRESS, 0);
            }
        }

        /** Copies numbers to an input. */
        public void set(String name, float[] data, long... shape) throws Throwable {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment index = arena.allocate(JAVA_LONG);
                MethodHandle find = library.function("input_index", ADDRESS, ADDRESS, ADDRESS);
                library.check((int) find.invokeExact(predictor, arena.allocateFrom(name), index));
                library.check((int) setInput.invokeExact(
                    predictor, index.get(JAVA_LONG, 0), arena.allocateFrom(JAVA_FLOAT, data), FLOAT32, shape.length,
                    arena.allocateFrom(JAVA_LONG, shape)));
            }
        }

        public void run() throws Throwable {
            library.check((int) run.invokeExact(predictor));
        }

        /** The outputs of float32. */
        public List<Output> outputs() throws Throwable {
            List<Output> outputs = new ArrayList<>();
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment count = arena.allocate(JAVA_LONG), info = arena.allocate(INFO);
                MemorySegment data = arena.allocate(ADDRESS), bytes = arena.allocate(JAVA_LONG);
                MethodHandle counted = library.function("output_count", ADDRESS, ADDRESS);
                library.check((int) counted.invokeExact(predictor, count));
                for (long i = 0; i < count.get(JAVA_LONG, 0); i++) {
                    library.check((int) outputInfo.invokeExact(predictor, i, info));
                    library.check((int) outputData.invokeExact(predictor, i, data, bytes));
                    if (info.get(JAVA_INT, DTYPE) != FLOAT32) {
                        continue;
                    }
                    long[] shape = new long[info.get(JAVA_INT, RANK)];
                    for (int axis = 0; axis < shape.length; axis++) {
                        shape[axis] = info.get(JAVA_LONG, SHAPE + 8L * axis);
                    }
                    MemorySegment numbers = data.get(ADDRESS, 0).reinterpret(bytes.get(JAVA_LONG, 0));
                    outputs.add(new Output(text(info.get(ADDRESS, 0)), shape, numbers.toArray(JAVA_FLOAT)));
                }
            }
            return outputs;
        }

        @Override
        public void close() {
            try {
                library.check((int) destroy.invokeExact(predictor));
            } catch (Throwable error) {
                throw new IllegalStateException(error);
            }
        }
    }

    private static String text(MemorySegment address) {
        return address.reinterpret(Long.MAX_VALUE).getString(0);
    }

    public static void main(String[] arguments) throws Throwable {
        long[] shape = new long[arguments.length - 3];
        int elements = 1;
        for (int axis = 0; axis < shape.length; axis++) {
            shape[axis] = Long.parseLong(arguments[3 + axis]);
            elements = Math.toIntExact(elements * shape[axis]);
        }
        float[] data = new float[elements];
        for (int i = 0; i < elements; i++) {
            data[i] = (float) (i * 37L % 101 / 101.0);
        }
        Library library = new Library(Path.of(arguments[0]), Arena.global());
        try (Predictor predictor = new Predictor(library, arguments[1].equals("-") ? null : arguments[1])) {
            predictor.set(arguments[2], data, shape);
            predictor.run();
            for (Output output : predictor.outputs()) {
                StringBuilder line = new StringBuilder(output.name()).append(" ").append(java.util.Arrays.toString(output.shape()));
                for (int i = 0; i < Math.min(SHOWN, output.data().length); i++) {
                    line.append(" ").append(output.data()[i]);
                }
                System.out.println(line);
            }
            long begin = System.nanoTime();
            for (int i = 0; i < RUNS; i++) {
                predictor.run();
            }
            System.err.printf("%.3f ms%n", (System.nanoTime() - begin) / 1e6 / RUNS);
        }
    }
}
