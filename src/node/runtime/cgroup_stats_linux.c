/* cgroup_stats_linux.c - usage from cgroup files and /proc */

#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "node/runtime/cgroup_stats.h"

enum {
    STATS_FILE_MAX = 1 << 16,
    PROC_STAT_MAX = 1 << 22 /* one line for each core, one number for each interrupt */
};

/* Reads a file of one number. */
static struct err *read_number(const char *dir, const char *name, int64_t *ret)
{
    AUTO_FREE char *path = mem_format("%s/%s", dir, name);
    AUTO(buf_done) struct buf text = {0};
    struct str rest;

    TRY(file_read(path, STATS_FILE_MAX, &text));
    rest = (struct str){text.at, text.size};
    return num_parse_int64(str_cut(&rest, '\n'), 0, INT64_MAX, ret);
}

/* The same; -1: no such file. */
static int64_t find_number(const char *dir, const char *name)
{
    int64_t n = -1;
    AUTO(err_freep) struct err *e = read_number(dir, name, &n);

    return e ? -1 : n;
}

/* The number after `key` in lines "key number ..."; -1: none. */
static int64_t number_after(struct str text, const char *key)
{
    while (text.at) {
        struct str line = str_cut(&text, '\n');
        struct str first = str_cut(&line, ' ');
        int64_t n = -1;
        struct err *e;

        if (!str_equal(first, str_of(key)) || !line.at)
            continue;
        while (line.size > 0 && *line.at == ' ')
            line = (struct str){line.at + 1, line.size - 1};
        e = num_parse_int64(str_cut(&line, ' '), 0, INT64_MAX, &n);
        err_free(e);
        return n;
    }
    return -1;
}

static int64_t find_number_after(const char *dir, const char *name, const char *key)
{
    AUTO_FREE char *path = mem_format("%s/%s", dir, name);
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *e = file_read(path, STATS_FILE_MAX, &text);

    return e ? -1 : number_after((struct str){text.at, text.size}, key);
}

/* Charged memory minus inactive page cache, as the kubelet reports it. */
static int64_t working_set(int64_t used_bytes, int64_t inactive_file_bytes)
{
    if (used_bytes < 0 || inactive_file_bytes < 0)
        return used_bytes;
    return used_bytes > inactive_file_bytes ? used_bytes - inactive_file_bytes : 0;
}

static struct err *read_v2(const char *root, const char *path, struct cgroup_stats *ret)
{
    AUTO_FREE char *dir = mem_format("%s%s", root, path);
    int64_t usec;

    if (!file_exists(dir))
        return err_new(ERR_NOT_FOUND, "there is no cgroup %s", dir);
    usec = find_number_after(dir, "cpu.stat", "usage_usec");
    ret->cpu_ns = usec < 0 || usec > INT64_MAX / 1000 ? -1 : usec * 1000;
    ret->memory_bytes = working_set(find_number(dir, "memory.current"),
                                    find_number_after(dir, "memory.stat", "inactive_file"));
    ret->memory_peak_bytes = find_number(dir, "memory.peak");
    return NULL;
}

static struct err *read_v1(const char *root, const char *path, struct cgroup_stats *ret)
{
    AUTO_FREE char *cpu = mem_format("%s/cpuacct%s", root, path);
    AUTO_FREE char *memory = mem_format("%s/memory%s", root, path);

    if (!file_exists(cpu) && !file_exists(memory))
        return err_new(ERR_NOT_FOUND, "there is no cgroup %s", cpu);
    ret->cpu_ns = find_number(cpu, "cpuacct.usage");
    ret->memory_bytes =
        working_set(find_number(memory, "memory.usage_in_bytes"),
                    find_number_after(memory, "memory.stat", "total_inactive_file"));
    ret->memory_peak_bytes = find_number(memory, "memory.max_usage_in_bytes");
    return NULL;
}

struct err *cgroup_stats_read(const char *root, const char *path, struct cgroup_stats *ret)
{
    AUTO_FREE char *controllers = mem_format("%s/cgroup.controllers", root);

    return file_exists(controllers) ? read_v2(root, path, ret) : read_v1(root, path, ret);
}

/* ---- the machine ---- */

/* Sums "cpu  user nice system idle iowait irq softirq steal ...", in ticks, without idle and
 * iowait. */
static struct err *read_cpu(const char *proc, int64_t *ret_ns)
{
    AUTO_FREE char *path = mem_format("%s/stat", proc);
    AUTO(buf_done) struct buf text = {0};
    int64_t tick_ns = NS_PER_SEC / sysconf(_SC_CLK_TCK);
    int64_t ticks = 0;
    struct str rest;
    struct str line;

    TRY(file_read(path, PROC_STAT_MAX, &text));
    rest = (struct str){text.at, text.size};
    line = str_cut(&rest, '\n');
    if (!str_starts_with(line, STR("cpu  ")))
        return err_new(ERR_INTERNAL, "%s does not begin with the sum of all cores", path);
    line = (struct str){line.at + 5, line.size - 5};
    for (int i = 0; i < 8 && line.at; i++) {
        int64_t n = 0;

        TRY(num_parse_int64(str_cut(&line, ' '), 0, INT64_MAX / 16 / NS_PER_SEC, &n));
        if (i != 3 && i != 4)
            ticks += n;
    }
    if (__builtin_mul_overflow(ticks, tick_ns, ret_ns))
        *ret_ns = INT64_MAX;
    return NULL;
}

struct err *machine_load_read(const char *proc, struct machine_load *ret)
{
    AUTO_FREE char *path = mem_format("%s/meminfo", proc);
    AUTO(buf_done) struct buf text = {0};
    struct machine_load load = {0};
    int64_t total;
    int64_t available;

    TRY(read_cpu(proc, &load.cpu_ns));
    TRY(file_read(path, STATS_FILE_MAX, &text));
    total = number_after((struct str){text.at, text.size}, "MemTotal:");
    available = number_after((struct str){text.at, text.size}, "MemAvailable:");
    if (total < 0 || available < 0 || total > INT64_MAX / 1024 || available > total)
        return err_new(ERR_INTERNAL, "%s does not tell MemTotal and MemAvailable", path);
    load.memory_bytes = (total - available) * 1024;
    *ret = load;
    return NULL;
}
