/* doctor.c - mete doctor: the checks of the server, and the table of findings */

#include "cli/admin/doctor.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "cli/admin/doctor_bundle.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "cli/term/output.h"
#include "kinds/pod/pod_state.h"

void findings_add(struct findings *f, const char *check, enum finding_state state, char *text,
                  char *fix)
{
    struct finding here = {.check = check, .state = state};

    here.text = text;
    here.fix = fix;
    vec_add(&f->list, here);
}

void findings_done(struct findings *f)
{
    for (size_t i = 0; i < f->list.n; i++) {
        free(f->list.at[i].text);
        free(f->list.at[i].fix);
    }
    vec_done(&f->list);
}

/* ---- checks of the server ---- */

static void check_nodes(struct session *s, struct findings *f)
{
    AUTO(json_freep) json_t *list = NULL;
    AUTO(err_freep) struct err *e = session_get(s, "/api/v1/nodes", &list);
    const json_t *items = json_object_get(list, "items");

    for (size_t i = 0; !e && i < json_array_size(items); i++) {
        const json_t *node = json_array_get(items, i);
        const char *name = json_text_at(node, "metadata", "name", NULL);
        const json_t *ready = object_condition(node, "Ready");
        const char *why = json_text(ready, "message");

        if (text_equal(json_text(ready, "status"), "True"))
            findings_add(f, "node", FINDING_OK, mem_format("%s is ready", name), NULL);
        else
            findings_add(f, "node", FINDING_FAIL,
                         mem_format("%s is not ready: %s", name, why ? why : "no reason given"),
                         mem_strdup("read the log of mete up on that node"));
        doctor_node_driver(node, f);
    }
}

static void check_gpus(struct session *s, struct findings *f)
{
    AUTO(json_freep) json_t *list = NULL;
    AUTO(err_freep) struct err *e = session_get(s, "/apis/mete.dev/v1/gpus", &list);

    if (!e)
        doctor_gpus(json_object_get(list, "items"), f);
}

/* A server that does not answer is a finding, not an error. */
static void check_server(struct cli *c, struct findings *f)
{
    AUTO(session_freep) struct session *s = NULL;
    AUTO(json_freep) json_t *version = NULL;
    AUTO(err_freep) struct err *e = session_open(c, &s);

    if (!e)
        e = session_get(s, "/version", &version);
    if (e) {
        findings_add(f, "server", FINDING_FAIL, mem_strdup(err_message(e)),
                     mem_strdup("mete up starts it"));
        return;
    }
    findings_add(f, "server", FINDING_OK, mem_strdup(json_text(version, "gitVersion")), NULL);
    check_nodes(s, f);
    check_gpus(s, f);
}

/* ---- the table ---- */

static const char *const states[] = {
    [FINDING_OK] = "ok",
    [FINDING_WARN] = "warning",
    [FINDING_FAIL] = "FAILED",
    [FINDING_UNKNOWN] = "unknown",
};

static void findings_list(const struct findings *f, struct listing *ret)
{
    static const char *const columns[] = {"CHECK", "STATE", "FOUND", "FIX"};

    listing_init(ret, "FindingList");
    for (size_t i = 0; i < 4; i++)
        listing_column(ret, columns[i]);
    for (size_t i = 0; i < f->list.n; i++) {
        const struct finding *one = &f->list.at[i];
        AUTO(json_freep) json_t *object = json_object();
        json_t *row = json_array();

        json_put_text(object, "check", one->check);
        json_put_text(object, "state", states[one->state]);
        json_put_text(object, "found", one->text);
        json_put(object, "fix", json_text_new(one->fix));
        (void)json_array_append_new(row, json_string(one->check));
        (void)json_array_append_new(row, json_string(states[one->state]));
        (void)json_array_append_new(row, json_string(one->text));
        (void)json_array_append_new(row, json_text_new(one->fix));
        listing_add(ret, row, object);
    }
}

/* Prints the findings, and writes the bundle if it is asked for. */
static struct err *findings_tell(struct cli *c, const char *dir, const struct findings *f)
{
    const char *bundle = flag_text(c->in, "bundle");
    struct listing l;
    struct err *e = NULL;

    findings_list(f, &l);
    e = listing_print(c, &l);
    if (!e && bundle)
        e = doctor_bundle(c, bundle, dir, l.objects);
    if (!e && bundle)
        cli_say(c,
                "%s has the findings, objects, events and logs, without secrets; read it before "
                "you send it",
                bundle);
    listing_done(&l);
    return e;
}

static struct err *doctor_run(struct cli *c)
{
    const char *dir = flag_text(c->in, "data");
    const char *from_environment = getenv("METE_DATA"); /* NOLINT(concurrency-mt-unsafe) */
    struct findings f = {0};
    size_t n_failed = 0;
    struct err *e = NULL;

    if (!dir && from_environment && *from_environment)
        dir = from_environment;
    dir = dir ? dir : "/var/lib/mete";
    doctor_machine(dir, &f);
    check_server(c, &f);
    for (size_t i = 0; i < f.list.n; i++)
        n_failed += f.list.at[i].state == FINDING_FAIL;
    e = findings_tell(c, dir, &f);
    if (!e && n_failed > 0)
        e = err_new(ERR_INTERNAL, "%zu of %zu checks failed", n_failed, f.list.n);
    if (n_failed > 0)
        cli_try(c, "follow the column FIX");
    findings_done(&f);
    return e;
}

static const struct flag doctor_flags[] = {
    {.name = "bundle",
     .value = "FILE",
     .type = FLAG_TEXT,
     .doc =
         "also write a tar archive for support: findings, versions, nodes, GPUs, events, queues, "
         "configuration and logs, with secrets left out"},
    {0},
};

const struct command command_doctor = {
    .name = "doctor",
    .summary = "check this machine and the Mete that runs on it",
    .doc = "Checks the kernel, cgroups, programs, disk, clock, driver and certificates, and asks "
           "the\nserver for the state of its nodes and GPUs. Changes nothing. Exits with 1 if a "
           "check failed.",
    .examples = {{"doctor", "prints each check, its finding and the remedy"},
                 {"doctor --bundle mete.tar", "writes an archive for support, too"},
                 {"doctor -o json", "the same for programs"},
                 {0}},
    .flags = doctor_flags,
    .groups = FLAGS_SERVER | FLAGS_OUTPUT,
    .run = doctor_run,
};
