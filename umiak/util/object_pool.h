/* Objects that are made and dropped with every call, kept ready: a pooled one still holds a reference to None in each empty
 * field. A class of many fields otherwise counts None up for each of them when it is made, and down when it goes: one after
 * the other at one address, which takes longer than all else about a small object.
 *
 * UMIAK_POOL(NAME, MOST, COLLECTED, BEGIN, END) defines NAME_open(type, empty), which makes a type's exact instances go to the
 * pool, and NAME_take(), a new reference to one from there or NULL. `empty` gives up what fields refer to and leaves them as a
 * new object's. Instances of subclasses, and those that are too many, go the way they went before. BEGIN and END are CPython's
 * trashcan where such objects hang on each other in long chains.
 */
#ifndef UMIAK_POOL_H
#define UMIAK_POOL_H
#include <Python.h>

static inline PyObject *umiak_own(PyObject *o) { return o; }     /* for Cython: takes over a reference, or an error */

static inline void umiak_drop_weakrefs(PyObject *o)
{
    if (Py_TYPE(o)->tp_weaklistoffset > 0 && *(PyObject **)((char *)o + Py_TYPE(o)->tp_weaklistoffset))
        PyObject_ClearWeakRefs(o);
}

#define UMIAK_POOL(NAME, MOST, COLLECTED, BEGIN, END)                                                                  \
    static PyObject *NAME##_pool[MOST];                                                                                \
    static int NAME##_pooled;                                                                                          \
    static PyTypeObject *NAME##_type;                                                                                  \
    static destructor NAME##_before;                                                                                   \
    static void (*NAME##_empty)(PyObject *);                                                                           \
    static void NAME##_dealloc(PyObject *o)                                                                            \
    {                                                                                                                  \
        if (Py_TYPE(o) != NAME##_type || NAME##_type->tp_finalize) {                                                   \
            NAME##_before(o);                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        if (COLLECTED) PyObject_GC_UnTrack(o);                                                                         \
        BEGIN(o, NAME##_dealloc)                                                                                       \
        if (NAME##_pooled < MOST) {                                                                                    \
            umiak_drop_weakrefs(o);                                                                                    \
            Py_SET_REFCNT(o, 1); /* what is called here may hold it for a while */                                     \
            NAME##_empty(o);                                                                                           \
            Py_SET_REFCNT(o, 0);                                                                                       \
        }                                                                                                              \
        if (NAME##_pooled < MOST) /* still */                                                                          \
            NAME##_pool[NAME##_pooled++] = o;                                                                          \
        else                                                                                                           \
            NAME##_before(o);                                                                                          \
        END                                                                                                            \
    }                                                                                                                  \
    static inline PyObject *NAME##_take(void)                                                                          \
    {                                                                                                                  \
        PyObject *o;                                                                                                   \
        if (!NAME##_pooled) return NULL;                                                                               \
        o = NAME##_pool[--NAME##_pooled];                                                                              \
        Py_SET_REFCNT(o, 1);                                                                                           \
        if (COLLECTED) PyObject_GC_Track(o);                                                                           \
        return o;                                                                                                      \
    }                                                                                                                  \
    static void NAME##_open(PyTypeObject *type, void (*empty)(PyObject *))                                             \
    {                                                                                                                  \
        NAME##_type = type;                                                                                            \
        NAME##_empty = empty;                                                                                          \
        NAME##_before = type->tp_dealloc;                                                                              \
        type->tp_dealloc = NAME##_dealloc;                                                                             \
    }

#define UMIAK_STRAIGHT(o, dealloc)
#define UMIAK_STRAIGHT_END

#endif
