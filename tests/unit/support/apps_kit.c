/* apps_kit.c - the kit of apps_kit.h */

#include "apps_kit.h"

#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"
#include "sim_loop.h"
#include "test.h"

enum {
    ROUNDS_MAX = 10000,
    CALM_ROUNDS = 3
};

static struct target app_target(const char *plural, const char *name)
{
    return (struct target){.group = "apps", .kind = plural, .name = name, .who = &root};
}

void add_app(struct jobs_world *jw, const char *plural, const char *text)
{
    world_must(world_create(&jw->w, app_target(plural, NULL), text, NULL));
    jobs_world_run(jw, 1);
}

void add_deployment(struct jobs_world *jw, const char *image, const char *spec)
{
    AUTO_FREE char *text = mem_format(
        "{'metadata':{'name':'d'},'spec':{%s%s'selector':{'matchLabels':{'app':'d'}},'template':{"
        "'metadata':{'labels':{'app':'d'}},'spec':{'containers':[{'name':'main','image':'%s'}]}}}}",
        spec, *spec ? "," : "", image);

    add_app(jw, "deployments", text);
}

json_t *get_app(struct jobs_world *jw, const char *plural, const char *name)
{
    return world_get(&jw->w, app_target(plural, name));
}

void patch_app(struct jobs_world *jw, const char *plural, const char *name, const char *text)
{
    world_must(world_patch(&jw->w, app_target(plural, name), text, NULL));
}

void set_image(struct jobs_world *jw, const char *image)
{
    AUTO_FREE char *text = mem_format(
        "{'spec':{'template':{'spec':{'containers':[{'name':'main','image':'%s'}]}}}}", image);

    patch_app(jw, "deployments", "d", text);
}

static bool begin_ready(struct jobs_world *jw, const char *name)
{
    struct objects_request r = {.kind = kind_find("", "pods"),
                                .ns = "default",
                                .name = name,
                                .subresource = "status",
                                .who = ours};
    AUTO(json_freep) json_t *patch = NULL;
    AUTO(json_freep) json_t *made = NULL;
    char now[STAMP_TEXT_SIZE];
    AUTO_FREE char *text = NULL;
    struct err *e;

    stamp_format(loop_wall_ns(jw->w.loop), now);
    text = mem_format("{'status':{'phase':'Running','conditions':[{'type':'Ready','status':'True',"
                      "'lastTransitionTime':'%s'}]}}",
                      now);
    patch = manifest(text);
    e = objects_patch(jw->w.objects, &r, PATCH_MERGE, patch, NULL, NULL, &made);
    err_free(e);
    return !e;
}

/* The node that the affinity of a daemon's pod names; others go to n1. */
static const char *node_for(const json_t *pod)
{
    const json_t *terms =
        json_at(pod, "spec", "affinity", "nodeAffinity",
                "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms", NULL);
    const json_t *fields = json_object_get(json_array_get(terms, 0), "matchFields");
    const json_t *names = json_object_get(json_array_get(fields, 0), "values");

    return json_array_size(names) > 0 ? json_string_value(json_array_get(names, 0)) : "n1";
}

bool serve_pod(struct jobs_world *jw, const json_t *pod)
{
    const char *name = json_text_at(pod, "metadata", "name", NULL);
    struct err *e = NULL;

    if (pod_is_deleting(pod)) {
        e = world_delete(&jw->w, (struct target){.kind = "pods", .name = name, .who = &ours},
                         &(struct delete_options){.grace_seconds = 0}, NULL);
        err_free(e); /* it may be gone */
        return !e;
    }
    if (!*pod_node(pod)) {
        e = world_bind(&jw->w, "default", name, node_for(pod));
        err_free(e); /* likewise */
        return !e;
    }
    return !pod_is_ready(pod) && begin_ready(jw, name);
}

void serve_all(struct jobs_world *jw)
{
    int n_calm = 0;

    for (int i = 0; i < ROUNDS_MAX; i++) {
        AUTO(json_freep) json_t *pods = list_all(jw, "", "pods");
        bool is_busy = false;

        for (size_t k = 0; k < json_array_size(pods); k++)
            is_busy = serve_pod(jw, json_array_get(pods, k)) || is_busy;
        jobs_world_run(jw, 1);
        n_calm = is_busy ? 0 : n_calm + 1;
        if (n_calm == CALM_ROUNDS)
            return;
    }
    fail_msg("the pods do not come to rest");
}

static bool is_live(const json_t *pod)
{
    return !pod_is_terminal(pod) && !pod_is_deleting(pod);
}

size_t count_ready(struct jobs_world *jw)
{
    AUTO(json_freep) json_t *pods = list_all(jw, "", "pods");
    size_t n = 0;

    for (size_t i = 0; i < json_array_size(pods); i++)
        n += is_live(json_array_get(pods, i)) && pod_is_ready(json_array_get(pods, i));
    return n;
}

size_t count_image(struct jobs_world *jw, const char *image)
{
    AUTO(json_freep) json_t *pods = list_all(jw, "", "pods");
    size_t n = 0;

    for (size_t i = 0; i < json_array_size(pods); i++) {
        const json_t *pod = json_array_get(pods, i);
        const json_t *container = json_array_get(json_at(pod, "spec", "containers", NULL), 0);

        n += is_live(pod) && text_equal(json_text(container, "image"), image);
    }
    return n;
}

void assert_app_condition(struct jobs_world *jw, const char *plural, const char *name,
                          const char *type, const char *status, const char *reason)
{
    AUTO(json_freep) json_t *object = get_app(jw, plural, name);
    const json_t *condition = object_condition(object, type);

    assert_non_null(condition);
    assert_string_equal(json_text(condition, "status"), status);
    assert_string_equal(json_text(condition, "reason"), reason);
}

int64_t app_number(struct jobs_world *jw, const char *plural, const char *name, const char *key)
{
    AUTO(json_freep) json_t *object = get_app(jw, plural, name);

    assert_non_null(object);
    return json_int_at(object, "status", key, NULL);
}
