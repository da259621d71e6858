/*
 * main.c - `gpusim`: makes the file of an emulated machine, and changes it while it is mapped
 *
 *   gpusim compile PROFILE FILE [SEED]    PROFILE: 8xH100 or a YAML file
 *   gpusim set FILE GPU KEY=VALUE...      keys below
 *   gpusim show FILE                      a line a gpu
 *
 * Keys: utilization, memory-utilization, temperature, power (W), lost (0|1), hang (ms, -1 for
 * ever), xid (adds one), process (PID:MIB adds one, 0 clears them).
 */

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/num.h"
#include "gpu/emulated.h"
#include "gpu/gpusim_machine.h"

static struct err *machine_compile(const char *profile, const char *path, const char *seed)
{
    static struct gpusim_machine machine;
    struct buf text = {.cap = 1 << 20};
    struct str yaml;
    struct err *e;

    if (!file_exists(profile)) {
        e = emulated_compile(profile, NULL, seed, &machine);
    } else {
        TRY(file_read(profile, text.cap, &text));
        yaml = (struct str){.at = text.at, .size = text.size};
        e = emulated_compile(profile, &yaml, seed, &machine);
        buf_done(&text);
    }
    if (e)
        return e;
    return file_write(path, 0666,
                      (struct str){.at = (const char *)&machine, .size = sizeof(machine)});
}

static struct err *open_machine(const char *path, struct gpusim_machine **ret)
{
    AUTO(fd_closep) int fd = open(path, O_RDWR | O_CLOEXEC);
    struct gpusim_machine *m;
    struct stat st;

    if (fd < 0)
        return err_new(ERR_NOT_FOUND, "%s cannot be opened", path);
    if (fstat(fd, &st) < 0 || st.st_size != (off_t)sizeof(*m))
        return err_new(ERR_INVALID, "%s is not an emulated machine of this version", path);
    m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (m == MAP_FAILED)
        return err_new(ERR_INTERNAL, "%s cannot be mapped", path);
    if (m->magic != GPUSIM_MAGIC || m->version != GPUSIM_VERSION) {
        (void)munmap(m, sizeof(*m));
        return err_new(ERR_INVALID, "%s is not an emulated machine of this version", path);
    }
    *ret = m;
    return NULL;
}

static struct err *add_process(struct gpusim_gpu *g, struct str text)
{
    struct str mib = text;
    struct str pid = str_cut(&mib, ':');
    int64_t p = 0;
    int64_t m = 0;

    TRY(num_parse_int64(pid, 0, INT32_MAX, &p));
    if (p == 0) {
        g->n_processes = 0;
        return NULL;
    }
    if (!mib.at)
        return err_new(ERR_INVALID, "process: want PID:MIB");
    TRY(num_parse_int64(mib, 0, 1 << 20, &m));
    if (g->n_processes == GPUSIM_PROCESSES_MAX)
        return err_new(ERR_INVALID, "a gpu has at most %d processes", GPUSIM_PROCESSES_MAX);
    g->processes[g->n_processes] =
        (struct gpusim_process){.pid = (uint32_t)p, .memory_bytes = (uint64_t)m << 20};
    g->n_processes++;
    return NULL;
}

static struct err *set_key(struct gpusim_gpu *g, struct str key, struct str text)
{
    int64_t v = 0;

    if (str_equal(key, STR("process")))
        return add_process(g, text);
    TRY(num_parse_int64(text, -1, UINT32_MAX, &v));
    if (str_equal(key, STR("utilization")))
        g->utilization_pct = (uint32_t)v;
    else if (str_equal(key, STR("memory-utilization")))
        g->memory_utilization_pct = (uint32_t)v;
    else if (str_equal(key, STR("temperature")))
        g->temperature_c = (uint32_t)v;
    else if (str_equal(key, STR("power")))
        g->power_mw = (uint32_t)v * 1000;
    else if (str_equal(key, STR("lost")))
        g->is_lost = v != 0;
    else if (str_equal(key, STR("hang")))
        g->hang_ms = (uint32_t)v;
    else if (str_equal(key, STR("xid"))) {
        g->xids[g->n_xids % GPUSIM_XIDS_MAX] = (uint64_t)v;
        __sync_synchronize();
        g->n_xids++;
    } else {
        return err_new(ERR_INVALID, "key '" STR_FMT "' is not known", STR_ARG(key));
    }
    return NULL;
}

static struct err *machine_set(int n, char **arguments)
{
    struct gpusim_machine *m = NULL;
    struct err *e = open_machine(arguments[0], &m);
    int64_t gpu = 0;

    if (e || !m)
        return e;
    TRY(num_parse_int64(str_of(arguments[1]), 0, (int64_t)m->n_gpus - 1, &gpu));
    for (int i = 2; i < n; i++) {
        struct str value = str_of(arguments[i]);
        struct str key = str_cut(&value, '=');

        if (!value.at)
            return err_new(ERR_INVALID, "'%s': want KEY=VALUE", arguments[i]);
        TRY(set_key(&m->gpus[gpu], key, value));
    }
    return NULL;
}

static struct err *machine_show(const char *path)
{
    struct gpusim_machine *m = NULL;
    struct err *e = open_machine(path, &m);

    if (e || !m)
        return e;
    for (unsigned i = 0; i < m->n_gpus; i++) {
        const struct gpusim_gpu *g = &m->gpus[i];

        (void)printf("%u %s %s %s util=%u%% temp=%uC power=%uW processes=%u xids=%" PRIu64 "%s%s\n",
                     i, g->uuid, g->name, g->pci, g->utilization_pct, g->temperature_c,
                     g->power_mw / 1000, g->n_processes, g->n_xids, g->is_lost ? " lost" : "",
                     g->hang_ms ? " hangs" : "");
    }
    return NULL;
}

int main(int argc, char **argv)
{
    AUTO(err_freep) struct err *e = NULL;

    if ((argc == 4 || argc == 5) && strcmp(argv[1], "compile") == 0)
        e = machine_compile(argv[2], argv[3], argc == 5 ? argv[4] : "emulated");
    else if (argc > 4 && strcmp(argv[1], "set") == 0)
        e = machine_set(argc - 2, argv + 2);
    else if (argc == 3 && strcmp(argv[1], "show") == 0)
        e = machine_show(argv[2]);
    else
        e = err_new(
            ERR_BAD_REQUEST,
            "usage: gpusim compile PROFILE FILE [SEED] | set FILE GPU KEY=VALUE... | show FILE");
    if (!e)
        return 0;
    (void)fprintf(stderr, "gpusim: %s\n", err_message(e));
    return err_code(e) == ERR_BAD_REQUEST ? 2 : 1;
}
