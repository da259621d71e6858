/* step_bind.c - the gpus and cpus of tasks */

#include "slurm/step_bind.h"

#include <strings.h>

#include "base/num.h"

enum {
    LIST_MAX = 4096,
    REPEATS_MAX = 4096,
    MASK_BITS = 64
};

static struct err *bind_wrong(const char *option, const char *text)
{
    return err_new(ERR_INVALID, "Invalid --%s argument: %.200s", option, text);
}

static bool read_mask(struct str text, uint64_t *ret)
{
    uint64_t mask = 0;

    if (str_starts_with(text, STR("0x")) || str_starts_with(text, STR("0X")))
        text = (struct str){text.at + 2, text.size - 2};
    if (text.size == 0 || text.size > MASK_BITS / 4)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        static const char digits[] = "0123456789abcdefABCDEF";
        const char *digit = text.at[i] ? strchr(digits, text.at[i]) : NULL;
        size_t value = digit ? (size_t)(digit - digits) : MASK_BITS;

        if (!digit)
            return false;
        mask = mask << 4 | (value > 15 ? value - 6 : value);
    }
    *ret = mask;
    return true;
}

/* One entry of a list, "VALUE" or "VALUE*TIMES". */
static bool read_entry(struct str text, bool is_mask, struct step_bind *b)
{
    struct str times = text;
    struct str value = str_cut(&times, '*');
    int64_t number = 0;
    int64_t n = 1;
    uint64_t entry = 0;
    AUTO(err_freep) struct err *e = NULL;

    if (times.at)
        e = num_parse_int64(times, 1, REPEATS_MAX, &n);
    if (!e && !is_mask)
        e = num_parse_int64(value, 0, LIST_MAX, &number);
    entry = (uint64_t)number;
    if (e || (is_mask && !read_mask(value, &entry)))
        return false;
    for (int64_t i = 0; i < n && b->list.n < LIST_MAX; i++)
        vec_add(&b->list, entry);
    return true;
}

static bool read_list(const char *text, bool is_mask, struct step_bind *b)
{
    struct str rest = str_of(text);

    b->kind = is_mask ? STEP_BIND_MASK : STEP_BIND_MAP;
    while (rest.at)
        if (!read_entry(str_cut(&rest, ','), is_mask, b))
            return false;
    return b->list.n > 0;
}

static bool read_count(const char *text, enum step_bind_kind kind, struct step_bind *b)
{
    AUTO(err_freep) struct err *e = num_parse_int64(str_of(text), 1, LIST_MAX, &b->count);

    b->kind = kind;
    return !e;
}

/* Skips "verbose," and "quiet," before the kind. */
static const char *behind_prefix(const char *text)
{
    static const char *const prefixes[] = {"verbose,", "quiet,", "v,", "q,"};

    for (size_t i = 0; i < COUNT(prefixes); i++)
        if (strncasecmp(text, prefixes[i], strlen(prefixes[i])) == 0)
            return text + strlen(prefixes[i]);
    return text;
}

static const char *behind(const char *text, const char *prefix)
{
    return strncasecmp(text, prefix, strlen(prefix)) == 0 ? text + strlen(prefix) : NULL;
}

struct err *step_gpu_bind_read(const char *text, struct step_bind *ret)
{
    const char *kind = behind_prefix(text);
    struct step_bind b = {0};
    const char *rest;
    bool is_right = false;

    if (strcasecmp(kind, "none") == 0 || strcasecmp(kind, "closest") == 0 ||
        strcasecmp(kind, "verbose") == 0)
        is_right = true;
    else if ((rest = behind(kind, "single:")))
        is_right = read_count(rest, STEP_BIND_SINGLE, &b);
    else if ((rest = behind(kind, "per_task:")))
        is_right = read_count(rest, STEP_BIND_PER_TASK, &b);
    else if ((rest = behind(kind, "map_gpu:")) || (rest = behind(kind, "map:")))
        is_right = read_list(rest, false, &b);
    else if ((rest = behind(kind, "mask_gpu:")) || (rest = behind(kind, "mask:")))
        is_right = read_list(rest, true, &b);
    if (!is_right) {
        step_bind_done(&b);
        return bind_wrong("gpu-bind", text);
    }
    *ret = b;
    return NULL;
}

struct err *step_cpu_bind_read(const char *text, struct step_bind *ret, bool *ret_has_effect)
{
    static const char *const others[] = {"quiet",   "verbose",   "q",       "v",
                                         "rank",    "rank_ldom", "sockets", "cores",
                                         "threads", "ldoms",     "boards"};
    const char *kind = behind_prefix(text);
    struct step_bind b = {0};
    const char *rest;
    bool is_right = strcasecmp(kind, "none") == 0 || strcasecmp(kind, "no") == 0;

    *ret_has_effect = true;
    if ((rest = behind(kind, "map_cpu:")))
        is_right = read_list(rest, false, &b);
    else if ((rest = behind(kind, "mask_cpu:")))
        is_right = read_list(rest, true, &b);
    else if (behind(kind, "map_ldom:") || behind(kind, "mask_ldom:"))
        *ret_has_effect = false;
    for (size_t i = 0; i < COUNT(others); i++)
        if (strcasecmp(kind, others[i]) == 0)
            *ret_has_effect = false;
    if (!is_right && *ret_has_effect) {
        step_bind_done(&b);
        return bind_wrong("cpu-bind", text);
    }
    *ret = b;
    return NULL;
}

void step_bind_done(struct step_bind *b)
{
    vec_done(&b->list);
    *b = (struct step_bind){0};
}

static void add_place(const struct step_numbers *gpus, uint64_t place, struct step_numbers *ret)
{
    if (place < gpus->n)
        vec_add(ret, gpus->at[place]);
}

void step_bind_gpus(const struct step_bind *b, size_t local, const struct step_numbers *gpus,
                    struct step_numbers *ret)
{
    size_t n = gpus->n;
    uint64_t entry = b->list.n > 0 ? b->list.at[local % b->list.n] : 0;

    if (n == 0)
        return;
    switch (b->kind) {
    case STEP_BIND_NONE:
        for (size_t i = 0; i < n; i++)
            add_place(gpus, i, ret);
        return;
    case STEP_BIND_SINGLE:
        add_place(gpus, local / (size_t)b->count % n, ret);
        return;
    case STEP_BIND_PER_TASK:
        for (size_t i = 0; i < (size_t)b->count && i < n; i++)
            add_place(gpus, (local * (size_t)b->count + i) % n, ret);
        return;
    case STEP_BIND_MAP:
        add_place(gpus, entry, ret);
        return;
    case STEP_BIND_MASK:
        for (uint64_t i = 0; i < MASK_BITS; i++)
            if (entry >> i & 1)
                add_place(gpus, i, ret);
        return;
    }
}

void step_bind_cpus(const struct step_bind *b, size_t local, struct step_numbers *ret)
{
    uint64_t entry = b->list.n > 0 ? b->list.at[local % b->list.n] : 0;

    if (b->kind == STEP_BIND_MAP)
        vec_add(ret, (int64_t)entry);
    for (uint64_t i = 0; b->kind == STEP_BIND_MASK && i < MASK_BITS; i++)
        if (entry >> i & 1)
            vec_add(ret, (int64_t)i);
}
