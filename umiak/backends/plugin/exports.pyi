"""A library of the functions that plug-ins expect of the host (``exports.h``). Loaded with global symbols, it is found
by the linker when a plug-in is loaded."""

RUNTIME_EVENT: int  # kinds of events that a profiler is given
DEVICE_EVENT: int
