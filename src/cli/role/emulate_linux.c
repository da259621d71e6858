/* emulate_linux.c - installs the emulated GPU driver in the data directory */

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/role/data_dir.h"
#include "gpu/emulated.h"
#include "gpu/gpusim_machine.h"

enum {
    PROFILE_MAX = 1 << 20,
    LIBRARY_MAX = 16 << 20
};

#ifndef METE_GPUSIM_INSTALLED
#define METE_GPUSIM_INSTALLED "/usr/lib/mete/gpusim"
#endif

static const char library_name[] = "libnvidia-ml.so.1";

static bool has_driver(const char *dir)
{
    AUTO_FREE char *path = mem_format("%s/%s", dir, library_name);

    return file_exists(path);
}

/* Finds the driver in $METE_GPUSIM_DIR, beside the binary in a build tree, or where it is
 * installed. The caller frees the path. */
static struct err *find_driver(const char *self_path, char **ret)
{
    const char *given = getenv("METE_GPUSIM_DIR"); /* NOLINT(concurrency-mt-unsafe): one thread */
    const char *slash = strrchr(self_path, '/');
    AUTO_FREE char *beside =
        mem_format("%.*s/../../gpusim", slash ? (int)(slash - self_path) : 0, self_path);
    const char *const places[] = {given ? given : beside, beside, METE_GPUSIM_INSTALLED,
                                  "/usr/lib/mete/gpusim"};

    for (size_t i = 0; i < COUNT(places); i++) {
        if (!has_driver(places[i]))
            continue;
        *ret = mem_strdup(places[i]);
        return NULL;
    }
    return err_new(ERR_NOT_FOUND, "the emulated driver is not installed: looked in %s, %s, %s",
                   places[0], beside, METE_GPUSIM_INSTALLED);
}

/* Has the file these bytes? A start on a full disk must not rewrite unchanged files. */
static bool has_bytes(const char *path, const struct buf *bytes)
{
    AUTO(buf_done) struct buf there = {.cap = LIBRARY_MAX};
    AUTO(err_freep) struct err *e = file_read(path, LIBRARY_MAX, &there);

    return !e && there.size == bytes->size && memcmp(there.at, bytes->at, bytes->size) == 0;
}

static struct err *copy_program(const char *from_dir, const char *to_dir, const char *name)
{
    AUTO_FREE char *from = mem_format("%s/%s", from_dir, name);
    AUTO_FREE char *to = mem_format("%s/%s", to_dir, name);
    struct buf b = {.cap = LIBRARY_MAX};
    struct err *e = file_read(from, LIBRARY_MAX, &b);

    if (!e && !has_bytes(to, &b))
        e = file_write(to, 0755, (struct str){.at = b.at, .size = b.size});
    buf_done(&b);
    return e;
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
    TRY(copy_program(driver, dir, library_name));
    TRY(copy_program(driver, dir, "nvidia-smi"));
    if (is_same_machine(machine_path, machine))
        return NULL;
    return file_write(machine_path, 0644,
                      (struct str){.at = (const char *)machine, .size = sizeof(*machine)});
}
