/* gpu_use_linux.c - the container of a process, from /proc */

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "gpu/gpu_use.h"

enum {
    PROC_FILE_CAP = 4096
};

/* Reads a file of /proc/PID; false: the process has ended. */
static bool proc_read(const char *pid, const char *name, struct buf *ret)
{
    char path[64];
    AUTO(err_freep) struct err *e = NULL;

    (void)snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
    e = file_read(path, PROC_FILE_CAP, ret);
    return e == NULL;
}

/* Is it a server of a daemon that Mete started? Servers share the cgroup of this process. */
static bool is_mps_server(const char *pid, const struct buf *cgroup)
{
    static const char name[] = "nvidia-cuda-mps";
    AUTO(buf_done) struct buf own = {0};
    AUTO(buf_done) struct buf comm = {0};

    return proc_read(pid, "comm", &comm) && comm.size >= sizeof(name) - 1 &&
           memcmp(comm.at, name, sizeof(name) - 1) == 0 && proc_read("self", "cgroup", &own) &&
           own.size == cgroup->size && memcmp(own.at, cgroup->at, own.size) == 0;
}

void gpu_use_home(unsigned pid, struct gpu_process_home *ret)
{
    AUTO(buf_done) struct buf cgroup = {0};
    char number[16];

    *ret = (struct gpu_process_home){0};
    (void)snprintf(number, sizeof(number), "%u", pid);
    if (!proc_read(number, "cgroup", &cgroup) || !cgroup.at)
        ret->is_gone = true;
    else if (!gpu_use_id(cgroup.at, ret->id))
        ret->is_mps_server = is_mps_server(number, &cgroup);
}
