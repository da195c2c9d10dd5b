#pragma once
#include <Python.h>
/* The thread's current EngineContext, borrowed: context.pyx keeps it alive for as long as the thread runs.
 * Included by context.pyx alone, since a static variable in a header is one variable per extension module. */
static __thread PyObject *UMIAK_CONTEXT __attribute__((tls_model("initial-exec"))) = 0;
