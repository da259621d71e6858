/* sysfs_linux.c - small files below /sys, and what all graphics cards have there */

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "gpu/sysfs.h"

enum {
    FILE_MAX = 64 << 10,
    DRI_MAJOR = 226, /* Linux, Documentation/admin-guide/devices.txt */
    RENDER_FIRST = 128,
    MINOR_MAX = 1 << 20,
    LINK_MAX = 4096
};

/* "SYS/" and the path. The caller frees it. */
static char *make_path(const char *sys, const char *format, va_list args)
{
    struct buf b = {0};
    char path[256];

    (void)vsnprintf(path, sizeof(path), format, args);
    buf_printf(&b, "%s/%s", sys, path);
    return buf_steal(&b);
}

static char *read_path(const char *path)
{
    struct buf text = {.cap = FILE_MAX};
    AUTO(err_freep) struct err *e = file_read(path, FILE_MAX, &text);

    if (!e && text.size > 0)
        return buf_steal(&text);
    buf_done(&text);
    return NULL;
}

char *sysfs_read(const char *sys, const char *format, ...)
{
    AUTO_FREE char *path = NULL;
    va_list args;

    va_start(args, format);
    path = make_path(sys, format, args);
    va_end(args);
    return read_path(path);
}

/* Copies the first line of `text`. */
static bool copy_line(const char *text, char *ret, size_t size)
{
    size_t n;

    ret[0] = '\0';
    while (text && (*text == ' ' || *text == '\t'))
        text++;
    n = text ? strcspn(text, "\n") : 0;
    while (n > 0 && isspace((unsigned char)text[n - 1]))
        n--;
    if (n == 0 || n >= size)
        return false;
    memcpy(ret, text, n);
    ret[n] = '\0';
    return true;
}

bool sysfs_text(char *ret, size_t size, const char *sys, const char *format, ...)
{
    AUTO_FREE char *path = NULL;
    AUTO_FREE char *text = NULL;
    va_list args;

    va_start(args, format);
    path = make_path(sys, format, args);
    va_end(args);
    text = read_path(path);
    return copy_line(text, ret, size);
}

/* The number that `text` is; -1: none. */
static int64_t number_of(const char *text)
{
    AUTO(err_freep) struct err *e = NULL;
    uint64_t hex = 0;
    int64_t value = -1;

    if (text_starts_with(text, "0x")) {
        e = num_parse_hex(str_of(text + 2), &hex);
        return e || hex > INT64_MAX ? -1 : (int64_t)hex;
    }
    e = num_parse_int64(str_of(text), 0, INT64_MAX, &value);
    return e ? -1 : value;
}

int64_t sysfs_number(const char *sys, const char *format, ...)
{
    AUTO_FREE char *path = NULL;
    AUTO_FREE char *text = NULL;
    char line[32];
    va_list args;

    va_start(args, format);
    path = make_path(sys, format, args);
    va_end(args);
    text = read_path(path);
    return copy_line(text, line, sizeof(line)) ? number_of(line) : -1;
}

uint64_t sysfs_property(const char *text, const char *name, uint64_t unknown)
{
    struct str rest = str_of(text);

    while (rest.at && rest.size > 0) {
        struct str value = str_cut(&rest, '\n');
        struct str key = str_cut(&value, ' ');
        uint64_t number = 0;
        AUTO(err_freep) struct err *e = NULL;

        if (!str_equal(key, str_of(name)) || !value.at)
            continue;
        e = num_parse_uint64(value, UINT64_MAX, &number);
        return e ? unknown : number;
    }
    return unknown;
}

bool sysfs_link(char *ret, size_t size, const char *sys, const char *format, ...)
{
    AUTO(buf_done) struct buf target = {.cap = LINK_MAX};
    AUTO(err_freep) struct err *e = NULL;
    AUTO_FREE char *path = NULL;
    const char *last;
    va_list args;

    va_start(args, format);
    path = make_path(sys, format, args);
    va_end(args);
    ret[0] = '\0';
    e = note_read(path, &target);
    if (e || !target.at)
        return false;
    last = strrchr(target.at, '/');
    return copy_line(last ? last + 1 : target.at, ret, size);
}

/* The number behind `prefix` in a name; -1: another name. */
static int64_t number_behind(const char *name, const char *prefix)
{
    int64_t n = 0;
    AUTO(err_freep) struct err *e = NULL;

    if (!text_starts_with(name, prefix))
        return -1;
    e = num_parse_int64(str_of(name + strlen(prefix)), 0, MINOR_MAX, &n);
    return e ? -1 : n;
}

/* The minor of the device's render node; -1: none. */
static int find_render(const char *sys, const char *device)
{
    AUTO_FREE char *dir = mem_format("%s/%s/drm", sys, device);
    AUTO(err_freep) struct err *e = NULL;
    char **names = NULL;
    size_t n = 0;
    int64_t found = -1;

    e = dir_list(dir, &names, &n);
    for (size_t i = 0; !e && i < n && found < 0; i++)
        found = number_behind(names[i], "renderD");
    names_free(names, n);
    return found >= RENDER_FIRST ? (int)found : -1;
}

static int compare_cards(const void *a, const void *b)
{
    const struct sysfs_card *x = a;
    const struct sysfs_card *y = b;

    return (x->card > y->card) - (x->card < y->card);
}

size_t sysfs_cards(const char *sys, struct sysfs_card *ret)
{
    AUTO_FREE char *dir = mem_format("%s/class/drm", sys);
    AUTO(err_freep) struct err *e = NULL;
    char **names = NULL;
    size_t n_names = 0;
    size_t n = 0;

    e = dir_list(dir, &names, &n_names);
    for (size_t i = 0; !e && i < n_names && n < SYSFS_CARDS_MAX; i++) {
        int64_t card = number_behind(names[i], "card"); /* connectors are "card0-DP-1" */
        struct sysfs_card *c = &ret[n];

        if (card < 0)
            continue;
        *c = (struct sysfs_card){.card = (unsigned)card};
        (void)snprintf(c->device, sizeof(c->device), "class/drm/card%u/device", c->card);
        c->vendor = (int)sysfs_number(sys, "%s/vendor", c->device);
        c->render = find_render(sys, c->device);
        n++;
    }
    names_free(names, n_names);
    qsort(ret, n, sizeof(*ret), compare_cards);
    return n;
}

bool sysfs_read_pci(const char *sys, const char *device, struct gpu *g)
{
    int64_t vendor = sysfs_number(sys, "%s/vendor", device);
    int64_t id = sysfs_number(sys, "%s/device", device);
    int64_t class = sysfs_number(sys, "%s/class", device);
    int64_t numa = sysfs_number(sys, "%s/numa_node", device);

    if (vendor < 0 || vendor > UINT16_MAX)
        return false;
    if (id >= 0 && id <= UINT16_MAX)
        g->pci_device = id << 16 | vendor;
    if (class >= 0 && class <= 0xffffff)
        g->pci_class = (int)class;
    if (numa >= 0 && numa < 4096)
        g->numa_node = (int)numa;
    (void)sysfs_text(g->cpu_affinity, sizeof(g->cpu_affinity), sys, "%s/local_cpulist", device);
    return true;
}

static void add_node(struct gpu *g, const char *name, unsigned minor)
{
    struct gpu_node *n = &g->nodes[g->n_nodes++];

    (void)snprintf(n->path, sizeof(n->path), "/dev/dri/%s%u", name, minor);
    n->major = DRI_MAJOR;
    n->minor = (int)minor;
}

void sysfs_add_nodes(const struct sysfs_card *card, struct gpu *g)
{
    add_node(g, "card", card->card);
    if (card->render >= 0)
        add_node(g, "renderD", (unsigned)card->render);
}

/* The first known value of files in a directory, divided; -1: none is known. */
static int64_t first_of(const char *sys, const char *dir, const char *const *names, int64_t divisor)
{
    for (; *names; names++) {
        int64_t value = sysfs_number(sys, "%s/%s", dir, *names);

        if (value >= 0)
            return value / divisor;
    }
    return -1;
}

/* The device's hwmon directory, below `sys`. The caller frees it; NULL: none. */
static char *find_sensors(const char *sys, const char *device)
{
    AUTO_FREE char *dir = mem_format("%s/%s/hwmon", sys, device);
    AUTO(err_freep) struct err *e = NULL;
    char **names = NULL;
    size_t n = 0;
    char *found = NULL;

    e = dir_list(dir, &names, &n);
    if (!e && n > 0)
        found = mem_format("%s/hwmon/%s", device, names[0]);
    names_free(names, n);
    return found;
}

int64_t sysfs_power_limit(const char *sys, const char *device)
{
    static const char *const limits[] = {"power1_cap", "power1_max", NULL};
    AUTO_FREE char *dir = find_sensors(sys, device);

    return dir ? first_of(sys, dir, limits, 1000) : -1;
}

struct gpu_sample sysfs_sample(const char *uuid)
{
    struct gpu_sample s = GPU_SAMPLE_UNKNOWN;
    struct timespec now = {0};

    (void)snprintf(s.uuid, sizeof(s.uuid), "%s", uuid);
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    s.at_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    return s;
}

void sysfs_read_sensors(const char *sys, const char *device, struct gpu_sample *s)
{
    static const char *const temperatures[] = {"temp1_input", "temp2_input", NULL};
    static const char *const powers[] = {"power1_average", "power1_input", NULL};
    static const char *const energies[] = {"energy1_input", NULL};
    static const char *const clocks[] = {"freq1_input", NULL};
    static const char *const memory_temperatures[] = {"temp3_input", NULL};
    static const char *const memory_clocks[] = {"freq2_input", NULL};
    AUTO_FREE char *dir = find_sensors(sys, device);
    char name[16] = "";
    bool is_amd;

    if (!dir)
        return;
    is_amd = sysfs_text(name, sizeof(name), sys, "%s/name", dir) && text_equal(name, "amdgpu");
    s->value[GPU_FIELD_TEMPERATURE_C] = first_of(sys, dir, temperatures, 1000);
    s->value[GPU_FIELD_POWER_MW] = first_of(sys, dir, powers, 1000);
    s->value[GPU_FIELD_ENERGY_MJ] = first_of(sys, dir, energies, 1000);
    s->value[GPU_FIELD_SM_CLOCK_MHZ] = first_of(sys, dir, clocks, 1000000);
    if (!is_amd)
        return;
    s->value[GPU_FIELD_MEMORY_TEMPERATURE_C] = first_of(sys, dir, memory_temperatures, 1000);
    s->value[GPU_FIELD_MEMORY_CLOCK_MHZ] = first_of(sys, dir, memory_clocks, 1000000);
}
