/* submit_values.c - reads the values of the options of submissions into the spec of a SlurmJob */

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "kinds/slurm/slurm_job.h"
#include "model/hostlist.h"
#include "model/slurm_amount.h"
#include "model/slurm_array.h"
#include "model/slurm_time.h"
#include "slurm/signals.h"
#include "slurm/submit_options.h"

enum {
    COUNT_LARGEST = 1 << 20,
    FILE_MAX_BYTES = 1 << 20,
    SIGNAL_SECONDS = 60,
    NICE_GIVEN = 100,
    NICE_LARGEST = 2147483645
};

void submit_warn(struct slurm_submit *s, const struct submit_option *o, const char *reason)
{
    vec_add(&s->warnings, mem_format("--%s: %s", o->name, reason));
}

static struct err *invalid_option(const struct submit_option *o)
{
    return err_new(ERR_BAD_REQUEST, "Invalid --%s specification", o->name);
}

static struct err *read_number(const struct submit_option *o, const char *value, int64_t least,
                               int64_t *ret)
{
    AUTO(err_freep)
    struct err *e = num_parse_int64(str_of(text_or_empty(value)), least, COUNT_LARGEST, ret);

    if (e)
        return err_new(ERR_INVALID, "Invalid numeric value \"%s\" for --%s.", text_or_empty(value),
                       o->name);
    return NULL;
}

struct err *submit_text(struct slurm_submit *s, const struct submit_option *o, const char *value)
{
    json_put_text(s->spec, o->key, value);
    return NULL;
}

struct err *submit_count(struct slurm_submit *s, const struct submit_option *o, const char *value)
{
    int64_t n = 0;

    TRY(read_number(o, value, 1, &n));
    json_put_int(s->spec, o->key, n);
    return NULL;
}

struct err *submit_memory(struct slurm_submit *s, const struct submit_option *o, const char *value)
{
    static const char *const keys[] = {"memoryPerNode", "memoryPerCpu", "memoryPerGpu"};
    AUTO_FREE char *quantity = NULL;
    int64_t mib = 0;
    AUTO(err_freep) struct err *e = slurm_memory_parse(str_of(value), &mib);

    if (e)
        return invalid_option(o);
    if (s->memory_key && s->memory_level == s->level && !text_equal(s->memory_key, o->key))
        return err_new(ERR_INVALID,
                       "--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.");
    for (size_t i = 0; i < COUNT(keys); i++)
        (void)json_object_del(s->spec, keys[i]); /* fails where the member is absent */
    quantity = mem_format("%" PRId64 "%s", mib, mib > 0 ? "Mi" : "");
    json_put_text(s->spec, o->key, quantity);
    s->memory_key = o->key;
    s->memory_level = s->level;
    return NULL;
}

struct err *submit_tmp(struct slurm_submit *s, const struct submit_option *o, const char *value)
{
    AUTO_FREE char *quantity = NULL;
    int64_t mib = 0;
    AUTO(err_freep) struct err *e = slurm_memory_parse(str_of(value), &mib);

    if (e)
        return invalid_option(o);
    quantity = mem_format("%" PRId64 "Mi", mib);
    json_put_text(s->spec, o->key, mib > 0 ? quantity : NULL);
    return NULL;
}

/* A time limit; 0 and UNLIMITED: none. */
struct err *submit_time(struct slurm_submit *s, const struct submit_option *o, const char *value)
{
    int64_t minutes = 0;
    AUTO(err_freep) struct err *e = slurm_minutes_parse(str_of(value), &minutes);

    if (e)
        return invalid_option(o);
    json_put_int(s->spec, o->key, minutes > 0 ? minutes : 0);
    return NULL;
}

struct err *submit_moment(struct slurm_submit *s, const struct submit_option *o, const char *value)
{
    char stamp[STAMP_TEXT_SIZE];
    int64_t at_s = 0;
    AUTO(err_freep)
    struct err *e = slurm_moment_parse(str_of(value), s->now_s, s->zone, true, &at_s);

    if (e)
        return invalid_option(o);
    stamp_format(at_s * NS_PER_SEC, stamp);
    json_put_text(s->spec, o->key, stamp);
    return NULL;
}

struct err *submit_on(struct slurm_submit *s, const struct submit_option *o, const char *value)
{
    (void)value;
    json_put_bool(s->spec, o->key, true);
    return NULL;
}

/* "off": a lost node ends the job. */
struct err *submit_no_kill(struct slurm_submit *s, const struct submit_option *o, const char *value)
{
    json_put_bool(s->spec, o->key, !text_equal(value, "off"));
    return NULL;
}

struct err *submit_off(struct slurm_submit *s, const struct submit_option *o, const char *value)
{
    (void)value;
    json_put_bool(s->spec, o->key, false);
    return NULL;
}

static struct err *put_gres(struct slurm_submit *s, const struct submit_option *o,
                            const char *value, const char *name)
{
    AUTO(slurm_gres_list_done) struct slurm_gres_list list = {0};
    AUTO(err_freep) struct err *e = slurm_gres_parse(str_of(value), name, &list);

    if (e)
        return err_new(ERR_INVALID, "Invalid generic resource (gres) specification");
    json_put_text(s->spec, o->key, list.items.n > 0 ? value : NULL);
    return NULL;
}

struct err *submit_gres(struct slurm_submit *s, const struct submit_option *o, const char *value)
{
    return put_gres(s, o, value, NULL);
}

struct err *submit_gpus(struct slurm_submit *s, const struct submit_option *o, const char *value)
{
    return put_gres(s, o, value, "gpu");
}

struct err *submit_hosts(struct slurm_submit *s, const struct submit_option *o, const char *value)
{
    AUTO(hostlist_done) struct hostlist hosts = {0};
    AUTO(err_freep) struct err *e = hostlist_parse(str_of(value), HOSTLIST_MAX, &hosts);

    if (e)
        return err_new(ERR_INVALID, "Invalid node name specified: %s", value);
    json_put_text(s->spec, o->key, value);
    return NULL;
}

/* "-F FILE": host lists, with commas or on lines of their own. */
struct err *submit_nodefile(struct slurm_submit *s, const struct submit_option *o,
                            const char *value)
{
    AUTO(buf_done) struct buf text = {.cap = FILE_MAX_BYTES};
    AUTO(hostlist_done) struct hostlist hosts = {0};
    AUTO_FREE char *names = NULL;
    struct err *e = s->read_file ? s->read_file(value, FILE_MAX_BYTES, &text)
                                 : err_new(ERR_INVALID, "files are read by the commands alone");

    if (e)
        return err_wrap(e, "--%s", o->name);
    for (size_t i = 0; i < text.size; i++)
        if (text.at[i] == '\n' || text.at[i] == '\r' || text.at[i] == '\0')
            text.at[i] = ' ';
    e = hostlist_parse((struct str){text.at, text.size}, HOSTLIST_MAX, &hosts);
    if (e)
        return err_wrap(e, "--%s=%s", o->name, value);
    if (hosts.names.n == 0)
        return err_new(ERR_INVALID, "--%s=%s: the file names no node", o->name, value);
    hostlist_sort(&hosts);
    names = hostlist_format(&hosts);
    json_put_text(s->spec, o->key, names);
    return NULL;
}

/* Variables NAME=VALUE, each with a byte 0 behind it, in a file. */
struct err *submit_export_file(struct slurm_submit *s, const struct submit_option *o,
                               const char *value)
{
    AUTO(buf_done) struct buf text = {.cap = FILE_MAX_BYTES};
    struct err *e = s->read_file ? s->read_file(value, FILE_MAX_BYTES, &text)
                                 : err_new(ERR_INVALID, "files are read by the commands alone");

    if (e)
        return err_wrap(e, "--%s", o->name);
    buf_done(&s->variables);
    s->variables = (struct buf){.cap = FILE_MAX_BYTES + 1};
    buf_add(&s->variables, text.at, text.size);
    if (text.size > 0 && text.at[text.size - 1] != '\0')
        buf_add_char(&s->variables, '\0');
    return NULL;
}

/* "N[@TIME]" */
struct err *slurm_switches_read(struct str text, json_t *spec)
{
    struct str time = text;
    struct str number = str_cut(&time, '@');
    int64_t wait_s = SLURM_SWITCH_WAIT_S;
    int64_t n = 0;

    TRY(num_parse_int64(number, 0, COUNT_LARGEST, &n));
    if (time.at)
        TRY(slurm_seconds_parse(time, &wait_s));
    if (wait_s < 0 || wait_s > SLURM_SWITCH_WAIT_S)
        wait_s = SLURM_SWITCH_WAIT_S;
    json_put_int(spec, "switches", n);
    json_put_int(spec, "switchesWait", wait_s);
    return NULL;
}

struct err *submit_switches(struct slurm_submit *s, const struct submit_option *o,
                            const char *value)
{
    AUTO(err_freep) struct err *e = slurm_switches_read(str_of(value), s->spec);

    return e ? invalid_option(o) : NULL;
}

struct err *submit_array(struct slurm_submit *s, const struct submit_option *o, const char *value)
{
    AUTO(slurm_array_done) struct slurm_array array = {0};
    AUTO_FREE char *indexes = NULL;
    AUTO(err_freep) struct err *e = slurm_array_parse(str_of(value), INDEX_SET_MAX, &array);
    json_t *to;

    if (e)
        return err_new(ERR_INVALID, "Batch job submission failed: Invalid job array specification");
    indexes = index_set_format(&array.indexes);
    json_put(s->spec, o->key, json_object());
    to = json_object_at(s->spec, o->key);
    json_put_text(to, "indexes", indexes);
    if (array.limit > 0)
        json_put_int(to, "limit", array.limit);
    if (array.step > 1)
        json_put_int(to, "step", array.step);
    return NULL;
}

/* A number of nodes, in 1024 with a k, in 1024 × 1024 with an m. */
static struct err *read_nodes(struct str text, int64_t *ret)
{
    int64_t unit = 1;

    if (text.size > 1 && strchr("kKmM", text.at[text.size - 1])) {
        unit = (text.at[text.size - 1] | 0x20) == 'k' ? 1024 : 1024 * 1024;
        text.size--;
    }
    TRY(num_parse_int64(text, 0, COUNT_LARGEST / unit, ret));
    *ret *= unit;
    return NULL;
}

/* "N" or "N-M"; an M of 0 is any number. */
struct err *submit_nodes(struct slurm_submit *s, const struct submit_option *o, const char *value)
{
    struct str most = str_of(value);
    struct str least = str_cut(&most, '-');
    int64_t first = 0;
    int64_t last = 0;
    AUTO(err_freep) struct err *e = read_nodes(least, &first);

    (void)o;
    last = first;
    if (!e && most.at)
        e = read_nodes(most, &last);
    if (e)
        return err_new(ERR_BAD_REQUEST, "\"%s\" is not a valid node count\ninvalid node count '%s'",
                       value, value);
    if (last > 0 && last < first)
        return err_new(ERR_BAD_REQUEST,
                       "Maximum node count %" PRId64 " is less than minimum node count %" PRId64,
                       last, first);
    json_put_int(s->spec, "nodesMin", first);
    json_put_int(s->spec, "nodesMax", last);
    return NULL;
}

struct err *submit_exclusive(struct slurm_submit *s, const struct submit_option *o,
                             const char *value)
{
    if (!value || !*value || text_equal(value, "exclusive")) {
        json_put_bool(s->spec, o->key, true);
        return NULL;
    }
    if (text_equal(value, "user") || text_equal(value, "mcs") || text_equal(value, "topo"))
        return err_new(ERR_INVALID,
                       "--exclusive=%s is not available yet: nodes are shared by "
                       "users; --exclusive alone gives whole nodes",
                       value);
    return invalid_option(o);
}

/* "[R|B:]SIG[@SECONDS]" */
struct err *submit_signal(struct slurm_submit *s, const struct submit_option *o, const char *value)
{
    struct str rest = str_of(value);
    struct str seconds;
    struct str flags = {0};
    int64_t before = SIGNAL_SECONDS;
    AUTO(err_freep) struct err *e = NULL;
    json_t *to;
    int number;

    if (memchr(value, ':', rest.size))
        flags = str_cut(&rest, ':');
    seconds = rest;
    number = slurm_signal_number(str_cut(&seconds, '@'));
    if (seconds.at)
        e = num_parse_int64(seconds, 0, UINT16_MAX, &before);
    for (size_t i = 0; i < flags.size; i++)
        if (!strchr("RBrb", flags.at[i]))
            number = 0;
    if (e || number == 0)
        return invalid_option(o);
    json_put(s->spec, o->key, json_object());
    to = json_object_at(s->spec, o->key);
    json_put_int(to, "number", number);
    json_put_int(to, "secondsBefore", before);
    if (flags.at && (memchr(flags.at, 'B', flags.size) || memchr(flags.at, 'b', flags.size)))
        json_put_bool(to, "batch", true);
    return NULL;
}

struct err *submit_nice(struct slurm_submit *s, const struct submit_option *o, const char *value)
{
    int64_t nice = NICE_GIVEN;
    AUTO(err_freep) struct err *e = NULL;

    if (value && *value)
        e = num_parse_int64(str_of(value), -NICE_LARGEST, NICE_LARGEST, &nice);
    if (e)
        return err_new(ERR_INVALID, "Invalid nice value, must be between %d and %d", -NICE_LARGEST,
                       NICE_LARGEST);
    json_put_int(s->spec, o->key, nice);
    return NULL;
}

struct err *submit_chdir(struct slurm_submit *s, const struct submit_option *o, const char *value)
{
    AUTO_FREE char *path =
        *value == '/' ? mem_strdup(value) : mem_format("%s/%s", text_or_empty(s->cwd), value);

    json_put_text(s->spec, o->key, path);
    return NULL;
}

struct err *submit_open_mode(struct slurm_submit *s, const struct submit_option *o,
                             const char *value)
{
    bool is_append = strcasecmp(value, "a") == 0 || strcasecmp(value, "append") == 0;
    bool is_truncate = strcasecmp(value, "t") == 0 || strcasecmp(value, "truncate") == 0;

    if (!is_append && !is_truncate)
        return invalid_option(o);
    json_put_text(s->spec, o->key, is_append ? "append" : "truncate");
    return NULL;
}

/* Mail is not sent: valid types give a warning. */
struct err *submit_mail_type(struct slurm_submit *s, const struct submit_option *o,
                             const char *value)
{
    static const char *const types[] = {
        "NONE",          "BEGIN",         "END",          "FAIL",           "REQUEUE",
        "ALL",           "TIME_LIMIT",    "ARRAY_TASKS",  "INVALID_DEPEND", "STAGE_OUT",
        "TIME_LIMIT_90", "TIME_LIMIT_80", "TIME_LIMIT_50"};
    const size_t n_sent = 9; /* those behind are never sent */
    struct str rest = str_of(value);
    struct buf list = {0};
    AUTO_FREE char *text = NULL;

    while (rest.at) {
        struct str type = str_cut(&rest, ',');
        size_t i = 0;

        while (i < COUNT(types) &&
               (type.size != strlen(types[i]) || strncasecmp(type.at, types[i], type.size) != 0))
            i++;
        if (i == COUNT(types)) {
            buf_done(&list);
            return invalid_option(o);
        }
        if (i >= n_sent)
            submit_warn(s, o, "no mail is sent for STAGE_OUT and parts of the time limit");
        else if (i > 0)
            buf_printf(&list, "%s%s", list.size > 0 ? "," : "", types[i]);
    }
    text = buf_steal(&list);
    json_put_text(s->spec, o->key, *text ? text : NULL);
    return NULL;
}

struct err *submit_hold(struct slurm_submit *s, const struct submit_option *o, const char *value)
{
    (void)value;
    json_put_text(s->spec, o->key, "user");
    return NULL;
}

struct err *submit_kill_on_invalid(struct slurm_submit *s, const struct submit_option *o,
                                   const char *value)
{
    if (strcasecmp(value, "yes") != 0 && strcasecmp(value, "no") != 0)
        return invalid_option(o);
    json_put_bool(s->spec, o->key, strcasecmp(value, "yes") == 0);
    return NULL;
}

/* The members of `container`; the key names the member. */
struct err *submit_container(struct slurm_submit *s, const struct submit_option *o,
                             const char *value)
{
    json_t *to = json_object_at(s->spec, "container");

    if (o->takes == SLURM_TAKES_NOTHING)
        json_put_bool(to, o->key, true);
    else
        json_put_text(to, o->key, value);
    return NULL;
}

/* "cpu=N", "gres/gpu:N" and "gres/gpu:TYPE:N", with commas. */
struct err *submit_tres_per_task(struct slurm_submit *s, const struct submit_option *o,
                                 const char *value)
{
    struct str rest = str_of(value);

    while (rest.at) {
        struct str item = str_cut(&rest, ',');
        AUTO_FREE char *text = mem_strndup(item.at, item.size);
        struct submit_option cpus = {.name = o->name, .key = "cpusPerTask"};
        struct submit_option gpus = {.name = o->name, .key = "gpusPerTask"};

        if (text_starts_with(text, "cpu=") || text_starts_with(text, "cpu:"))
            TRY(submit_count(s, &cpus, text + 4));
        else if (text_starts_with(text, "gres/gpu:") || text_starts_with(text, "gres/gpu="))
            TRY(submit_gpus(s, &gpus, text + 9));
        else
            return err_new(ERR_INVALID, "Invalid Trackable RESource (TRES) specification");
    }
    return NULL;
}

/* ---- options of steps ---- */

static json_t *submit_step(struct slurm_submit *s)
{
    if (!s->step)
        s->step = json_object();
    return s->step;
}

struct err *submit_step_text(struct slurm_submit *s, const struct submit_option *o,
                             const char *value)
{
    json_put_text(submit_step(s), o->key, text_or_empty(value));
    return NULL;
}

/* A switch, also as a variable: "0" and "no" are off. */
struct err *submit_step_on(struct slurm_submit *s, const struct submit_option *o, const char *value)
{
    json_put_bool(submit_step(s), o->key,
                  !value || (!text_equal(value, "0") && strcasecmp(value, "no") != 0));
    return NULL;
}

struct err *submit_step_seconds(struct slurm_submit *s, const struct submit_option *o,
                                const char *value)
{
    int64_t n = 1;

    if (value && *value)
        TRY(read_number(o, value, 0, &n));
    json_put_int(submit_step(s), o->key, n);
    return NULL;
}
