/*
 * view.c - the map of the machine and the visible gpus
 *
 * Other people's programs load this code into containers with older C libraries, so it keeps to
 * symbols of glibc 2.17: no stat(), fstat(), fcntl() or dladdr(), whose versions are newer.
 */

#include "view.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "gpu/nvml_abi.h"

enum {
    PATH_SIZE = 4096
};

/* The machine's file, kept open: see view_close. */
static int kept_fd = -1;
static struct stat kept_stat;

static bool file_stat(const char *path, struct stat *ret)
{
    return syscall(SYS_newfstatat, AT_FDCWD, path, ret, 0) == 0;
}

static bool object_has(const struct dl_phdr_info *info, uintptr_t address)
{
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

        if (info->dlpi_phdr[i].p_type == PT_LOAD && address >= start &&
            address - start < info->dlpi_phdr[i].p_memsz)
            return true;
    }
    return false;
}

/* Writes the path of "machine.bin" beside the object that holds this function. */
static int path_beside(struct dl_phdr_info *info, size_t size, void *path)
{
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;

    (void)size;
    if (!slash || !object_has(info, (uintptr_t)path_beside))
        return 0;
    return snprintf(path, PATH_SIZE, "%.*s/machine.bin", (int)(slash - info->dlpi_name),
                    info->dlpi_name) < PATH_SIZE;
}

static bool machine_path(char path[PATH_SIZE])
{
    const char *given = getenv("METE_GPUSIM_MACHINE");
    struct stat st;

    if (given && *given)
        return (size_t)snprintf(path, PATH_SIZE, "%s", given) < PATH_SIZE;
    (void)snprintf(path, PATH_SIZE, "%s", GPUSIM_MACHINE_PATH);
    return file_stat(path, &st) || dl_iterate_phdr(path_beside, path) == 1;
}

/* May this process open the device node? Its major number has no driver, so ENXIO means that the
 * cgroup allows the open. */
static bool may_open(const char *path, unsigned minor)
{
    struct stat st;
    int fd;

    if (!file_stat(path, &st) || !S_ISCHR(st.st_mode))
        return false;
    if (major(st.st_rdev) != GPUSIM_DEVICE_MAJOR || minor(st.st_rdev) != minor)
        return false;
    fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno == ENXIO || errno == ENODEV;
    (void)close(fd);
    return true;
}

static bool may_open_gpu(int minor)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "/dev/nvidia%d", minor);
    return may_open(path, (unsigned)minor);
}

static bool may_open_cap(unsigned cap)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "/dev/nvidia-caps/nvidia-cap%u", cap);
    return may_open(path, GPUSIM_CAPS_MINOR + cap);
}

/* Does the process see all gpus? Only outside containers: inside one, /dev has our control node. */
static bool sees_all(void)
{
    const char *all = getenv("METE_GPUSIM_ALL");
    struct stat st;

    if (!all || strcmp(all, "1") != 0)
        return false;
    return !file_stat("/dev/nvidiactl", &st) || major(st.st_rdev) != GPUSIM_DEVICE_MAJOR;
}

/*
 * Outside containers no device node of ours tells what a process may open: a job of the host has
 * the gpus that NVIDIA_VISIBLE_DEVICES names by UUID, other processes have all.
 */
static bool is_named(const char *uuid)
{
    const char *named = getenv("NVIDIA_VISIBLE_DEVICES");

    return !named || strncmp(named, "GPU-", 4) != 0 || strstr(named, uuid);
}

/* Opens the machine's file, for writing if possible, or takes the one that is open. */
static int machine_open(void)
{
    char path[PATH_SIZE];
    struct stat st;

    if (!machine_path(path) || !file_stat(path, &st))
        return -1;
    if (kept_fd >= 0 && st.st_dev == kept_stat.st_dev && st.st_ino == kept_stat.st_ino)
        return kept_fd;
    if (kept_fd >= 0)
        (void)close(kept_fd);
    kept_stat = st;
    kept_fd = open(path, O_RDWR | O_CLOEXEC);
    if (kept_fd < 0)
        kept_fd = open(path, O_RDONLY | O_CLOEXEC);
    return kept_fd;
}

static bool machine_map(struct view *v)
{
    struct gpusim_machine *m;

    v->fd = machine_open();
    if (v->fd < 0 || lseek(v->fd, 0, SEEK_END) != (off_t)sizeof(*m))
        return false;
    m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_SHARED, v->fd, 0);
    v->writable = m == MAP_FAILED ? NULL : m;
    if (m == MAP_FAILED)
        m = mmap(NULL, sizeof(*m), PROT_READ, MAP_SHARED, v->fd, 0);
    v->machine = m == MAP_FAILED ? NULL : m;
    return v->machine && m->magic == GPUSIM_MAGIC && m->version == GPUSIM_VERSION &&
           m->size == sizeof(*m) && m->n_gpus <= GPUSIM_GPUS_MAX;
}

bool view_open(struct view *v)
{
    *v = (struct view){.fd = -1, .is_all = sees_all()};
    if (!machine_map(v)) {
        view_close(v);
        return false;
    }
    for (unsigned i = 0; i < v->machine->n_gpus && i < GPUSIM_GPUS_MAX; i++) {
        const struct gpusim_gpu *g = &v->machine->gpus[v->machine->order[i] % GPUSIM_GPUS_MAX];

        if (v->is_all ? is_named(g->uuid) : may_open_gpu(g->minor))
            v->gpus[v->n++] = g;
    }
    return true;
}

void view_close(struct view *v)
{
    if (v->machine)
        (void)munmap((void *)(uintptr_t)v->machine, sizeof(*v->machine));
    *v = (struct view){.fd = -1};
}

unsigned view_index(const struct view *v, const struct gpusim_gpu *g)
{
    return (unsigned)(g - v->machine->gpus);
}

bool view_has_compute(const struct view *v, const struct gpusim_gpu *g, unsigned compute)
{
    const struct gpusim_compute *c = &g->computes[compute];

    if (!g->mig_mode || !c->is_used)
        return false;
    return v->is_all ||
           (may_open_cap(gpusim_cap_of_instance((unsigned)g->minor, c->instance)) &&
            may_open_cap(gpusim_cap_of_compute((unsigned)g->minor, c->instance, c->id)));
}

bool view_may_configure(const struct view *v)
{
    return v->is_all || may_open_cap(GPUSIM_CAP_CONFIG);
}

static unsigned count_links(const struct gpusim_gpu *g)
{
    return g->n_links < GPUSIM_LINKS_MAX ? g->n_links : GPUSIM_LINKS_MAX;
}

static bool are_same(const char a[32], const char b[32])
{
    return strncmp(a, b, 32) == 0;
}

bool view_are_linked(const struct gpusim_gpu *a, const struct gpusim_gpu *b)
{
    for (unsigned i = 0; i < count_links(a); i++) {
        if (!a->links[i].is_active)
            continue;
        if (are_same(a->links[i].remote_pci, b->pci))
            return true;
        for (unsigned j = 0;
             j < count_links(b) && a->links[i].remote_type == NVML_LINK_REMOTE_SWITCH; j++) {
            if (b->links[j].is_active && are_same(a->links[i].remote_pci, b->links[j].remote_pci))
                return true;
        }
    }
    return false;
}
