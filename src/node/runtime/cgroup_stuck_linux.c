/* cgroup_stuck_linux.c - reads the processes of a cgroup, their states and wait channels */

#include "base/file.h"
#include "base/mem.h"
#include "node/runtime/cgroup_stuck.h"

enum {
    PROC_FILE_MAX = 1 << 16
};

/* The text of a small file, without its last line end; "" if it cannot be read. The caller frees
 * it. */
static char *proc_text(const char *proc, struct str pid, const char *name)
{
    AUTO_FREE char *path = mem_format("%s/" STR_FMT "/%s", proc, STR_ARG(pid), name);
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *e = file_read(path, PROC_FILE_MAX, &text);

    return e || text.size == 0 ? mem_strdup("") : mem_strndup(text.at, strcspn(text.at, "\n"));
}

/* The state letter of /proc/PID/stat: behind the name, which may contain anything. */
static char proc_state(const char *proc, struct str pid)
{
    AUTO_FREE char *stat = proc_text(proc, pid, "stat");
    const char *end = strrchr(stat, ')');

    if (!end || end[1] != ' ')
        return '?';
    return end[2];
}

static char *describe(const char *proc, struct str pid)
{
    AUTO_FREE char *name = proc_text(proc, pid, "comm");
    AUTO_FREE char *channel = proc_text(proc, pid, "wchan");
    char state = proc_state(proc, pid);

    if (state != 'D')
        return mem_format("process " STR_FMT " (%s) is in state %c", STR_ARG(pid), name, state);
    return mem_format("process " STR_FMT " (%s) waits in the kernel, at %s", STR_ARG(pid), name,
                      *channel && strcmp(channel, "0") != 0 ? channel : "an unknown place");
}

/* The file with the processes: of v2, else of the first v1 hierarchy that has the cgroup. */
static struct err *read_procs(const char *root, const char *path, struct buf *ret)
{
    static const char *const v1[] = {"", "/pids", "/memory", "/unified", "/systemd"};
    struct err *e = NULL;

    for (size_t i = 0; i < COUNT(v1); i++) {
        AUTO_FREE char *file = mem_format("%s%s%s/cgroup.procs", root, v1[i], path);

        err_free(e);
        e = file_read(file, PROC_FILE_MAX, ret);
        if (!e)
            return NULL;
    }
    return e;
}

char *cgroup_stuck(const char *root, const char *proc, const char *path)
{
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *e = read_procs(root, path, &text);
    struct str rest = {.at = text.at, .size = text.size};
    struct str found = {0};

    while (!e && rest.at && rest.size > 0) {
        struct str pid = str_cut(&rest, '\n');

        if (pid.size == 0)
            continue;
        if (!found.at || proc_state(proc, pid) == 'D')
            found = pid;
        if (proc_state(proc, pid) == 'D')
            break;
    }
    return found.at ? describe(proc, found) : NULL;
}
