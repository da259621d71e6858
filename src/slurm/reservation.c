/* reservation.c - the words and the records of reservations */

#include "slurm/reservation.h"

#include <inttypes.h>
#include <strings.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "model/hostlist.h"
#include "model/slurm_time.h"

enum {
    MINUTES_DEFAULT = 365 * 24 * 60 /* of a reservation without an end, as in Slurm */
};

/* ---- words ---- */

static void put_names(json_t *spec, const char *member, const char *value)
{
    json_t *names = json_array();
    struct str rest = str_of(value);

    while (rest.at) {
        struct str word = str_cut(&rest, ',');
        AUTO_FREE char *name = mem_strndup(word.at, word.size);

        if (*name)
            (void)json_array_append_new(names, json_text_new(name));
    }
    json_put(spec, member, names);
}

static struct err *put_hosts(json_t *spec, const char *value)
{
    AUTO(hostlist_done) struct hostlist names = {0};
    json_t *list = json_array();
    struct err *e = hostlist_parse(str_of(value), HOSTLIST_MAX, &names);

    VEC_EACH (&names.names, name)
        (void)json_array_append_new(list, json_text_new(*name));
    json_put(spec, "nodes", list);
    return e;
}

/* "gres/gpu=4" */
static struct err *put_gpus(json_t *spec, const char *value)
{
    static const char prefix[] = "gres/gpu=";
    int64_t n = 0;

    if (strncasecmp(value, prefix, strlen(prefix)) != 0)
        return err_new(ERR_INVALID, "only gres/gpu=N can be reserved");
    TRY(num_parse_int64(str_of(value + strlen(prefix)), 1, INT32_MAX, &n));
    json_put_int(spec, "gpus", n);
    return NULL;
}

static struct err *put_flags(json_t *spec, const char *value)
{
    struct str rest = str_of(value);

    while (rest.at) {
        struct str word = str_cut(&rest, ',');

        if (word.size == 5 && strncasecmp(word.at, "MAINT", 5) == 0)
            json_put_bool(spec, "maintenance", true);
        else if (!(word.size == 10 && strncasecmp(word.at, "SPEC_NODES", 10) == 0))
            return err_new(ERR_INVALID, "want MAINT or SPEC_NODES");
    }
    return NULL;
}

static struct err *put_moment(json_t *spec, const char *member, const char *value,
                              const struct slurm_view *view)
{
    char stamp[STAMP_TEXT_SIZE];
    int64_t at_s = 0;

    TRY(slurm_moment_parse(str_of(value), view->now_s, view->zone, true, &at_s));
    stamp_format(at_s * NS_PER_SEC, stamp);
    json_put_text(spec, member, stamp);
    return NULL;
}

static struct err *reservation_put(json_t *spec, const struct slurm_update *u,
                                   const struct slurm_view *view, int64_t *minutes)
{
    if (strcasecmp(u->key, "StartTime") == 0)
        return put_moment(spec, "startTime", u->value, view);
    if (strcasecmp(u->key, "EndTime") == 0)
        return put_moment(spec, "endTime", u->value, view);
    if (strcasecmp(u->key, "Duration") == 0)
        return slurm_minutes_parse(str_of(u->value), minutes);
    if (strcasecmp(u->key, "Nodes") == 0)
        return put_hosts(spec, u->value);
    if (strcasecmp(u->key, "TRES") == 0)
        return put_gpus(spec, u->value);
    if (strcasecmp(u->key, "Flags") == 0)
        return put_flags(spec, u->value);
    if (strcasecmp(u->key, "Users") == 0)
        put_names(spec, "users", u->value);
    else if (strcasecmp(u->key, "Accounts") == 0)
        put_names(spec, "queues", u->value);
    else
        return err_new(ERR_BAD_REQUEST,
                       "Update of this parameter is not supported: %s=%s\nRequest aborted", u->key,
                       u->value);
    return NULL;
}

/* Sets the end that follows from the start and a duration. */
static struct err *put_end(json_t *spec, int64_t minutes)
{
    const char *start = json_text(spec, "startTime");
    char stamp[STAMP_TEXT_SIZE];
    int64_t start_ns = 0;

    if (!start)
        return err_new(ERR_INVALID, "A start time must be given");
    if (minutes == 0 && json_text(spec, "endTime"))
        return NULL;
    TRY(stamp_parse(str_of(start), &start_ns));
    if (minutes <= 0)
        minutes = MINUTES_DEFAULT;
    stamp_format(start_ns + minutes * 60 * NS_PER_SEC, stamp);
    json_put_text(spec, "endTime", stamp);
    return NULL;
}

struct err *slurm_reservation_spec(const json_t *spec, const struct slurm_update *updates, size_t n,
                                   const struct slurm_view *view, json_t **ret)
{
    AUTO(json_freep) json_t *made = spec ? json_deep_copy(spec) : json_object();
    int64_t minutes = 0;

    for (size_t i = 0; i < n; i++) {
        struct err *e = reservation_put(made, &updates[i], view, &minutes);

        if (e && err_code(e) == ERR_INVALID)
            return err_wrap(e, "Invalid input: %s=%s", updates[i].key, updates[i].value);
        TRY(e);
    }
    TRY(put_end(made, minutes));
    if (json_bool(made, "maintenance", false)) { /* nobody runs in it */
        (void)json_object_del(made, "users");
        (void)json_object_del(made, "queues");
    }
    *ret = TAKE(made);
    return NULL;
}

/* ---- records ---- */

static int64_t seconds_of(const json_t *spec, const char *key)
{
    return stamp_or(json_text(spec, key), 0) / NS_PER_SEC;
}

/* Names with commas; "(null)": none. */
static void add_names(struct buf *out, const char *key, const json_t *names)
{
    buf_printf(out, "%s=", key);
    for (size_t i = 0; i < json_array_size(names); i++)
        buf_printf(out, "%s%s", i > 0 ? "," : "",
                   text_or_empty(json_string_value(json_array_get(names, i))));
    if (json_array_size(names) == 0)
        buf_add_text(out, "(null)");
}

char *slurm_reservation_hosts(const json_t *object, size_t *ret_n)
{
    const json_t *nodes = json_at(object, "spec", "nodes", NULL);
    AUTO(hostlist_done) struct hostlist names = {0};

    if (json_array_size(nodes) == 0)
        nodes = json_at(object, "status", "nodes", NULL);
    for (size_t i = 0; i < json_array_size(nodes); i++)
        hostlist_add(&names, text_or_empty(json_string_value(json_array_get(nodes, i))));
    hostlist_sort(&names);
    *ret_n = names.names.n;
    return hostlist_format(&names);
}

static void add_hosts(struct buf *out, const json_t *object)
{
    size_t n = 0;
    AUTO_FREE char *text = slurm_reservation_hosts(object, &n);

    buf_printf(out, "Nodes=%s NodeCnt=%zu", *text ? text : "(null)", n);
}

void slurm_show_reservation(const struct slurm_show *s, const json_t *object, struct buf *out)
{
    const json_t *spec = json_object_get(object, "spec");
    const char *line = s->is_one_line ? " " : "\n   ";
    const char *phase = json_text_at(object, "status", "phase", NULL);
    int64_t gpus = json_int(spec, "gpus", json_int_at(object, "status", "gpus", NULL));
    char start[SLURM_TIME_TEXT_SIZE];
    char end[SLURM_TIME_TEXT_SIZE];
    char duration[SLURM_TIME_TEXT_SIZE];

    slurm_stamp_format(seconds_of(spec, "startTime"), s->view->zone, "Unknown", start);
    slurm_stamp_format(seconds_of(spec, "endTime"), s->view->zone, "Unknown", end);
    slurm_elapsed_format(seconds_of(spec, "endTime") - seconds_of(spec, "startTime"), duration);
    buf_printf(out, "ReservationName=%s StartTime=%s EndTime=%s Duration=%s%s",
               text_or_empty(json_text_at(object, "metadata", "name", NULL)), start, end, duration,
               line);
    add_hosts(out, object);
    buf_printf(out, " CoreCnt=(null) Features=(null) PartitionName=(null) Flags=%s%s%s",
               json_bool(spec, "maintenance", false) ? "MAINT," : "",
               json_object_get(spec, "nodes") ? "SPEC_NODES" : "", line);
    if (gpus > 0)
        buf_printf(out, "TRES=gres/gpu=%" PRId64 "%s", gpus, line);
    else
        buf_printf(out, "TRES=(null)%s", line);
    add_names(out, "Users", json_object_get(spec, "users"));
    buf_add_text(out, " Groups=(null) ");
    add_names(out, "Accounts", json_object_get(spec, "queues"));
    buf_printf(out, " Licenses=(null) State=%s BurstBuffer=(null)%sMaxStartDelay=(null)\n%s",
               text_equal(phase, "active") ? "ACTIVE" : "INACTIVE", line,
               s->is_one_line ? "" : "\n");
}
