/*
 * test_engine_slices_prop.c - random gpus in all modes against a naive driver
 *
 * Random clusters have gpus in all modes, pods with several kinds of devices, and restarts. A naive
 * driver carries out each decision, and no pod that fits is left waiting. A failing seed is
 * printed; PROP_SEED=N replays it.
 */

#include "base/attr.h"
#include "base/err.h"
#include "engine/state.h"
#include "model/mig.h"
#include "prop.h"
#include "slices_build.h"
#include "test.h"

enum {
    NODES = 4,
    GPUS = 4,
    JOBS = 24,
    STEPS = 50,
    DEVICES = 64,
    UNITS = 12,
};

struct device {
    int node;
    int gpu;
    int ask;
    unsigned start;
    enum mete_device_kind kind;
};

struct job {
    struct ask_job spec;
    char profiles[4][32];
    bool is_there;
    bool is_placed;
    int node;
    size_t n_devices;
    struct device devices[DEVICES];
};

/* A gpu as seen by its driver. */
struct card {
    const struct mig_geometry *geometry; /* NULL: no MIG */
    const char *model;
    int64_t gib;
    bool is_flexible;
    bool is_fixed;
    uint32_t replicas;
    bool is_renamed;
    bool is_fenced;
    int has[UNITS]; /* by start: profile and 1; 0 */
};

/* Counts of events over all seeds. */
struct tally {
    size_t evictions;
    size_t created;
    size_t there; /* slices given from existing instances */
    size_t fragmented;
    size_t explained;
    size_t replicas_for_wholes;
};

struct model {
    struct tally *tally;
    struct mete_engine *engine;
    struct prop prop;
    uint64_t seed;
    int64_t now_s;
    bool is_crowded; /* with backfill reservations and evictions */
    struct card cards[NODES][GPUS];
    int n_cards[NODES];
    struct job jobs[JOBS + 1];
};

static const char *const namespaces[] = {"blue", "green"};
static const char *const node_names[NODES] = {"n0", "n1", "n2", "n3"};

static bool is_slice(const struct mete_gpu_ask *a)
{
    return a->profile != NULL;
}

static bool is_share(const struct mete_gpu_ask *a)
{
    return a->gpu_milli > 0 || a->is_by_memory;
}

static unsigned share_milli(const struct card *c, const struct mete_gpu_ask *a)
{
    int64_t memory = c->gib * GIB;
    int64_t milli = a->is_by_memory ? (a->memory_bytes * 1000 + memory - 1) / memory : a->gpu_milli;

    return (unsigned)(milli < 1000 ? milli : 999);
}

/* The held parts of a card, without the job that is being placed. */
struct used {
    unsigned wholes;
    unsigned shares;
    unsigned milli;
    unsigned memory_milli;
    int64_t bytes;
    unsigned replicas;
    unsigned units;
    unsigned starts;
    unsigned n_me;
    unsigned n_all;
    unsigned n_usual;
    const char *ns; /* of a share or replica */
};

static void count_slice(const struct card *c, const char *profile, unsigned start, struct used *u)
{
    int number = c->geometry ? mig_profile_find(c->geometry, profile) : -1;
    const struct mig_profile *p = number >= 0 ? &c->geometry->profiles[number] : NULL;

    u->starts |= 1u << start;
    if (!p)
        return;
    u->units |= ((1u << p->size) - 1) << start;
    u->n_me += strstr(p->name, "+me") && !strstr(p->name, "+me.all");
    u->n_all += strstr(p->name, "+me.all") != NULL;
    u->n_usual += strstr(p->name, "-me") == NULL;
}

static void count_device(const struct model *m, const struct job *j, const struct device *d,
                         struct used *u)
{
    const struct mete_gpu_ask *a = &j->spec.asks[d->ask];

    if (is_share(a) || d->kind == METE_DEVICE_REPLICA)
        u->ns = j->spec.ns;
    if (is_slice(a)) {
        count_slice(&m->cards[d->node][d->gpu], a->profile, d->start, u);
    } else if (d->kind == METE_DEVICE_REPLICA) {
        u->replicas++;
    } else if (is_share(a)) {
        u->shares++;
        u->milli += share_milli(&m->cards[d->node][d->gpu], a);
        u->bytes += a->memory_bytes;
        u->memory_milli += a->is_by_memory ? 0 : a->gpu_milli;
    } else {
        u->wholes++;
    }
}

static struct used used_of(const struct model *m, int node, int gpu)
{
    struct used u = {0};

    for (int id = 1; id <= JOBS; id++)
        for (size_t i = 0; m->jobs[id].is_placed && i < m->jobs[id].n_devices; i++) {
            const struct device *d = &m->jobs[id].devices[i];

            if (d->node == node && d->gpu == gpu)
                count_device(m, &m->jobs[id], d, &u);
        }
    return u;
}

static int64_t cpu_used(const struct model *m, int node)
{
    int64_t used = 0;

    for (int id = 1; id <= JOBS; id++)
        if (m->jobs[id].is_placed && m->jobs[id].node == node)
            used += m->jobs[id].spec.cpu;
    return used;
}

/* May an instance start there beside the held ones, by the driver's rules? */
static bool may_start(const struct card *c, const struct used *u, const char *profile,
                      unsigned start)
{
    int number = c->geometry ? mig_profile_find(c->geometry, profile) : -1;
    const struct mig_profile *p = number >= 0 ? &c->geometry->profiles[number] : NULL;
    bool is_all = p && strstr(p->name, "+me.all");
    bool is_me = p && strstr(p->name, "+me") && !is_all;
    bool is_usual = p && !strstr(p->name, "-me");

    if (u->wholes + u->shares + u->replicas > 0)
        return false;
    if (!c->is_flexible)
        return c->is_fixed && number >= 0 && c->has[start] == number + 1 &&
               !(u->starts >> start & 1);
    if (!p || !(p->starts >> start & 1) || (u->units & (((1u << p->size) - 1) << start)))
        return false;
    if ((is_me && u->n_me + u->n_all > 0) || (is_all && u->n_usual > 0))
        return false;
    return !(is_usual && u->n_all > 0);
}

static bool model_is_asked(const struct card *c, const struct mete_gpu_ask *a)
{
    return a->n_models == 0 || strcmp(a->models[0], c->model) == 0;
}

static bool may_have(const struct model *m, int node, int gpu, const struct job *j,
                     const struct mete_gpu_ask *a, unsigned start)
{
    const struct card *c = &m->cards[node][gpu];
    struct used u = used_of(m, node, gpu);
    bool can_be_whole = !c->is_fixed && c->replicas == 0;

    if (!model_is_asked(c, a))
        return false;
    if (is_slice(a))
        return may_start(c, &u, a->profile, start);
    if (c->is_fenced && u.ns && u.ns != j->spec.ns)
        return false; /* whole gpus are held by neither shares nor replicas */
    if (a->is_replica || (a->or_replica && c->replicas > 0 && !c->is_renamed))
        return u.replicas < c->replicas;
    if (!can_be_whole || u.starts != 0 || u.wholes > 0)
        return false;
    if (!is_share(a))
        return u.shares == 0;
    u.memory_milli += a->is_by_memory ? 0 : a->gpu_milli;
    return u.milli + share_milli(c, a) <= 1000 &&
           u.bytes + a->memory_bytes + (c->gib * GIB * u.memory_milli + 999) / 1000 <= c->gib * GIB;
}

/* Do the video engines allow both instances on one gpu? */
static bool can_be_beside(const char *a, const char *b)
{
    bool a_all = strstr(a, "+me.all");
    bool b_all = strstr(b, "+me.all");

    if (strstr(a, "-me") || strstr(b, "-me"))
        return true;
    return !a_all && !b_all && !(strstr(a, "+me") && strstr(b, "+me"));
}

/* Carries a decision out as the driver: destroys instances in the way, which must be free. */
static void carry_out(struct model *m, int node, int gpu, const struct mete_gpu_ask *a,
                      const struct mete_device *d)
{
    struct card *c = &m->cards[node][gpu];
    struct used u = used_of(m, node, gpu);
    int number = d->profile ? mig_profile_find(c->geometry, d->profile) : -1;
    unsigned span =
        number < 0 ? UINT32_MAX : ((1u << c->geometry->profiles[number].size) - 1) << d->start;
    char uuid[64];

    if (d->kind == METE_DEVICE_REPLICA)
        return;
    (void)snprintf(uuid, sizeof(uuid), "MIG-%s-%d-%u", node_names[node], gpu, d->start);
    if (is_slice(a) && !d->must_create) {
        CHECK(m, c->has[d->start] == number + 1);
        CHECK(m, d->slice && strcmp(d->slice, uuid) == 0);
        m->tally->there++;
        return;
    }
    m->tally->created += is_slice(a);
    CHECK(m, c->is_flexible || !is_slice(a));
    for (unsigned i = 0; i < UNITS; i++) {
        const struct mig_profile *p = c->has[i] > 0 ? &c->geometry->profiles[c->has[i] - 1] : NULL;

        if (!p || !(((((1u << p->size) - 1) << i) & span) ||
                    (number >= 0 && !can_be_beside(p->name, d->profile))))
            continue;
        if (number >= 0 && c->has[i] == number + 1 && i == d->start)
            continue; /* the engine does not know of this instance */
        CHECK(m, !(u.starts >> i & 1));
        c->has[i] = 0;
    }
    if (number >= 0)
        c->has[d->start] = number + 1;
}

static int node_index(const struct model *m, const char *name)
{
    int node = name[1] - '0';

    CHECK(m, name[0] == 'n' && node >= 0 && node < NODES);
    return node;
}

/* Checks a decision device by device, each beside the devices before it. */
static void take_decision(struct model *m, const struct mete_placement *p)
{
    struct job *j = &m->jobs[p->workload];
    const struct mete_pod_placement *pod = &p->pods[0];
    unsigned taken = 0; /* gpus of a device that is no slice */

    CHECK(m, j->is_there && !j->is_placed && p->n_pods == 1);
    j->node = node_index(m, pod->node);
    j->n_devices = 0;
    j->is_placed = true;
    for (size_t i = 0; i < pod->n_gpus; i++) {
        bool is_plain = pod->n_devices == 0;
        struct mete_device d =
            is_plain ? (struct mete_device){.gpu = pod->gpus[i]} : pod->devices[i];
        const struct mete_gpu_ask *a = &j->spec.asks[d.ask];
        int gpu = d.gpu[3] - '0';

        CHECK(m, strncmp(d.gpu, pod->node, 2) == 0 && gpu < m->n_cards[j->node]);
        CHECK(m, strcmp(d.gpu, pod->gpus[i]) == 0);
        CHECK(m, is_slice(a) == (d.profile != NULL));
        CHECK(m, (d.kind == METE_DEVICE_REPLICA) == (m->cards[j->node][gpu].replicas > 0));
        CHECK(m, d.kind != METE_DEVICE_SHARE ||
                     (d.gpu_milli == share_milli(&m->cards[j->node][gpu], a) &&
                      (a->memory_bytes == 0 || d.memory_bytes == a->memory_bytes)));
        m->tally->replicas_for_wholes += d.kind == METE_DEVICE_REPLICA && !a->is_replica;
        CHECK(m, may_have(m, j->node, gpu, j, a, d.start));
        CHECK(m, is_slice(a) || !(taken >> gpu & 1));
        taken |= is_slice(a) ? 0 : 1u << gpu;
        carry_out(m, j->node, gpu, a, &d);
        j->devices[j->n_devices++] = (struct device){j->node, gpu, (int)d.ask, d.start, d.kind};
    }
    for (int k = 0; k < 4; k++) {
        uint32_t count = 0;

        for (size_t i = 0; i < j->n_devices; i++)
            count += j->devices[i].ask == k;
        CHECK(m, count == j->spec.asks[k].count);
    }
    CHECK(m, cpu_used(m, j->node) <= 64000);
}

/* Does one device of the job fit anywhere? */
static bool fits(const struct model *m, const struct job *j)
{
    for (int node = 0; node < NODES; node++)
        for (int gpu = 0; gpu < m->n_cards[node]; gpu++)
            for (unsigned start = 0; start < UNITS; start++)
                if (cpu_used(m, node) + j->spec.cpu <= 64000 &&
                    may_have(m, node, gpu, j, &j->spec.asks[0], start))
                    return true;
    return false;
}

/* Ends victims at once; they wait again, or are removed. */
static void take_evictions(struct model *m, const struct mete_decisions *d)
{
    uint64_t evicted[JOBS];
    size_t n = 0;

    CHECK(m, d->n_evictions <= JOBS);
    for (; n < d->n_evictions; n++) {
        const struct job *by = &m->jobs[d->evictions[n].by];

        evicted[n] = d->evictions[n].workload;
        m->tally->evictions++;
        CHECK(m, m->jobs[evicted[n]].is_placed && by->is_there && !by->is_placed);
        CHECK(m, by->spec.priority > m->jobs[evicted[n]].spec.priority);
    }
    for (size_t i = 0; i < n; i++) {
        struct job *j = &m->jobs[evicted[i]];

        if (prop_chance(&m->prop, 50)) {
            CHECK(m, mete_workload_remove(m->engine, evicted[i]) == METE_OK);
            *j = (struct job){0};
        } else {
            CHECK(m, mete_workload_unplace(m->engine, evicted[i]) == METE_OK);
            j->is_placed = false;
        }
    }
}

static void run_cycle(struct model *m)
{
    struct mete_decisions d;

    mete_cycle(m->engine, ++m->now_s * SECOND, 0, &d);
    for (size_t i = 0; i < d.n_placements; i++)
        take_decision(m, &d.placements[i]);
    if (m->is_crowded) {
        take_evictions(m, &d);
        return;
    }
    CHECK(m, d.n_evictions == 0);
    for (int id = 1; id <= JOBS; id++) {
        const struct job *j = &m->jobs[id];

        if (j->is_there && !j->is_placed && j->spec.asks[0].count == 1 &&
            j->spec.asks[1].count == 0)
            CHECK(m, !fits(m, j));
    }
}

/* Cuts a card into random instances, as many as fit. */
static void cut(struct model *m, struct card *c)
{
    const unsigned n = c->geometry->n_profiles;
    struct used u = {0};

    for (int tries = 0; n > 0 && tries < 6; tries++) {
        unsigned p = (unsigned)prop_below(&m->prop, n);
        unsigned start = (unsigned)prop_below(&m->prop, UNITS);
        const char *name = c->geometry->profiles[p].name;
        struct card flexible = *c;

        flexible.is_flexible = true;
        if (!may_start(&flexible, &u, name, start))
            continue;
        c->has[start] = (int)p + 1;
        count_slice(c, name, start, &u);
    }
}

static void make_card(struct model *m, struct card *c)
{
    static const struct card kinds[] = {
        {.model = "h100", .gib = 80},
        {.model = "h100", .gib = 80, .is_flexible = true},
        {.model = "h100", .gib = 80, .is_flexible = true},
        {.model = "a30", .gib = 24, .is_flexible = true},
        {.model = "rtxpro", .gib = 96, .is_flexible = true},
        {.model = "h100", .gib = 80, .is_fixed = true},
        {.model = "t4", .gib = 16, .replicas = 3},
        {.model = "t4", .gib = 16, .replicas = 2, .is_renamed = true},
    };

    *c = kinds[prop_below(&m->prop, COUNT(kinds))];
    c->is_fenced = prop_chance(&m->prop, 50);
    if (strcmp(c->model, "t4") == 0)
        return;
    c->geometry = mig_geometry_of(c->model, c->gib * GIB);
    if (c->is_fixed || (c->is_flexible && prop_chance(&m->prop, 50)))
        cut(m, c);
}

/* Sets the node with the driver's present gpus. */
static void tell_node(struct model *m, struct mete_engine *e, int node)
{
    struct gpu_spec specs[GPUS + 1] = {{0}};

    for (int i = 0; i < m->n_cards[node]; i++) {
        const struct card *c = &m->cards[node][i];
        size_t told = 0;

        specs[i] = (struct gpu_spec){.model = c->model,
                                     .gib = c->gib,
                                     .is_flexible = c->is_flexible,
                                     .replicas = c->replicas,
                                     .is_renamed = c->is_renamed,
                                     .is_fenced = c->is_fenced,
                                     .is_sliced = c->is_fixed};
        for (unsigned start = 0; start < UNITS && told < SLICES_TOLD; start++)
            if (c->has[start] > 0) {
                specs[i].profiles[told] = c->geometry->profiles[c->has[start] - 1].name;
                specs[i].starts[told++] = start;
            }
    }
    CHECK(m, set_sliced(e, node_names[node], specs) == METE_OK);
}

static void make_ask(struct model *m, struct job *j, int i)
{
    static const char *const models[] = {"h100", "t4"};
    struct mete_gpu_ask *a = &j->spec.asks[i];
    const struct mig_geometry *g;

    *a = (struct mete_gpu_ask){.count = 1 + (uint32_t)prop_below(&m->prop, 3)};
    if (prop_chance(&m->prop, 60))
        a->count = 1;
    switch (prop_below(&m->prop, 9)) {
    case 0:
        a->or_replica = prop_chance(&m->prop, 60);
        break;
    case 6:
        a->is_by_memory = true;
        a->memory_bytes = (1 + (int64_t)prop_below(&m->prop, 60)) * GIB;
        break;
    case 1:
        a->gpu_milli = 100 * (1 + (uint32_t)prop_below(&m->prop, 9));
        break;
    case 2:
        a->is_replica = true;
        break;
    default:
        g = mig_geometry_of(prop_chance(&m->prop, 70)   ? "h100"
                            : prop_chance(&m->prop, 50) ? "a30"
                                                        : "rtxpro",
                            0);
        if (!g || g->n_profiles == 0) {
            fail_msg("there is no geometry of a model of the table");
            return;
        }
        (void)snprintf(j->profiles[i], sizeof(j->profiles[i]), "%s",
                       g->profiles[prop_below(&m->prop, g->n_profiles)].name);
        a->profile = j->profiles[i];
    }
    if (prop_chance(&m->prop, 20)) {
        a->models = &models[prop_below(&m->prop, 2)];
        a->n_models = 1;
    }
}

static void put_job(struct model *m, int id)
{
    struct job *j = &m->jobs[id];

    if (j->is_there) {
        CHECK(m, mete_workload_remove(m->engine, (uint64_t)id) == METE_OK);
        *j = (struct job){0};
        return;
    }
    j->is_there = true;
    j->spec = (struct ask_job){
        .id = (uint64_t)id, .cpu = 1000, .ns = namespaces[prop_below(&m->prop, 2)]};
    if (m->is_crowded) {
        j->spec.cpu = 1000 * (1 + (int64_t)prop_below(&m->prop, 24));
        j->spec.priority = (int32_t)prop_below(&m->prop, 3);
        j->spec.is_preemptible = prop_chance(&m->prop, 70);
        j->spec.queue = "q";
    }
    make_ask(m, j, 0);
    for (int i = 1; i < 4 && prop_chance(&m->prop, 35); i++)
        make_ask(m, j, i);
    CHECK(m, add_asks(m->engine, j->spec) == METE_OK);
}

static void restore_job_of(struct model *m, struct mete_engine *e, const struct job *j)
{
    struct mete_device devices[DEVICES];
    const char *gpus[DEVICES];
    char uuids[DEVICES][32];
    struct mete_pod_placement pod = {
        .node = node_names[j->node], .gpus = gpus, .n_gpus = j->n_devices};
    struct ask_parts parts;

    for (size_t i = 0; i < j->n_devices; i++) {
        const struct device *d = &j->devices[i];

        (void)snprintf(uuids[i], sizeof(uuids[i]), "%s-%d", node_names[d->node], d->gpu);
        gpus[i] = uuids[i];
        devices[i] = (struct mete_device){.ask = (uint32_t)d->ask,
                                          .gpu = uuids[i],
                                          .profile = j->spec.asks[d->ask].profile,
                                          .start = d->start,
                                          .kind = d->kind};
    }
    pod.devices = devices;
    pod.n_devices = j->n_devices;
    if (mete_workload_restore(
            e, ask_parts(&j->spec, &parts),
            &(struct mete_placement){.workload = j->spec.id, .pods = &pod, .n_pods = 1}) != METE_OK)
        fail_msg("seed %llu: %s", (unsigned long long)m->seed, mete_last_error(e));
}

/* Checks that both engines have the same held parts. */
static void compare(struct model *m, struct mete_engine *other)
{
    for (int node = 0; node < NODES; node++)
        for (int i = 0; i < m->n_cards[node]; i++) {
            struct mete_slice_view a[UNITS];
            struct mete_slice_view b[UNITS];
            char uuid[32];
            size_t n;

            (void)snprintf(uuid, sizeof(uuid), "%s-%d", node_names[node], i);
            n = mete_gpu_slices(m->engine, uuid, a, UNITS);
            CHECK(m, mete_gpu_slices(other, uuid, b, UNITS) == n);
            for (size_t k = 0; k < n; k++)
                CHECK(m, a[k].start == b[k].start && a[k].holder == b[k].holder &&
                             strcmp(a[k].profile, b[k].profile) == 0 &&
                             (a[k].slice == NULL) == (b[k].slice == NULL));
        }
}

static struct mete_engine *new_engine(struct model *m)
{
    struct mete_engine *e = mete_engine_new(
        &(struct mete_options){.reserve_depth = m->is_crowded ? 2 : METE_RESERVE_NONE});

    if (m->is_crowded)
        CHECK(m, mete_queue_set(
                     e, &(struct mete_queue){.name = "q", .within = METE_PREEMPT_LOWER_PRIORITY}) ==
                     METE_OK);
    return e;
}

static void restart(struct model *m)
{
    struct mete_engine *e = new_engine(m);
    bool nodes_first = prop_chance(&m->prop, 50);

    /* a restored share by memory needs the memory of its gpu */
    for (int id = 1; id <= JOBS; id++)
        for (size_t i = 0; m->jobs[id].is_placed && i < m->jobs[id].n_devices; i++)
            nodes_first |= m->jobs[id].spec.asks[m->jobs[id].devices[i].ask].is_by_memory;
    for (int i = 0; i < NODES; i++) /* the old engine gets the driver's present gpus, too */
        tell_node(m, m->engine, i);
    for (int i = 0; i < NODES && nodes_first; i++)
        tell_node(m, e, i);
    for (int id = 1; id <= JOBS; id++)
        if (m->jobs[id].is_placed)
            restore_job_of(m, e, &m->jobs[id]);
    CHECK(m, mete_engine_check(e) == NULL);
    for (int i = 0; i < NODES && !nodes_first; i++)
        tell_node(m, e, i);
    for (int id = 1; id <= JOBS; id++)
        if (m->jobs[id].is_there && !m->jobs[id].is_placed)
            CHECK(m, add_asks(e, m->jobs[id].spec) == METE_OK);
    CHECK(m, mete_engine_check(e) == NULL);
    compare(m, e);
    mete_engine_free(m->engine);
    m->engine = e;
}

/* "job 12 ends" */
static bool says_end(const char *line, uint64_t *ret)
{
    const char *digits = line + 4;
    size_t size;

    if (strncmp(line, "job ", 4) != 0)
        return false;
    size = strspn(digits, "0123456789");
    for (size_t i = 0; i < size; i++)
        *ret = *ret * 10 + (uint64_t)(digits[i] - '0');
    return strcmp(digits + size, " ends") == 0;
}

/* A random waiting job; 0: no job waits. */
static int waiting_job(struct model *m)
{
    size_t first = prop_below(&m->prop, JOBS);

    for (size_t i = 0; i < JOBS; i++) {
        int id = 1 + (int)((first + i) % JOBS);

        if (m->jobs[id].is_there && !m->jobs[id].is_placed)
            return id;
    }
    return 0;
}

/* A question changes nothing, and a job named as in the way is in the way. */
static void ask_why(struct model *m)
{
    int id = waiting_job(m);
    uint64_t hash = engine_hash(m->engine);
    struct mete_reason r;
    uint64_t other = 0;

    if (id == 0)
        return;
    CHECK(m, mete_why(m->engine, (uint64_t)id, m->now_s * SECOND, &r) == METE_OK);
    CHECK(m, engine_hash(m->engine) == hash);
    m->tally->fragmented += r.code == METE_REASON_FRAGMENTED;
    if (m->is_crowded)
        return;
    CHECK(m, r.code == METE_REASON_NEVER_FITS || r.code == METE_REASON_NO_NODE_FITS ||
                 r.code == METE_REASON_FRAGMENTED || r.code == METE_REASON_NOT_YET_EVALUATED);
    if (r.code == METE_REASON_NOT_YET_EVALUATED || r.n_would_start_if == 0 ||
        !says_end(r.would_start_if[r.n_would_start_if - 1], &other))
        return;
    for (int k = 1; k <= JOBS; k++)
        if (m->jobs[k].is_there && k != id && (!m->jobs[k].is_placed || k == (int)other))
            put_job(m, k);
    run_cycle(m);
    CHECK(m, m->jobs[id].is_placed);
    m->tally->explained++;
}

static void step(struct model *m)
{
    int id = 1 + (int)prop_below(&m->prop, JOBS);

    switch (prop_below(&m->prop, 8)) {
    case 0:
        tell_node(m, m->engine, (int)prop_below(&m->prop, NODES));
        break;
    case 1:
        if (m->jobs[id].is_placed) {
            CHECK(m, mete_workload_unplace(m->engine, (uint64_t)id) == METE_OK);
            m->jobs[id].is_placed = false;
        }
        break;
    case 2:
        ask_why(m);
        break;
    case 3:
        run_cycle(m);
        break;
    default:
        put_job(m, id);
    }
    if (prop_chance(&m->prop, 4))
        restart(m);
}

static void run_seed(uint64_t seed, struct tally *tally)
{
    struct model *m = mem_alloc(sizeof(*m));
    const char *wrong;

    m->seed = seed;
    m->tally = tally;
    m->prop = (struct prop){seed};
    m->is_crowded = prop_chance(&m->prop, 50);
    m->engine = new_engine(m);
    for (int i = 0; i < NODES; i++) {
        m->n_cards[i] = 1 + (int)prop_below(&m->prop, GPUS);
        for (int k = 0; k < m->n_cards[i]; k++)
            make_card(m, &m->cards[i][k]);
        tell_node(m, m->engine, i);
    }
    for (int i = 0; i < STEPS; i++) {
        step(m);
        wrong = mete_engine_check(m->engine);
        if (wrong)
            fail_msg("seed %llu, step %d: %s", (unsigned long long)seed, i, wrong);
    }
    mete_engine_free(m->engine);
    free(m);
}

static void deals_out_only_what_there_is(void **state)
{
    struct prop_seeds seeds = prop_seeds(1000);
    struct tally tally = {0};

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++)
        run_seed(seed, &tally);
    if (seeds.end - seeds.first < 500)
        return;
    assert_true(tally.evictions > 0 && tally.created > 0 && tally.there > 0);
    assert_true(tally.fragmented > 0 && tally.explained > 0 && tally.replicas_for_wholes > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deals_out_only_what_there_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
