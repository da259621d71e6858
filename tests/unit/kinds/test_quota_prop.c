/*
 * test_quota_prop.c - random objects and quotas against a second implementation
 *
 * Objects are created, ended and deleted in a namespace while its quotas are created, changed and
 * removed. status.used always equals a count, and no object is accepted beyond a quota. The count
 * is a second implementation, over plain numbers.
 *
 * PROP_SEED=N runs that seed alone, PROP_CASES=N sets the number of cases.
 */

#include "base/mem.h"
#include "kinds/quota/quota.h"
#include "mem_storage.h"
#include "prop.h"
#include "test.h"
#include "world.h"

enum {
    STEPS = 80,
    PODS = 8,
    CONFIGS = 4,
    QUOTAS = 3,
    KEYS = 9,
    CONTAINERS = 3
};

static const char *const keys[KEYS] = {
    "pods",          "count/pods", "requests.nvidia.com/gpu", "cpu", "requests.cpu", "memory",
    "limits.memory", "configmaps", "count/configmaps",
};

enum scope {
    SCOPE_NONE,
    SCOPE_TERMINATING,
    SCOPE_NOT_TERMINATING,
    SCOPE_BEST_EFFORT,
    SCOPE_GOLD, /* scopeSelector: PriorityClass In (gold) */
    SCOPE_NO_CLASS,
    SCOPES
};

/* A container's requests; 0: none. cpu in thousandths, memory in MiB. */
struct wants {
    int64_t gpus;
    int64_t cpu;
    int64_t memory;
    int64_t memory_limit;
};

struct model_pod {
    bool is_there;
    bool has_ended;
    bool has_deadline;
    bool is_gold;
    struct wants containers[CONTAINERS];
    size_t n;          /* containers */
    struct wants init; /* the init container's; zeros without one */
    bool has_init;
};

struct model_quota {
    bool is_there;
    enum scope scope;
    bool has[KEYS];
    int64_t hard[KEYS];
};

struct model {
    struct model_pod pods[PODS];
    bool configs[CONFIGS];
    struct model_quota quotas[QUOTAS];
};

struct run {
    struct world w;
    struct prop prop;
    struct model m;
    uint64_t seed;
    size_t n_refused;
    size_t n_accepted;
};

/* The second implementation */

static int64_t max_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t sum_of(const struct model_pod *p, size_t offset)
{
    int64_t sum = 0;

    for (size_t i = 0; i < p->n; i++)
        sum += *(const int64_t *)(const void *)((const char *)&p->containers[i] + offset);
    return max_of(sum, *(const int64_t *)(const void *)((const char *)&p->init + offset));
}

static bool is_best_effort(const struct model_pod *p)
{
    return sum_of(p, offsetof(struct wants, cpu)) == 0 &&
           sum_of(p, offsetof(struct wants, memory)) == 0 &&
           sum_of(p, offsetof(struct wants, memory_limit)) == 0;
}

static bool takes_in(enum scope scope, const struct model_pod *p)
{
    switch (scope) {
    case SCOPE_TERMINATING:
        return p->has_deadline;
    case SCOPE_NOT_TERMINATING:
        return !p->has_deadline;
    case SCOPE_BEST_EFFORT:
        return is_best_effort(p);
    case SCOPE_GOLD:
        return p->is_gold;
    case SCOPE_NO_CLASS:
        return !p->is_gold;
    case SCOPE_NONE:
    case SCOPES:
        break;
    }
    return true;
}

static int64_t pod_uses(const struct model_pod *p, size_t key)
{
    if (key == 1)
        return 1;
    if (p->has_ended)
        return 0;
    switch (key) {
    case 0:
        return 1;
    case 2:
        return sum_of(p, offsetof(struct wants, gpus));
    case 3:
    case 4:
        return sum_of(p, offsetof(struct wants, cpu));
    case 5:
        return sum_of(p, offsetof(struct wants, memory));
    case 6:
        return sum_of(p, offsetof(struct wants, memory_limit));
    default:
        return 0;
    }
}

static int64_t used_of(const struct model *m, const struct model_quota *q, size_t key)
{
    int64_t used = 0;

    for (size_t i = 0; i < PODS; i++)
        if (m->pods[i].is_there && takes_in(q->scope, &m->pods[i]))
            used += pod_uses(&m->pods[i], key);
    for (size_t i = 0; i < CONFIGS; i++)
        used += (key == 7 || key == 8) && q->scope == SCOPE_NONE && m->configs[i];
    return used;
}

/* May `after` follow `before`? No quota's usage may grow beyond the quota. */
static bool has_room(const struct model *before, const struct model *after)
{
    for (size_t i = 0; i < QUOTAS; i++) {
        const struct model_quota *q = &after->quotas[i];

        for (size_t k = 0; q->is_there && k < KEYS; k++) {
            int64_t is = used_of(after, q, k);

            if (q->has[k] && is > used_of(before, q, k) && is > q->hard[k])
                return false;
        }
    }
    return true;
}

/* As in Kubernetes, every container needs an amount of the cpu and memory that a quota limits. */
static bool says_enough(const struct model *m, const struct model_pod *p)
{
    for (size_t i = 0; i < QUOTAS; i++) {
        const struct model_quota *q = &m->quotas[i];

        if (!q->is_there || !takes_in(q->scope, p))
            continue;
        for (size_t c = 0; c < p->n + p->has_init; c++) {
            const struct wants *w = c < p->n ? &p->containers[c] : &p->init;

            if (((q->has[3] || q->has[4]) && w->cpu == 0) || (q->has[5] && w->memory == 0) ||
                (q->has[6] && w->memory_limit == 0))
                return false;
        }
    }
    return true;
}

/* Requests to the program */

static void settle(struct run *r, struct err *e, const struct model *after, bool is_expected)
{
    AUTO(err_freep) struct err *mine = e;

    if ((mine == NULL) != is_expected)
        fail_msg("seed %llu: %s", (unsigned long long)r->seed,
                 mine ? err_message(mine) : "was accepted");
    if (mine) {
        assert_int_equal(err_http(mine), 403);
        assert_non_null(strstr(err_message(mine), " quota: "));
        r->n_refused++;
        return;
    }
    r->n_accepted++;
    r->m = *after;
}

static void add_wants(struct buf *out, const char *name, const struct wants *w)
{
    const char *comma = "";

    buf_printf(out, "{'name':'%s','image':'host','resources':{'requests':{", name);
    if (w->gpus > 0)
        buf_printf(out, "'nvidia.com/gpu':%d", (int)w->gpus);
    comma = w->gpus > 0 ? "," : "";
    if (w->cpu > 0)
        buf_printf(out, "%s'cpu':'%dm'", comma, (int)w->cpu);
    comma = w->gpus > 0 || w->cpu > 0 ? "," : "";
    if (w->memory > 0)
        buf_printf(out, "%s'memory':'%dMi'", comma, (int)w->memory);
    buf_add_text(out, "}");
    if (w->memory_limit > 0)
        buf_printf(out, ",'limits':{'memory':'%dMi'}", (int)w->memory_limit);
    buf_add_text(out, "}}");
}

static char *pod_text(const char *name, const struct model_pod *p)
{
    struct buf out = {0};

    buf_printf(&out, "{'metadata':{'name':'%s'},'spec':{'restartPolicy':'Never',", name);
    if (p->has_deadline)
        buf_add_text(&out, "'activeDeadlineSeconds':60,");
    if (p->is_gold)
        buf_add_text(&out, "'priorityClassName':'gold',");
    if (p->has_init) {
        buf_add_text(&out, "'initContainers':[");
        add_wants(&out, "i", &p->init);
        buf_add_text(&out, "],");
    }
    buf_add_text(&out, "'containers':[");
    for (size_t i = 0; i < p->n; i++) {
        char letter[2] = {(char)('a' + (int)i), '\0'};

        buf_add_text(&out, i > 0 ? "," : "");
        add_wants(&out, letter, &p->containers[i]);
    }
    buf_add_text(&out, "]}}");
    return buf_steal(&out);
}

static struct wants random_wants(struct run *r)
{
    struct wants w = {0};

    if (prop_chance(&r->prop, 60))
        w.gpus = (int64_t)prop_below(&r->prop, 4);
    if (prop_chance(&r->prop, 60))
        w.cpu = 250 * (int64_t)prop_below(&r->prop, 5);
    if (prop_chance(&r->prop, 60))
        w.memory = 100 * (int64_t)(1 + prop_below(&r->prop, 4));
    if (prop_chance(&r->prop, 50)) {
        w.memory_limit = 500;
        w.memory = w.memory == 0 ? 500 : w.memory; /* a limit is the request too */
    }
    return w;
}

static struct model_pod random_pod(struct run *r)
{
    struct model_pod p = {.is_there = true,
                          .has_deadline = prop_chance(&r->prop, 30),
                          .is_gold = prop_chance(&r->prop, 30),
                          .has_init = prop_chance(&r->prop, 30),
                          .n = 1 + prop_below(&r->prop, CONTAINERS)};

    for (size_t i = 0; i < p.n; i++)
        p.containers[i] = random_wants(r);
    if (p.has_init)
        p.init = random_wants(r);
    return p;
}

static const char *name_of(const char *prefix, size_t i)
{
    static char text[8];

    (void)snprintf(text, sizeof(text), "%s%d", prefix, (int)i);
    return text;
}

static void create_pod(struct run *r)
{
    size_t i = prop_below(&r->prop, PODS);
    struct model after = r->m;
    struct target t = {.kind = "pods", .is_dry_run = prop_chance(&r->prop, 10)};
    AUTO_FREE char *text = NULL;
    bool is_expected;

    if (r->m.pods[i].is_there)
        return;
    after.pods[i] = random_pod(r);
    text = pod_text(name_of("p", i), &after.pods[i]);
    is_expected = says_enough(&r->m, &after.pods[i]) && has_room(&r->m, &after);
    settle(r, world_create(&r->w, t, text, NULL), t.is_dry_run ? &r->m : &after, is_expected);
}

static void end_pod(struct run *r)
{
    size_t i = prop_below(&r->prop, PODS);
    struct model after = r->m;
    struct target t = {.kind = "pods", .name = name_of("p", i), .sub = "status", .who = &ours};
    bool is_end = prop_chance(&r->prop, 60);

    if (!r->m.pods[i].is_there || r->m.pods[i].has_ended)
        return;
    after.pods[i].has_ended = is_end;
    settle(r,
           world_patch(&r->w, t,
                       is_end ? "{'status':{'phase':'Failed'}}" : "{'status':{'phase':'Running'}}",
                       NULL),
           &after, true);
}

/* Sets a deadline, the one change that brings an existing pod under a quota. */
static void give_deadline(struct run *r)
{
    size_t i = prop_below(&r->prop, PODS);
    struct model after = r->m;
    struct target t = {.kind = "pods", .name = name_of("p", i)};

    if (!r->m.pods[i].is_there || r->m.pods[i].has_deadline)
        return;
    after.pods[i].has_deadline = true;
    settle(r, world_patch(&r->w, t, "{'spec':{'activeDeadlineSeconds':60}}", NULL), &after,
           has_room(&r->m, &after));
}

static void delete_pod(struct run *r)
{
    size_t i = prop_below(&r->prop, PODS);
    struct target t = {.kind = "pods", .name = name_of("p", i), .who = &ours};
    struct delete_options d = {.is_dry_run = prop_chance(&r->prop, 20)};
    struct model after = r->m;
    bool is_gone = false;

    if (!r->m.pods[i].is_there)
        return;
    after.pods[i] = (struct model_pod){0};
    settle(r, world_delete(&r->w, t, &d, &is_gone), d.is_dry_run ? &r->m : &after, true);
}

static void change_config(struct run *r)
{
    size_t i = prop_below(&r->prop, CONFIGS);
    struct target t = {.kind = "configmaps", .name = name_of("c", i), .who = &root};
    AUTO_FREE char *text = mem_format("{'metadata':{'name':'%s'}}", t.name);
    struct model after = r->m;
    bool is_gone = false;

    after.configs[i] = !r->m.configs[i];
    if (after.configs[i]) {
        t.name = NULL;
        settle(r, world_create(&r->w, t, text, NULL), &after, has_room(&r->m, &after));
    } else {
        settle(r, world_delete(&r->w, t, NULL, &is_gone), &after, true);
    }
}

static const char *const scope_texts[SCOPES] = {
    "",
    ",'scopes':['Terminating']",
    ",'scopes':['NotTerminating']",
    ",'scopes':['BestEffort']",
    ",'scopeSelector':{'matchExpressions':[{'scopeName':'PriorityClass','operator':'In',"
    "'values':['gold']}]}",
    ",'scopeSelector':{'matchExpressions':[{'scopeName':'PriorityClass','operator':"
    "'DoesNotExist'}]}",
};

/* May a quota with this scope limit the key? */
static bool may_limit(enum scope scope, size_t key)
{
    if (scope == SCOPE_BEST_EFFORT)
        return key < 3;
    return scope == SCOPE_NONE || key < 7;
}

static void random_hard(struct run *r, struct model_quota *q)
{
    static const int64_t most[KEYS] = {8, 10, 12, 6000, 6000, 4000, 4000, 4, 4};

    for (size_t k = 0; k < KEYS; k++) {
        q->has[k] = may_limit(q->scope, k) && prop_chance(&r->prop, k < 3 ? 50 : 15);
        q->hard[k] = (int64_t)prop_below(&r->prop, (size_t)most[k] + 1);
    }
}

static char *hard_text(const struct model_quota *q)
{
    static const char *const units[KEYS] = {"", "", "", "m", "m", "Mi", "Mi", "", ""};
    struct buf out = {0};

    buf_add_text(&out, "{");
    for (size_t k = 0; k < KEYS; k++)
        if (q->has[k])
            buf_printf(&out, "%s'%s':'%d%s'", out.size > 1 ? "," : "", keys[k], (int)q->hard[k],
                       units[k]);
    buf_add_text(&out, "}");
    return buf_steal(&out);
}

static void create_quota(struct run *r, size_t i)
{
    struct target t = {.kind = "resourcequotas", .who = &root};
    struct model after = r->m;
    AUTO_FREE char *hard = NULL;
    AUTO_FREE char *text = NULL;

    after.quotas[i] =
        (struct model_quota){.is_there = true, .scope = (enum scope)prop_below(&r->prop, SCOPES)};
    random_hard(r, &after.quotas[i]);
    hard = hard_text(&after.quotas[i]);
    text = mem_format("{'metadata':{'name':'%s'},'spec':{'hard':%s%s}}", name_of("q", i), hard,
                      scope_texts[after.quotas[i].scope]);
    settle(r, world_create(&r->w, t, text, NULL), &after, true);
}

/* Updates by PUT: keys that are left out are removed. */
static void edit_quota(struct run *r, size_t i)
{
    struct target t = {.kind = "resourcequotas", .name = name_of("q", i), .who = &root};
    struct model after = r->m;
    AUTO(json_freep) json_t *object = NULL;
    AUTO_FREE char *text = NULL;

    random_hard(r, &after.quotas[i]);
    text = hard_text(&after.quotas[i]);
    object = world_get(&r->w, t);
    json_put(json_object_get(object, "spec"), "hard", manifest(text));
    settle(r, world_update(&r->w, t, object, NULL), &after, true);
}

static void change_quota(struct run *r)
{
    size_t i = prop_below(&r->prop, QUOTAS);
    struct target t = {.kind = "resourcequotas", .name = name_of("q", i), .who = &root};
    struct model after = r->m;
    bool is_gone = false;

    if (!r->m.quotas[i].is_there) {
        create_quota(r, i);
    } else if (prop_chance(&r->prop, 60)) {
        edit_quota(r, i);
    } else {
        after.quotas[i] = (struct model_quota){0};
        settle(r, world_delete(&r->w, t, NULL, &is_gone), &after, true);
    }
}

static void (*const actions[])(struct run *) = {
    create_pod, create_pod,    create_pod, create_pod,    end_pod,
    end_pod,    give_deadline, delete_pod, change_config, change_quota,
};

/* Compares a quota's status with the second implementation. */
static void check_quota(struct run *r, size_t i)
{
    const struct model_quota *q = &r->m.quotas[i];
    AUTO(json_freep)
    json_t *quota =
        world_get(&r->w, (struct target){.kind = "resourcequotas", .name = name_of("q", i)});

    assert_int_equal(quota != NULL, q->is_there);
    for (size_t k = 0; q->is_there && k < KEYS; k++) {
        const json_t *value = json_at(quota, "status", "used", keys[k], NULL);
        int64_t unit = k == 3 || k == 4 ? 1 : k == 5 || k == 6 ? INT64_C(1048576000) : 1000;

        assert_int_equal(value != NULL, q->has[k]);
        if (value && quota_amount(value).milli != used_of(&r->m, q, k) * unit)
            fail_msg("seed %llu: quota q%zu: %s is %s, want %lld", (unsigned long long)r->seed, i,
                     keys[k], json_string_value(value), (long long)used_of(&r->m, q, k));
    }
}

static void check(struct run *r)
{
    struct err *e = quota_check(r->w.store);

    if (e)
        fail_msg("seed %llu: %s", (unsigned long long)r->seed, err_message(e));
    for (size_t i = 0; i < QUOTAS; i++)
        check_quota(r, i);
}

static void begin(struct run *r, uint64_t seed)
{
    *r = (struct run){.seed = seed, .prop = {seed}};
    world_init(&r->w, seed);
    world_must(world_create(
        &r->w,
        (struct target){.group = "scheduling.k8s.io", .kind = "priorityclasses", .who = &root},
        "{'metadata':{'name':'gold'},'value':100}", NULL));
}

static void run_seed(uint64_t seed, size_t *ret_refused)
{
    struct run r;

    begin(&r, seed);
    for (int i = 0; i < STEPS; i++) {
        actions[prop_below(&r.prop, COUNT(actions))](&r);
        check(&r);
    }
    world_restart(&r.w);
    check(&r);
    *ret_refused += r.n_refused;
    world_done(&r.w);
}

static void used_is_what_a_count_gives_and_no_more_than_hard(void **state)
{
    struct prop_seeds seeds = prop_seeds(300);
    size_t n_refused = 0;

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++)
        run_seed(seed, &n_refused);
    assert_true(n_refused > 0 || seeds.end == seeds.first + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(used_is_what_a_count_gives_and_no_more_than_hard),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
