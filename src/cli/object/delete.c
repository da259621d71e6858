/* delete.c - mete delete: deletes objects and waits until they are gone */

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/commands.h"
#include "cli/object/manifests.h"
#include "cli/object/remove.h"
#include "cli/term/terminal.h"

struct deletion {
    struct cli *cli;
    struct session *session;
};

static struct removal removal_of(const struct deletion *d, const struct resource *r)
{
    const struct invocation *in = d->cli->in;

    return (struct removal){
        .cli = d->cli,
        .session = d->session,
        .resource = r,
        .grace_s = flag_switch(in, "now") ? 1 : flag_count(in, "grace", -1),
        .waits = !flag_switch(in, "no-wait"),
        .timeout_ns = flag_duration_ns(in, "timeout", 0),
        .past = "deleted",
    };
}

/* Adds the objects that --all or -l selects. */
static struct err *add_matching(const struct deletion *d, struct removal *r)
{
    const struct invocation *in = d->cli->in;
    const char *labels = flag_text(in, "selector");
    AUTO_FREE char *path = resource_path(
        r->resource, flag_switch(in, "all-namespaces") ? NULL : session_namespace(d->session),
        NULL);
    struct buf b = {0};
    struct list_query q = {0};
    struct list_result list = {0};
    struct err *e;
    json_t *item;
    size_t i;

    buf_add_text(&b, path);
    if (labels) {
        buf_add_text(&b, "?labelSelector=");
        client_add_escaped(&b, str_of(labels));
    }
    q.path = b.at;
    e = session_list(d->session, &q, &list);
    buf_done(&b);
    if (e)
        return e;
    json_array_foreach (json_object_get(list.first, "items"), i, item) {
        const char *ns = json_text_at(item, "metadata", "namespace", NULL);
        const char *name = json_text_at(item, "metadata", "name", NULL);

        if (name)
            removal_add(r, ns ? ns : "", name, json_text_at(item, "metadata", "uid", NULL), NULL);
    }
    json_decref(list.first);
    return NULL;
}

static struct err *deletion_ask(const struct deletion *d, const struct removal *r)
{
    AUTO_FREE char *question = mem_format("delete %zu %s?", r->targets.n, r->resource->plural);

    if (flag_switch(d->cli->in, "yes") || terminal_confirm(d->cli, question))
        return NULL;
    cli_try(d->cli, "the same command with -y");
    return err_new(ERR_BAD_REQUEST, "nothing was deleted: confirm the deletion of %zu %s",
                   r->targets.n, r->resource->plural);
}

static struct err *delete_matching(const struct deletion *d, struct removal *r)
{
    TRY(add_matching(d, r));
    if (r->targets.n == 0) {
        cli_say(d->cli, "there are no %s that match", r->resource->plural);
        return NULL;
    }
    TRY(deletion_ask(d, r));
    return removal_run(r);
}

static struct err *delete_named(const struct deletion *d, const struct resource *r)
{
    const struct invocation *in = d->cli->in;
    bool is_mass = flag_switch(in, "all") || flag_text(in, "selector");
    struct removal removal = removal_of(d, r);
    struct err *e;

    if (is_mass && in->arguments.n > 1)
        return cli_usage(d->cli, "names, --all and -l exclude each other");
    if (!is_mass && in->arguments.n < 2)
        return cli_usage(d->cli, "delete needs names, --all or -l LABELS");
    if (!is_mass && flag_switch(in, "all-namespaces"))
        return cli_usage(d->cli, "an object's name belongs to one namespace: omit -A");
    for (size_t i = 1; i < in->arguments.n; i++)
        removal_add(&removal, r->is_namespaced ? session_namespace(d->session) : "",
                    in->arguments.at[i], NULL, NULL);
    e = is_mass ? delete_matching(d, &removal) : removal_run(&removal);
    removal_done(&removal);
    return e;
}

static struct err *delete_object(const struct deletion *d, const json_t *object)
{
    const char *ns = json_text_at(object, "metadata", "namespace", NULL);
    const char *name = json_text_at(object, "metadata", "name", NULL);
    struct resource r = {0};
    struct removal removal;
    struct err *e;

    if (!name)
        return err_new(ERR_BAD_REQUEST, "an object without metadata.name");
    TRY(resource_of(d->session, object, &r));
    removal = removal_of(d, &r);
    removal_add(&removal,
                !r.is_namespaced ? ""
                : ns             ? ns
                                 : session_namespace(d->session),
                name, NULL, NULL);
    e = removal_run(&removal);
    removal_done(&removal);
    resource_done(&r);
    return e;
}

static struct err *delete_files(const struct deletion *d)
{
    AUTO(json_freep) json_t *objects = NULL;
    struct err *first = NULL;
    json_t *object;
    size_t i;

    TRY(manifests_read(d->cli, &objects));
    json_array_foreach (objects, i, object) {
        struct err *e = delete_object(d, object);

        if (e && first)
            cli_say(d->cli, "mete: %s", err_message(e));
        if (e && !first)
            first = e;
        else
            err_free(e);
    }
    return first;
}

static struct err *delete_run(struct cli *c)
{
    AUTO(session_freep) struct session *s = NULL;
    struct deletion d = {.cli = c};
    struct resource r = {0};
    struct err *e;
    bool has_files = flag_repeated(c->in, "file", 0) != NULL;

    if (has_files == (c->in->arguments.n > 0))
        return cli_usage(c, "delete needs KIND NAME... or -f FILE");
    TRY(session_open(c, &s));
    d.session = s;
    if (has_files)
        return delete_files(&d);
    TRY(resource_ask(c, s, c->in->arguments.at[0], &r));
    e = delete_named(&d, &r);
    resource_done(&r);
    return e;
}

static const struct flag delete_flags[] = {
    {.name = "file",
     .letter = 'f',
     .type = FLAG_TEXT,
     .value = "FILE|DIR|-",
     .is_repeated = true,
     .doc = "delete the objects of these manifests. Repeatable"},
    {.name = "all",
     .type = FLAG_SWITCH,
     .doc = "delete all objects of the kind in the namespace; asks first"},
    {.name = "selector",
     .letter = 'l',
     .type = FLAG_TEXT,
     .value = "LABELS",
     .doc = "delete the objects with these labels; asks first"},
    {.name = "yes", .letter = 'y', .type = FLAG_SWITCH, .doc = "do not ask for confirmation"},
    {.name = "grace",
     .type = FLAG_COUNT,
     .value = "SECONDS",
     .doc = "seconds between SIGTERM and SIGKILL; 0: SIGKILL at once. Default: the pod's "
            "terminationGracePeriodSeconds"},
    {.name = "now", .type = FLAG_SWITCH, .doc = "same as --grace 1"},
    {.name = "no-wait", .type = FLAG_SWITCH, .doc = "do not wait until the objects are gone"},
    {.name = "timeout", .type = FLAG_DURATION, .value = "TIME", .doc = "wait at most this long"},
    {0},
};

const struct command command_delete = {
    .name = "delete",
    .arguments = "KIND NAME...",
    .summary = "delete objects and wait until they are gone",
    .examples = {{"delete pod train", "ends the pod's containers and deletes the pod"},
                 {"delete pods -l app=train -y", "deletes all pods with a label, without asking"},
                 {"delete -f pod.yaml", "deletes the objects of a manifest"},
                 {0}},
    .flags = delete_flags,
    .groups = FLAGS_SERVER | FLAGS_NAMESPACE | FLAGS_ALL,
    .takes = TAKES_KINDS,
    .n_max = SIZE_MAX,
    .run = delete_run,
};
