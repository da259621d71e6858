/* host_roots.c - hostPath roots and clean paths */

#include "model/host_roots.h"

#include "base/mem.h"
#include "base/str.h"

enum {
    PATH_SIZE_MAX = 4095
};

void host_roots_done(struct host_roots *r)
{
    VEC_EACH (&r->list, root)
        free(root->path);
    vec_done(&r->list);
}

char *host_path_clean(const char *path)
{
    struct str rest = str_of(path);
    struct buf out = {.cap = PATH_SIZE_MAX};

    if (path[0] != '/')
        return NULL;
    while (rest.at) {
        struct str part = str_cut(&rest, '/');

        if (str_equal(part, STR(".")) || str_equal(part, STR("..")))
            out.overflow = true;
        if (part.size > 0)
            buf_printf(&out, "/" STR_FMT, STR_ARG(part));
    }
    if (out.size == 0)
        buf_add_char(&out, '/');
    if (out.overflow) {
        buf_done(&out);
        return NULL;
    }
    return buf_steal(&out);
}

bool host_path_is_in(const char *path, const char *dir)
{
    size_t size = strlen(dir);

    if (size == 1) /* "/" */
        return path[0] == '/';
    return strncmp(path, dir, size) == 0 && (path[size] == '/' || path[size] == '\0');
}

bool host_path_is_of_kernel(const char *path)
{
    static const char *const dirs[] = {"/proc", "/sys", "/dev"};

    for (size_t i = 0; i < COUNT(dirs); i++)
        if (host_path_is_in(path, dirs[i]))
            return true;
    return false;
}

static struct err *check_root(const struct host_roots *r, const char *path)
{
    if (path[1] == '\0')
        return err_new(ERR_BAD_REQUEST, "host path root '/': want directories that all users "
                                        "may mount, not the whole node");
    if (host_path_is_of_kernel(path))
        return err_new(ERR_BAD_REQUEST,
                       "host path root '%s': every container has its own /proc, /sys and /dev",
                       path);
    for (size_t i = 0; i < r->list.n; i++)
        if (text_equal(r->list.at[i].path, path))
            return err_new(ERR_BAD_REQUEST, "host path root '%s' is given twice", path);
    return NULL;
}

struct err *host_roots_add(struct host_roots *r, const char *text)
{
    bool is_read_only = text_ends_with(text, ":ro");
    AUTO_FREE char *given = mem_strndup(text, strlen(text) - (is_read_only ? strlen(":ro") : 0));
    AUTO_FREE char *path = host_path_clean(given);

    if (!path)
        return err_new(ERR_BAD_REQUEST,
                       "host path root '%s': want an absolute path without '.' and '..'", given);
    if (r->list.n == HOST_ROOTS_MAX)
        return err_new(ERR_BAD_REQUEST, "host path root '%s': there are %d already", path,
                       HOST_ROOTS_MAX);
    TRY(check_root(r, path));
    vec_add(&r->list, (struct host_root){.path = TAKE(path), .is_read_only = is_read_only});
    return NULL;
}

const struct host_root *host_roots_find(const struct host_roots *r, const char *path)
{
    const struct host_root *found = NULL;

    for (size_t i = 0; i < r->list.n; i++) {
        const struct host_root *root = &r->list.at[i];

        if (host_path_is_in(path, root->path) &&
            (!found || strlen(root->path) > strlen(found->path)))
            found = root;
    }
    return found;
}

char *host_roots_format(const struct host_roots *r)
{
    struct buf out = {0};

    for (size_t i = 0; i < r->list.n; i++)
        buf_printf(&out, "%s%s%s", i > 0 ? ", " : "", r->list.at[i].path,
                   r->list.at[i].is_read_only ? " (read-only)" : "");
    if (r->list.n == 0)
        buf_add_text(&out, "none");
    return buf_steal(&out);
}
