/* Walks the flat trees of `flat_trees.py`, maps their files, and reads trees as XGBoost writes them.

   It sees only arrays that `flat_trees.check` has passed, and checks the sizes of what it gets with each call. Sums are
   added in the order of the trees, in float32 or float64, without fused operations: equal to the bit to a library that
   does the same. The interpreter's lock is released while it walks. */

#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the files of trees are little-endian, and are mapped as they are"
#endif

#define VERSION 4 /* `flat_trees.VERSION`: of the nodes, and of what this module offers */
#define BLOCK_ROWS 64
#define MOST INT32_MAX /* columns of a row, or its outputs: their bytes are a number that fits */

typedef struct {
    float value;     /* the threshold, or the value of a leaf */
    uint16_t column; /* and MISSING_LEFT */
    uint16_t left;   /* from the tree's first node; the right child is the next, or in a pair the second value; 0: leaf */
} NarrowNode;

typedef struct {
    double value; /* the threshold; the value of a leaf, or its row in the table of leaves */
    uint16_t column;
    uint16_t flags;
    uint32_t left;
} WideNode;

#define NARROW_MISSING_LEFT 0x8000
#define WIDE_MISSING_LEFT 1
#define WIDE_MISSING_IS_ZERO 2 /* a zero is missing, and NaN counts as one */
#define WIDE_MISSING_IS_NAN 4  /* without either, NaN is compared as 0 */
#define ZERO_WITHIN 1e-35f     /* what LightGBM takes for zero */

typedef struct {
    PyObject_HEAD
    PyObject *owner; /* keeps the arrays where they are */
    const void *nodes, *base, *leaves;
    const uint32_t *roots, *groups, *pairs;
    size_t count, columns, outputs;
    int wide;
} Trees;

typedef struct {
    PyObject_HEAD
    void *start;
    size_t size;
} MappedBytes;

static inline uint32_t narrow_right(const NarrowNode *node, float cell)
{
    return isnan(cell) ? !(node->column & NARROW_MISSING_LEFT) : !(cell < node->value);
}

static inline uint32_t wide_right(const WideNode *node, double cell)
{
    if (isnan(cell)) {
        if (node->flags & (WIDE_MISSING_IS_NAN | WIDE_MISSING_IS_ZERO))
            return !(node->flags & WIDE_MISSING_LEFT);
        cell = 0.0;
    } else if (node->flags & WIDE_MISSING_IS_ZERO && cell >= -ZERO_WITHIN && cell <= ZERO_WITHIN) {
        return !(node->flags & WIDE_MISSING_LEFT);
    }
    return !(cell <= node->value);
}

#define WALK walk_narrow
#define NODE NarrowNode
#define ROW float
#define SUM float
#define COLUMN(node) ((node)->column & ~NARROW_MISSING_LEFT)
#define RIGHT narrow_right
#include "walk_loop.h"

#define WALK walk_wide_float
#define NODE WideNode
#define ROW float
#define SUM double
#define COLUMN(node) ((node)->column)
#define RIGHT wide_right
#include "walk_loop.h"

#define WALK walk_wide_double
#define NODE WideNode
#define ROW double
#define SUM double
#define COLUMN(node) ((node)->column)
#define RIGHT wide_right
#include "walk_loop.h"

/* -- Trees -------------------------------------------------------------------------------------------------------- */
static size_t sum_bytes(const Trees *trees)
{
    return trees->wide ? sizeof(double) : sizeof(float);
}

enum { NODES, ROOTS, GROUPS, PAIRS, BASE, LEAVES, ARRAYS };

static int whole(const Trees *trees, const Py_buffer *arrays)
{
    const size_t node = trees->wide ? sizeof(WideNode) : sizeof(NarrowNode), sum = sum_bytes(trees);
    uintptr_t places = 0, sums = 0;

    for (size_t each = ROOTS; each <= PAIRS; each++)
        places |= (uintptr_t)arrays[each].buf;
    for (size_t each = 0; each < ARRAYS; each++)
        sums |= each < ROOTS || each > PAIRS ? (uintptr_t)arrays[each].buf : 0;
    return trees->columns && trees->columns <= MOST && trees->outputs && arrays[NODES].len % node == 0
        && (size_t)arrays[GROUPS].len == trees->count * sizeof(uint32_t)
        && (size_t)arrays[PAIRS].len == trees->count * sizeof(uint32_t)
        && (size_t)arrays[ROOTS].len == (trees->count + 1) * sizeof(uint32_t)
        && (size_t)arrays[BASE].len == trees->outputs * sum
        && (!arrays[LEAVES].buf || arrays[LEAVES].len % (trees->outputs * sum) == 0)
        && sums % 8 == 0 && places % 4 == 0;
}

/* A buffer that was taken costs 80 bytes, and its array twice as much: of the arrays in a mapped file, a model keeps
   where they are, and the file. */
static int settled(Trees *trees, const Py_buffer *arrays, PyObject *owner, Py_ssize_t columns)
{
    trees->columns = columns > 0 ? (size_t)columns : 0;
    trees->count = (size_t)arrays[GROUPS].len / sizeof(uint32_t);
    trees->outputs = (size_t)arrays[BASE].len / sum_bytes(trees);
    if (!whole(trees, arrays)) {
        PyErr_SetString(PyExc_ValueError, "the arrays of the trees do not fit one another");
        return 0;
    }
    trees->nodes = arrays[NODES].buf;
    trees->roots = arrays[ROOTS].buf;
    trees->groups = arrays[GROUPS].buf;
    trees->pairs = arrays[PAIRS].buf;
    trees->base = arrays[BASE].buf;
    trees->leaves = arrays[LEAVES].buf;
    trees->owner = Py_NewRef(owner);
    return 1;
}

static PyObject *trees_new(PyTypeObject *type, PyObject *arguments, PyObject *named)
{
    static char *names[] = {"nodes", "roots", "groups", "pairs", "base", "leaves", "columns", "wide", "owner", NULL};
    Trees *trees = (Trees *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0); /* zeroed */
    Py_buffer arrays[ARRAYS] = {{0}};
    PyObject *owner;
    Py_ssize_t columns;
    int made;

    if (!trees)
        return NULL;
    if (!PyArg_ParseTupleAndKeywords(
            arguments, named, "y*y*y*y*y*z*npO:Trees", names, &arrays[NODES], &arrays[ROOTS], &arrays[GROUPS],
            &arrays[PAIRS], &arrays[BASE], &arrays[LEAVES], &columns, &trees->wide, &owner)) {
        Py_DECREF(trees);
        return NULL;
    }
    made = settled(trees, arrays, owner, columns);
    for (size_t each = 0; each < ARRAYS; each++)
        PyBuffer_Release(&arrays[each]); /* nothing where there is none */
    if (made)
        return (PyObject *)trees;
    Py_DECREF(trees);
    return NULL;
}

static void freed(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static void trees_dealloc(PyObject *self)
{
    Py_XDECREF(((Trees *)self)->owner);
    freed(self);
}

static int walk(const Trees *trees, const Py_buffer *rows, const Py_buffer *out)
{
    const int of_double = rows->format && strcmp(rows->format, "d") == 0;
    const size_t row_bytes = trees->columns * (of_double ? sizeof(double) : sizeof(float));
    const size_t count = (size_t)rows->len / row_bytes;

    if (!of_double && !(rows->format && strcmp(rows->format, "f") == 0))
        return 0;
    if ((size_t)rows->len % row_bytes || (of_double && !trees->wide)
        || (size_t)out->len != count * trees->outputs * sum_bytes(trees))
        return 0;
    Py_BEGIN_ALLOW_THREADS
    if (!trees->wide)
        walk_narrow(trees, rows->buf, count, out->buf);
    else if (of_double)
        walk_wide_double(trees, rows->buf, count, out->buf);
    else
        walk_wide_float(trees, rows->buf, count, out->buf);
    Py_END_ALLOW_THREADS
    return 1;
}

static PyObject *trees_predict(PyObject *self, PyObject *arguments)
{
    PyObject *given_rows, *given_out;
    Py_buffer rows, out;
    int fit;

    if (!PyArg_ParseTuple(arguments, "OO:predict", &given_rows, &given_out)
        || PyObject_GetBuffer(given_rows, &rows, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT))
        return NULL;
    if (PyObject_GetBuffer(given_out, &out, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE)) {
        PyBuffer_Release(&rows);
        return NULL;
    }
    fit = walk((Trees *)self, &rows, &out);
    PyBuffer_Release(&out);
    PyBuffer_Release(&rows);
    if (fit)
        Py_RETURN_NONE;
    PyErr_SetString(PyExc_ValueError, "the rows or the outputs do not fit the trees");
    return NULL;
}

static PyMethodDef trees_methods[] = {
    {"predict", trees_predict, METH_VARARGS, "Writes the margins of rows to an array of outputs."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot trees_slots[] = {
    {Py_tp_new, trees_new},
    {Py_tp_dealloc, trees_dealloc},
    {Py_tp_methods, trees_methods},
    {Py_tp_doc, "A checked model. Its `owner` keeps the arrays in place. Several threads may predict at once."},
    {0, NULL},
};
static PyType_Spec trees_spec = {
    "torpor_container.trees._walk.Trees", sizeof(Trees), 0, Py_TPFLAGS_DEFAULT, trees_slots,
};

/* -- MappedBytes ---------------------------------------------------------------------------------------------------- */
static PyObject *mapped_new(PyTypeObject *type, PyObject *arguments, PyObject *named)
{
    static char *names[] = {"descriptor", NULL};
    struct stat found;
    MappedBytes *mapped;
    int descriptor;

    if (!PyArg_ParseTupleAndKeywords(arguments, named, "i:MappedBytes", names, &descriptor))
        return NULL;
    mapped = (MappedBytes *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!mapped)
        return NULL;
    mapped->start = MAP_FAILED;
    if (fstat(descriptor, &found) == 0) {
        mapped->size = (size_t)found.st_size;
        mapped->start = mmap(NULL, mapped->size, PROT_READ, MAP_SHARED, descriptor, 0);
    }
    if (mapped->start == MAP_FAILED) {
        PyErr_SetFromErrno(PyExc_OSError);
        Py_DECREF(mapped);
        return NULL;
    }
    return (PyObject *)mapped;
}

static void mapped_dealloc(PyObject *self)
{
    MappedBytes *mapped = (MappedBytes *)self;

    if (mapped->start != MAP_FAILED)
        munmap(mapped->start, mapped->size);
    freed(self);
}

static int mapped_buffer(PyObject *self, Py_buffer *view, int flags)
{
    MappedBytes *mapped = (MappedBytes *)self;

    return PyBuffer_FillInfo(view, self, mapped->start, (Py_ssize_t)mapped->size, 1, flags);
}

static PyType_Slot mapped_slots[] = {
    {Py_tp_new, mapped_new},
    {Py_tp_dealloc, mapped_dealloc},
    {Py_bf_getbuffer, mapped_buffer},
    {Py_tp_doc, "An open file's bytes, mapped read-only and shared. Unlike `mmap.mmap`, it keeps no descriptor."},
    {0, NULL},
};
static PyType_Spec mapped_spec = {
    "torpor_container.trees._walk.MappedBytes", sizeof(MappedBytes), 0, Py_TPFLAGS_DEFAULT, mapped_slots,
};

/* -- XGBoost's transforms, in float32 as it computes them ---------------------------------------------------------- */
static void each_sigmoid(float *values, size_t count)
{
    for (size_t at = 0; at < count; at++) {
        const float negative = -values[at];
        values[at] = 1.0f / (expf(88.7f < negative ? 88.7f : negative) + 1.0f);
    }
}

static void each_exp(float *values, size_t count)
{
    for (size_t at = 0; at < count; at++)
        values[at] = expf(values[at]);
}

static void each_double_exp(float *values, size_t count)
{
    for (size_t at = 0; at < count; at++)
        values[at] = (float)exp((double)values[at]);
}

static void each_softmax(float *values, size_t count, size_t width)
{
    for (float *row = values; row < values + count; row += width) {
        float most = row[0];
        double sum = 0.0;
        for (size_t at = 1; at < width; at++)
            most = fmaxf(row[at], most);
        for (size_t at = 0; at < width; at++) {
            row[at] = expf(row[at] - most);
            sum += row[at];
        }
        for (size_t at = 0; at < width; at++)
            row[at] /= (float)sum;
    }
}

enum { SIGMOID, EXP, DOUBLE_EXP, SOFTMAX };

static PyObject *transformed(PyObject *arguments, int transform)
{
    Py_buffer values;
    Py_ssize_t width = 1;

    if (!PyArg_ParseTuple(arguments, "w*|n", &values, &width))
        return NULL;
    if (width < 1 || width > MOST || values.len % (Py_ssize_t)(width * sizeof(float)) || (uintptr_t)values.buf % sizeof(float)) {
        PyBuffer_Release(&values);
        PyErr_SetString(PyExc_ValueError, "the values are not rows of float32 of this width");
        return NULL;
    }
    const size_t count = (size_t)values.len / sizeof(float);
    Py_BEGIN_ALLOW_THREADS
    if (transform == SIGMOID)
        each_sigmoid(values.buf, count);
    else if (transform == EXP)
        each_exp(values.buf, count);
    else if (transform == DOUBLE_EXP)
        each_double_exp(values.buf, count);
    else
        each_softmax(values.buf, count, (size_t)width);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&values);
    Py_RETURN_NONE;
}

static PyObject *sigmoid(PyObject *module, PyObject *arguments)
{
    return transformed(arguments, SIGMOID);
}

static PyObject *exponential(PyObject *module, PyObject *arguments)
{
    return transformed(arguments, EXP);
}

static PyObject *double_exponential(PyObject *module, PyObject *arguments)
{
    return transformed(arguments, DOUBLE_EXP);
}

static PyObject *softmax(PyObject *module, PyObject *arguments)
{
    return transformed(arguments, SOFTMAX);
}

static PyObject *any_infinite(PyObject *module, PyObject *given)
{
    Py_buffer rows;
    int found = 0;

    if (PyObject_GetBuffer(given, &rows, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT))
        return NULL;
    if (!rows.format || strcmp(rows.format, "f")) {
        PyBuffer_Release(&rows);
        PyErr_SetString(PyExc_ValueError, "the rows are not float32");
        return NULL;
    }
    const float *cells = rows.buf;
    for (size_t at = 0; at < (size_t)rows.len / sizeof(float) && !found; at++)
        found = isinf(cells[at]) != 0;
    PyBuffer_Release(&rows);
    return PyBool_FromLong(found);
}

/* -- XGBoost's UBJSON and JSON ---------------------------------------------------------------------------------------- */
#include "written_trees.h"
#include "written_json.h"

/* -- the module ---------------------------------------------------------------------------------------------------- */
static PyMethodDef functions[] = {
    {"sigmoid", sigmoid, METH_VARARGS, "Takes the sigmoid of each float32, in place."},
    {"exp", exponential, METH_VARARGS, "Takes the exponential of each float32, in place."},
    {"double_exp", double_exponential, METH_VARARGS, "The same, rounded from a float64."},
    {"softmax", softmax, METH_VARARGS, "Takes the softmax of each row of float32, in place."},
    {"any_infinite", any_infinite, METH_O, "Whether any of these float32 is infinite."},
    {"sound_trees", sound_trees, METH_VARARGS, "Where so many trees end in the bytes; -1 if they are not sound."},
    {"integers", integers, METH_VARARGS, "So many integers with their marks, and where they end."},
    {"ubjson", ubjson, METH_O, "XGBoost's JSON as the UBJSON that it writes; None if these bytes are anything else."},
    {NULL, NULL, 0, NULL},
};

static int filled(PyObject *module)
{
    PyType_Spec *specs[] = {&trees_spec, &mapped_spec};

    for (size_t each = 0; each < sizeof(specs) / sizeof(*specs); each++) {
        PyObject *type = PyType_FromModuleAndSpec(module, specs[each], NULL);
        const int failed = !type || PyModule_AddType(module, (PyTypeObject *)type);
        Py_XDECREF(type);
        if (failed)
            return -1;
    }
    return PyModule_AddIntConstant(module, "VERSION", VERSION);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, filled}, {0, NULL}};
static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_walk", "Walks flat trees, maps their files, reads XGBoost's.", 0, functions, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__walk(void)
{
    return PyModuleDef_Init(&definition);
}
