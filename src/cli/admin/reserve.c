/* reserve.c - mete reserve: advance reservations for queues and users, and maintenance windows */

#include <inttypes.h>
#include <time.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "cli/commands.h"
#include "cli/job/job_flags.h"
#include "cli/job/waiting.h"
#include "cli/session.h"
#include "cli/term/output.h"
#include "model/moment.h"

/* ---- times ---- */

/* Returns the UTC offset of this machine (TZ, /etc/localtime) at a time. */
static int64_t local_zone(int64_t utc_ns)
{
    time_t seconds = (time_t)(utc_ns / NS_PER_SEC);
    struct tm local = {0};

    return localtime_r(&seconds, &local) ? local.tm_gmtoff * NS_PER_SEC : 0;
}

/* "14:30" as ns since midnight. */
static struct err *read_clock(struct str text, int64_t *ret_ns)
{
    struct str rest = text;
    struct str hours = str_cut(&rest, ':');
    int64_t hour = 0;
    int64_t minute = 0;

    TRY(num_parse_int64(hours, 0, 23, &hour));
    TRY(num_parse_int64(rest, 0, 59, &minute));
    *ret_ns = (hour * 60 + minute) * 60 * NS_PER_SEC;
    return NULL;
}

/* Reads a date (or "today") and a clock time. */
static struct err *read_day(struct str text, struct str clock, int64_t now_ns, int64_t *ret_ns)
{
    int64_t since_ns = 0;
    int64_t day_ns = 0;

    TRY(read_clock(clock, &since_ns));
    TRY(moment_parse(text, now_ns, local_zone, &day_ns));
    *ret_ns = day_ns + since_ns;
    return NULL;
}

/* Reads "+2h", "14:30" (the next one), "2026-11-22T14:30" (also with a space), and every form of
 * moment_parse. */
static struct err *read_start(const char *text, int64_t now_ns, int64_t *ret_ns)
{
    const char *clock = strpbrk(text, "T ");

    if (text[0] == '+') {
        TRY(num_parse_duration(str_of(text + 1), ret_ns));
        return __builtin_add_overflow(*ret_ns, now_ns, ret_ns)
                   ? err_new(ERR_INVALID, "duration '%s': over 292 years", text + 1)
                   : NULL;
    }
    if (clock && strlen(clock) == sizeof("T14:30") - 1)
        return read_day((struct str){text, (size_t)(clock - text)}, str_of(clock + 1), now_ns,
                        ret_ns);
    if (strlen(text) != sizeof("14:30") - 1 || text[2] != ':')
        return moment_parse(str_of(text), now_ns, local_zone, ret_ns);
    TRY(read_day(str_of("today"), str_of(text), now_ns, ret_ns));
    if (*ret_ns < now_ns)
        *ret_ns += INT64_C(86400) * NS_PER_SEC;
    return NULL;
}

static struct err *put_times(struct cli *c, json_t *spec, int64_t now_ns)
{
    const char *start = flag_text(c->in, "start");
    int64_t duration_ns = flag_duration_ns(c->in, "duration", 0);
    int64_t start_ns = now_ns;
    int64_t end_ns = 0;
    char stamp[STAMP_TEXT_SIZE];
    AUTO(err_freep) struct err *e = start ? read_start(start, now_ns, &start_ns) : NULL;

    if (e)
        return cli_usage(c, "--start: %s", err_message(e));
    if (duration_ns == 0)
        return cli_usage(c, "reserve needs --duration: 2h, 90m");
    if (__builtin_add_overflow(start_ns, duration_ns, &end_ns) || end_ns <= now_ns)
        return cli_usage(c, "the reservation would end in the past: see --start and --duration");
    stamp_format(start_ns, stamp);
    json_put_text(spec, "startTime", stamp);
    stamp_format(end_ns, stamp);
    json_put_text(spec, "endTime", stamp);
    return NULL;
}

/* ---- nodes, gpus, queues, users ---- */

static void put_names(json_t *spec, const char *key, const char *text)
{
    struct str rest = str_of(text ? text : "");

    while (rest.at && rest.size > 0) {
        struct str one = str_cut(&rest, ',');
        AUTO_FREE char *name = mem_strndup(one.at, one.size);

        if (one.size > 0)
            (void)json_array_append_new(json_array_at(spec, key), json_string(name)); /* fresh */
    }
}

static struct err *put_what(struct cli *c, json_t *spec)
{
    const char *nodes = flag_text(c->in, "nodes");
    const char *gpus = flag_text(c->in, "gpus");
    char model[JOB_MODEL_SIZE] = "";
    int64_t n = 0;

    if (!nodes == !gpus)
        return cli_usage(c, "reserve needs either --nodes A,B or --gpus N");
    put_names(spec, "nodes", nodes);
    if (!gpus)
        return NULL;
    TRY(job_gpus_parse(gpus, &n, model));
    json_put_int(spec, "gpus", n);
    if (model[0])
        put_names(spec, "gpuModels", model);
    return NULL;
}

static struct err *put_for(struct cli *c, struct session *s, json_t *spec)
{
    bool is_maintenance = flag_switch(c->in, "maintenance");
    const char *queue = NULL;
    const char *user = NULL;

    for (size_t i = 0; (queue = flag_repeated(c->in, "queue", i)); i++) {
        TRY(queue_must_exist(c, s, queue));
        put_names(spec, "queues", queue);
    }
    for (size_t i = 0; (user = flag_repeated(c->in, "user", i)); i++)
        put_names(spec, "users", user);
    if (is_maintenance)
        json_put_bool(spec, "maintenance", true);
    if (is_maintenance == (flag_repeated(c->in, "queue", 0) || flag_repeated(c->in, "user", 0)))
        return cli_usage(c, "reserve needs --queue Q, --user U or --maintenance");
    return NULL;
}

static struct err *reservation_make(struct cli *c, struct session *s, const char *name)
{
    AUTO(json_freep) json_t *object = json_object();
    AUTO(json_freep) json_t *made = NULL;
    json_t *spec = json_object_at(object, "spec");
    const struct call call = {
        .method = "POST", .path = "/apis/mete.dev/v1/reservations", .body = object};

    json_put_text(object, "apiVersion", "mete.dev/v1");
    json_put_text(object, "kind", "Reservation");
    json_put_text(json_object_at(object, "metadata"), "name", name);
    TRY(put_what(c, spec));
    TRY(put_for(c, s, spec));
    TRY(put_times(c, spec, loop_wall_ns(session_loop(s))));
    TRY(session_call(s, &call, &made));
    cli_say(c, "reservation %s: %s to %s", name, json_text(spec, "startTime"),
            json_text(spec, "endTime"));
    return NULL;
}

/* ---- ls, rm ---- */

static void join_names(struct buf *out, const json_t *list, const char *before)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        buf_printf(out, "%s%s%s", out->size > 0 ? "," : "", before,
                   json_string_value(json_array_get(list, i)));
}

static json_t *steal(struct buf *b)
{
    AUTO_FREE char *text = buf_steal(b);

    return json_text_new(text);
}

static json_t *what_of(const json_t *spec)
{
    struct buf out = {0};

    join_names(&out, json_object_get(spec, "nodes"), "");
    if (json_int(spec, "gpus", 0) > 0) {
        join_names(&out, json_object_get(spec, "gpuModels"), "");
        if (out.size > 0)
            buf_add_char(&out, ':');
        buf_printf(&out, "%" PRId64, json_int(spec, "gpus", 0));
    }
    return steal(&out);
}

static json_t *for_of(const json_t *spec)
{
    struct buf out = {0};

    if (json_bool(spec, "maintenance", false))
        return json_string("maintenance");
    join_names(&out, json_object_get(spec, "queues"), "queue ");
    join_names(&out, json_object_get(spec, "users"), "user ");
    return steal(&out);
}

static json_t *count_of(const json_t *status, const char *key)
{
    const json_t *n = json_object_get(status, key);

    return json_is_integer(n) ? json_integer(json_integer_value(n)) : json_null();
}

static void reserve_add_row(struct listing *l, json_t *object)
{
    const json_t *spec = json_object_get(object, "spec");
    const json_t *status = json_object_get(object, "status");
    struct buf nodes = {0};
    json_t *row = json_array();

    join_names(&nodes, json_object_get(status, "nodes"), "");
    json_put_text(object, "apiVersion", "mete.dev/v1");
    json_put_text(object, "kind", "Reservation");
    (void)json_array_append_new(row, json_string(json_text_at(object, "metadata", "name", NULL)));
    (void)json_array_append_new(row, json_text_new(json_text(status, "phase")));
    (void)json_array_append_new(row, json_text_new(json_text(spec, "startTime")));
    (void)json_array_append_new(row, json_text_new(json_text(spec, "endTime")));
    (void)json_array_append_new(row, what_of(spec));
    (void)json_array_append_new(row, for_of(spec));
    (void)json_array_append_new(row, count_of(status, "gpus"));
    (void)json_array_append_new(row, count_of(status, "gpusLate"));
    (void)json_array_append_new(row, steal(&nodes));
    (void)json_array_append_new(row, json_text_new(json_text(status, "message")));
    listing_add(l, row, object);
}

static struct err *reservation_list(struct cli *c, struct session *s)
{
    static const char *const names[] = {"NAME", "STATE", "START", "END",    "WHAT",
                                        "FOR",  "#GPUS", "#LATE", "!NODES", "!WHY"};
    const struct list_query q = {.path = "/apis/mete.dev/v1/reservations"};
    struct list_result result = {0};
    struct listing l;
    struct err *e = NULL;
    json_t *object;
    size_t i;

    TRY(session_list(s, &q, &result));
    listing_init(&l, "ReservationList");
    l.api_version = "mete.dev/v1";
    l.prefix = "reservation";
    for (size_t k = 0; k < COUNT(names); k++)
        listing_column(&l, names[k]);
    json_array_foreach (json_object_get(result.first, "items"), i, object)
        reserve_add_row(&l, object);
    if (json_array_size(l.objects) == 0 && output_format_of(c->in) == OUTPUT_TABLE)
        cli_say(c, "there are no reservations");
    else
        e = listing_print(c, &l);
    listing_done(&l);
    json_decref(result.first);
    return e;
}

static struct err *remove_named(struct cli *c, struct session *s)
{
    for (size_t i = 1; i < c->in->arguments.n; i++) {
        const char *name = c->in->arguments.at[i];
        AUTO_FREE char *path = path_format("/apis/mete.dev/v1/reservations/%s", name);
        const struct call call = {.method = "DELETE", .path = path};
        struct err *e = session_call(s, &call, NULL);

        if (e && err_code(e) == ERR_NOT_FOUND) {
            err_free(e);
            cli_try(c, "mete reserve ls   lists the reservations");
            return err_new(ERR_NOT_FOUND, "there is no reservation \"%s\"", name);
        }
        TRY(e);
        cli_say(c, "reservation %s removed", name);
    }
    return NULL;
}

static struct err *reserve_run(struct cli *c)
{
    AUTO(session_freep) struct session *s = NULL;
    const char *word = c->in->arguments.at[0];
    bool is_removal = text_equal(word, "rm");

    if (is_removal != (c->in->arguments.n > 1))
        return cli_usage(c, is_removal ? "reserve rm needs NAME..." : "reserve needs one NAME");
    TRY(session_open(c, &s));
    if (is_removal)
        return remove_named(c, s);
    return text_equal(word, "ls") ? reservation_list(c, s) : reservation_make(c, s, word);
}

static const struct flag reserve_flags[] = {
    {.name = "start",
     .type = FLAG_TEXT,
     .value = "TIME",
     .doc = "start: +2h, 14:30, 2026-11-22T14:30 (local time), or RFC 3339. Default: now"},
    {.name = "duration",
     .type = FLAG_DURATION,
     .value = "TIME",
     .doc = "length: 90m, 8h, 2d. Required"},
    {.name = "nodes", .type = FLAG_TEXT, .value = "A,B", .doc = "reserve these whole nodes"},
    {.name = "gpus",
     .letter = 'g',
     .type = FLAG_TEXT,
     .value = "N|MODEL:N",
     .doc = "reserve this number of GPUs, chosen at once: 4, h100:4"},
    {.name = "queue",
     .letter = 'q',
     .type = FLAG_TEXT,
     .value = "QUEUE",
     .is_repeated = true,
     .doc = "for the jobs of this queue and of the queues below it. Repeatable"},
    {.name = "user",
     .type = FLAG_TEXT,
     .value = "USER",
     .is_repeated = true,
     .doc = "for the jobs of this user. Repeatable"},
    {.name = "maintenance",
     .type = FLAG_SWITCH,
     .doc = "maintenance window: no job runs on the nodes"},
    {0},
};

static const char *const reserve_words[] = {"ls", "rm", NULL};

const struct command command_reserve = {
    .name = "reserve",
    .arguments = "NAME | ls | rm NAME...",
    .summary = "reserve nodes or GPUs in advance, for queues, users or maintenance",
    .doc =
        "Administrators create and remove reservations; all users may list them. Before the start, "
        "only jobs whose time limit ends in time start there. No job is evicted for a reservation: "
        "LATE counts GPUs whose holders may run past the start. mete run --reservation NAME runs a "
        "job only in the reservation; other jobs of its queues and users may use it, too.",
    .examples = {{"reserve demo --gpus 4 --start 14:00 --duration 2h --user ann",
                  "reserves four GPUs"},
                 {"reserve fans --nodes gpu-01 --start +1d --duration 4h --maintenance",
                  "keeps a node free of jobs for four hours tomorrow"},
                 {"reserve ls", "lists the reservations"},
                 {0}},
    .flags = reserve_flags,
    .groups = FLAGS_SERVER | FLAGS_OUTPUT,
    .words = reserve_words,
    .n_min = 1,
    .n_max = SIZE_MAX,
    .run = reserve_run,
};
