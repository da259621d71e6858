/* plugin_choice.c - the devices that suit a container best */

#include "kubelet/plugin_choice.h"

#include "base/num.h"
#include "base/str.h"

enum {
    CANDIDATES_MAX = 1024,
    /* Sets that are compared: all of 16 gpus. With more the best pairs come first. */
    SETS_MAX = 20000
};

struct candidate {
    const struct plugin_device *device;
    bool is_chosen;
};

/* A search for the best set. */
struct chooser {
    struct candidate *at;
    size_t n;
    size_t left;   /* devices still to choose */
    int64_t score; /* of the chosen pairs */
    size_t n_sets; /* compared so far */
    bool has_best;
    int64_t best;
    int64_t best_rest;
    bool *best_chosen; /* by candidate */
};

/* The worth of a connection: each NVLink counts more than every way over PCIe. */
static int64_t connection_score(const struct plugin_device *a, const struct plugin_device *b)
{
    static const struct {
        const char *name;
        int64_t score;
    } ways[] = {{"XGMI", 100}, {"PIX", 6}, {"PXB", 5}, {"PHB", 4}, {"NODE", 3}, {"SYS", 1}};
    char text[GPU_CONNECTION_SIZE];
    int64_t links = 0;

    if (a->gpu < 0 || b->gpu < 0 || !gpu_peers_find(a->peers, (size_t)b->gpu, text))
        return 0;
    if (text_starts_with(text, "NV")) {
        AUTO(err_freep) struct err *e = num_parse_int64(str_of(text + 2), 0, 1000, &links);

        return e ? 0 : 100 * links;
    }
    for (size_t i = 0; i < COUNT(ways); i++)
        if (text_equal(ways[i].name, text))
            return ways[i].score;
    return 0;
}

/* The sum of a candidate's connections to the chosen ones. */
static int64_t score_with_chosen(const struct chooser *c, size_t i)
{
    int64_t sum = 0;

    for (size_t k = 0; k < c->n; k++)
        if (c->at[k].is_chosen && k != i)
            sum += connection_score(c->at[i].device, c->at[k].device);
    return sum;
}

static int64_t score_of_rest(const struct chooser *c)
{
    int64_t sum = 0;

    for (size_t i = 0; i < c->n; i++)
        for (size_t k = i + 1; k < c->n; k++)
            if (!c->at[i].is_chosen && !c->at[k].is_chosen)
                sum += connection_score(c->at[i].device, c->at[k].device);
    return sum;
}

static void chooser_compare(struct chooser *c)
{
    int64_t rest = score_of_rest(c);

    c->n_sets++;
    if (c->has_best && (c->score < c->best || (c->score == c->best && rest <= c->best_rest)))
        return;
    c->has_best = true;
    c->best = c->score;
    c->best_rest = rest;
    for (size_t i = 0; i < c->n; i++)
        c->best_chosen[i] = c->at[i].is_chosen;
}

/* Tries all sets with candidates from `from` on. */
static void chooser_search(struct chooser *c, size_t from)
{
    if (c->left == 0) {
        chooser_compare(c);
        return;
    }
    for (size_t i = from; i < c->n && c->n_sets < SETS_MAX; i++) {
        int64_t gain;

        if (c->at[i].is_chosen)
            continue;
        gain = score_with_chosen(c, i);
        c->at[i].is_chosen = true;
        c->left--;
        c->score += gain;
        chooser_search(c, i + 1);
        c->score -= gain;
        c->left++;
        c->at[i].is_chosen = false;
    }
}

/* The candidate that adds most; for the rare machine with too many gpus for a search of all sets.
 */
static size_t chooser_next(const struct chooser *c)
{
    size_t best = c->n;
    int64_t most = -1;

    for (size_t i = 0; i < c->n; i++) {
        int64_t gain = c->at[i].is_chosen ? -1 : score_with_chosen(c, i);

        if (gain <= most)
            continue;
        most = gain;
        best = i;
    }
    return best;
}

static bool has_few_sets(size_t n, size_t k)
{
    size_t sets = 1;

    for (size_t i = 0; i < k && sets <= SETS_MAX; i++)
        sets = sets * (n - i) / (i + 1);
    return sets <= SETS_MAX;
}

static void choose_gpus(struct chooser *c, size_t n_free)
{
    AUTO_FREE bool *chosen = mem_alloc(c->n * sizeof(*chosen) + 1);

    c->best_chosen = chosen;
    if (!has_few_sets(n_free, c->left)) {
        for (; c->left > 0; c->left--)
            c->at[chooser_next(c)].is_chosen = true;
        return;
    }
    chooser_search(c, 0);
    for (size_t i = 0; i < c->n && c->has_best; i++)
        c->at[i].is_chosen = chosen[i];
}

/* Replicas of the same gpu that are not available, or chosen already. */
static size_t given_replicas(const struct plugin_choice *choice, const struct chooser *c,
                             const struct plugin_device *d)
{
    size_t given = 0;

    VEC_EACH (&choice->resource->devices, other)
        given += text_equal(other->uuid, d->uuid);
    for (size_t i = 0; i < c->n; i++)
        given -= !c->at[i].is_chosen && text_equal(c->at[i].device->uuid, d->uuid);
    return given;
}

static void choose_replicas(const struct plugin_choice *choice, struct chooser *c)
{
    for (; c->left > 0; c->left--) {
        size_t best = c->n;
        size_t fewest = 0;

        for (size_t i = 0; i < c->n; i++) {
            size_t given;

            if (c->at[i].is_chosen)
                continue;
            given = given_replicas(choice, c, c->at[i].device);
            if (best < c->n && given >= fewest)
                continue;
            best = i;
            fewest = given;
        }
        c->at[best].is_chosen = true;
    }
}

static struct candidate *candidate_find(struct chooser *c, const char *id)
{
    for (size_t i = 0; i < c->n; i++)
        if (text_equal(c->at[i].device->id, id))
            return &c->at[i];
    return NULL;
}

static struct err *chooser_fill(struct chooser *c, const struct plugin_choice *choice)
{
    for (size_t i = 0; i < choice->n; i++) {
        const struct plugin_device *d = plugin_device_find(choice->resource, choice->available[i]);

        if (!d)
            return err_new(ERR_INVALID, "%s has no device \"%.128s\"", choice->resource->name,
                           choice->available[i]);
        if (!candidate_find(c, d->id))
            c->at[c->n++] = (struct candidate){.device = d};
    }
    c->left = choice->size;
    for (size_t i = 0; i < choice->n_must; i++) {
        struct candidate *must = candidate_find(c, choice->must[i]);

        if (!must)
            return err_new(ERR_INVALID, "device \"%.128s\" must be chosen, but is not available",
                           choice->must[i]);
        if (must->is_chosen)
            continue;
        if (c->left == 0)
            return err_new(ERR_INVALID, "more devices must be chosen than the %zu asked for",
                           choice->size);
        c->score += score_with_chosen(c, (size_t)(must - c->at));
        must->is_chosen = true;
        c->left--;
    }
    return NULL;
}

struct err *plugin_choose(const struct plugin_choice *choice, const struct plugin_device **ret)
{
    AUTO_FREE struct candidate *candidates = NULL;
    struct chooser c = {0};
    size_t n_free;
    size_t n = 0;

    if (choice->n > CANDIDATES_MAX)
        return err_new(ERR_INVALID, "%zu devices: want at most %d", choice->n, CANDIDATES_MAX);
    candidates = mem_alloc((choice->n + 1) * sizeof(*candidates));
    c.at = candidates;
    TRY(chooser_fill(&c, choice));
    n_free = c.n - (choice->size - c.left);
    if (c.left > n_free)
        return err_new(ERR_INVALID, "%zu devices are asked for, %zu are available", choice->size,
                       c.n);
    if (c.n > 0 && c.at[0].device->replica >= 0)
        choose_replicas(choice, &c);
    else if (c.left > 0)
        choose_gpus(&c, n_free);
    for (size_t i = 0; i < c.n; i++)
        if (c.at[i].is_chosen)
            ret[n++] = c.at[i].device;
    return NULL;
}
