/* gpu_reset_linux.c - becomes nvidia-smi --gpu-reset */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/mem.h"
#include "gpu/driver_root.h"
#include "gpu/gpu_reset.h"

static const char *const smi_places[] = {"usr/bin/nvidia-smi", "bin/nvidia-smi",
                                         "usr/local/bin/nvidia-smi"};

/* The program's path below the root; NULL: none. */
static const char *reset_program(const char *root)
{
    for (size_t i = 0; i < COUNT(smi_places); i++) {
        AUTO_FREE char *path = mem_format("%s/%s", root, smi_places[i]);

        if (access(path, X_OK) == 0)
            return smi_places[i];
    }
    return NULL;
}

/* An emulated root is not where the loader looks. */
static struct err *reset_find_library(const char *root)
{
    AUTO_FREE char *library = driver_root_find_library(root, "libnvidia-ml.so.1");
    char *end = library ? strrchr(library, '/') : NULL;

    if (!end)
        return err_new(ERR_NOT_FOUND, "the driver in %s has no libnvidia-ml.so.1", root);
    *end = '\0';
    return setenv("LD_LIBRARY_PATH", library, 1) < 0 ? err_errno(errno, "setenv") : NULL;
}

struct err *gpu_reset_exec(const char *root, bool is_emulated, const char *uuid)
{
    const char *program = reset_program(root);
    bool is_container = !is_emulated && root[0] && !(root[0] == '/' && root[1] == '\0');
    AUTO_FREE char *path = NULL;

    if (!program)
        return err_new(ERR_NOT_FOUND, "the driver in %s has no nvidia-smi", root);
    if (is_container && (chroot(root) < 0 || chdir("/") < 0))
        return err_errno(errno, "enter the driver root %s", root);
    if (is_emulated)
        TRY(reset_find_library(root));
    path = mem_format("%s/%s", is_container ? "" : root, program);
    (void)execl(path, "nvidia-smi", "--gpu-reset", "-i", uuid, (char *)NULL);
    return err_errno(errno, "%s", path);
}
