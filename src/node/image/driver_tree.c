/* driver_tree.c - the plan of the tree of the driver's files */

#include "node/image/driver_tree.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/fnv.h"
#include "base/mem.h"

/* Drivers of one version may differ in their files. */
static uint64_t tree_hash(const struct driver_root *root)
{
    uint64_t h = FNV_START;

    VEC_EACH (&root->files, file) {
        h = fnv_byte(fnv_text(h, file->path), 0);
        h = fnv_byte(fnv_text(h, file->name), 0);
    }
    return h;
}

struct driver_tree *driver_tree_new(const struct driver_root *root, const char *node_dir,
                                    bool is_shared)
{
    struct driver_tree *t = mem_alloc(sizeof(*t));

    t->dir = mem_format("%s/driver/tree-%s-%016" PRIx64, node_dir, root->version, tree_hash(root));
    t->is_shared = is_shared;
    VEC_EACH (&root->files, file)
        vec_add(&t->files,
                ((struct driver_file){file->kind, mem_strdup(file->path), mem_strdup(file->name)}));
    return t;
}

void driver_tree_free(struct driver_tree *t)
{
    if (!t)
        return;
    VEC_EACH (&t->files, file) {
        free(file->path);
        free(file->name);
    }
    vec_done(&t->files);
    free(t->dir);
    free(t);
}

char *driver_tree_name(const struct driver_file *file)
{
    static const char *const dirs[DRIVER_KINDS] = {
        [DRIVER_LIBRARY] = "lib", [DRIVER_LIBRARY_32] = "lib32", [DRIVER_PROGRAM] = "bin"};
    const char *slash = strrchr(file->path, '/');

    if (file->kind == DRIVER_STATE)
        return NULL;
    if (!dirs[file->kind])
        return mem_format("data%s", file->name);
    return mem_format("%s/%s", dirs[file->kind], slash ? slash + 1 : file->path);
}
