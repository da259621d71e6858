/*
 * kind_queue.c - mete.dev/v1 Queue; the object `root` is no queue, it has the settings of all
 * queues
 */

#include <inttypes.h>

#include "base/mem.h"
#include "base/num.h"
#include "kinds/kind/cause.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/label_selector.h"
#include "kinds/kind/slurm_fields.h"
#include "kinds/kind/tables.h"
#include "kinds/pod/pod_asks.h"
#include "kinds/queue.h"
#include "model/names.h"

enum {
    WEIGHT_MAX = 1000000,
    POINTS_MAX = 1000000000,
    DEPTH_MAX = 1000,
    MOVES_MAX = 64
};

static const char *const reclaims[] = {"Never", "LowerPriority", "Any", NULL};
static const char *const withins[] = {"Never", "LowerPriority", "Later", NULL};
static const char *const orders[] = {"Shares", "Priority", NULL};
static const char *const formulas[] = {"Classic", "FairTree", NULL};

static struct err *check_duration(const char *text)
{
    int64_t ns = 0;

    return num_parse_duration(str_of(text), &ns);
}

#define F_DURATION(n, text, ...)                               \
    F_STRING(n, text, .size_max = 64, .check = check_duration, \
             .pattern = "^([0-9]+(\\.[0-9]+)?(ns|us|ms|s|m|h|d))+$", ##__VA_ARGS__)

/* A queue's name is a label value, of its pods. Accounts of Slurm have underscores, too. */
static struct err *queue_check_name(const char *name)
{
    AUTO_FREE char *plain = mem_strdup(name);

    for (char *at = plain; *at; at++)
        if (*at == '_')
            *at = '-';
    TRY(name_check_subdomain(plain));
    return name_check_label_value(name);
}

static const struct field quota_fields[] = {
    F_STRING("resource", "gpu, gpu:MODEL, cpu, memory, or a resource name of pods.",
             .is_required = true, .size_max = 320,
             .pattern = "^(gpu:[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?|"
                        "([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?"
                        "[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)$"),
    F_QUANTITY("nominal", "The nominal quota, which the queue can reclaim from borrowers.",
               .is_required = true),
    F_QUANTITY("borrowLimit",
               "The amount that the queue may borrow above its nominal quota; absent: no limit."),
    F_QUANTITY("lendLimit",
               "The part of the nominal quota that other queues may borrow; absent: all."),
    F_END,
};
static const struct field quota_item = F_OBJECT(NULL, quota_fields, "The quota of a resource.");

static const struct field limits_fields[] = {
    F_QUANTITY("gpus", "Gpus that may be held at once."),
    F_INT("running", "Jobs that may run at once.", .min = 1, .max = INT32_MAX),
    F_END,
};

static const struct field preemption_fields[] = {
    F_STRING("reclaim", "Victims in queues above their nominal quota: Never, LowerPriority or Any.",
             .fallback = "\"Never\"", .values = reclaims),
    F_STRING("within", "Victims in the queue itself: Never, LowerPriority or Later.",
             .fallback = "\"Never\"", .values = withins),
    F_END,
};

static const struct field factors_fields[] = {
    F_INT("class", "Points for each unit of the priority class; 1 if all factors are 0.",
          .max = POINTS_MAX),
    F_INT("age", "Points of a job that has waited for ageMax.", .max = POINTS_MAX),
    F_INT("fairShare", "Points of a user without usage.", .max = POINTS_MAX),
    F_INT("size", "Points of a job that requests all gpus of the cluster.", .max = POINTS_MAX),
    F_BOOL("favorsSmall", "Whether small jobs get the points of size."),
    F_DURATION("ageMax", "The waiting time at which the points of age reach their maximum.",
               .fallback = "\"7d\""),
    F_END,
};

static const struct field fairness_fields[] = {
    F_STRING(
        "order",
        "Shares: the queue with the least share first, down the tree. Priority: all queues as one.",
        .fallback = "\"Shares\"", .values = orders),
    F_STRING("formula", "The formula of fair share, as in Slurm.", .fallback = "\"Classic\"",
             .values = formulas),
    F_DURATION("halfLife", "The half-life of usage; 0s: past usage does not count.",
               .fallback = "\"0s\""),
    F_BOOL(
        "bySize",
        "Whether, among equal points, small jobs go first and the largest one in a hundred last."),
    F_DURATION("period", "The interval between computations of points.", .fallback = "\"5m\""),
    F_OBJECT("factors", factors_fields,
             "Factors of the points; jobs with more points start first."),
    F_END,
};

static const struct field moves_fields[] = {
    F_DURATION("horizon", "The longest waiting time that counts; 0s: no moves.",
               .fallback = "\"0s\""),
    F_DURATION("restart", "The cost of a restart, besides the work since the last checkpoint.",
               .fallback = "\"5m\""),
    F_INT("max", "The most jobs moved for one waiting job.", .min = 1, .max = MOVES_MAX,
          .fallback = "8"),
    F_END,
};

static const struct field spec_fields[] = {
    F_STRING("parent", "The parent queue; absent: a top-level queue.", .size_max = 253,
             .pattern = "^([a-z0-9]([-a-z0-9_.]*[a-z0-9])?)?$"),
    F_INT("weight", "The weight of the queue's share among queues with the same parent.", .min = 1,
          .max = WEIGHT_MAX, .fallback = "1"),
    F_LIST("quotas", &quota_item,
           "Quotas of the queue together with the queues below it, by resource.",
           .merge_key = "resource", .is_unique = true, .items_max = QUEUE_QUOTAS_MAX),
    F_OBJECT("limits", limits_fields, "Limits for all jobs of the queue together."),
    F_OBJECT("userLimits", limits_fields, "Limits for each user's jobs in the queue."),
    F_DURATION("timeLimit", "The longest time limit of jobs, which must have one."),
    F_OBJECT("preemption", preemption_fields, "The victims that jobs of the queue may preempt."),
    F_DURATION("minRunTime", "The run time before which jobs of the queue cannot be preempted."),
    F_BOOL("stopped", "Whether jobs of the queue do not start."),
    F_INT("reserveDepth",
          "The number of waiting jobs of the queue with a backfill reservation; absent: one for "
          "all such queues.",
          .min = 1, .max = DEPTH_MAX),
    F_LIST("namespaces", &string_item, "Namespaces whose pods may use the queue.",
           .is_set_list = true),
    F_OBJECT("namespaceSelector", label_selector_fields,
             "Namespaces whose pods may use the queue, by label; with neither: all.",
             .is_atomic = true),
    F_OBJECT("slurm", slurm_account_fields,
             "The queue as an account of Slurm: qualities of service, limits."),
    F_OBJECT("fairness", fairness_fields, "Fair share among all queues; only in `root`."),
    F_OBJECT("moves", moves_fields,
             "Moves of running jobs that give a waiting job room in one piece; only in `root`."),
    F_END,
};

static const struct field held_fields[] = {
    F_STRING("resource", "The resource, as in spec.quotas.", .size_max = 320),
    F_QUANTITY("nominal", "The nominal quota."),
    F_QUANTITY("held", "Amount held, with the queues below."),
    F_QUANTITY("borrowed", "Amount held above the nominal quota."),
    F_END,
};
static const struct field held_item = F_OBJECT(NULL, held_fields, "The quota of a resource.");

static const struct field condition_fields[] = {
    F_CONDITION("Active."),
    F_END,
};
static const struct field condition_item =
    F_OBJECT(NULL, condition_fields, "An observation about the queue.");

static const struct field status_fields[] = {
    F_INT("waiting", "Waiting jobs, with the queues below."),
    F_INT("onHold", "Waiting jobs that are on hold."),
    F_INT("running", "Placed jobs, with the queues below."),
    F_QUANTITY("gpus", "Gpus that jobs hold, with the queues below."),
    F_INT("sharePpm",
          "The queue's dominant share of the cluster, held now and used lately, in millionths."),
    F_TIME("waitingSince", "The submission of the next job."),
    F_LIST("quotas", &held_item, "Amounts that the queue holds.", .items_max = 64),
    F_LIST("conditions", &condition_item, "Conditions of the object.", .merge_key = "type",
           .items_max = 16),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "Quotas, limits and order of the queue.", .fallback = "{}"),
    F_OBJECT("status", status_fields, "The present state."),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the queue."},
    {"Parent", "string", "", 0, "The parent queue."},
    {"Weight", "integer", "", 0, "The weight of the queue's share."},
    {"Held", "string", "", 0, "Amount held / nominal quota, by resource."},
    {"Waiting", "integer", "", 0, "Waiting jobs."},
    {"Running", "integer", "", 0, "Placed jobs."},
    {"Active", "string", "", 0, "Whether jobs of the queue can start."},
    {"Age", "date", "", 0, "Time since the creation."},
    {0},
};

static const struct column_path paths[] = {
    {"Parent", ".spec.parent"},
    {"Weight", ".spec.weight"},
    {"Waiting", ".status.waiting"},
    {"Running", ".status.running"},
    {"Active", ".status.conditions[?(@.type==\"Active\")].status"},
    {"Age", ".metadata.creationTimestamp"},
    {0},
};

/* "gpu 6/4, cpu 12/32" */
static json_t *cell_held(const json_t *status)
{
    const json_t *list = json_object_get(status, "quotas");
    struct buf out = {0};
    AUTO_FREE char *text = NULL;

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *quota = json_array_get(list, i);

        buf_printf(&out, "%s%s %s/%s", i > 0 ? ", " : "", json_text(quota, "resource"),
                   json_text(quota, "held"), json_text(quota, "nominal"));
    }
    text = buf_steal(&out);
    return cell_text(text, "<none>");
}

static json_t *cell_active(const json_t *status)
{
    const json_t *list = json_object_get(status, "conditions");

    for (size_t i = 0; i < json_array_size(list); i++)
        if (text_equal(json_text(json_array_get(list, i), "type"), "Active"))
            return cell_text(json_text(json_array_get(list, i), "status"), "Unknown");
    return json_string("Unknown");
}

static json_t *queue_cells(const json_t *object, int64_t now_ns)
{
    const json_t *spec = json_object_get(object, "spec");
    const json_t *status = json_object_get(object, "status");
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, cell_text(json_text(spec, "parent"), "<none>"));
    (void)json_array_append_new(row, json_integer(json_int(spec, "weight", 1)));
    (void)json_array_append_new(row, cell_held(status));
    (void)json_array_append_new(row, json_integer(json_int(status, "waiting", 0)));
    (void)json_array_append_new(row, json_integer(json_int(status, "running", 0)));
    (void)json_array_append_new(row, cell_active(status));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

static void queue_validate_amount(const json_t *from, const char *resource, const char *key,
                                  const struct path *at, struct causes *causes)
{
    const char *text = json_text(from, key);
    int64_t amount = 0;
    struct err *e = text ? queue_amount(resource, text, &amount) : NULL;

    if (e && text[0] == '-')
        err_free(e); /* the schema reports it */
    else if (e)
        cause_take(causes, PATH(at, key), text, e);
}

static void validate_resource(const char *resource, const struct path *at, struct causes *causes)
{
    static const char gpu[] = "gpu:";
    const char *model = text_starts_with(resource, gpu) ? resource + sizeof(gpu) - 1 : NULL;
    struct err *e = model && *model ? name_check_label_value(model)
                    : model ? err_new(ERR_INVALID, "want the model after gpu:, as in gpu:h100")
                            : name_check_qualified(resource);

    if (!e && gpu_resource_is_known(resource)) /* parts count as parts of gpus */
        e = err_new(ERR_INVALID, "gpus are counted as gpu, and by model as gpu:MODEL");
    if (e)
        cause_take(causes, PATH(at, "resource"), resource, e);
}

static void validate_quotas(const json_t *spec, const struct path *at, struct causes *causes)
{
    static const char *const amounts[] = {"nominal", "borrowLimit", "lendLimit"};
    const json_t *list = json_object_get(spec, "quotas");

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *quota = json_array_get(list, i);
        const char *resource = json_text(quota, "resource");
        const struct path *here = PATH_INDEX(PATH(at, "quotas"), i);

        if (!resource || !*resource)
            continue; /* the schema reports it */
        validate_resource(resource, here, causes);
        for (size_t k = 0; k < COUNT(amounts); k++)
            queue_validate_amount(quota, resource, amounts[k], here, causes);
    }
}

static void validate_parent(const json_t *spec, const char *name, const struct path *at,
                            struct causes *causes)
{
    const char *parent = json_text(spec, "parent");
    struct err *e;

    if (!parent || !*parent)
        return;
    e = queue_check_name(parent);
    if (!e && text_equal(parent, name))
        e = err_new(ERR_INVALID, "a queue cannot be below itself");
    if (e)
        cause_take(causes, PATH(at, "parent"), parent, e);
}

/* The root holds no jobs: it may have only settings of all queues. */
static void validate_root(const json_t *object, const struct path *at, struct causes *causes)
{
    const char *key;
    json_t *value;

    json_object_foreach (json_object_get(object, "spec"), key, value) {
        if (text_equal(key, "fairness") || text_equal(key, "moves") || text_equal(key, "slurm") ||
            (text_equal(key, "weight") && json_integer_value(value) == 1))
            continue;
        cause_forbidden(causes, PATH(at, key),
                        "the queue root has settings of all queues only: no job is in it");
    }
}

static void queue_validate(const json_t *object, struct causes *causes)
{
    const json_t *spec = json_object_get(object, "spec");
    const char *name = json_text_at(object, "metadata", "name", NULL);
    const struct path *at = PATH(NULL, "spec");

    if (text_equal(name, QUEUE_ROOT)) {
        validate_root(object, at, causes);
        return;
    }
    validate_parent(spec, name, at, causes);
    validate_quotas(spec, at, causes);
    queue_validate_amount(json_object_get(spec, "limits"), "gpu", "gpus", PATH(at, "limits"),
                          causes);
    queue_validate_amount(json_object_get(spec, "userLimits"), "gpu", "gpus",
                          PATH(at, "userLimits"), causes);
    label_selector_validate(json_object_get(spec, "namespaceSelector"),
                            PATH(at, "namespaceSelector"), causes);
    if (json_object_get(spec, "fairness"))
        cause_forbidden(causes, PATH(at, "fairness"), "is set in the queue root, for all queues");
    if (json_object_get(spec, "moves"))
        cause_forbidden(causes, PATH(at, "moves"), "is set in the queue root, for all queues");
}

/* Names of gpus' resources, which quotas know as gpu and gpu:MODEL. */
#define GPU_RESOURCES                                                          \
    "^(nvidia\\\\.com/(gpu|gpu\\\\.shared|gpumem|gpucores|"                    \
    "mig-([0-9]+c\\\\.)?[0-9]+g\\\\.[0-9]+gb(\\\\.[a-z.]+)?)|amd\\\\.com/gpu|" \
    "gpu\\\\.intel\\\\.com/(i915|xe))$"

static const struct kind_rule rules[] = {
    {"size(self.metadata.name) <= 63",
     "the name must be no more than 63 characters: it is a label of pods"},
    {"self.metadata.name != 'root' || !(has(self.spec.parent) || has(self.spec.quotas) || "
     "has(self.spec.limits) || has(self.spec.userLimits) || has(self.spec.timeLimit) || "
     "has(self.spec.preemption) || has(self.spec.minRunTime) || has(self.spec.stopped) || "
     "has(self.spec.reserveDepth) || has(self.spec.namespaces) || "
     "has(self.spec.namespaceSelector) || self.spec.weight != 1)",
     "the queue root has settings of all queues only: no job is in it"},
    {"self.metadata.name == 'root' || !(has(self.spec.fairness) || has(self.spec.moves))",
     "fairness and moves are set in the queue root, for all queues"},
    {"!has(self.spec.parent) || self.spec.parent != self.metadata.name",
     "a queue cannot be below itself"},
    {"!has(self.spec.quotas) || !self.spec.quotas.exists(q, q.resource.matches('" GPU_RESOURCES
     "'))",
     "gpus are counted as gpu, and by model as gpu:MODEL"},
    {"!has(self.spec.namespaceSelector) || "
     "!has(self.spec.namespaceSelector.matchExpressions) || "
     "self.spec.namespaceSelector.matchExpressions.all(e, "
     "(e.operator in ['In', 'NotIn']) == (has(e.values) && size(e.values) > 0))",
     "In and NotIn need values, Exists and DoesNotExist have none"},
    {0},
};

const struct kind kind_queue = {
    .group = "mete.dev",
    .version = "v1",
    .api_version = "mete.dev/v1",
    .kind = "Queue",
    .plural = "queues",
    .singular = "queue",
    .short_names = {"mq"},
    .has_status = true,
    .fields = fields,
    .columns = columns,
    .paths = paths,
    .cells = queue_cells,
    .validate = queue_validate,
    .rules = rules,
    .check_name = queue_check_name,
    .doc = "A queue of jobs: quotas, limits and order.",
};
