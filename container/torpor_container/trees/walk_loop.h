/* The walk of one kind of node over one kind of row. `walk.c` includes this once for each, with these macros:
   WALK     the name of the function
   NODE     the type of a node
   ROW      the type of a row's cells
   SUM      the type of base margins, leaves and outputs
   COLUMN   the column by which a node splits
   RIGHT    1 if a cell goes to a node's right child, else 0

   A block of rows walks one tree before the next tree, whose nodes then stay in the cache. Each row still adds its
   leaves in the order of the trees, so its sums do not depend on the other rows. */

static void WALK(const Trees *trees, const ROW *rows, size_t count, SUM *out)
{
    const NODE *nodes = trees->nodes;
    const uint32_t *roots = trees->roots, *groups = trees->groups, *pairs = trees->pairs;
    const SUM *base = trees->base;
    const size_t columns = trees->columns, outputs = trees->outputs;

    for (size_t row = 0; row < count; row++)
        memcpy(out + row * outputs, base, outputs * sizeof(SUM));
    for (size_t first = 0; first < count; first += BLOCK_ROWS) {
        const size_t end = count - first < BLOCK_ROWS ? count : first + BLOCK_ROWS;
        for (size_t tree = 0; tree < trees->count; tree++) {
            const NODE *root = nodes + roots[tree];
            const size_t nodes_alone = pairs[tree]; /* a record behind them is two leaves */
            for (size_t row = first; row < end; row++) {
                const ROW *cells = rows + row * columns;
                const NODE *node = root;
                SUM *sums = out + row * outputs, value;
                uint32_t second = 0; /* of a pair's two values; a leaf alone has its value first too */
                while (node->left) {
                    const uint32_t right = RIGHT(node, cells[COLUMN(node)]);
                    const NODE *left = root + node->left;
                    if (node->left >= nodes_alone) {
                        node = left;
                        second = right;
                        break;
                    }
                    node = left + right;
                }
                memcpy(&value, (const char *)node + second * sizeof(SUM), sizeof(SUM));
                if (trees->leaves) {
                    const SUM *leaf = (const SUM *)trees->leaves + (size_t)value * outputs;
                    for (size_t output = 0; output < outputs; output++)
                        sums[output] += leaf[output];
                } else {
                    sums[groups[tree]] += value;
                }
            }
        }
    }
}

#undef WALK
#undef NODE
#undef ROW
#undef SUM
#undef COLUMN
#undef RIGHT
