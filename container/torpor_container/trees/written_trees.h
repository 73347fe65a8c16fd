/* Reads the trees of a UBJSON model as XGBoost writes them, byte for byte, and checks that they are sound: see
   `formats/xgboost/written_bytes.py`, which does the same without this. Nothing is read behind the end of the bytes. */

#define KEY(length, name) "L\0\0\0\0\0\0\0" length name
#define ARRAY(length, name, mark) KEY(length, name) "[$" mark "#L"
#define NO_PARENT INT32_MAX

typedef struct {
    const uint8_t *at, *end;
} Reader;

typedef struct {
    const char *before;
    size_t before_bytes, element_bytes;
} WrittenArray;

enum { DEFAULT_LEFT, LEFT, LOSS_CHANGES, PARENTS, RIGHT, CONDITIONS, INDICES, TYPE, HESSIAN, WRITTEN_ARRAYS };

static const char first_array[] = "{" ARRAY("\x0c", "base_weights", "d");
static const char id[] = KEY("\x02", "id");
static const char before_default_left[] =
    ARRAY("\x0a", "categories", "l") "\0\0\0\0\0\0\0\0"
    ARRAY("\x10", "categories_nodes", "l") "\0\0\0\0\0\0\0\0"
    ARRAY("\x13", "categories_segments", "L") "\0\0\0\0\0\0\0\0"
    ARRAY("\x10", "categories_sizes", "L") "\0\0\0\0\0\0\0\0"
    ARRAY("\x0c", "default_left", "U");
static const char before_left[] = ARRAY("\x0d", "left_children", "l");
static const char before_loss_changes[] = ARRAY("\x0c", "loss_changes", "d");
static const char before_parents[] = ARRAY("\x07", "parents", "l");
static const char before_right[] = ARRAY("\x0e", "right_children", "l");
static const char before_conditions[] = ARRAY("\x10", "split_conditions", "d");
static const char before_indices[] = ARRAY("\x0d", "split_indices", "l");
static const char before_type[] = ARRAY("\x0a", "split_type", "U");
static const char before_hessian[] = ARRAY("\x0b", "sum_hessian", "d");

#define WRITTEN(before, element_bytes) {before, sizeof(before) - 1, element_bytes}
static const WrittenArray written_arrays[WRITTEN_ARRAYS] = {
    WRITTEN(before_default_left, 1), WRITTEN(before_left, 4),       WRITTEN(before_loss_changes, 4),
    WRITTEN(before_parents, 4),      WRITTEN(before_right, 4),      WRITTEN(before_conditions, 4),
    WRITTEN(before_indices, 4),      WRITTEN(before_type, 1),       WRITTEN(before_hessian, 4),
};

static uint32_t big_endian(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int take(Reader *reader, const void *expected, size_t bytes)
{
    if ((size_t)(reader->end - reader->at) < bytes || memcmp(reader->at, expected, bytes))
        return 0;
    reader->at += bytes;
    return 1;
}

static int skip(Reader *reader, size_t count, size_t element_bytes)
{
    if (count > (size_t)(reader->end - reader->at) / element_bytes)
        return 0;
    reader->at += count * element_bytes;
    return 1;
}

/* An integer with its mark. */
static int take_integer(Reader *reader, int64_t *value)
{
    const uint8_t *at = reader->at + 1;
    const size_t left = (size_t)(reader->end - reader->at);
    const uint8_t mark = left ? reader->at[0] : 0;
    const size_t bytes = mark == 'i' || mark == 'U' ? 1 : mark == 'I' ? 2 : mark == 'l' ? 4 : 0;

    if (!bytes || left < 1 + bytes)
        return 0;
    *value = mark == 'i' ? (int8_t)at[0]
        : mark == 'U'    ? at[0]
        : mark == 'I'    ? (int16_t)(at[0] << 8 | at[1])
                         : (int32_t)big_endian(at);
    reader->at += 1 + bytes;
    return 1;
}

/* A parameter of a tree, with the whole number that it must have. */
static int take_parameter(Reader *reader, const char *key, size_t key_bytes, long long value)
{
    char digits[24];
    const int length = snprintf(digits, sizeof(digits), "%lld", value);
    const char text[] = {'S', 'L', 0, 0, 0, 0, 0, 0, 0, (char)length};

    return take(reader, key, key_bytes) && take(reader, text, sizeof(text)) && take(reader, digits, (size_t)length);
}

static int take_parameters(Reader *reader, size_t columns, size_t nodes)
{
    static const char opening[] = KEY("\x0a", "tree_param") "{";
    static const char deleted[] = KEY("\x0b", "num_deleted"), features[] = KEY("\x0b", "num_feature");
    static const char of_nodes[] = KEY("\x09", "num_nodes"), vectors[] = KEY("\x10", "size_leaf_vector");

    return take(reader, opening, sizeof(opening) - 1)
        && take_parameter(reader, deleted, sizeof(deleted) - 1, 0)
        && take_parameter(reader, features, sizeof(features) - 1, (long long)columns)
        && take_parameter(reader, of_nodes, sizeof(of_nodes) - 1, (long long)nodes)
        && take_parameter(reader, vectors, sizeof(vectors) - 1, 1)
        && take(reader, "}}", 2);
}

/* Whether each node but the root is the child of one node before it, which is its parent, and each split is by a column
   that is there. Every child names its parent, so none has two; and with one child fewer than nodes, all have one. */
static int are_sound(const uint8_t *const *arrays, size_t nodes, size_t columns)
{
    size_t children = 0;

    if (big_endian(arrays[PARENTS]) != NO_PARENT)
        return 0;
    for (size_t node = 0; node < nodes; node++) {
        const uint32_t left = big_endian(arrays[LEFT] + 4 * node), right = big_endian(arrays[RIGHT] + 4 * node);

        if (arrays[DEFAULT_LEFT][node] > 1 || arrays[TYPE][node] || big_endian(arrays[INDICES] + 4 * node) >= columns)
            return 0;
        if (left == UINT32_MAX && right == UINT32_MAX)
            continue;
        if (left == right || left <= node || left >= nodes || right <= node || right >= nodes
            || big_endian(arrays[PARENTS] + 4 * left) != node || big_endian(arrays[PARENTS] + 4 * right) != node)
            return 0;
        children += 2;
    }
    return children + 1 == nodes;
}

/* One tree: where its arrays stand, and how many nodes it has. */
static int take_tree(Reader *reader, size_t number, size_t columns, const uint8_t **arrays, size_t *nodes)
{
    const uint8_t *length;
    int64_t written;

    if (!take(reader, first_array, sizeof(first_array) - 1) || reader->end - reader->at < 8)
        return 0;
    length = reader->at;
    *nodes = big_endian(length + 4);
    reader->at += 8;
    if (big_endian(length) || !*nodes || *nodes > INT32_MAX || !skip(reader, *nodes, 4))
        return 0;
    for (size_t each = 0; each < WRITTEN_ARRAYS; each++) {
        const WrittenArray *one = &written_arrays[each];

        if (each == LEFT
            && !(take(reader, id, sizeof(id) - 1) && take_integer(reader, &written) && written == (int64_t)number))
            return 0;
        if (!take(reader, one->before, one->before_bytes) || !take(reader, length, 8))
            return 0;
        arrays[each] = reader->at;
        if (!skip(reader, *nodes, one->element_bytes))
            return 0;
    }
    return take_parameters(reader, columns, *nodes) && are_sound(arrays, *nodes, columns);
}

/* Where the trees end; -1 if they are not as XGBoost writes them, or not sound. */
static PyObject *sound_trees(PyObject *module, PyObject *arguments)
{
    const uint8_t *arrays[WRITTEN_ARRAYS];
    Py_buffer content;
    Py_ssize_t at, count, columns, number = 0;
    size_t nodes;

    if (!PyArg_ParseTuple(arguments, "y*nnn:sound_trees", &content, &at, &count, &columns))
        return NULL;
    Reader reader = {content.buf, (const uint8_t *)content.buf + content.len};
    if (at >= 0 && at <= content.len && columns > 0 && columns < INT32_MAX) {
        reader.at += at;
        Py_BEGIN_ALLOW_THREADS
        while (number < count && take_tree(&reader, (size_t)number, (size_t)columns, arrays, &nodes))
            number++;
        Py_END_ALLOW_THREADS
    }
    at = number == count ? reader.at - (const uint8_t *)content.buf : -1;
    PyBuffer_Release(&content);
    return PyLong_FromSsize_t(at);
}

static PyObject *integers(PyObject *module, PyObject *arguments)
{
    Py_buffer content;
    Py_ssize_t at, count;
    PyObject *found = NULL;
    int64_t value;

    if (!PyArg_ParseTuple(arguments, "y*nn:integers", &content, &at, &count))
        return NULL;
    Reader reader = {content.buf, (const uint8_t *)content.buf + content.len};
    if (at >= 0 && at <= content.len && count >= 0 && count <= content.len) {
        reader.at += at;
        found = PyList_New(count);
        for (Py_ssize_t each = 0; found && each < count; each++) {
            PyObject *one = take_integer(&reader, &value) ? PyLong_FromLongLong(value) : NULL;
            if (!one || PyList_SetItem(found, each, one))
                Py_CLEAR(found);
        }
    }
    at = reader.at - (const uint8_t *)content.buf;
    PyBuffer_Release(&content);
    if (found)
        return Py_BuildValue("Nn", found, at);
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "there are not so many integers");
    return NULL;
}
