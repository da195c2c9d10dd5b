/* libumiak_inference.so: the interface of umiak_inference.h over the interpreter of an environment in which the package is
   installed. bridge.py has the other side. */
#define _GNU_SOURCE
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "interface.h"

#include <dlfcn.h>
#include <pthread.h>

#ifndef UMIAK_PYTHON
#error "UMIAK_PYTHON, the path of the environment's interpreter, is required"
#endif

typedef struct {
    umiak_tensor_info* infos;
    Py_ssize_t count;
} ports;

struct umiak_predictor {
    PyObject* session;
    ports inputs, outputs;
    PyObject* results; /* of the last run: a list of (shape, bytes of an array, number of the dtype); NULL before */
    Py_buffer* views;  /* of these arrays */
};

static pthread_once_t started = PTHREAD_ONCE_INIT;
static PyObject* bridge; /* the module; NULL where it could not be imported */
static char start_error[ERROR_ROOM];

/* The Python error that is set, in words; it is set no more. */
static void take_error(char* text, size_t room, PyObject** exception) {
    PyObject *type, *value, *traceback, *shown;
    const char* words = NULL;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    shown = value ? PyObject_Str(value) : NULL;
    if (shown) words = PyUnicode_AsUTF8(shown);
    snprintf(text, room, "%s: %s", type ? ((PyTypeObject*)type)->tp_name : "error", words ? words : "?");
    PyErr_Clear();
    Py_XDECREF(shown);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    if (exception)
        *exception = value;
    else
        Py_XDECREF(value);
}

static umiak_status python_error(int creating) {
    PyObject* value = NULL;
    umiak_status status = UMIAK_RUN_FAILED;
    take_error(last_error, sizeof last_error, &value);
    PyObject* number = value ? PyObject_CallMethod(bridge, "status_of", "Oi", value, creating) : NULL;
    if (number) status = (umiak_status)PyLong_AsLong(number);
    PyErr_Clear();
    Py_XDECREF(number);
    Py_XDECREF(value);
    return status;
}

/* Extension modules look for Python's symbols among those that are global, which those of libraries of a library that was
   opened for itself are not. */
static void make_python_global(void) {
    Dl_info info;
    if (dladdr((void*)Py_IsInitialized, &info) && info.dli_fname) dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_NOW | RTLD_GLOBAL);
}

static void start(void) {
    int own = !Py_IsInitialized();
    PyGILState_STATE state = PyGILState_UNLOCKED;
    make_python_global();
    if (own) {
        PyConfig config;
        PyStatus status;
        const char* python = getenv("UMIAK_PYTHON");
        PyConfig_InitIsolatedConfig(&config);
        config.install_signal_handlers = 0;
        status = PyConfig_SetBytesString(&config, &config.program_name, python ? python : UMIAK_PYTHON);
        if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(&config);
        PyConfig_Clear(&config);
        if (PyStatus_Exception(status)) {
            snprintf(start_error, sizeof start_error, "Python of %s cannot start: %s", python ? python : UMIAK_PYTHON,
                     status.err_msg ? status.err_msg : "?");
            return;
        }
    } else {
        state = PyGILState_Ensure();
    }
    bridge = PyImport_ImportModule("paddle.inference.native.bridge");
    if (!bridge) take_error(start_error, sizeof start_error, NULL);
    if (own && bridge) {
        Py_XDECREF(PyObject_CallMethod(bridge, "line_buffer_stdout", NULL));
        PyErr_Clear();
    }
    if (own)
        PyEval_SaveThread(); /* so that any thread may come */
    else
        PyGILState_Release(state);
}

static int enter(PyGILState_STATE* state) {
    pthread_once(&started, start);
    if (!bridge) {
        fail(UMIAK_UNSUPPORTED, "%s", start_error);
        return 0;
    }
    *state = PyGILState_Ensure();
    return 1;
}

/* ---- creation ---- */
static void free_ports(ports* of) {
    for (Py_ssize_t i = 0; of->infos && i < of->count; i++) free((char*)of->infos[i].name);
    free(of->infos);
}

static int take_shape(PyObject* shape, umiak_tensor_info* info) {
    const Py_ssize_t rank = PyTuple_Size(shape);
    if (rank > UMIAK_MAX_RANK) {
        PyErr_Format(PyExc_ValueError, "tensors have at most %d dims here, got %zd", UMIAK_MAX_RANK, rank);
        return -1;
    }
    info->rank = (int32_t)rank;
    for (Py_ssize_t i = 0; i < rank; i++) info->shape[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
    return PyErr_Occurred() ? -1 : 0;
}

static int take_ports(PyObject* session, const char* name, ports* of) {
    PyObject* list = PyObject_GetAttrString(session, name);
    int done = -1;
    if (!list) return -1;
    of->count = PyList_Size(list);
    of->infos = calloc((size_t)of->count + 1, sizeof *of->infos);
    if (!of->infos) PyErr_NoMemory();
    for (Py_ssize_t i = 0; of->infos && i < of->count; i++) {
        const char* text;
        int dtype;
        PyObject* shape;
        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "siO!", &text, &dtype, &PyTuple_Type, &shape)) goto end;
        of->infos[i].dtype = dtype;
        of->infos[i].name = strdup(text);
        if (!of->infos[i].name) {
            PyErr_NoMemory();
            goto end;
        }
        if (take_shape(shape, &of->infos[i])) goto end;
    }
    if (of->infos) done = 0;
end:
    Py_DECREF(list);
    return done;
}

static void forget_results(umiak_predictor* p) {
    for (Py_ssize_t i = 0; p->results && i < p->outputs.count; i++) PyBuffer_Release(&p->views[i]);
    Py_CLEAR(p->results);
}

static void free_predictor(umiak_predictor* p) {
    forget_results(p);
    Py_XDECREF(p->session);
    free_ports(&p->inputs);
    free_ports(&p->outputs);
    free(p->views);
    free(p);
}

/* A predictor of a session, whose reference is taken; the Python error is set where it is NULL. */
static umiak_status made(PyObject* session, umiak_predictor** predictor) {
    umiak_predictor* p;
    if (!session) return python_error(1);
    p = calloc(1, sizeof *p);
    if (!p) {
        Py_DECREF(session);
        return no_memory();
    }
    p->session = session;
    if (take_ports(session, "inputs", &p->inputs) || take_ports(session, "outputs", &p->outputs) ||
        !(p->views = calloc((size_t)p->outputs.count + 1, sizeof *p->views))) {
        umiak_status status = PyErr_Occurred() ? python_error(1) : no_memory();
        free_predictor(p);
        return status;
    }
    *predictor = p;
    return UMIAK_OK;
}

/* A list of pairs of texts; NULL with a Python error. */
static PyObject* settings_of(const umiak_options* options) {
    PyObject* list = PyList_New(options->setting_count);
    for (int i = 0; list && i < options->setting_count; i++) {
        const char* value = options->settings[i].value;
        PyObject* name = PyUnicode_DecodeFSDefault(options->settings[i].name);
        PyObject* text = PyUnicode_DecodeFSDefault(value ? value : "");
        PyObject* pair = name && text ? PyTuple_Pack(2, name, text) : NULL;
        Py_XDECREF(name);
        Py_XDECREF(text);
        if (pair)
            PyList_SetItem(list, i, pair);
        else
            Py_CLEAR(list);
    }
    return list;
}

static PyObject* path_of(const char* name) { return name ? PyUnicode_DecodeFSDefault(name) : Py_NewRef(Py_None); }

static umiak_status create(const char* model, const char* parameters, const umiak_options* options, umiak_predictor** predictor) {
    PyGILState_STATE state;
    if (!model) return null_argument("model");
    if (!enter(&state)) return UMIAK_UNSUPPORTED;
    PyObject* path = PyUnicode_DecodeFSDefault(model);
    PyObject* other = path_of(parameters);
    PyObject* settings = settings_of(options);
    PyObject* session = path && other && settings
                            ? PyObject_CallMethod(bridge, "create", "OOiO", path, other, (int)options->threads, settings)
                            : NULL;
    Py_XDECREF(settings);
    Py_XDECREF(path);
    Py_XDECREF(other);
    const umiak_status status = made(session, predictor);
    PyGILState_Release(state);
    return status;
}

static umiak_status create_from_memory(const void* model, size_t model_bytes, const void* parameters, size_t parameters_bytes,
                                       const umiak_options* options, umiak_predictor** predictor) {
    PyGILState_STATE state;
    if (!enter(&state)) return UMIAK_UNSUPPORTED;
    PyObject* settings = settings_of(options);
    PyObject* session = settings ? PyObject_CallMethod(bridge, "create_from_memory", "y#y#iO", (const char*)model,
                                                       (Py_ssize_t)model_bytes, parameters_bytes ? (const char*)parameters : "",
                                                       (Py_ssize_t)parameters_bytes, (int)options->threads, settings)
                                 : NULL;
    Py_XDECREF(settings);
    const umiak_status status = made(session, predictor);
    PyGILState_Release(state);
    return status;
}

static umiak_status clone_of(umiak_predictor* predictor, umiak_predictor** clone) {
    PyGILState_STATE state;
    if (!enter(&state)) return UMIAK_UNSUPPORTED;
    umiak_status status = made(PyObject_CallMethod(predictor->session, "clone", NULL), clone);
    PyGILState_Release(state);
    return status;
}

static umiak_status destroy(umiak_predictor* predictor) {
    PyGILState_STATE state;
    if (!enter(&state)) return UMIAK_UNSUPPORTED;
    free_predictor(predictor);
    PyGILState_Release(state);
    return UMIAK_OK;
}

/* ---- inputs and outputs ---- */
static const char* model_name(void) { return "the model"; }

static const ports* ports_of(const umiak_predictor* predictor, port_kind kind) {
    return kind == INPUT ? &predictor->inputs : &predictor->outputs;
}

static size_t count_of(const umiak_predictor* predictor, port_kind kind) { return (size_t)ports_of(predictor, kind)->count; }

static const char* name_of(const umiak_predictor* predictor, port_kind kind, size_t index) {
    return ports_of(predictor, kind)->infos[index].name;
}

static umiak_status describe(umiak_predictor* predictor, port_kind kind, size_t index, umiak_tensor_info* info) {
    PyGILState_STATE state;
    umiak_status status = UMIAK_OK;
    *info = ports_of(predictor, kind)->infos[index];
    if (kind == INPUT || !predictor->results) return UMIAK_OK;
    if (!enter(&state)) return UMIAK_UNSUPPORTED;
    PyObject* result = PyList_GetItem(predictor->results, (Py_ssize_t)index);
    if (take_shape(PyTuple_GetItem(result, 0), info)) status = python_error(0);
    info->dtype = (umiak_dtype)PyLong_AsLong(PyTuple_GetItem(result, 2));
    PyGILState_Release(state);
    return status;
}

static umiak_status set_input(umiak_predictor* predictor, size_t index, const void* data, size_t bytes, umiak_dtype dtype,
                              int32_t rank, const int64_t* shape) {
    PyGILState_STATE state;
    umiak_status status = UMIAK_OK;
    if (!enter(&state)) return UMIAK_UNSUPPORTED;
    PyObject* sizes = PyTuple_New(rank);
    for (int i = 0; sizes && i < rank; i++) PyTuple_SetItem(sizes, i, PyLong_FromLongLong(shape[i]));
    PyObject* memory = PyMemoryView_FromMemory((char*)data, (Py_ssize_t)bytes, PyBUF_READ);
    PyObject* done = sizes && memory && !PyErr_Occurred()
                         ? PyObject_CallMethod(predictor->session, "set", "nOiO", (Py_ssize_t)index, memory, (int)dtype, sizes)
                         : NULL;
    if (done)
        forget_results(predictor);
    else
        status = python_error(0);
    Py_XDECREF(done);
    Py_XDECREF(memory);
    Py_XDECREF(sizes);
    PyGILState_Release(state);
    return status;
}

static umiak_status run(umiak_predictor* predictor) {
    PyGILState_STATE state;
    umiak_status status = UMIAK_OK;
    if (!enter(&state)) return UMIAK_UNSUPPORTED;
    forget_results(predictor);
    PyObject* results = PyObject_CallMethod(predictor->session, "run", NULL);
    Py_ssize_t taken = 0;
    while (results && taken < predictor->outputs.count) {
        PyObject* array = PyTuple_GetItem(PyList_GetItem(results, taken), 1);
        if (!array || PyObject_GetBuffer(array, &predictor->views[taken], PyBUF_SIMPLE)) break;
        taken++;
    }
    if (results && taken == predictor->outputs.count) {
        predictor->results = results;
    } else {
        status = python_error(0);
        while (taken) PyBuffer_Release(&predictor->views[--taken]);
        Py_XDECREF(results);
    }
    PyGILState_Release(state);
    return status;
}

static int has_outputs(const umiak_predictor* predictor) { return predictor->results != NULL; }

static const void* output_of(const umiak_predictor* predictor, size_t index, size_t* bytes) {
    *bytes = (size_t)predictor->views[index].len;
    return predictor->views[index].buf;
}

/* ---- beside runs ---- */
/* The text that a function of bridge.py returned, whose reference is taken, kept for this thread. */
static umiak_status give_text(PyObject* text, char** kept, const char** given) {
    const char* words = text ? PyUnicode_AsUTF8(text) : NULL;
    char* copy = words ? strdup(words) : NULL;
    const umiak_status status = copy ? UMIAK_OK : words ? no_memory() : python_error(1);
    if (copy) {
        free(*kept);
        *given = *kept = copy;
    }
    Py_XDECREF(text);
    return status;
}

static umiak_status setting_names(const char** names) {
    static __thread char* kept;
    PyGILState_STATE state;
    if (!enter(&state)) return UMIAK_UNSUPPORTED;
    const umiak_status status = give_text(PyObject_CallMethod(bridge, "setting_names", NULL), &kept, names);
    PyGILState_Release(state);
    return status;
}

static umiak_status pass_names(const umiak_options* options, const char** names) {
    static __thread char* kept;
    PyGILState_STATE state;
    if (!enter(&state)) return UMIAK_UNSUPPORTED;
    PyObject* settings = settings_of(options);
    const umiak_status status = give_text(settings ? PyObject_CallMethod(bridge, "pass_names", "O", settings) : NULL, &kept, names);
    Py_XDECREF(settings);
    PyGILState_Release(state);
    return status;
}

/* The status of a call of the session, whose result is released. */
static umiak_status status_of_call(PyObject* done) {
    const umiak_status status = done ? UMIAK_OK : python_error(0);
    Py_XDECREF(done);
    return status;
}

static umiak_status clear_intermediates(umiak_predictor* predictor) {
    PyGILState_STATE state;
    if (!enter(&state)) return UMIAK_UNSUPPORTED;
    forget_results(predictor);
    const umiak_status status = status_of_call(PyObject_CallMethod(predictor->session, "clear", NULL));
    PyGILState_Release(state);
    return status;
}

static umiak_status shrink_memory(umiak_predictor* predictor, uint64_t* bytes) {
    PyGILState_STATE state;
    if (!enter(&state)) return UMIAK_UNSUPPORTED;
    PyObject* count = PyObject_CallMethod(predictor->session, "shrink", NULL);
    if (count) *bytes = PyLong_AsUnsignedLongLong(count);
    const umiak_status status = status_of_call(count);
    PyGILState_Release(state);
    return status;
}

static umiak_status set_lod(umiak_predictor* predictor, size_t index, size_t levels, const size_t* counts, const int64_t* offsets) {
    PyGILState_STATE state;
    if (!enter(&state)) return UMIAK_UNSUPPORTED;
    PyObject* lod = PyList_New((Py_ssize_t)levels);
    for (size_t i = 0; lod && i < levels; i++) {
        PyObject* level = PyList_New((Py_ssize_t)counts[i]);
        for (size_t k = 0; level && k < counts[i]; k++) PyList_SetItem(level, (Py_ssize_t)k, PyLong_FromLongLong(*offsets++));
        if (level)
            PyList_SetItem(lod, (Py_ssize_t)i, level);
        else
            Py_CLEAR(lod);
    }
    const int made_all = lod && !PyErr_Occurred();
    const umiak_status status =
        status_of_call(made_all ? PyObject_CallMethod(predictor->session, "set_lod", "nO", (Py_ssize_t)index, lod) : NULL);
    if (status == UMIAK_OK) forget_results(predictor);
    Py_XDECREF(lod);
    PyGILState_Release(state);
    return status;
}

static umiak_status output_lod(umiak_predictor* predictor, size_t index, size_t level, int64_t* offsets, size_t room, size_t* count) {
    PyGILState_STATE state;
    umiak_status status = UMIAK_OK;
    if (!enter(&state)) return UMIAK_UNSUPPORTED;
    PyObject* lod = PyObject_CallMethod(predictor->session, "lod", "n", (Py_ssize_t)index); /* a list of lists */
    PyObject* own = lod && level < (size_t)PyList_Size(lod) ? PyList_GetItem(lod, (Py_ssize_t)level) : NULL;
    if (!lod)
        status = python_error(0);
    else if (own)
        *count = (size_t)PyList_Size(own);
    if (status == UMIAK_OK && offsets && room < *count)
        status = fail(UMIAK_INVALID_ARGUMENT, "output %s requires room for %zu offsets, got %zu",
                      name_of(predictor, OUTPUT, index), *count, room);
    for (size_t i = 0; status == UMIAK_OK && offsets && i < *count; i++)
        offsets[i] = PyLong_AsLongLong(PyList_GetItem(own, (Py_ssize_t)i));
    Py_XDECREF(lod);
    PyGILState_Release(state);
    return status;
}

/* ---- hooks ---- */
typedef struct {
    umiak_hook call;
    void* user;
} hook_pair;

static void free_hook(PyObject* capsule) { free(PyCapsule_GetPointer(capsule, NULL)); }

/* Called by bridge.py with the operation, the value's name, dtype and shape, and its bytes; the interpreter is free meanwhile. */
static PyObject* call_hook(PyObject* capsule, PyObject* arguments) {
    const hook_pair* hook = PyCapsule_GetPointer(capsule, NULL);
    umiak_tensor_info info = {0};
    const char* operation;
    int dtype, stopped;
    PyObject* shape;
    Py_buffer data;
    if (!hook || !PyArg_ParseTuple(arguments, "ssiO!y*", &operation, &info.name, &dtype, &PyTuple_Type, &shape, &data)) return NULL;
    info.dtype = dtype;
    if (take_shape(shape, &info)) {
        PyBuffer_Release(&data);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS;
    stopped = hook->call(hook->user, operation, &info, data.buf, (size_t)data.len);
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&data);
    return PyBool_FromLong(stopped);
}

static umiak_status add_hook(umiak_predictor* predictor, umiak_hook_kind kind, umiak_hook hook, void* user) {
    static PyMethodDef definition = {"hook", call_hook, METH_VARARGS, NULL};
    PyGILState_STATE state;
    hook_pair* pair = malloc(sizeof *pair);
    if (!pair) return no_memory();
    *pair = (hook_pair){hook, user};
    if (!enter(&state)) {
        free(pair);
        return UMIAK_UNSUPPORTED;
    }
    PyObject* capsule = PyCapsule_New(pair, NULL, free_hook);
    if (!capsule) free(pair);
    PyObject* function = capsule ? PyCFunction_New(&definition, capsule) : NULL;
    const umiak_status status =
        status_of_call(function ? PyObject_CallMethod(predictor->session, "add_hook", "iO", (int)kind, function) : NULL);
    Py_XDECREF(function);
    Py_XDECREF(capsule);
    PyGILState_Release(state);
    return status;
}

/* ---- files ---- */
static umiak_status convert_to_mixed_precision(const char* model, const char* parameters, const char* mixed_model,
                                               const char* mixed_parameters, umiak_dtype dtype, const umiak_options* options) {
    PyGILState_STATE state;
    umiak_status status = UMIAK_OK;
    if (!enter(&state)) return UMIAK_UNSUPPORTED;
    PyObject* paths[] = {path_of(model), path_of(parameters), path_of(mixed_model), path_of(mixed_parameters)};
    PyObject* settings = settings_of(options);
    PyObject* done = paths[0] && paths[1] && paths[2] && paths[3] && settings
                         ? PyObject_CallMethod(bridge, "convert", "OOOOiO", paths[0], paths[1], paths[2], paths[3], (int)dtype, settings)
                         : NULL;
    if (!done) status = python_error(1);
    Py_XDECREF(done);
    Py_XDECREF(settings);
    for (int i = 0; i < 4; i++) Py_XDECREF(paths[i]);
    PyGILState_Release(state);
    return status;
}
