/* Functions of the host that plug-ins call by name: they are linked against these when they are loaded.

   A profiler (`C_Profiler`, opaque to plug-ins) begins with the function that takes its events. */

#define UMIAK_EXPORTED __attribute__((visibility("default")))

enum { UMIAK_RUNTIME_EVENT, UMIAK_DEVICE_EVENT };

typedef struct umiak_profiler {
    void (*add)(struct umiak_profiler *profiler, void *event, int kind);
} umiak_profiler;

UMIAK_EXPORTED void profiler_add_runtime_trace_event(umiak_profiler *profiler, void *event) {
    profiler->add(profiler, event, UMIAK_RUNTIME_EVENT);
}

UMIAK_EXPORTED void profiler_add_device_trace_event(umiak_profiler *profiler, void *event) {
    profiler->add(profiler, event, UMIAK_DEVICE_EVENT);
}
