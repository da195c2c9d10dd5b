/* The two types of sizes of a tensor, in C where every call of a program meets them: see size.pyx. */
#ifndef UMIAK_SIZE_H
#define UMIAK_SIZE_H
#include <Python.h>
#include <stdint.h>
#include <string.h>

#include "umiak/util/object_pool.h"

/* ---- Size: a list ---- */
UMIAK_POOL(umiak_sizes, 64, 1, Py_TRASHCAN_BEGIN, Py_TRASHCAN_END)

/* A pooled one keeps its array of at most this many sizes. */
#define UMIAK_KEPT_SIZES 8

static void umiak_empty_size(PyObject *o)
{
    PyListObject *list = (PyListObject *)o;
    PyObject **items = list->ob_item;
    Py_ssize_t n = Py_SIZE(o);
    int kept = list->allocated <= UMIAK_KEPT_SIZES;
    if (!kept) {
        list->ob_item = NULL;
        list->allocated = 0;
    }
    Py_SET_SIZE(o, 0);
    while (n)
        Py_DECREF(items[--n]);
    if (!kept)
        PyMem_Free(items);
}

/* An empty one with room for n sizes. */
static PyObject *umiak_size_with_room(PyTypeObject *type, Py_ssize_t n)
{
    PyListObject *o = (PyListObject *)umiak_sizes_take();
    if (!o && !(o = (PyListObject *)type->tp_alloc(type, 0)))
        return NULL;
    if (o->allocated < n) {
        Py_ssize_t room = n < UMIAK_KEPT_SIZES ? UMIAK_KEPT_SIZES : n;
        PyObject **items = (PyObject **)PyMem_Realloc(o->ob_item, room * sizeof(PyObject *));
        if (!items) {
            Py_DECREF(o);
            return PyErr_NoMemory();
        }
        o->ob_item = items;
        o->allocated = room;
    }
    return (PyObject *)o;
}

static PyObject *umiak_size_of(PyTypeObject *type, const int64_t *dims, Py_ssize_t n)
{
    PyListObject *o = (PyListObject *)umiak_size_with_room(type, n);
    if (!o)
        return NULL;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *size = PyLong_FromLongLong(dims[i]);
        if (!size) {
            Py_DECREF(o);
            return NULL;
        }
        o->ob_item[i] = size;
        Py_SET_SIZE(o, i + 1);
    }
    return (PyObject *)o;
}

static PyObject *umiak_size_of_items(PyTypeObject *type, PyObject *const *items, Py_ssize_t n, Py_ssize_t step)
{
    PyListObject *o = (PyListObject *)umiak_size_with_room(type, n);
    if (!o)
        return NULL;
    for (Py_ssize_t i = 0; i < n; i++)
        o->ob_item[i] = Py_NewRef(items[i * step]);
    Py_SET_SIZE(o, n);
    return (PyObject *)o;
}

static PyObject *umiak_size_item(PyObject *o, PyObject *index)
{
    PyObject **items = ((PyListObject *)o)->ob_item;
    if (PySlice_Check(index)) {
        Py_ssize_t start, stop, step, n;
        if (PySlice_Unpack(index, &start, &stop, &step) < 0)
            return NULL;
        n = PySlice_AdjustIndices(Py_SIZE(o), &start, &stop, step);
        return umiak_size_of_items(umiak_sizes_type, items + start, n, step);
    }
    if (PyLong_CheckExact(index)) {
        Py_ssize_t i = PyLong_AsSsize_t(index), n = Py_SIZE(o);
        if (i == -1 && PyErr_Occurred())
            PyErr_Clear(); /* a list says it in its words */
        else if (i >= -n && i < n)
            return Py_NewRef(items[i < 0 ? i + n : i]);
    }
    return PyList_Type.tp_as_mapping->mp_subscript(o, index);
}

static PyObject *umiak_size_join(PyTypeObject *type, PyObject *a, PyObject *b)
{
    Py_ssize_t n = PySequence_Fast_GET_SIZE(a), m = PySequence_Fast_GET_SIZE(b);
    PyListObject *o = (PyListObject *)umiak_size_with_room(type, n + m);
    if (!o)
        return NULL;
    for (Py_ssize_t i = 0; i < n; i++)
        o->ob_item[i] = Py_NewRef(PySequence_Fast_ITEMS(a)[i]);
    for (Py_ssize_t i = 0; i < m; i++)
        o->ob_item[n + i] = Py_NewRef(PySequence_Fast_ITEMS(b)[i]);
    Py_SET_SIZE(o, n + m);
    return (PyObject *)o;
}

static PyObject *umiak_size_compare(PyObject *a, PyObject *b, int comparison)
{
    PyObject *list, *found;
    if ((comparison != Py_EQ && comparison != Py_NE) || !PyTuple_Check(b))
        return PyList_Type.tp_richcompare(a, b, comparison);
    if (!(list = PySequence_List(b)))
        return NULL;
    found = PyList_Type.tp_richcompare(a, list, comparison);
    Py_DECREF(list);
    return found;
}

/* Sizes are looked at with every call: what is done most with them is done without a detour. */
static void umiak_open_sizes(PyTypeObject *type)
{
    type->tp_as_mapping->mp_subscript = umiak_size_item;
    type->tp_richcompare = umiak_size_compare;
    PyType_Modified(type);
    umiak_sizes_open(type, umiak_empty_size);
}

/* ---- ElementCount: an int ---- */
#define UMIAK_COUNTED_DIMS 8

/* An int object ends with its digits, of which 64 bits need three: room is left for them before further fields. */
typedef struct {
    union {
        PyLongObject number;
        char room[sizeof(PyObject) + sizeof(void *) + 4 * sizeof(digit)];
    };
    PyObject *sizes; /* NULL: they are `dims` */
    Py_ssize_t ndim;
    int64_t dims[UMIAK_COUNTED_DIMS];
} umiak_count;

UMIAK_POOL(umiak_counts, 16, 0, UMIAK_STRAIGHT, UMIAK_STRAIGHT_END)

static void umiak_empty_count(PyObject *o) { Py_CLEAR(((umiak_count *)o)->sizes); }

static PyObject *umiak_count_of(int64_t n, PyTypeObject *size, const int64_t *dims, Py_ssize_t ndim, PyObject *sizes)
{
    umiak_count *o;
    PyObject *number;
    int digits = n >> PyLong_SHIFT == 0 ? 1 : n >> (2 * PyLong_SHIFT) == 0 ? 2 : 3;
    sizes = !sizes && ndim > UMIAK_COUNTED_DIMS ? umiak_size_of(size, dims, ndim) : Py_XNewRef(sizes);
    number = PyErr_Occurred() ? NULL : PyLong_FromLongLong(n);
    o = number ? (umiak_count *)umiak_counts_take() : NULL;
    if (!o && number)
        o = (umiak_count *)umiak_counts_type->tp_alloc(umiak_counts_type, 0);
    if (!o) {
        Py_XDECREF(number);
        Py_XDECREF(sizes);
        return NULL;
    }
    memcpy((char *)o + sizeof(PyObject), (char *)number + sizeof(PyObject), sizeof(void *) + digits * sizeof(digit));
#if PY_VERSION_HEX >= 0x030E0000
    ((PyLongObject *)o)->long_value.lv_tag &= ~(uintptr_t)4; /* set for the small ints that live for ever */
#endif
    Py_DECREF(number);
    o->sizes = sizes;
    o->ndim = ndim;
    if (!sizes)
        memcpy(o->dims, dims, ndim * sizeof(int64_t));
    return (PyObject *)o;
}

static void umiak_count_dealloc(PyObject *o)
{
    PyTypeObject *type = Py_TYPE(o);
    Py_XDECREF(((umiak_count *)o)->sizes);
    type->tp_free(o);
    Py_DECREF(type);
}

static PyObject *umiak_count_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"dim", NULL};
    umiak_count *o = (umiak_count *)self;
    PyObject *dim = Py_None, *sizes, *found;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:size", names, &dim))
        return NULL;
    sizes = o->sizes ? umiak_size_of_items(umiak_sizes_type, ((PyListObject *)o->sizes)->ob_item, Py_SIZE(o->sizes), 1)
                     : umiak_size_of(umiak_sizes_type, o->dims, o->ndim);
    if (!sizes || dim == Py_None)
        return sizes;
    found = PyObject_GetItem(sizes, dim);
    Py_DECREF(sizes);
    return found;
}

static PyObject *umiak_count_reduce(PyObject *o, PyObject *unused)
{
    PyObject *number = PyLong_Type.tp_as_number->nb_int(o);
    return number ? Py_BuildValue("O(N)", &PyLong_Type, number) : NULL;
}

static PyMethodDef umiak_count_methods[] = {{"__reduce__", umiak_count_reduce, METH_NOARGS, NULL}, {NULL}};
static PyType_Slot umiak_count_slots[] = {
    {Py_tp_dealloc, (void *)umiak_count_dealloc},
    {Py_tp_call, (void *)umiak_count_call},
    {Py_tp_methods, umiak_count_methods},
    {Py_tp_doc, "Number of elements of a tensor; called, the sizes of the tensor, or that of one dim."},
    {0, NULL},
};
static PyType_Spec umiak_count_spec = {
    "umiak.util.size.ElementCount", sizeof(umiak_count), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    umiak_count_slots};

static PyObject *umiak_open_counts(void)
{
    PyObject *type = PyType_FromSpecWithBases(&umiak_count_spec, (PyObject *)&PyLong_Type);
    if (type)
        umiak_counts_open((PyTypeObject *)Py_NewRef(type), umiak_empty_count);
    return type;
}

#endif
