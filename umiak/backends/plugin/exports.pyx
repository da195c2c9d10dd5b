"""A library of the functions that plug-ins expect of the host (``exports.h``). Loaded with global symbols, it is found
by the linker when a plug-in is loaded."""

cdef extern from "exports.h":
    cdef enum:
        UMIAK_RUNTIME_EVENT
        UMIAK_DEVICE_EVENT

RUNTIME_EVENT = UMIAK_RUNTIME_EVENT
DEVICE_EVENT = UMIAK_DEVICE_EVENT
