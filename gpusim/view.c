/* view.c - the map of the machine and the visible gpus */

#include "view.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static const char *machine_path(void)
{
    const char *given = getenv("METE_GPUSIM_MACHINE");

    return given && *given ? given : GPUSIM_MACHINE_PATH;
}

/* May this process open the device node? Its major number has no driver, so ENXIO means that the
 * cgroup allows the open. */
static bool may_open(int minor)
{
    char path[64];
    struct stat st;
    int fd;

    (void)snprintf(path, sizeof(path), "/dev/nvidia%d", minor);
    if (stat(path, &st) < 0 || !S_ISCHR(st.st_mode))
        return false;
    if (major(st.st_rdev) != GPUSIM_DEVICE_MAJOR || minor(st.st_rdev) != (unsigned)minor)
        return false;
    fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno == ENXIO || errno == ENODEV;
    (void)close(fd);
    return true;
}

/* Does the process see all gpus? Only outside containers: inside one, /dev has our control node. */
static bool sees_all(void)
{
    const char *all = getenv("METE_GPUSIM_ALL");
    struct stat st;

    if (!all || strcmp(all, "1") != 0)
        return false;
    return stat("/dev/nvidiactl", &st) < 0 || major(st.st_rdev) != GPUSIM_DEVICE_MAJOR;
}

bool view_open(struct view *v)
{
    struct stat st;
    const struct gpusim_machine *m;
    bool is_all = sees_all();
    int fd;

    *v = (struct view){0};
    fd = open(machine_path(), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (fstat(fd, &st) < 0 || st.st_size != (off_t)sizeof(*m)) {
        (void)close(fd);
        return false;
    }
    m = mmap(NULL, sizeof(*m), PROT_READ, MAP_SHARED, fd, 0);
    (void)close(fd);
    if (m == MAP_FAILED)
        return false;
    v->machine = m;
    if (m->magic != GPUSIM_MAGIC || m->version != GPUSIM_VERSION || m->size != sizeof(*m) ||
        m->n_gpus > GPUSIM_GPUS_MAX) {
        view_close(v);
        return false;
    }
    for (unsigned i = 0; i < m->n_gpus; i++) {
        if (is_all || may_open(m->gpus[i].minor))
            v->gpus[v->n++] = &m->gpus[i];
    }
    return true;
}

void view_close(struct view *v)
{
    if (v->machine)
        (void)munmap((void *)(uintptr_t)v->machine, sizeof(*v->machine));
    *v = (struct view){0};
}
