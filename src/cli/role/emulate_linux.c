/* emulate_linux.c - installs the emulated GPU driver in the data directory */

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/role/data_dir.h"
#include "cli/role/installed.h"
#include "gpu/emulated.h"
#include "gpu/gpusim_machine.h"

enum {
    PROFILE_MAX = 1 << 20,
    LIBRARY_MAX = 16 << 20
};

#ifndef METE_LIBRARIES
#define METE_LIBRARIES "/usr/lib/mete"
#endif

#if defined(__aarch64__)
#define LIBRARY_DIR "usr/lib/aarch64-linux-gnu"
#else
#define LIBRARY_DIR "usr/lib/x86_64-linux-gnu"
#endif

/* Libraries of the emulated driver; `NAME.1` is the soname. */
static const char *const libraries[] = {"libnvidia-ml.so", "libcuda.so"};

static const char *const programs[] = {"nvidia-smi", "nvidia-cuda-mps-control"};

static bool has_library(const char *dir, const char *name)
{
    AUTO_FREE char *path = mem_format("%s/%s.1", dir, name);

    return file_exists(path);
}

static struct err *find_driver(const char *self_path, char **ret)
{
    AUTO_FREE char *probe = mem_format("%s.1", libraries[0]);

    return installed_find(self_path,
                          &(struct installed){.what = "the emulated driver",
                                              .variable = "METE_GPUSIM_DIR",
                                              .built = "gpusim",
                                              .installed = METE_LIBRARIES "/gpusim",
                                              .probe = probe},
                          ret);
}

/* Has the file these bytes? A start on a full disk must not rewrite unchanged files. */
static bool has_bytes(const char *path, const struct buf *bytes)
{
    AUTO(buf_done) struct buf there = {.cap = LIBRARY_MAX};
    AUTO(err_freep) struct err *e = file_read(path, LIBRARY_MAX, &there);

    return !e && there.size == bytes->size && memcmp(there.at, bytes->at, bytes->size) == 0;
}

static struct err *copy_file(const char *from, const char *to)
{
    AUTO(buf_done) struct buf b = {.cap = LIBRARY_MAX};

    TRY(file_read(from, LIBRARY_MAX, &b));
    return has_bytes(to, &b) ? NULL
                             : file_write(to, 0755, (struct str){.at = b.at, .size = b.size});
}

static struct err *link_file(const char *target, const char *path)
{
    char there[NAME_MAX + 1];
    ssize_t n = readlink(path, there, sizeof(there) - 1);

    if (n >= 0) {
        there[n] = '\0';
        if (text_equal(there, target))
            return NULL;
    }
    if (unlink(path) < 0 && errno != ENOENT)
        return err_errno(errno, "remove %s", path);
    return symlink(target, path) < 0 ? err_errno(errno, "make link %s", path) : NULL;
}

/* Installs a library as the driver's installer does: NAME.VERSION, and the links NAME.1 and NAME.
 */
static struct err *install_library(const char *from_dir, const char *dir, const char *name,
                                   const char *version)
{
    AUTO_FREE char *from = mem_format("%s/%s.1", from_dir, name);
    AUTO_FREE char *file = mem_format("%s.%s", name, version);
    AUTO_FREE char *soname = mem_format("%s.1", name);
    AUTO_FREE char *to = mem_format("%s/%s", dir, file);
    AUTO_FREE char *soname_path = mem_format("%s/%s", dir, soname);
    AUTO_FREE char *plain_path = mem_format("%s/%s", dir, name);

    TRY(copy_file(from, to));
    TRY(link_file(file, soname_path));
    return link_file(soname, plain_path);
}

/* Removes the libraries of another version that an earlier profile had. */
static struct err *remove_other_versions(const char *dir, const char *version)
{
    char **names = NULL;
    size_t n = 0;
    struct err *e = dir_list(dir, &names, &n);

    for (size_t i = 0; !e && i < n; i++) {
        AUTO_FREE char *path = mem_format("%s/%s", dir, names[i]);
        struct str end = str_of(strstr(names[i], ".so."));

        if (end.at && !text_equal(end.at, ".so.1") &&
            !text_equal(end.at + strlen(".so."), version) && unlink(path) < 0)
            e = err_errno(errno, "remove %s", path);
    }
    names_free(names, n);
    return e;
}

/* Makes the driver root `dir`/root. */
static struct err *install_driver(const char *from, const char *dir, const char *version)
{
    AUTO_FREE char *library_dir = mem_format("%s/root/" LIBRARY_DIR, dir);
    AUTO_FREE char *program_dir = mem_format("%s/root/usr/bin", dir);
    if (!version[0] || strpbrk(version, "/ ") || version[0] == '.')
        return err_new(ERR_INVALID, "driver: '%s' is no version", version);
    TRY(dir_make(library_dir, 0755));
    TRY(dir_make(program_dir, 0755));
    for (size_t i = 0; i < COUNT(libraries); i++)
        if (has_library(from, libraries[i]))
            TRY(install_library(from, library_dir, libraries[i], version));
    TRY(remove_other_versions(library_dir, version));
    for (size_t i = 0; i < COUNT(programs); i++) {
        AUTO_FREE char *path = mem_format("%s/%s", from, programs[i]);
        AUTO_FREE char *to = mem_format("%s/%s", program_dir, programs[i]);

        if (file_exists(path))
            TRY(copy_file(path, to));
    }
    return NULL;
}

static struct err *emulate_compile(const char *profile, const char *seed,
                                   struct gpusim_machine *ret)
{
    struct buf yaml = {0};
    struct str text;
    struct err *e;

    if (!strchr(profile, '/') && !text_ends_with(profile, ".yaml"))
        return emulated_compile(profile, NULL, seed, ret);
    e = file_read(profile, PROFILE_MAX, &yaml);
    text = (struct str){.at = yaml.at, .size = yaml.size};
    if (!e)
        e = emulated_compile(profile, &text, seed, ret);
    buf_done(&yaml);
    return e;
}

struct err *emulate_check(const char *profile)
{
    AUTO_FREE struct gpusim_machine *machine = mem_alloc(sizeof(*machine));

    return emulate_compile(profile, "check", machine);
}

/* Has the machine file the same gpus? Then the changes of `gpusim set` stay. */
static bool is_same_machine(const char *path, const struct gpusim_machine *fresh)
{
    struct buf b = {0};
    AUTO(err_freep) struct err *e = file_read(path, sizeof(*fresh), &b);
    const struct gpusim_machine *old = (const struct gpusim_machine *)(const void *)b.at;
    bool is_same = !e && b.size == sizeof(*fresh) && old->magic == fresh->magic &&
                   old->version == fresh->version && old->n_gpus == fresh->n_gpus;

    for (size_t i = 0; is_same && i < fresh->n_gpus && i < GPUSIM_GPUS_MAX; i++)
        is_same = text_equal(old->gpus[i].uuid, fresh->gpus[i].uuid) &&
                  text_equal(old->gpus[i].name, fresh->gpus[i].name) &&
                  old->gpus[i].memory_bytes == fresh->gpus[i].memory_bytes;
    buf_done(&b);
    return is_same;
}

struct err *emulate_make(const char *dir, const char *profile, const char *self_path,
                         const char *seed)
{
    AUTO_FREE char *driver = NULL;
    AUTO_FREE char *machine_path = mem_format("%s/machine.bin", dir);
    AUTO_FREE struct gpusim_machine *machine = mem_alloc(sizeof(*machine));

    TRY(emulate_compile(profile, seed, machine));
    TRY(find_driver(self_path, &driver));
    TRY(dir_make(dir, 0755));
    TRY(install_driver(driver, dir, machine->driver_version));
    if (is_same_machine(machine_path, machine))
        return NULL;
    /* Processes of all users in containers note their memory and work in it. */
    return file_write(machine_path, 0666,
                      (struct str){.at = (const char *)machine, .size = sizeof(*machine)});
}
