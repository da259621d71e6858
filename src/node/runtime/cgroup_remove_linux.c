/* cgroup_remove_linux.c - removal of cgroup trees */

#include "node/runtime/cgroup_remove_linux.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "node/session/exec_cgroup_linux.h"

static bool is_directory(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Removes the deepest cgroups first, as a cgroup with children cannot be removed. */
static bool remove_tree(const char *dir)
{
    char **names = NULL;
    size_t n = 0;
    AUTO(err_freep) struct err *e = dir_list(dir, &names, &n);
    bool is_gone = true;

    if (e && err_code(e) == ERR_NOT_FOUND)
        return true;
    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *below = mem_format("%s/%s", dir, names[i]);

        if (is_directory(below) && !remove_tree(below))
            is_gone = false;
    }
    names_free(names, n);
    (void)exec_cgroup_kill(dir);
    return (rmdir(dir) == 0 || errno == ENOENT) && is_gone;
}

bool cgroup_remove(const char *root, const char *path)
{
    AUTO_FREE char *controllers = mem_format("%s/cgroup.controllers", root);
    AUTO_FREE char *whole = mem_format("%s%s", root, path);
    char **names = NULL;
    size_t n = 0;
    bool is_gone = true;

    if (file_exists(controllers))
        return remove_tree(whole);
    err_free(dir_list(root, &names, &n)); /* without cgroups, removes nothing */
    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *dir = mem_format("%s/%s%s", root, names[i], path);

        if (!remove_tree(dir))
            is_gone = false;
    }
    names_free(names, n);
    return is_gone;
}
