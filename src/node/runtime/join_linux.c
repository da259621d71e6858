/* join_linux.c - the namespaces of a running container, for another container to join */

#include "node/runtime/join_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

enum {
    CGROUP_FILE_MAX = 16384
};

static const char *const join_kinds[JOIN_KINDS] = {"pid", "ipc", "user"};

void join_done(struct join *j)
{
    for (size_t i = 0; i < JOIN_KINDS; i++) {
        fd_close(j->fds[i]);
        j->fds[i] = -1;
    }
}

static bool is_in_cgroup(pid_t pid, const char *id)
{
    AUTO_FREE char *path = mem_format("/proc/%d/cgroup", (int)pid);
    AUTO_FREE char *cgroup = mem_format("/mete/%s", id);
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *e = file_read(path, CGROUP_FILE_MAX, &text);
    const char *found = e || text.size == 0 ? NULL : strstr(text.at, cgroup);

    return found && (found[strlen(cgroup)] == '\n' || found[strlen(cgroup)] == '/');
}

/* The process is looked at after its namespaces were opened: while it lives in its cgroup, its pid
 * was not another's. */
struct err *join_open(pid_t pid, const char *id, struct join *ret)
{
    struct join j = JOIN_NONE;

    for (size_t i = 0; i < JOIN_KINDS; i++) {
        AUTO_FREE char *path = mem_format("/proc/%d/ns/%s", (int)pid, join_kinds[i]);

        j.fds[i] = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (j.fds[0] < 0 || j.fds[1] < 0 || j.fds[2] < 0 || !is_in_cgroup(pid, id)) {
        join_done(&j);
        return err_new(ERR_UNAVAILABLE, "the target container does not run");
    }
    *ret = j;
    return NULL;
}

void join_put(const struct join *j, bool keeps_mappings, json_t *config)
{
    json_t *part = json_object_at(config, "linux");
    json_t *ns = NULL;
    size_t at = 0;

    json_array_foreach (json_object_get(part, "namespaces"), at, ns) {
        for (size_t i = 0; i < JOIN_KINDS; i++) {
            AUTO_FREE char *path = mem_format("/proc/%d/fd/%d", (int)getpid(), j->fds[i]);

            if (!text_equal(json_text(ns, "type"), join_kinds[i]))
                continue;
            json_put_text(ns, "path", path);
            if (text_equal(join_kinds[i], "user") &&
                !keeps_mappings) { /* the joined namespace has its mappings */
                (void)json_object_del(part, "uidMappings");
                (void)json_object_del(part, "gidMappings");
            }
        }
    }
}
