/* Writes a model in XGBoost's JSON as the UBJSON that XGBoost writes of the same model, which it reads in a tenth of the
   time: see `formats/xgboost/xgboost_format.py`. Takes what XGBoost writes and nothing else: no space, and no
   number of more digits than a float32 needs. Nothing is read behind the end of the bytes. */

#define DEPTH_MAX 16
#define DIGITS_MAX 9     /* XGBoost reads so many exactly, and writes no more */
#define EXPONENT_MAX 99
#define EXACT_POWERS 23  /* 10^22 is the last that a double has exactly */

typedef struct {
    uint8_t *start;
    size_t used, room;
} Output;

typedef struct {
    const char *name;
    char mark;
} ElementsOf;

/* The arrays whose elements have one type. All others have a mark before each element. */
static const ElementsOf elements_of[] = {
    {"base_weights", 'd'},   {"categories", 'l'},       {"categories_nodes", 'l'}, {"categories_segments", 'L'},
    {"categories_sizes", 'L'}, {"default_left", 'U'},   {"feature_segments", 'l'}, {"leaf_weights", 'd'},
    {"left_children", 'l'},  {"loss_changes", 'd'},     {"parents", 'l'},          {"right_children", 'l'},
    {"sorted_idx", 'l'},     {"split_conditions", 'd'}, {"split_indices", 'l'},    {"split_type", 'U'},
    {"sum_hessian", 'd'},    {"weights", 'd'},
};

static const double exact_powers[EXACT_POWERS] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

static int reserve(Output *output, size_t bytes)
{
    if (output->room - output->used < bytes) {
        const size_t room = 2 * output->room + bytes;
        uint8_t *grown = realloc(output->start, room);
        if (!grown)
            return 0;
        output->start = grown;
        output->room = room;
    }
    return 1;
}

static int put(Output *output, const void *bytes, size_t count)
{
    if (!reserve(output, count))
        return 0;
    memcpy(output->start + output->used, bytes, count);
    output->used += count;
    return 1;
}

static void set_big_endian(uint8_t *at, uint64_t value, size_t bytes)
{
    while (bytes--) {
        at[bytes] = (uint8_t)value;
        value >>= 8;
    }
}

static int put_big_endian(Output *output, uint64_t value, size_t bytes)
{
    if (!reserve(output, bytes))
        return 0;
    set_big_endian(output->start + output->used, value, bytes);
    output->used += bytes;
    return 1;
}

static int next_is(Reader *reader, char expected)
{
    if (reader->at == reader->end || *reader->at != (uint8_t)expected)
        return 0;
    reader->at++;
    return 1;
}

/* The letter that stands behind a backslash; 0 for the forms that XGBoost does not read as one letter. */
static uint8_t unescaped(uint8_t letter)
{
    return letter == '"' || letter == '\\' ? letter : letter == 'n' ? '\n' : letter == 'r' ? '\r' : letter == 't' ? '\t' : 0;
}

/* A text behind its length. */
static int write_text(Reader *reader, Output *output)
{
    size_t at;

    if (!next_is(reader, '"') || !put(output, "L", 1) || !put_big_endian(output, 0, 8))
        return 0;
    at = output->used;
    while (reader->at < reader->end && *reader->at != '"') {
        uint8_t letter = *reader->at++;
        if (letter < ' ')
            return 0;
        if (letter == '\\' && (reader->at == reader->end || !(letter = unescaped(*reader->at++))))
            return 0;
        if (!put(output, &letter, 1))
            return 0;
    }
    set_big_endian(output->start + at - 8, output->used - at, 8);
    return next_is(reader, '"');
}

/* Digits without needless zeros before them; at most 18, so that they fit. */
static int take_digits(Reader *reader, uint64_t *value, int *count)
{
    const uint8_t *start = reader->at;

    for (*value = 0; reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9'; reader->at++) {
        if (reader->at - start == 18)
            return 0;
        *value = 10 * *value + (*reader->at - '0');
    }
    *count = (int)(reader->at - start);
    return *count > 0 && (*start != '0' || *count == 1);
}

static int take_whole(Reader *reader, int64_t *value)
{
    const int negative = next_is(reader, '-');
    uint64_t digits;
    int count;

    if (!take_digits(reader, &digits, &count))
        return 0;
    *value = negative ? -(int64_t)digits : (int64_t)digits;
    return 1;
}

/* Digits times a power of ten, rounded once to the nearest float32. */
static float nearest(uint64_t digits, int exponent)
{
    char text[40];

    if (exponent >= -22 && exponent <= 22) {
        const double wide = exponent < 0 ? (double)digits / exact_powers[-exponent] : (double)digits * exact_powers[exponent];
        uint64_t bits;
        memcpy(&bits, &wide, sizeof(bits));
        /* The double was rounded once. It may be rounded again unless it stands half-way between two floats; those
           below 1.2e-38 have fewer bits. */
        if (!digits || (wide >= 1.17549435e-38 && (bits & 0x1fffffff) != 0x10000000))
            return (float)wide;
    }
    snprintf(text, sizeof(text), "%lluE%d", (unsigned long long)digits, exponent); /* no point: locales differ in it */
    return strtof(text, NULL);
}

static int take_float(Reader *reader, uint32_t *bits)
{
    const int negative = next_is(reader, '-');
    uint64_t digits, powers;
    int count, exponent = 0;
    float value;

    if (!take_digits(reader, &digits, &count))
        return 0;
    if (next_is(reader, '.')) {
        const uint8_t *start = reader->at;
        while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9') {
            if (reader->at - start == DIGITS_MAX)
                return 0;
            digits = 10 * digits + (*reader->at++ - '0');
        }
        exponent = -(int)(reader->at - start);
        count -= exponent;
        if (!exponent)
            return 0;
    }
    if (count > DIGITS_MAX)
        return 0;
    if (next_is(reader, 'E')) {
        const int below = next_is(reader, '-');
        if (!take_digits(reader, &powers, &count) || powers > EXPONENT_MAX)
            return 0;
        exponent += below ? -(int)powers : (int)powers;
    }
    value = nearest(digits, exponent);
    if (isinf(value))
        return 0;
    value = negative ? -value : value;
    memcpy(bits, &value, sizeof(value));
    return 1;
}

static char mark_of(const uint8_t *key, size_t bytes)
{
    for (size_t each = 0; each < sizeof(elements_of) / sizeof(*elements_of); each++)
        if (strlen(elements_of[each].name) == bytes && !memcmp(elements_of[each].name, key, bytes))
            return elements_of[each].mark;
    return 0;
}

static int write_element(Reader *reader, Output *output, char mark)
{
    uint32_t bits;
    int64_t whole;

    if (mark == 'd')
        return take_float(reader, &bits) && put_big_endian(output, bits, 4);
    if (!take_whole(reader, &whole))
        return 0;
    if (mark == 'U')
        return whole >= 0 && whole <= UINT8_MAX && put_big_endian(output, (uint64_t)whole, 1);
    if (mark == 'l')
        return whole >= INT32_MIN && whole <= INT32_MAX && put_big_endian(output, (uint64_t)whole, 4);
    return put_big_endian(output, (uint64_t)whole, 8);
}

/* A number behind its mark: an integer's is that of the least type that has it, as XGBoost chooses it. */
static int write_number(Reader *reader, Output *output)
{
    const uint8_t *start = reader->at;
    int64_t whole;
    uint32_t bits;
    char mark;

    if (!take_whole(reader, &whole))
        return 0;
    if (reader->at < reader->end && (*reader->at == '.' || *reader->at == 'E')) {
        reader->at = start;
        return put(output, "d", 1) && take_float(reader, &bits) && put_big_endian(output, bits, 4);
    }
    mark = whole > INT8_MIN && whole < INT8_MAX ? 'i'
        : whole > INT16_MIN && whole < INT16_MAX ? 'I'
        : whole > INT32_MIN && whole < INT32_MAX ? 'l'
                                                 : 'L';
    return put(output, &mark, 1)
        && put_big_endian(output, (uint64_t)whole, mark == 'i' ? 1 : mark == 'I' ? 2 : mark == 'l' ? 4 : 8);
}

static int write_value(Reader *reader, Output *output, const uint8_t *key, size_t key_bytes, int depth);

static int write_array(Reader *reader, Output *output, char mark, int depth)
{
    const char typed[] = {'[', '$', mark};
    uint64_t count = 0;
    size_t at;

    if (!put(output, typed, mark ? 3 : 1) || !put(output, "#L", 2) || !put_big_endian(output, 0, 8))
        return 0;
    at = output->used - 8;
    if (!next_is(reader, ']')) {
        do {
            if (!(mark ? write_element(reader, output, mark) : write_value(reader, output, NULL, 0, depth)))
                return 0;
            count++;
        } while (next_is(reader, ','));
        if (!next_is(reader, ']'))
            return 0;
    }
    set_big_endian(output->start + at, count, 8);
    return 1;
}

static int write_object(Reader *reader, Output *output, int depth)
{
    if (!put(output, "{", 1))
        return 0;
    if (!next_is(reader, '}')) {
        do {
            const uint8_t *key = reader->at + 1;
            if (!write_text(reader, output))
                return 0;
            const size_t bytes = (size_t)(reader->at - 1 - key);
            if (!next_is(reader, ':') || !write_value(reader, output, key, bytes, depth))
                return 0;
        } while (next_is(reader, ','));
        if (!next_is(reader, '}'))
            return 0;
    }
    return put(output, "}", 1);
}

static int write_value(Reader *reader, Output *output, const uint8_t *key, size_t key_bytes, int depth)
{
    if (reader->at == reader->end || depth == DEPTH_MAX)
        return 0;
    switch (*reader->at) {
    case '{':
        reader->at++;
        return write_object(reader, output, depth + 1);
    case '[':
        reader->at++;
        return write_array(reader, output, mark_of(key, key_bytes), depth + 1);
    case '"':
        return put(output, "S", 1) && write_text(reader, output);
    default:
        return write_number(reader, output);
    }
}

/* The UBJSON; None if the bytes are not what XGBoost writes, or there is no memory. */
static PyObject *ubjson(PyObject *module, PyObject *given)
{
    Output output = {NULL, 0, 0};
    Py_buffer content;
    int written;

    if (PyObject_GetBuffer(given, &content, PyBUF_SIMPLE))
        return NULL;
    Reader reader = {content.buf, (const uint8_t *)content.buf + content.len};
    Py_BEGIN_ALLOW_THREADS
    written = reserve(&output, (size_t)content.len) && next_is(&reader, '{') && write_object(&reader, &output, 0)
        && reader.at == reader.end;
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&content);
    PyObject *found = written ? PyByteArray_FromStringAndSize((const char *)output.start, (Py_ssize_t)output.used) : NULL;
    free(output.start);
    if (found || PyErr_Occurred())
        return found;
    Py_RETURN_NONE;
}
