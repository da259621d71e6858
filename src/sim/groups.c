/* groups.c - fairness between users, and figures for each size of job */

#include "sim/groups.h"

#include <math.h>

#include "base/mem.h"

static const struct {
    const char *name;
    int64_t up_to; /* gpus */
} classes[SIZE_CLASSES] = {{"<1", 0},    {"1", 1},      {"2-4", 4},        {"5-8", 8},
                           {"9-16", 16}, {"17-64", 64}, {"65+", INT64_MAX}};

size_t size_class_of(int64_t milli)
{
    size_t i = 0;

    if (milli < 1000)
        return 0;
    while ((milli + 999) / 1000 > classes[i].up_to)
        i++;
    return i;
}

const char *size_class_name(size_t i)
{
    return classes[i].name;
}

void replay_note(void *moves, int64_t at_s, uint32_t job, bool runs)
{
    struct replay_moves *m = moves;

    vec_add(&m->all, (struct replay_move){at_s, job, runs});
}

void share_curves_done(struct share_curves *c)
{
    free(c->users);
    free(c->held);
    *c = (struct share_curves){0};
}

struct asker {
    int64_t asked; /* 1/1000 gpu */
    int64_t held;
    int64_t since_s; /* the time up to which the sums below count */
    double share_s;  /* share x seconds */
    double asking_s;
    double total; /* gpu seconds */
    size_t curve; /* index of the user's curve; SIZE_MAX: none */
};

struct fairness {
    const struct fairness_options *o;
    struct asker *users;
    double sum;     /* of the shares of users that ask */
    double squares; /* of these shares, squared */
    size_t n_asking;
    int64_t now_s;
    double index_s; /* index x seconds */
    double counted_s;
};

static double share_of(const struct asker *u)
{
    return u->asked > 0 ? (double)u->held / (double)u->asked : 0;
}

/* Counts the time up to now_s, in which no share changed. */
static void pass_time(struct fairness *f, int64_t now_s)
{
    const double passed_s = (double)(now_s - f->now_s);

    if (f->n_asking > 1 && f->squares > 0) {
        f->index_s += passed_s * f->sum * f->sum / ((double)f->n_asking * f->squares);
        f->counted_s += passed_s;
    } else if (f->n_asking > 1) {
        f->index_s += passed_s; /* all shares are 0, so equal */
        f->counted_s += passed_s;
    }
    f->now_s = now_s;
}

/* Adds the gpus held from `from_s` to `to_s` to the bins of a curve. */
static void add_to_curve(struct share_curves *c, size_t curve, int64_t from_s, int64_t to_s,
                         double gpus)
{
    for (int64_t at = from_s; at < to_s;) {
        const int64_t bin = (at - c->first_s) / c->bin_s;
        const int64_t end = c->first_s + (bin + 1) * c->bin_s;
        const int64_t till = end < to_s ? end : to_s;

        if ((size_t)bin < c->n_bins)
            c->held[curve * c->n_bins + (size_t)bin] +=
                gpus * (double)(till - at) / (double)c->bin_s;
        at = till;
    }
}

static void asker_settle(struct fairness *f, struct asker *u)
{
    const double passed_s = (double)(f->now_s - u->since_s);

    if (u->asked > 0) {
        u->share_s += passed_s * share_of(u);
        u->asking_s += passed_s;
    }
    if (f->o->curves && u->curve != SIZE_MAX && u->held > 0)
        add_to_curve(f->o->curves, u->curve, u->since_s, f->now_s, (double)u->held / 1000);
    u->since_s = f->now_s;
}

static void asker_change(struct fairness *f, uint32_t user, int64_t asked, int64_t held)
{
    struct asker *u = &f->users[user];

    asker_settle(f, u);
    f->sum -= share_of(u);
    f->squares -= share_of(u) * share_of(u);
    f->n_asking -= u->asked > 0;
    u->asked += asked;
    u->held += held;
    f->n_asking += u->asked > 0;
    if (f->n_asking == 0)
        f->sum = f->squares = 0; /* drops the rounding error */
    f->sum += share_of(u);
    f->squares += share_of(u) * share_of(u);
}

static int compare_totals(const void *a, const void *b, void *arg)
{
    const struct asker *users = arg;
    const uint32_t x = *(const uint32_t *)a;
    const uint32_t y = *(const uint32_t *)b;

    if (users[x].total > users[y].total || users[x].total < users[y].total)
        return users[x].total > users[y].total ? -1 : 1;
    return (x > y) - (x < y);
}

static void make_curves(struct fairness *f, int64_t first_s, int64_t last_s)
{
    const struct fairness_options *o = f->o;
    struct share_curves *c = o->curves;
    AUTO_FREE uint32_t *order = mem_alloc((o->n_users + 1) * sizeof(*order));

    for (uint32_t i = 0; i < o->n_users; i++) {
        order[i] = i;
        f->users[i].curve = SIZE_MAX;
    }
    if (!c)
        return;
    for (size_t i = 0; i < o->n; i++)
        f->users[o->jobs[i].user].total += (double)o->jobs[i].milli * (double)o->jobs[i].duration_s;
    qsort_r(order, o->n_users, sizeof(*order), compare_totals, f->users);
    if (c->n_users > o->n_users)
        c->n_users = o->n_users;
    c->users = mem_dup(order, (c->n_users + 1) * sizeof(*order));
    c->held = mem_alloc((c->n_users * c->n_bins + 1) * sizeof(*c->held));
    c->first_s = first_s;
    c->bin_s = (last_s - first_s) / (int64_t)c->n_bins + 1;
    for (size_t i = 0; i < c->n_users; i++)
        f->users[order[i]].curve = i;
}

/* The index of each job's last move, which is its end. */
static size_t *find_ends(const struct fairness_options *o)
{
    size_t *ends = mem_alloc((o->n + 1) * sizeof(*ends));

    for (size_t i = 0; i < o->moves->all.n; i++)
        ends[o->moves->all.at[i].job] = i;
    return ends;
}

static void fairness_walk(struct fairness *f)
{
    const struct fairness_options *o = f->o;
    AUTO_FREE size_t *ends = find_ends(o);
    size_t arrived = 0;
    size_t at = 0;

    while (arrived < o->n || at < o->moves->all.n) {
        const struct replay_move *m = at < o->moves->all.n ? &o->moves->all.at[at] : NULL;
        const bool is_arrival = arrived < o->n && (!m || o->jobs[arrived].submit_s <= m->at_s);
        const struct sim_job *j = &o->jobs[is_arrival ? arrived : m->job];

        pass_time(f, is_arrival ? j->submit_s : m->at_s);
        if (is_arrival)
            asker_change(f, j->user, j->milli, 0);
        else
            asker_change(f, j->user, !m->runs && ends[m->job] == at ? -j->milli : 0,
                         m->runs ? j->milli : -j->milli);
        arrived += is_arrival;
        at += !is_arrival;
    }
}

double fairness_find(const struct fairness_options *o, double *ret_shares)
{
    AUTO_FREE struct asker *users = mem_alloc((o->n_users + 1) * sizeof(*users));
    const int64_t first_s = o->jobs[0].submit_s;
    const int64_t last_s = o->moves->all.n > 0 ? o->moves->all.at[o->moves->all.n - 1].at_s : 0;
    struct fairness f = {.o = o, .users = users, .now_s = first_s};

    for (size_t i = 0; i < o->n_users; i++)
        users[i].since_s = first_s;
    make_curves(&f, first_s, last_s > first_s ? last_s : first_s);
    fairness_walk(&f);
    for (size_t i = 0; i < o->n_users; i++)
        ret_shares[i] = users[i].asking_s > 0 ? users[i].share_s / users[i].asking_s : (double)NAN;
    return f.counted_s > 0 ? f.index_s / f.counted_s : (double)NAN;
}
