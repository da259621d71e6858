/* mps_edits.c - what a container gets as the client of an MPS daemon */

#include "node/spec/mps_edits.h"

#include <inttypes.h>

#include "base/mem.h"
#include "node/spec/cdi.h"

static void mps_mount_add(json_t *edits, const char *dir, const char *name, const char *to)
{
    static const char *const options[] = {"rw",    "nosuid",   "nodev", "noexec",
                                          "rbind", "rprivate", NULL};
    AUTO_FREE char *from = mem_format("%s/%s", dir, name);

    cdi_add_mount(edits, from, to, "bind", options);
}

/* `text` is the caller's and freed here. */
static void mps_env_take(json_t *edits, char *text)
{
    (void)json_array_append_new(json_array_at(edits, "env"), json_string(text));
    free(text);
}

void mps_edits_add(const struct mps_client *client, const char *machine_root, json_t *edits)
{
    const struct cdi_target target = {.machine_root = machine_root};
    const char *dir = cdi_machine_path(&target, client->dir);

    mps_mount_add(edits, dir, "pipe", MPS_PIPE_DIR);
    mps_mount_add(edits, dir, "shm", "/dev/shm");
    mps_env_take(edits, mem_strdup("CUDA_MPS_PIPE_DIRECTORY=" MPS_PIPE_DIR));
    mps_env_take(edits,
                 mem_format("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=%" PRId64 "M", client->memory_mib));
    mps_env_take(edits, mem_format("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=%u", client->percent));
}
