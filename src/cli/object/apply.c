/* apply.c - mete apply: creates and patches the objects of manifests */

#include "base/mem.h"
#include "cli/commands.h"
#include "cli/job/refusal.h"
#include "cli/object/manifests.h"
#include "cli/object/resource.h"
#include "cli/object/three_way.h"

static const char last_applied[] = "kubectl.kubernetes.io/last-applied-configuration";

struct apply {
    struct cli *cli;
    struct session *session;
    bool is_trial;
    struct resource resource; /* of the present object */
    const char *ns;
    const char *name;
};

static char *apply_path(const struct apply *a, bool is_create)
{
    AUTO_FREE char *path = resource_path(&a->resource, a->ns, is_create ? NULL : a->name);

    return mem_format("%s?fieldManager=mete-apply&fieldValidation=Strict%s", path,
                      a->is_trial ? "&dryRun=All" : "");
}

static void say(const struct apply *a, const char *what)
{
    AUTO_FREE char *title = resource_title(&a->resource, a->ns, a->name);

    (void)fprintf(a->cli->out, "%s %s%s\n", title, what, a->is_trial ? " (dry run)" : "");
}

/* Stores the applied manifest in the object's annotation: the next apply compares with it. */
static json_t *with_last_applied(const json_t *object)
{
    json_t *copy = json_deep_copy(object);
    json_t *annotations = json_object_at(json_object_at(copy, "metadata"), "annotations");
    AUTO_FREE char *text = NULL;
    AUTO_FREE char *line = NULL;

    (void)json_object_del(annotations, last_applied);
    text = json_format(copy);
    line = mem_format("%s\n", text);
    json_put_text(annotations, last_applied, line);
    return copy;
}

static struct err *apply_create(struct apply *a, const json_t *want)
{
    AUTO_FREE char *path = apply_path(a, true);
    const struct call call = {.method = "POST", .path = path, .body = want};

    TRY(session_call(a->session, &call, NULL));
    say(a, "created");
    return NULL;
}

/* Returns the manifest that was last applied; NULL: unknown. New reference. */
static json_t *last_of(const json_t *live)
{
    const char *text = json_text_at(live, "metadata", "annotations", last_applied, NULL);
    json_t *last = NULL;
    AUTO(err_freep) struct err *e = text ? json_parse(str_of(text), &last) : NULL;

    return e ? NULL : last;
}

static struct err *apply_change(struct apply *a, const json_t *live, const json_t *want)
{
    AUTO(json_freep) json_t *last = last_of(live);
    AUTO(json_freep) json_t *patch = three_way(a->resource.known, last, live, want);
    AUTO(json_freep) json_t *after = NULL;
    AUTO_FREE char *path = apply_path(a, false);
    const struct call call = {
        .method = "PATCH",
        .path = path,
        .content_type = a->resource.known ? "application/strategic-merge-patch+json"
                                          : "application/merge-patch+json",
        .body = patch,
    };
    const char *version = json_text_at(live, "metadata", "resourceVersion", NULL);

    if (json_object_size(patch) == 0) {
        say(a, "unchanged");
        return NULL;
    }
    TRY(session_call(a->session, &call, &after));
    say(a, text_equal(version, json_text_at(after, "metadata", "resourceVersion", NULL))
               ? "unchanged"
               : "configured");
    return NULL;
}

static struct err *find_place(struct apply *a, json_t *object)
{
    const char *ns = json_text_at(object, "metadata", "namespace", NULL);

    TRY(resource_of(a->session, object, &a->resource));
    a->name = json_text_at(object, "metadata", "name", NULL);
    if (!a->name)
        return err_new(ERR_BAD_REQUEST, "%s without metadata.name: apply needs the name",
                       a->resource.kind);
    if (!a->resource.is_namespaced) {
        a->ns = NULL;
        return NULL;
    }
    if (ns && flag_text(a->cli->in, "namespace") && !text_equal(ns, session_namespace(a->session)))
        return err_new(ERR_BAD_REQUEST, "%s/%s is in namespace %s, but -n says %s",
                       a->resource.singular, a->name, ns, session_namespace(a->session));
    if (!ns)
        json_put_text(json_object_at(object, "metadata"), "namespace",
                      session_namespace(a->session));
    a->ns = json_text_at(object, "metadata", "namespace", NULL);
    return NULL;
}

static struct err *apply_found(struct apply *a, const json_t *object)
{
    AUTO(json_freep) json_t *want = with_last_applied(object);
    AUTO(json_freep) json_t *live = NULL;
    AUTO_FREE char *path = resource_path(&a->resource, a->ns, a->name);
    struct err *e = session_get(a->session, path, &live);

    if (!e)
        return apply_change(a, live, want);
    if (err_code(e) != ERR_NOT_FOUND)
        return e;
    err_free(e);
    e = apply_create(a, want);
    if (!e || err_code(e) != ERR_EXISTS)
        return e;
    err_free(e); /* another client created the object first */
    TRY(session_get(a->session, path, &live));
    return apply_change(a, live, want);
}

static struct err *apply_one(struct apply *a, json_t *object)
{
    struct err *e = find_place(a, object);

    if (!e)
        e = apply_found(a, object);
    resource_done(&a->resource);
    return refusal_explain(a->cli, e, a->ns ? a->ns : "default");
}

static struct err *apply_all(struct apply *a, json_t *objects)
{
    AUTO(err_freep) struct err *last = NULL;
    size_t n_failed = 0;
    json_t *object;
    size_t i;

    json_array_foreach (objects, i, object) {
        struct err *e = apply_one(a, object);

        if (!e)
            continue;
        if (err_code(e) == ERR_UNAVAILABLE || json_array_size(objects) == 1)
            return e;
        n_failed++;
        cli_say(a->cli, "mete: %s", err_message(e));
        err_free(last);
        last = e;
    }
    if (!last)
        return NULL;
    return err_new(err_code(last), "%zu of %zu objects were not applied", n_failed,
                   json_array_size(objects));
}

static struct err *apply_run(struct cli *c)
{
    AUTO(session_freep) struct session *s = NULL;
    AUTO(json_freep) json_t *objects = NULL;
    struct apply a = {.cli = c, .is_trial = flag_switch(c->in, "dry-run")};

    if (!flag_repeated(c->in, "file", 0))
        return cli_usage(c, "apply needs -f FILE, -f DIR or -f -");
    TRY(manifests_read(c, &objects));
    TRY(session_open(c, &s));
    a.session = s;
    return apply_all(&a, objects);
}

static const struct flag apply_flags[] = {
    {.name = "file",
     .letter = 'f',
     .type = FLAG_TEXT,
     .value = "FILE|DIR|-",
     .is_repeated = true,
     .doc = "manifests, YAML or JSON, also several documents; a directory: its *.yaml, *.yml and "
            "*.json; -: standard input. Repeatable"},
    {.name = "dry-run",
     .type = FLAG_SWITCH,
     .doc = "let the server check the manifests and print what would happen, without changes"},
    {0},
};

const struct command command_apply = {
    .name = "apply",
    .summary = "create or change objects from manifests",
    .doc = "Works as kubectl apply, with the same annotation: missing objects are created, fields "
           "that differ from the manifest are\nset, and fields that an earlier apply set and the "
           "manifest no longer has are removed.",
    .examples = {{"apply -f pod.yaml", "creates or changes the objects of a file"},
                 {"apply -f manifests/ -n team-a",
                  "creates or changes the objects of all files of a directory"},
                 {0}},
    .flags = apply_flags,
    .groups = FLAGS_SERVER | FLAGS_NAMESPACE,
    .takes = TAKES_FILES,
    .n_max = 0,
    .run = apply_run,
};
