/* autoscale_look.c - one look at an autoscaler: target, metrics, number of pods, status */

#include <inttypes.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "control/autoscale/autoscale_private.h"
#include "kinds/kind/label_selector.h"
#include "kinds/kind/value.h"
#include "kinds/pod/pod_state.h"

/* The number of pods that a look decided on. */
struct decision {
    int64_t replicas;
    char *reason; /* of the change; NULL: there is none */
};

static void look_condition(struct autoscale_look *l, const char *type, bool is_true,
                           const char *reason, const char *message)
{
    (void)object_set_condition(l->object, type, is_true ? "True" : "False", reason, message,
                               l->wall_ns);
}

static void look_event(const struct autoscale_look *l, bool is_warning, const char *reason,
                       const char *message)
{
    const struct autoscaler *a = l->scaler;

    events_record(a->of->options.events, &(struct event){.kind = "HorizontalPodAutoscaler",
                                                         .api_version = "autoscaling/v2",
                                                         .ns = a->ns,
                                                         .name = a->name,
                                                         .uid = a->uid,
                                                         .is_warning = is_warning,
                                                         .reason = reason,
                                                         .message = message,
                                                         .component = "horizontal-pod-autoscaler"});
}

/* ---- reading ---- */

static struct err *look_get(const struct autoscale_look *l, const struct kind *k, const char *name,
                            json_t **ret)
{
    const struct autoscaler *a = l->scaler;
    const struct store_object *o = store_get_applied(a->of->store, objects_key(k, a->ns, name));

    return o ? objects_decode(o, ret) : objects_not_found(k, name);
}

/* The kind of the target: Kubernetes, too, ignores the version. NULL: it is not served. */
static const struct kind *kind_of_target(const json_t *reference)
{
    const char *version = json_text_filled(reference, "apiVersion");
    const char *kind = value_text(reference, "kind");
    const struct kind *exact = kind_find_by_kind(version ? version : "v1", kind);
    const char *slash = version ? strchr(version, '/') : NULL;
    size_t size = slash ? (size_t)(slash - version) : 0;

    for (size_t i = 0; !exact && i < kinds_served_count(); i++) {
        const struct kind *k = kinds_served(i);

        if (text_equal(k->kind, kind) && strlen(k->group) == size &&
            strncmp(k->group, version ? version : "", size) == 0)
            exact = k;
    }
    return exact ? kind_kept(exact) : NULL;
}

static struct err *look_find_target(struct autoscale_look *l)
{
    const json_t *reference = json_object_get(l->spec, "scaleTargetRef");
    const char *kind = value_text(reference, "kind");
    const struct kind *k = kind_of_target(reference);

    if (!k)
        return err_new(ERR_NOT_FOUND, "no matches for kind \"%s\" in version \"%s\"", kind,
                       value_text(reference, "apiVersion"));
    if (!k->is_namespaced || !scale_is_of(k))
        return err_new(ERR_NOT_FOUND, "%s has no subresource scale", kind);
    TRY(look_get(l, k, value_text(reference, "name"), &l->target));
    l->target_kind = k;
    scale_read(k, l->target, &l->scale);
    return NULL;
}

/* The pods of the target. Only pods whose labels match are decoded whole. */
static struct err *look_list_pods(struct autoscale_look *l)
{
    struct autoscaler *a = l->scaler;
    const struct store_range range = {.group = "", .resource = "pods", .ns = a->ns};
    struct store_list list = {0};
    struct err *e = NULL;

    TRY(store_list(a->of->store, &range, NULL, NULL, 0, 0, &list));
    for (size_t i = 0; !e && i < list.n; i++) {
        AUTO(json_freep) json_t *metadata = NULL;
        json_t *pod = NULL;

        e = objects_decode_metadata(a->of->options.objects, list.at[i], &metadata);
        if (e || !label_selector_matches(a->selector, metadata))
            continue;
        e = objects_decode_shared(a->of->options.objects, list.at[i], &pod);
        if (!e)
            vec_add(&l->pods, pod);
    }
    store_list_done(&list);
    return e;
}

/* Another autoscaler of the namespace whose target has some of these pods, or NULL. */
static const struct autoscaler *look_find_rival(const struct autoscale_look *l)
{
    const struct autoscaler *a = l->scaler;

    for (const struct autoscaler *b = a->of->all; b; b = b->handle.next) {
        if (b == a || !b->selector || !text_equal(a->ns, b->ns))
            continue;
        for (size_t i = 0; i < l->pods.n; i++)
            if (label_selector_matches(b->selector, l->pods.at[i]))
                return b;
    }
    return NULL;
}

/* ---- metrics ---- */

/* False: the pods of the target are not known; the condition ScalingActive says why. */
static bool look_find_pods(struct autoscale_look *l)
{
    struct autoscaler *a = l->scaler;
    const char *text = l->scale.selector;
    const struct autoscaler *rival;
    AUTO(err_freep) struct err *e = NULL;
    AUTO_FREE char *why = NULL;

    selector_free(a->selector);
    a->selector = NULL;
    if (!*text) {
        why = mem_strdup("the HPA target's scale is missing a selector");
    } else if ((e = selector_parse_labels(str_of(text), &a->selector))) {
        why = mem_format("couldn't convert selector into a corresponding internal selector "
                         "object: %s",
                         err_message(e));
    }
    if (why) {
        look_condition(l, "ScalingActive", false, "InvalidSelector", why);
        look_event(l, true, "InvalidSelector", why);
        return false;
    }
    e = look_list_pods(l);
    if (e) {
        LOG(ERROR, "pods of an autoscaler cannot be read", S("autoscaler", a->key), E(e));
        return false;
    }
    rival = look_find_rival(l);
    if (!rival)
        return true;
    why = mem_format("pods by selector %s are controlled by multiple HPAs: [%s %s]", text, a->key,
                     rival->key);
    look_condition(l, "ScalingActive", false, "AmbiguousSelector", why);
    look_event(l, true, "AmbiguousSelector", why);
    return false;
}

static void look_tell_fault(struct autoscale_look *l, const struct autoscale_fault *f, size_t n_bad,
                            size_t n)
{
    AUTO_FREE char *why =
        mem_format("the HPA was unable to compute the replica count: %s", f->message);
    AUTO_FREE char *all = mem_format("invalid metrics (%zu invalid out of %zu), first error is: %s",
                                     n_bad, n, f->message);

    look_condition(l, "ScalingActive", false, f->reason, why);
    look_event(l, true, f->reason, f->message);
    look_event(l, true, "FailedComputeMetricsReplicas", all);
}

/*
 * The largest number of pods that a metric asks for, and that metric. False: no metric could be
 * computed, or some could not while the others ask for fewer pods.
 */
static bool look_measure(struct autoscale_look *l, int64_t *ret_wanted, char **ret_name)
{
    const json_t *metrics = json_object_get(l->spec, "metrics");
    size_t n = json_array_size(metrics);
    struct autoscale_fault first = {0};
    AUTO_FREE char *name = NULL;
    AUTO_FREE char *valid = NULL;
    int64_t most = -1;
    size_t n_bad = 0;
    bool is_computed;

    if (!look_find_pods(l))
        return false;
    l->current = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *status = json_pack("{s:s}", "type", "");
        struct autoscale_fault fault = {0};
        AUTO_FREE char *one = NULL;
        int64_t replicas = -1;

        autoscale_measure(l, json_array_get(metrics, i), status, &replicas, &one, &fault);
        (void)json_array_append_new(l->current, status); /* fresh: cannot fail */
        if (fault.message && n_bad++ == 0)
            first = fault;
        else
            autoscale_fault_done(&fault);
        if (one && replicas > most) {
            most = replicas;
            free(name);
            name = TAKE(one);
        }
    }
    is_computed = name && (n_bad == 0 || most >= l->scale.wanted);
    if (!is_computed)
        look_tell_fault(l, &first, n_bad, n);
    autoscale_fault_done(&first);
    if (!is_computed)
        return false;
    valid = mem_format("the HPA was able to successfully calculate a replica count from %s", name);
    look_condition(l, "ScalingActive", true, "ValidMetricFound", valid);
    *ret_wanted = most;
    *ret_name = TAKE(name);
    return true;
}

/* ---- the decision ---- */

static bool look_decide_by_metrics(struct autoscale_look *l, struct autoscale_bounds bounds,
                                   struct decision *ret)
{
    struct autoscale_choice c;
    AUTO_FREE char *metric = NULL;
    int64_t wanted = 0;

    if (!look_measure(l, &wanted, &metric))
        return false;
    c = autoscale_choose(&l->scaler->history, &l->behavior, bounds, wanted, l->now_ns);
    look_condition(l, "AbleToScale", true, c.able_reason, c.able_message);
    look_condition(l, "ScalingLimited", c.is_limited, c.limit_reason, c.limit_message);
    ret->replicas = c.replicas;
    if (c.replicas > bounds.present)
        ret->reason = mem_format("%s above target", metric);
    else if (c.replicas < bounds.present)
        ret->reason = mem_strdup("All metrics below target");
    return true;
}

static void look_tell_sleep(struct autoscale_look *l, bool sleeps)
{
    look_condition(l, "ScaledToZero", sleeps, sleeps ? "ScaledToZero" : "NotScaledToZero",
                   sleeps ? "the HPA controller scaled the workload to zero"
                          : "the HPA controller did not scale the workload to zero");
}

/* Did the autoscaler take the target's last pods? */
static bool look_put_to_sleep(const struct autoscale_look *l)
{
    return text_equal(json_text(object_condition(l->object, "ScaledToZero"), "status"), "True");
}

/* No metric exists without pods: only a larger minimum wakes a target that the autoscaler put to
 * sleep. A target that a user scaled to 0 stays at 0. */
static void look_decide_asleep(struct autoscale_look *l, int64_t min, struct decision *ret)
{
    if (min > 0 && look_put_to_sleep(l)) {
        ret->replicas = min;
        ret->reason = mem_strdup("Current number of replicas below Spec.MinReplicas");
        return;
    }
    look_condition(l, "ScalingActive", false, "ScalingDisabled",
                   "scaling is disabled since the replica count of the target is zero");
}

/* False: nothing is decided. */
static bool look_decide(struct autoscale_look *l, struct decision *ret)
{
    struct autoscaler *a = l->scaler;
    const struct autoscale_bounds bounds = {.min = json_int(l->spec, "minReplicas", 1),
                                            .max = json_int(l->spec, "maxReplicas", 1),
                                            .present = l->scale.wanted};
    bool slept = a->slept;

    ret->replicas = bounds.present;
    a->slept = bounds.present == 0;
    if (a->slept) {
        look_decide_asleep(l, bounds.min, ret);
        return true;
    }
    if (look_put_to_sleep(l))
        look_tell_sleep(l, false); /* a user woke the target */
    /* A user wakes a target for a reason that no metric shows yet: its number of pods counts for a
     * window, and recommendations from before its sleep count no more. */
    if (slept)
        vec_clear(&a->history.recommended);
    if (a->history.recommended.n == 0)
        autoscale_recommend(&a->history, bounds.present, l->now_ns);
    if (bounds.present > bounds.max) {
        ret->replicas = bounds.max;
        ret->reason = mem_strdup("Current number of replicas above Spec.MaxReplicas");
    } else if (bounds.present < bounds.min) {
        ret->replicas = bounds.min;
        ret->reason = mem_strdup("Current number of replicas below Spec.MinReplicas");
    } else {
        return look_decide_by_metrics(l, bounds, ret);
    }
    return true;
}

/* ---- writing ---- */

static struct err *look_patch(const struct autoscale_look *l, const struct kind *k,
                              const char *name, const char *subresource, const json_t *patch)
{
    struct autoscaler *a = l->scaler;
    const struct objects_request r = {
        .kind = k,
        .ns = a->ns,
        .name = name,
        .subresource = subresource,
        .who = {.user = "system:serviceaccount:kube-system:horizontal-pod-autoscaler",
                .is_system = true,
                .is_admin = true,
                .host_uid = -1},
        .validation = VALIDATION_IGNORE};
    struct cluster_answer answer = writes_begin(a->of->writes, autoscale_on_written, a->key, 0);
    AUTO(json_freep) json_t *result = NULL;

    return writes_end(answer, objects_patch(a->of->options.objects, &r, PATCH_MERGE, patch,
                                            answer.done, answer.arg, &result));
}

/* Scales the target, unless somebody has changed it since it was read. */
static bool look_rescale(struct autoscale_look *l, const struct decision *d)
{
    AUTO(json_freep) json_t *patch = scale_patch(l->target_kind, d->replicas);
    json_t *status = json_object_at(l->object, "status");
    AUTO(err_freep) struct err *e = NULL;
    AUTO_FREE char *text = NULL;
    AUTO_FREE char *told = NULL;
    char at[STAMP_TEXT_SIZE];

    json_put_text(json_object_at(patch, "metadata"), "resourceVersion",
                  json_text_at(l->target, "metadata", "resourceVersion", NULL));
    e = look_patch(l, l->target_kind, json_text_at(l->target, "metadata", "name", NULL), NULL,
                   patch);
    if (e) {
        text = mem_format("New size: %" PRId64 "; reason: %s; error: %s", d->replicas, d->reason,
                          err_message(e));
        told = mem_format("the HPA controller was unable to update the target scale: %s",
                          err_message(e));
        look_event(l, true, "FailedRescale", text);
        look_condition(l, "AbleToScale", false, "FailedUpdateScale", told);
        return false;
    }
    text = mem_format("New size: %" PRId64 "; reason: %s", d->replicas, d->reason);
    told = mem_format("the HPA controller was able to update the target scale to %" PRId64,
                      d->replicas);
    look_event(l, false, "SuccessfulRescale", text);
    look_condition(l, "AbleToScale", true, "SucceededRescale", told);
    stamp_format(l->wall_ns, at);
    json_put_text(status, "lastScaleTime", at);
    autoscale_changed(&l->scaler->history, d->replicas - l->scale.wanted, l->now_ns);
    l->scaler->slept = d->replicas == 0 || l->scale.wanted == 0;
    look_tell_sleep(l, d->replicas == 0);
    return true;
}

/* Writes the status if it differs from `before`. A conflict comes again by the watch. */
static void look_write_status(struct autoscale_look *l, const json_t *before)
{
    json_t *status = json_object_at(l->object, "status");
    AUTO(json_freep) json_t *patch = NULL;
    AUTO(err_freep) struct err *e = NULL;

    if (json_equal(status, before))
        return;
    patch = json_pack("{s:O}", "status", status);
    if (!json_object_get(status, "currentMetrics"))
        json_put(status, "currentMetrics", json_null()); /* removes what was there */
    e = look_patch(l, l->scaler->of->kind, l->scaler->name, "status", patch);
    if (e && err_code(e) != ERR_NOT_FOUND)
        LOG(WARN, "status of an autoscaler is not written, will be tried again",
            S("autoscaler", l->scaler->key), E(e));
}

/* Writes the findings of the look into the status. */
static void look_put_status(struct autoscale_look *l, const struct decision *d)
{
    json_t *status = json_object_at(l->object, "status");

    json_put_int(status, "currentReplicas", l->scale.wanted);
    if (d)
        json_put_int(status, "desiredReplicas", d->replicas);
    if (l->current)
        json_put(status, "currentMetrics", json_incref(l->current));
    else if (json_object_get(status, "currentMetrics"))
        (void)json_object_del(status, "currentMetrics"); /* present */
}

/* ---- a look ---- */

static void look_without_target(struct autoscale_look *l, const struct err *e)
{
    AUTO_FREE char *why = mem_format(
        "the HPA controller was unable to get the target's current scale: %s", err_message(e));

    look_condition(l, "AbleToScale", false, "FailedGetScale", why);
    look_event(l, true, "FailedGetScale", err_message(e));
}

static void look_with_target(struct autoscale_look *l)
{
    struct decision d = {0};
    bool is_decided;

    look_condition(l, "AbleToScale", true, "SucceededGetScale",
                   "the HPA controller was able to get the target's current scale");
    is_decided = look_decide(l, &d);
    if (is_decided && d.replicas != l->scale.wanted)
        is_decided = look_rescale(l, &d);
    look_put_status(l, is_decided ? &d : NULL);
    free(d.reason);
}

static void look_done(struct autoscale_look *l)
{
    VEC_EACH (&l->pods, pod)
        json_decref(*pod);
    vec_done(&l->pods);
    autoscale_behavior_done(&l->behavior);
    scale_done(&l->scale);
    json_decref(l->current);
    json_decref(l->target);
    json_decref(l->object);
}

void autoscale_look_at(struct autoscaler *a)
{
    struct autoscale_look l = {.scaler = a,
                               .now_ns = loop_now_ns(a->of->options.loop),
                               .wall_ns = loop_wall_ns(a->of->options.loop)};
    AUTO(json_freep) json_t *before = NULL;
    AUTO(err_freep) struct err *e = look_get(&l, a->of->kind, a->name, &l.object);

    if (e) {
        LOG(DEBUG, "autoscaler is gone", S("autoscaler", a->key), E(e));
        return;
    }
    before = json_deep_copy(json_object_get(l.object, "status"));
    l.spec = json_object_get(l.object, "spec");
    autoscale_behavior_read(json_object_get(l.spec, "behavior"), &l.behavior);
    e = look_find_target(&l);
    if (e)
        look_without_target(&l, e);
    else
        look_with_target(&l);
    look_write_status(&l, before);
    look_done(&l);
}
