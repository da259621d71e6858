/* strigger.c - the words of strigger, the jobs that it makes, and its table */

#include "slurm/strigger.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/num.h"
#include "kinds/slurm/slurm_job.h"
#include "model/hostlist.h"

#define NO  SLURM_TAKES_NOTHING
#define YES SLURM_TAKES_VALUE
#define MAY SLURM_TAKES_OPTIONAL

const struct slurm_option strigger_options[] = {
    {"backup_slurmctld_assumed_control", NULL, 'C', NO},
    {"backup_slurmctld_failure", NULL, 'B', NO},
    {"backup_slurmctld_resumed_operation", NULL, 'c', NO},
    {"burst_buffer", NULL, 0, NO},
    {"clear", NULL, 0, NO},
    {"cluster", NULL, 'M', YES},
    {"clusters", "cluster", 0, YES},
    {"down", NULL, 'd', NO},
    {"drained", NULL, 'D', NO},
    {"fail", NULL, 'F', NO},
    {"fini", NULL, 'f', NO},
    {"flags", NULL, 0, YES},
    {"front_end", NULL, 0, NO},
    {"get", NULL, 0, NO},
    {"help", NULL, 0, NO},
    {"id", NULL, 'i', YES},
    {"idle", NULL, 'I', NO},
    {"jobid", NULL, 'j', YES},
    {"node", NULL, 'n', MAY},
    {"noheader", NULL, 'N', NO},
    {"offset", NULL, 'o', YES},
    {"primary_database_failure", NULL, 'h', NO},
    {"primary_database_resumed_operation", NULL, 'H', NO},
    {"primary_slurmctld_acct_buffer_full", NULL, 'e', NO},
    {"primary_slurmctld_failure", NULL, 'a', NO},
    {"primary_slurmctld_resumed_control", NULL, 'b', NO},
    {"primary_slurmctld_resumed_operation", NULL, 'A', NO},
    {"primary_slurmdbd_failure", NULL, 'g', NO},
    {"primary_slurmdbd_resumed_operation", NULL, 'G', NO},
    {"program", NULL, 'p', YES},
    {"quiet", NULL, 'Q', NO},
    {"reconfig", NULL, 'r', NO},
    {"set", NULL, 0, NO},
    {"time", NULL, 't', NO},
    {"up", NULL, 'u', NO},
    {"usage", NULL, 0, NO},
    {"user", NULL, 0, YES},
    {"verbose", NULL, 'v', NO},
    {"version", NULL, 'V', NO},
    {0},
};

const char strigger_help[] =
    "Usage: strigger --set --jobid=JOB --fini|--time [--offset=SECONDS] --program=PATH\n"
    "       strigger --set [--node[=HOSTS]] --down|--up --program=PATH\n"
    "       strigger --get|--clear [--id=N] [--jobid=JOB] [--user=USER] [--noheader]\n";

/* ---- words ---- */

/* Events that Mete does not have. */
static struct err *refuse_events(const struct slurm_words *words)
{
    static const char *const absent[] = {"backup_slurmctld_assumed_control",
                                         "backup_slurmctld_failure",
                                         "backup_slurmctld_resumed_operation",
                                         "burst_buffer",
                                         "cluster",
                                         "drained",
                                         "fail",
                                         "flags",
                                         "front_end",
                                         "idle",
                                         "primary_database_failure",
                                         "primary_database_resumed_operation",
                                         "primary_slurmctld_acct_buffer_full",
                                         "primary_slurmctld_failure",
                                         "primary_slurmctld_resumed_control",
                                         "primary_slurmctld_resumed_operation",
                                         "primary_slurmdbd_failure",
                                         "primary_slurmdbd_resumed_operation",
                                         "reconfig"};

    for (size_t i = 0; i < COUNT(absent); i++)
        if (slurm_words_has(words, absent[i]))
            return err_new(ERR_INVALID,
                           "--%s is not available: want one of --fini, --time, --down, --up",
                           absent[i]);
    return NULL;
}

static struct err *read_number(const struct slurm_words *words, const char *option, int64_t *ret)
{
    const char *text = slurm_words_value(words, option);
    AUTO(err_freep)
    struct err *e = text ? num_parse_int64(str_of(text), 1, UINT32_MAX, ret) : NULL;

    return e ? err_new(ERR_INVALID, "Invalid %s %s", option, text) : NULL;
}

static struct err *read_event(const struct slurm_words *words, struct strigger *t)
{
    static const char *const events[] = {"fini", "time", "down", "up"};

    TRY(refuse_events(words));
    for (size_t i = 0; i < COUNT(events); i++) {
        if (!slurm_words_has(words, events[i]))
            continue;
        if (t->event)
            return err_new(ERR_INVALID, "--%s with --%s is not available: want one event", t->event,
                           events[i]);
        t->event = events[i];
    }
    if (!t->event && t->action == STRIGGER_SET)
        return err_new(ERR_INVALID, "You must specify a trigger (--down, --up, --time, --fini)");
    return NULL;
}

static struct err *read_program(const struct slurm_words *words, struct strigger *t)
{
    t->program = slurm_words_value(words, "program");
    if (!t->program || !*t->program)
        return err_new(ERR_INVALID, "You must specify a --program value");
    if (*t->program != '/')
        return err_new(ERR_INVALID, "The --program value must start with \"/\"");
    return strpbrk(t->program, "\n\r") ? err_new(ERR_INVALID, "Invalid --program value") : NULL;
}

static struct err *read_offset(const struct slurm_words *words, struct strigger *t)
{
    const char *text = slurm_words_value(words, "offset");
    AUTO(err_freep)
    struct err *e = text ? num_parse_int64(str_of(text), -SLURM_TRIGGER_OFFSET_MAX,
                                           SLURM_TRIGGER_OFFSET_MAX, &t->offset_s)
                         : NULL;

    return e ? err_new(ERR_INVALID, "The --offset parameter must be between +/-%d",
                       SLURM_TRIGGER_OFFSET_MAX)
             : NULL;
}

static struct err *read_nodes(const struct slurm_words *words, struct strigger *t)
{
    const char *nodes = slurm_words_value(words, "node");
    AUTO(hostlist_done) struct hostlist names = {0};
    AUTO(err_freep) struct err *e = NULL;

    t->nodes = nodes && *nodes ? nodes : "*";
    if (t->offset_s != 0)
        return err_new(ERR_INVALID, "--offset with --%s is not available", t->event);
    if (t->job > 0)
        return err_new(ERR_INVALID, "--%s with --jobid is not available: want --node", t->event);
    e = text_equal(t->nodes, "*") ? NULL : hostlist_parse(str_of(t->nodes), HOSTLIST_MAX, &names);
    return e ? err_new(ERR_INVALID, "Invalid node name specified") : NULL;
}

static struct err *read_set(const struct slurm_words *words, struct strigger *t)
{
    bool is_of_job = text_equal(t->event, "fini") || text_equal(t->event, "time");

    if (is_of_job && t->job == 0)
        return err_new(ERR_INVALID, "You must specify a --jobid value");
    TRY(read_program(words, t));
    TRY(read_offset(words, t));
    if (is_of_job && slurm_words_has(words, "node"))
        return err_new(ERR_INVALID, "--%s with --node is not available", t->event);
    return is_of_job ? NULL : read_nodes(words, t);
}

struct err *strigger_read(const struct slurm_words *words, struct strigger *ret)
{
    bool sets = slurm_words_has(words, "set");
    bool gets = slurm_words_has(words, "get");
    bool clears = slurm_words_has(words, "clear");
    struct strigger t = {.has_header = !slurm_words_has(words, "noheader"),
                         .user = slurm_words_value(words, "user"),
                         .action = sets   ? STRIGGER_SET
                                   : gets ? STRIGGER_GET
                                          : STRIGGER_CLEAR};

    if (sets + gets + clears != 1)
        return err_new(ERR_INVALID, "You must use exactly one of the following options: --set, "
                                    "--get or --clear");
    TRY(read_number(words, "jobid", &t.job));
    TRY(read_number(words, "id", &t.id));
    if (clears && t.job == 0 && t.id == 0 && !t.user)
        return err_new(ERR_INVALID, "You must specify a --id, --jobid, or --user to clear");
    TRY(read_event(words, &t));
    if (sets)
        TRY(read_set(words, &t));
    *ret = t;
    return NULL;
}

/* ---- jobs ---- */

json_t *strigger_object(const struct strigger *t)
{
    AUTO_FREE char *script = mem_format("#!/bin/sh\nexec %s \"$@\"\n", t->program);
    json_t *object = json_object();
    json_t *spec = json_object_at(object, "spec");
    json_t *trigger = json_object_at(spec, "trigger");

    json_put_text(object, "apiVersion", "mete.dev/v1");
    json_put_text(object, "kind", "SlurmJob");
    json_put_text(json_object_at(object, "metadata"), "generateName", "trigger-");
    json_put_text(spec, "name", "strigger");
    json_put_text(spec, "script", script);
    json_put_text(spec, "workDir", "/");
    json_put_text(spec, "stdin", "/dev/null");
    json_put_text(spec, "stdout", "/dev/null");
    json_put(spec, "requeue", json_false());
    (void)json_array_append_new(
        json_array_at(spec, "environment"),
        json_string("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"));
    json_put_text(trigger, "event", t->event);
    json_put_text(trigger, "program", t->program);
    if (t->job > 0)
        json_put_int(trigger, "jobId", t->job);
    else
        json_put_text(trigger, "nodes", t->nodes);
    if (t->offset_s != 0)
        json_put_int(trigger, "offsetSeconds", t->offset_s);
    return object;
}

/* ---- rows ---- */

bool strigger_wants(const struct strigger *t, const json_t *row)
{
    const json_t *trigger = json_object_get(row, "trigger");
    AUTO_FREE char *uid = mem_format("%" PRId64, json_int(row, "uid", -1));
    const char *nodes = json_text(trigger, "nodes");

    if (t->id > 0 && json_int(row, "jobId", 0) != t->id)
        return false;
    if (t->job > 0 && json_int(trigger, "jobId", 0) != t->job)
        return false;
    if (t->event && !text_equal(json_text(trigger, "event"), t->event))
        return false;
    if (t->user && !text_equal(json_text(row, "user"), t->user) && !text_equal(uid, t->user))
        return false;
    return trigger && (!t->nodes || (nodes && text_equal(nodes, t->nodes)));
}

void strigger_print(const struct strigger *t, const json_t *rows, struct buf *out)
{
    if (t->has_header && json_array_size(rows) > 0)
        buf_printf(out, "%7s %-8s %8s %-35s %6s %-8s %-5s %s\n", "TRIG_ID", "RES_TYPE", "RES_ID",
                   "TYPE", "OFFSET", "USER", "FLAGS", "PROGRAM");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const json_t *trigger = json_object_get(row, "trigger");
        const char *nodes = json_text(trigger, "nodes");
        AUTO_FREE char *job = mem_format("%" PRId64, json_int(trigger, "jobId", 0));

        buf_printf(out, "%7" PRId64 " %-8s %8s %-35s %6" PRId64 " %-8s %-5s %s\n",
                   json_int(row, "jobId", 0), nodes ? "node" : "job", nodes ? nodes : job,
                   text_or_empty(json_text(trigger, "event")),
                   json_int(trigger, "offsetSeconds", 0), text_or_empty(json_text(row, "user")), "",
                   text_or_empty(json_text(trigger, "program")));
    }
}
