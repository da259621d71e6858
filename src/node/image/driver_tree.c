/* driver_tree.c - the plan of the tree of the driver's files */

#include "node/image/driver_tree.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"

/* Drivers of one version may differ in their files: FNV-1a over names and paths. */
static uint64_t tree_hash(const struct driver_root *root)
{
    uint64_t h = UINT64_C(14695981039346656037);

    VEC_EACH (&root->files, file) {
        const char *const texts[] = {file->path, file->name};

        for (size_t i = 0; i < COUNT(texts); i++)
            for (const char *c = texts[i]; c == texts[i] || c[-1]; c++)
                h = (h ^ (unsigned char)*c) * UINT64_C(1099511628211);
    }
    return h;
}

struct driver_tree *driver_tree_new(const struct driver_root *root, const char *node_dir,
                                    bool is_bound)
{
    struct driver_tree *t = mem_alloc(sizeof(*t));

    if (!is_bound)
        t->dir =
            mem_format("%s/driver/tree-%s-%016" PRIx64, node_dir, root->version, tree_hash(root));
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
