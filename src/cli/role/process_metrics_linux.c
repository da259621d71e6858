/* process_metrics_linux.c - the server's own process and the disk of its data */

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/num.h"
#include "base/stamp.h"
#include "base/version.h"
#include "cli/role/process_metrics.h"

enum {
    STATM_MAX = 256
};

static void write_one(struct exposition *x, const char *name, enum metric_type type,
                      const char *help, int64_t value, unsigned decimals)
{
    const struct metric_family family = {.name = name, .type = type, .help = help};

    exposition_family(x, &family);
    exposition_add(x, "", value, decimals);
}

static int64_t micro_of(struct timeval t)
{
    return (int64_t)t.tv_sec * 1000000 + t.tv_usec;
}

/* -1: unknown. */
static int64_t resident_bytes(void)
{
    AUTO(buf_done) struct buf b = {0};
    AUTO(err_freep) struct err *e = file_read("/proc/self/statm", STATM_MAX, &b);
    struct str rest = {b.at, b.size};
    int64_t pages = -1;

    if (!e) {
        (void)str_cut(&rest, ' '); /* the size of the address space */
        e = num_parse_int64(str_cut(&rest, ' '), 0, INT32_MAX, &pages);
    }
    return e ? -1 : pages * sysconf(_SC_PAGESIZE);
}

static int64_t open_descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    int64_t n = 0;

    if (!d)
        return -1;
    while (readdir(d)) /* NOLINT(concurrency-mt-unsafe): a stream of our own */
        n++;
    (void)closedir(d);
    return n - 3; /* ".", ".." and the directory itself */
}

static void write_process(struct exposition *x)
{
    struct rusage used = {0};
    int64_t resident = resident_bytes();
    int64_t fds = open_descriptors();

    if (getrusage(RUSAGE_SELF, &used) == 0)
        write_one(x, "process_cpu_seconds_total", METRIC_COUNTER, "Processor time of the server.",
                  micro_of(used.ru_utime) + micro_of(used.ru_stime), 6);
    if (resident >= 0)
        write_one(x, "process_resident_memory_bytes", METRIC_GAUGE, "Memory of the server.",
                  resident, 0);
    if (fds >= 0)
        write_one(x, "process_open_fds", METRIC_GAUGE, "Open descriptors of the server.", fds, 0);
}

static void write_build(struct exposition *x)
{
    static const struct metric_family build = {"mete_build_info", METRIC_GAUGE,
                                               "1, with the version of Mete."};
    AUTO(buf_done) struct buf labels = {0};

    labels_add(&labels, "version", METE_VERSION);
    exposition_family(x, &build);
    exposition_add(x, labels.at, 1, 0);
}

void process_metrics_write(void *dir, struct exposition *x, const struct metrics_question *q)
{
    struct statvfs disk;

    (void)q;
    write_build(x);
    write_process(x);
    if (statvfs(dir, &disk) != 0)
        return;
    write_one(x, "mete_disk_bytes", METRIC_GAUGE, "Size of the disk of the data directory.",
              (int64_t)(disk.f_blocks * disk.f_frsize), 0);
    write_one(x, "mete_disk_free_bytes", METRIC_GAUGE,
              "Free bytes on the disk of the data directory.",
              (int64_t)(disk.f_bavail * disk.f_frsize), 0);
}
