/*
 * main.c - `gpusim`: makes the file of an emulated machine, and changes it while it is mapped
 *
 *   gpusim compile PROFILE FILE [SEED]      PROFILE: 8xH100 or a YAML file
 *   gpusim set FILE GPU KEY=VALUE...        keys of a gpu
 *   gpusim set FILE machine KEY=VALUE...    keys of the machine
 *   gpusim scenario FILE SCRIPT             lines "at SECONDS set GPU|machine KEY=VALUE..."
 *   gpusim show FILE                        a line a gpu
 *
 * Keys of a gpu: utilization, memory-utilization and tensor (%), temperature and power (W) without
 * work, sm-clock, lost (0|1), hang (ms, -1 for ever), xid (adds one; xid=94:3 of GPU instance 3) as
 * an event and as a line of the kernel's log, event-xid and kernel-xid (the same in one of the two
 * only), process (PID:MIB adds one, 0 clears them), throttle (none, power, thermal, hw-thermal,
 * brake), remapped-corrected and remapped-uncorrected (rows), remap-pending, remap-failed (0|1),
 * reset (1 ends faults and volatile counts, and lets a pending MIG mode begin). These add to a
 * counter: ecc-corrected, ecc-uncorrected, nvlink-errors, pcie-replays, pcie-sent, pcie-received,
 * nvlink-sent, nvlink-received (bytes).
 *
 * Keys of the machine: driver (loaded, unloaded, mismatched), order (the gpus in NVML's order, such
 * as 1,0).
 */

#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "gpu/emulated.h"
#include "gpu/gpusim_machine.h"
#include "reset.h"

/* The file of the emulated machine that is being changed; NULL: a trial changes a copy. */
static const char *machine_path;

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

    machine_path = path;
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

static struct err *set_throttle(struct gpusim_gpu *g, struct str name)
{
    static const struct {
        const char *name;
        uint64_t bits; /* NVML's clock event reasons */
    } reasons[] = {
        {"none", 0}, {"power", 0x4}, {"thermal", 0x20}, {"hw-thermal", 0x48}, {"brake", 0x88}};

    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        if (!str_equal(name, str_of(reasons[i].name)))
            continue;
        g->throttle = reasons[i].bits;
        return NULL;
    }
    return err_new(ERR_INVALID,
                   "throttle: '" STR_FMT "': want none, power, thermal, hw-thermal or brake",
                   STR_ARG(name));
}

/* Keys that give a member a number of 32 bits, times a factor. */
static const struct number_key {
    const char *name;
    size_t at;
    uint32_t factor;
} number_keys[] = {
    {"utilization", offsetof(struct gpusim_gpu, utilization_pct), 1},
    {"memory-utilization", offsetof(struct gpusim_gpu, memory_utilization_pct), 1},
    {"temperature", offsetof(struct gpusim_gpu, temperature_c), 1},
    {"tensor", offsetof(struct gpusim_gpu, tensor_pct), 1},
    {"sm-clock", offsetof(struct gpusim_gpu, sm_clock_mhz), 1},
    {"lost", offsetof(struct gpusim_gpu, is_lost), 1},
    {"hang", offsetof(struct gpusim_gpu, hang_ms), 1},
    {"remapped-corrected", offsetof(struct gpusim_gpu, remapped[0]), 1},
    {"remapped-uncorrected", offsetof(struct gpusim_gpu, remapped[1]), 1},
    {"remap-pending", offsetof(struct gpusim_gpu, remapped[2]), 1},
    {"remap-failed", offsetof(struct gpusim_gpu, remapped[3]), 1},
};

/* Counters, to which a number adds. */
static const struct {
    const char *name;
    size_t at;
} counter_keys[] = {
    {"nvlink-errors", offsetof(struct gpusim_gpu, nvlink_errors)},
    {"pcie-replays", offsetof(struct gpusim_gpu, pcie_replays)},
    {"pcie-sent", offsetof(struct gpusim_gpu, pcie_bytes[0])},
    {"pcie-received", offsetof(struct gpusim_gpu, pcie_bytes[1])},
    {"nvlink-sent", offsetof(struct gpusim_gpu, nvlink_bytes[0])},
    {"nvlink-received", offsetof(struct gpusim_gpu, nvlink_bytes[1])},
};

/* Sets the power without work. The energy so far stays: it is counted from boot. */
static void set_power(struct gpusim_gpu *g, uint32_t power_mw)
{
    struct timespec now = {0};
    uint64_t now_ms;

    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    now_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    g->energy_mj += g->power_mw * now_ms / 1000 - power_mw * now_ms / 1000;
    g->power_mw = power_mw;
}

static void add_errors(uint64_t counters[2], uint64_t n)
{
    counters[0] += n;
    counters[1] += n;
}

static struct err *set_number(struct gpusim_gpu *g, struct str key, int64_t v)
{
    for (size_t i = 0; i < sizeof(number_keys) / sizeof(number_keys[0]); i++) {
        if (!str_equal(key, str_of(number_keys[i].name)))
            continue;
        *(uint32_t *)(void *)((char *)g + number_keys[i].at) = (uint32_t)v * number_keys[i].factor;
        return NULL;
    }
    for (size_t i = 0; i < COUNT(counter_keys); i++) {
        if (!str_equal(key, str_of(counter_keys[i].name)))
            continue;
        *(uint64_t *)(void *)((char *)g + counter_keys[i].at) += (uint64_t)v;
        return NULL;
    }
    if (str_equal(key, STR("power"))) {
        set_power(g, (uint32_t)v * 1000);
    } else if (str_equal(key, STR("ecc-corrected"))) {
        add_errors(g->ecc[0], (uint64_t)v);
    } else if (str_equal(key, STR("ecc-uncorrected"))) {
        add_errors(g->ecc[1], (uint64_t)v);
    } else if (str_equal(key, STR("reset"))) {
        gpusim_reset(g);
    } else {
        return err_new(ERR_INVALID, "key '" STR_FMT "' is not known", STR_ARG(key));
    }
    return NULL;
}

/* Appends a record, as /dev/kmsg gives it, to the file "kmsg" beside the machine's. */
static struct err *add_kernel_xid(const struct gpusim_gpu *g, int64_t xid, int64_t instance)
{
    const char *slash = strrchr(machine_path, '/');
    AUTO_FREE char *path =
        mem_format("%.*skmsg", slash ? (int)(slash + 1 - machine_path) : 0, machine_path);
    AUTO_FREE char *of = instance >= 0 ? mem_format(" GPU-I:%02d", (int)instance) : mem_strdup("");
    AUTO(fd_closep) int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    AUTO_FREE char *line = NULL;
    AUTO(buf_done) struct buf before = {0};
    struct timespec now = {0};
    int64_t lines = 0;

    if (fd < 0 || flock(fd, LOCK_EX) < 0)
        return err_new(ERR_INTERNAL, "%s cannot be opened", path);
    TRY(file_read(path, 1 << 26, &before));
    for (size_t i = 0; i < before.size; i++)
        lines += before.at[i] == '\n';
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    line = mem_format("4,%" PRId64 ",%" PRId64 ",-;NVRM: Xid (PCI:%.10s%s): %" PRId64
                      ", pid='<unknown>', name=<unknown>, emulated\n",
                      lines + 1, (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000, g->pci + 4, of,
                      xid);
    return write(fd, line, strlen(line)) == (ssize_t)strlen(line)
               ? NULL
               : err_new(ERR_INTERNAL, "%s cannot be written", path);
}

static void add_event_xid(struct gpusim_gpu *g, int64_t xid, int64_t instance)
{
    g->xids[g->n_xids % GPUSIM_XIDS_MAX] = (uint64_t)xid | (uint64_t)(instance + 1) << 32;
    __sync_synchronize();
    g->n_xids++;
}

/* Reads "48", or "48:3" for GPU instance 3. */
static struct err *add_xid(struct gpusim_gpu *g, struct str key, struct str text)
{
    struct str number = text;
    struct str code = str_cut(&number, ':');
    int64_t xid = 0;
    int64_t instance = -1;

    TRY(num_parse_int64(code, 0, INT32_MAX, &xid));
    if (number.at)
        TRY(num_parse_int64(number, 0, 64, &instance));
    if (machine_path && !str_equal(key, STR("event-xid")))
        TRY(add_kernel_xid(g, xid, instance));
    if (!str_equal(key, STR("kernel-xid")))
        add_event_xid(g, xid, instance);
    return NULL;
}

static struct err *set_key(struct gpusim_gpu *g, struct str key, struct str text)
{
    int64_t v = 0;

    if (str_equal(key, STR("xid")) || str_equal(key, STR("event-xid")) ||
        str_equal(key, STR("kernel-xid")))
        return add_xid(g, key, text);

    if (str_equal(key, STR("process")))
        return add_process(g, text);
    if (str_equal(key, STR("throttle")))
        return set_throttle(g, text);
    TRY(num_parse_int64(text, -1, UINT32_MAX, &v));
    return set_number(g, key, v);
}

/* Reads "1,0": each gpu once. */
static struct err *set_order(struct gpusim_machine *m, struct str text)
{
    uint32_t order[GPUSIM_GPUS_MAX] = {0};
    uint32_t seen = 0;

    for (unsigned i = 0; i < m->n_gpus; i++) {
        struct str one = str_cut(&text, ',');
        int64_t gpu = 0;

        TRY(num_parse_int64(one, 0, (int64_t)m->n_gpus - 1, &gpu));
        seen |= UINT32_C(1) << gpu;
        order[i] = (uint32_t)gpu;
    }
    if (text.at || seen != (UINT32_C(1) << m->n_gpus) - 1)
        return err_new(ERR_INVALID, "order: want each of the %u gpus once", m->n_gpus);
    for (unsigned i = 0; i < m->n_gpus; i++)
        m->order[i] = order[i];
    return NULL;
}

static struct err *set_machine_key(struct gpusim_machine *m, struct str key, struct str text)
{
    static const char *const drivers[] = {"loaded", "unloaded", "mismatched"};

    if (str_equal(key, STR("order")))
        return set_order(m, text);
    for (uint32_t i = 0; str_equal(key, STR("driver")) && i < 3; i++) {
        if (!str_equal(text, str_of(drivers[i])))
            continue;
        m->driver = i;
        return NULL;
    }
    return err_new(ERR_INVALID,
                   "'" STR_FMT "=" STR_FMT "': want driver=loaded|unloaded|mismatched or order=...",
                   STR_ARG(key), STR_ARG(text));
}

/* Applies "GPU KEY=VALUE..." or "machine KEY=VALUE...", words between blanks. */
static struct err *apply_words(struct gpusim_machine *m, struct str words)
{
    struct str target = str_cut(&words, ' ');
    bool is_machine = str_equal(target, STR("machine"));
    int64_t gpu = 0;

    if (!is_machine)
        TRY(num_parse_int64(target, 0, (int64_t)m->n_gpus - 1, &gpu));
    if (!words.at)
        return err_new(ERR_INVALID, "want KEY=VALUE behind '" STR_FMT "'", STR_ARG(target));
    while (words.at) {
        struct str value = str_cut(&words, ' ');
        struct str key = str_cut(&value, '=');

        if (!value.at)
            return err_new(ERR_INVALID, "'" STR_FMT "': want KEY=VALUE", STR_ARG(key));
        TRY(is_machine ? set_machine_key(m, key, value) : set_key(&m->gpus[gpu], key, value));
    }
    return NULL;
}

static struct err *machine_set(int n, char **arguments)
{
    AUTO(buf_done) struct buf words = {0};
    struct gpusim_machine *m = NULL;
    struct err *e = open_machine(arguments[0], &m);

    if (e || !m)
        return e;
    for (int i = 1; i < n; i++)
        buf_printf(&words, "%s%s", i > 1 ? " " : "", arguments[i]);
    return apply_words(m, (struct str){.at = words.at, .size = words.size});
}

/* ---- scenarios ---- */

/* Reads "1.5" as nanoseconds. */
static struct err *read_seconds(struct str text, int64_t *ret_ns)
{
    struct str rest = text;
    struct str whole = str_cut(&rest, '.');
    int64_t step_ns = 100000000;
    int64_t seconds = 0;

    TRY(num_parse_int64(whole, 0, 86400, &seconds));
    seconds *= 1000000000;
    for (size_t i = 0; rest.at && i < rest.size; i++, step_ns /= 10) {
        if (rest.at[i] < '0' || rest.at[i] > '9' || step_ns == 0)
            return err_new(ERR_INVALID, "'" STR_FMT "': want seconds", STR_ARG(text));
        seconds += (rest.at[i] - '0') * step_ns;
    }
    *ret_ns = seconds;
    return NULL;
}

static void sleep_until(const struct timespec *start, int64_t after_ns)
{
    int64_t ns = start->tv_nsec + after_ns % 1000000000;
    struct timespec at = {.tv_sec = start->tv_sec + after_ns / 1000000000 + ns / 1000000000,
                          .tv_nsec = ns % 1000000000};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) != 0)
        continue;
}

/* Reads "at SECONDS set WORDS"; an empty line or a comment has no words. */
static struct err *read_step(struct str line, int64_t *ret_ns, struct str *ret_words)
{
    struct str at;

    *ret_words = (struct str){0};
    if (line.size == 0 || line.at[0] == '#')
        return NULL;
    at = str_cut(&line, ' ');
    if (!str_equal(at, STR("at")) || !line.at)
        return err_new(ERR_INVALID, "want: at SECONDS set GPU|machine KEY=VALUE...");
    TRY(read_seconds(str_cut(&line, ' '), ret_ns));
    if (!line.at || !str_equal(str_cut(&line, ' '), STR("set")) || !line.at)
        return err_new(ERR_INVALID, "want: at SECONDS set GPU|machine KEY=VALUE...");
    *ret_words = line;
    return NULL;
}

/* Checks all lines on a copy of the machine before the first of them is due. */
static struct err *run_steps(struct gpusim_machine *m, struct str text, bool is_rehearsal)
{
    struct timespec start = {0};
    int64_t last_ns = 0;

    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    for (unsigned n = 1; text.at; n++) {
        struct str line = str_cut(&text, '\n');
        struct str words = {0};
        int64_t at_ns = last_ns;
        struct err *e = read_step(line, &at_ns, &words);

        if (!e && at_ns < last_ns)
            e = err_new(ERR_INVALID, "the time is before that of an earlier line");
        last_ns = at_ns;
        if (!e && words.at && !is_rehearsal)
            sleep_until(&start, at_ns);
        if (!e && words.at)
            e = apply_words(m, words);
        if (e)
            return err_wrap(e, "line %u", n);
    }
    return NULL;
}

static struct err *machine_scenario(const char *path, const char *script)
{
    static struct gpusim_machine copy;
    AUTO(buf_done) struct buf text = {.cap = 1 << 20};
    struct gpusim_machine *m = NULL;
    struct err *e = open_machine(path, &m);
    struct str lines;

    if (e || !m)
        return e;
    TRY(file_read(script, text.cap, &text));
    lines = (struct str){.at = text.at, .size = text.size};
    copy = *m;
    machine_path = NULL;
    e = run_steps(&copy, lines, true);
    machine_path = path;
    if (!e)
        e = run_steps(m, lines, false);
    return e ? err_wrap(e, "%s", script) : NULL;
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
    else if (argc == 4 && strcmp(argv[1], "scenario") == 0)
        e = machine_scenario(argv[2], argv[3]);
    else if (argc == 3 && strcmp(argv[1], "show") == 0)
        e = machine_show(argv[2]);
    else
        e = err_new(
            ERR_BAD_REQUEST,
            "usage: gpusim compile PROFILE FILE [SEED] | set FILE GPU|machine KEY=VALUE... | "
            "scenario FILE SCRIPT | show FILE");
    if (!e)
        return 0;
    (void)fprintf(stderr, "gpusim: %s\n", err_message(e));
    return err_code(e) == ERR_BAD_REQUEST ? 2 : 1;
}
