/* slurm_sync.c - one turn of a SlurmJob: counts ended pods, decides, creates and deletes pods */
#include "control/slurm/slurm_private.h"
#include "kinds/slurm/slurm_rows.h"
#include "kinds/slurm/slurm_step.h"

#define OTHER_SHORT_NS NS_PER_SEC

/* Ends what clients cancelled; pods that run are deleted, and count as cancelled at their end. */
static void turn_cancel_all(struct sjob_turn *t)
{
    struct sjob *j = t->job;
    const char *text = json_text_at(j->object, "spec", "cancelled", NULL);
    struct sjob_pod *p;
    struct sjob_pod *tmp;

    if (!text || !*text)
        return;
    map_each (by_slot, j->pods, p, tmp)
        if (p->state < SJOB_COMPLETED && !p->is_killed && !p->is_outdated &&
            sjob_is_cancelled(j, (size_t)p->index))
            vec_add(&t->killed, p);
    for (size_t i = 0; i < j->all.n_words * 64; i++)
        if (index_set_has(&j->all, i) && !sjob_turn_has_ended(t, i) && !sjob_has_pods(j, i) &&
            sjob_is_cancelled(j, i))
            sjob_turn_cancel(t, i);
}

/* Ends the job of an srun that is gone. */
static void turn_abandoned(struct sjob_turn *t)
{
    struct sjob *j = t->job;
    int64_t last_ns = sjob_steps_alive_ns(j);
    int64_t left_ns;
    struct sjob_pod *p;
    struct sjob_pod *tmp;

    last_ns = j->last_start_ns > last_ns ? j->last_start_ns : last_ns;
    left_ns = last_ns + SLURM_STEP_SILENT_S * NS_PER_SEC - t->now_ns;
    if (left_ns > 0) {
        sjob_turn_again(t, left_ns);
        return;
    }
    map_each (by_slot, j->pods, p, tmp)
        if (p->state < SJOB_COMPLETED && !p->is_killed && !p->is_outdated)
            vec_add(&t->killed, p);
}

/* Starts anew what clients asked for: a running pod is deleted, and is requeued at its end. */
static void turn_requeue_all(struct sjob_turn *t)
{
    struct sjob *j = t->job;

    if (!sjob_asks_requeue(j))
        return;
    for (size_t i = 0; i < j->all.n_words * 64; i++) {
        struct sjob_pod *p = sjob_find_pod(j, i);

        if (!index_set_has(&j->all, i) || sjob_is_cancelled(j, i) ||
            sjob_requeues_asked(j, i) <= sjob_requeues_done(t->status, j, i))
            continue;
        if (p && p->state == SJOB_RUNNING && !p->is_killed)
            vec_add(&t->killed, p);
        else if (!sjob_has_pods(j, i) && sjob_turn_has_ended(t, i))
            sjob_turn_requeue(t, i);
    }
}

/* ---- pods ---- */

static const char *queue_named(const struct slurm_jobs *s, const char *account)
{
    struct slurm_queue *q = NULL;

    if (account && *account)
        map_find_text(handle, s->queues, account, q);
    return q ? q->name : NULL;
}

/* False: not created, and tried again later. */
static bool make_pod(struct sjob *j, size_t index, int64_t rank)
{
    struct slurm_jobs *s = j->jobs;
    const char *account = json_text_at(j->object, "spec", "account", NULL);
    int64_t first_rank = 0;
    size_t component = slurm_het_of_rank(&j->het, rank, &first_rank);
    AUTO(json_freep) json_t *partitions = sjob_partitions(j, component);
    int64_t most_cpus = 0;
    AUTO_FREE char *partition_cpus = sjob_partition_cpus(j, component, &most_cpus);
    int64_t whole_cpus = sjob_whole_cpus(j, component, partitions);
    AUTO(json_freep) json_t *own = component > 0 ? sjob_spec(j, component) : NULL;
    AUTO_FREE char *license = rank == 0 ? sjob_license_pick(j) : NULL;
    const struct slurm_element element = {
        .job = j->object,
        .array = j->is_array ? &j->indexes : NULL,
        .index = j->is_array ? (int64_t)index : -1,
        .raw_id = sjob_element_id(j, index),
        .restarts = sjob_restarts(j->status, j, index),
        .rank = rank,
        .queue = queue_named(s, account),
        .eligible_ns = j->eligible_ns,
        .partitions = partitions,
        .gpu_types = s->gpu_types,
        .weights = s->weights,
        .switch_level = slurm_switch_level(s, j->object),
        .window = j->window,
        .trigger = sjob_trigger_told(j),
        .license = license,
        .billing = slurm_billing_of(s, own ? own : json_object_get(j->object, "spec")),
        .partition_cpus = partition_cpus,
        .whole_cpus = most_cpus > 0 && most_cpus < whole_cpus ? most_cpus : whole_cpus,
        .over_minutes = slurm_over_minutes(s, own ? own : json_object_get(j->object, "spec")),
        .settings = slurm_settings(s),
        .kill_wait_s = slurm_setting(s, "KillWait", SLURM_KILL_WAIT_S),
    };
    AUTO(json_freep) json_t *pod = slurm_pod_make(&element);
    struct cluster_answer a = slurm_answer(s);
    AUTO(err_freep)
    struct err *e = writes_end(a, cluster_create(s->options.cluster, "pods", j->ns, pod, a));
    AUTO_FREE char *why = NULL;

    if (!e) {
        j->create_retry = (struct retry){0};
        sjob_add_made(j, pod);
        sjob_expect_pod(j, pod);
        return true;
    }
    why = mem_format("Error creating: %s", err_message(e));
    sjob_event(j, true, "FailedCreate", why);
    j->reason = "AssociationResourceLimit";
    sjob_poke_in(j, retry_failed(&j->create_retry, loop_now_ns(s->options.loop)));
    return false;
}

/*
 * Does another job of the namespace lack pods of an attempt that it has begun? It comes first: two
 * that each held a part of the namespace's quota would wait for each other.
 */
static bool is_other_short(const struct sjob *j)
{
    VEC_EACH (&j->jobs->by_id, other)
        if (*other != j && (*other)->is_short && text_equal((*other)->ns, j->ns))
            return true;
    return false;
}

/* Finds the nodes of an attempt that wants neighbours: those of its pods. False: not yet. */
static bool find_window(struct sjob *j, size_t index)
{
    const struct sjob_pod *first = NULL;

    free(j->window);
    j->window = NULL;
    if (!sjob_wants_window(j))
        return true;
    for (int64_t rank = 0; rank < j->ask.nodes && !first; rank++)
        first = sjob_find_rank(j, index, rank);
    j->window = !first ? sjob_window_choose(j) : first->window ? mem_strdup(first->window) : NULL;
    return j->window != NULL;
}

/* Creates the pods that the attempt lacks. False: some were not created. */
static bool make_attempt(struct sjob *j, size_t index)
{
    if (j->ask.nodes > 1 && !j->is_short && !sjob_has_pods(j, index) && is_other_short(j)) {
        j->reason = "AssociationResourceLimit";
        sjob_poke_in(j, OTHER_SHORT_NS);
        return false;
    }
    if (!find_window(j, index))
        return false;
    for (int64_t rank = 0; rank < j->ask.nodes; rank++)
        if (!sjob_find_rank(j, index, rank) && !make_pod(j, index, rank)) {
            j->is_incomplete = j->ask.nodes > 1;
            j->is_short = rank > 0;
            return false;
        }
    return true;
}

/* Completes attempts whose creation was cut short. False: some pods were not created. */
static bool complete_attempts(struct sjob *j)
{
    VEC(size_t) found = {0};
    struct sjob_pod *p;
    struct sjob_pod *tmp;
    bool is_done = true;

    if (!j->is_incomplete)
        return true;
    map_each (by_slot, j->pods, p, tmp)
        if (p->rank == 0 && p->state == SJOB_PENDING && !p->is_deleting && !p->is_killed &&
            !p->is_outdated && sjob_element_wait(j, (size_t)p->index) == SJOB_MAY_START)
            vec_add(&found, (size_t)p->index);
    j->is_incomplete = false;
    for (size_t i = 0; i < found.n && is_done; i++)
        is_done = make_attempt(j, found.at[i]);
    vec_done(&found);
    return is_done;
}

/* The number of attempts that may begin now. */
static size_t pod_room(struct sjob *j)
{
    int64_t limit = json_int_at(j->object, "spec", "array", "limit", NULL);
    size_t n_active = j->n_waiting + j->n_running;
    size_t window = (size_t)j->ask.nodes < SJOB_WINDOW ? SJOB_WINDOW / (size_t)j->ask.nodes : 1;
    size_t room = j->n_waiting < window ? window - j->n_waiting : 0;

    if (limit > 0 && n_active + room > (size_t)limit)
        room = (size_t)limit > n_active ? (size_t)limit - n_active : 0;
    if (room == 0 && limit > 0 && n_active >= (size_t)limit)
        j->reason = "JobArrayTaskLimit";
    return room < SJOB_WRITES_MAX ? room : SJOB_WRITES_MAX;
}

/* Comes after the write of the turn: a pod is made of what is written only. */
static void make_pods(struct sjob *j)
{
    int64_t left_ns = retry_left_ns(&j->create_retry, loop_now_ns(j->jobs->options.loop));
    size_t room = pod_room(j);
    bool is_gapless = true; /* no element was passed over */

    if (left_ns > 0) {
        sjob_poke_in(j, left_ns);
        return;
    }
    j->is_short = false;
    if (j->n_outdated > 0) /* they have the names of those to come */
        return;
    if (!complete_attempts(j))
        return;
    for (size_t i = j->next_index; i < j->all.n_words * 64 && room > 0; i++) {
        bool is_open = index_set_has(&j->all, i) && !sjob_has_ended(j, i) && !sjob_has_pods(j, i);
        enum sjob_verdict v = is_open ? sjob_element_wait(j, i) : SJOB_WAITS;

        if (is_open && v == SJOB_MAY_START) {
            if (sjob_is_limited(j) || !make_attempt(j, i))
                return;
            room--;
        } else if (is_open) {
            is_gapless = false;
        }
        if (is_gapless)
            j->next_index = i + 1;
    }
}

/* ---- the turn ---- */

static void put_now(const struct sjob_turn *t, const char *key)
{
    char now[STAMP_TEXT_SIZE];

    stamp_format_micro(t->now_ns, now);
    json_put_text(t->status, key, now);
}

static void turn_never(struct sjob_turn *t)
{
    struct sjob *j = t->job;
    json_t *records = json_object_at(t->status, "records");

    if (!text_equal(json_text(records, "dependency"), "never")) {
        json_put_text(records, "dependency", "never");
        t->is_urgent = true;
        sjob_mail(j, SJOB_MAIL_INVALID_DEPEND, 0, &(struct sjob_end){0});
    }
    if (!json_bool_at(j->object, "spec", "killOnInvalidDependency", NULL))
        return;
    for (size_t i = 0; i < j->all.n_words * 64; i++)
        if (index_set_has(&j->all, i) && !sjob_turn_has_ended(t, i) && !sjob_has_pods(j, i))
            sjob_turn_cancel(t, i);
}

/* Elements that have not started end when they could no longer end before the deadline. */
static void turn_deadline(struct sjob_turn *t)
{
    struct sjob *j = t->job;
    const json_t *spec = json_object_get(j->object, "spec");
    int64_t deadline_ns = stamp_or(json_text(spec, "deadline"), 0);
    int64_t minutes = json_int(spec, "timeMinMinutes", json_int(spec, "timeLimitMinutes", 0));
    int64_t left_ns = deadline_ns - minutes * 60 * NS_PER_SEC - t->now_ns;

    if (deadline_ns == 0)
        return;
    if (left_ns > 0) {
        sjob_turn_again(t, left_ns);
        return;
    }
    j->reason = "DeadLine";
    for (size_t i = 0; i < j->all.n_words * 64; i++) {
        struct sjob_pod *p = index_set_has(&j->all, i) ? sjob_find_pod(j, i) : NULL;

        if (p && p->state == SJOB_PENDING && !p->is_killed)
            vec_add(&t->killed, p);
        else if (index_set_has(&j->all, i) && !sjob_has_pods(j, i) && !sjob_turn_has_ended(t, i))
            sjob_turn_cancel(t, i);
    }
}

/* May elements get pods? */
static bool turn_decide(struct sjob_turn *t)
{
    struct sjob *j = t->job;
    int64_t again_ns = -1;
    enum sjob_verdict v = sjob_wait(j, t->now_ns, &again_ns);

    if (again_ns >= 0)
        sjob_turn_again(t, again_ns);
    if (v == SJOB_NEVER)
        turn_never(t);
    turn_deadline(t);
    if (v != SJOB_MAY_START || sjob_turn_ended(t) == j->all.count)
        return false;
    if (j->eligible_ns == 0)
        j->eligible_ns = t->now_ns;
    sjob_trigger_keep(t);
    if (j->dependency.items.n > 0 && !json_text_at(t->status, "records", "dependency", NULL)) {
        json_put_text(json_object_at(t->status, "records"), "dependency", "holds");
        t->is_urgent = true;
    }
    return true;
}

static bool has_dependent(const struct sjob *j)
{
    VEC_EACH (&j->dependents, id) {
        const struct sjob *other = slurm_find_id(j->jobs, *id);

        if (other && !other->is_over &&
            (text_equal(other->reason, "Dependency") || text_equal(other->reason, "Trigger")))
            return true;
    }
    return false;
}

/* A job that is over is deleted after a while, unless another one still waits for its outcome. */
static void sjob_expire(struct sjob *j)
{
    struct slurm_jobs *s = j->jobs;
    const struct cluster_target target = {
        .resource = "slurmjobs.mete.dev", .ns = j->ns, .name = j->name};
    int64_t ended_ns = stamp_or(json_text(j->status, "endTime"), 0);
    int64_t age_s = slurm_setting(s, "MinJobAge", SLURM_JOB_AGE_S);
    int64_t left_ns = ended_ns + age_s * NS_PER_SEC - loop_wall_ns(s->options.loop);
    AUTO(err_freep) struct err *e = NULL;
    struct cluster_answer a;

    if (left_ns <= 0 && has_dependent(j))
        left_ns = 60 * NS_PER_SEC;
    if (left_ns > 0) {
        sjob_poke_in(j, left_ns);
        return;
    }
    a = slurm_answer(s);
    e = writes_end(a, cluster_remove(s->options.cluster, &target, j->uid, a));
    if (e && err_code(e) != ERR_NOT_FOUND && err_code(e) != ERR_CONFLICT) {
        LOG(WARN, "Slurm job was not deleted, will be tried again", S("job", j->key), E(e));
        sjob_poke_in(j, retry_failed(&j->write_retry, loop_now_ns(s->options.loop)));
    }
}

void sjob_sync(struct sjob *j)
{
    bool may_start;
    struct sjob_turn t;

    j->jobs->changes++;
    if (j->is_deleting)
        return;
    if (j->is_over && j->ended.n == 0 && j->n_outdated == 0 && !sjob_asks_requeue(j)) {
        sjob_expire(j);
        return;
    }
    if (j->is_changed)
        sjob_change_pods(j);
    if (slurm_pod_waits(j->object))
        sjob_loosen_pods(j);
    sjob_turn_init(&t, j);
    sjob_turn_count(&t);
    turn_requeue_all(&t);
    turn_cancel_all(&t);
    if (j->n_running > 0 && json_bool_at(j->object, "spec", "endsWithSteps", NULL))
        turn_abandoned(&t);
    may_start = turn_decide(&t);
    if (sjob_turn_ended(&t) < j->all.count) {
        json_put_text(t.status, "endTime", NULL);
    } else if (!json_text(t.status, "endTime")) {
        put_now(&t, "endTime");
        t.is_urgent = true;
    }
    if (!may_start)
        j->is_short = false;
    if (sjob_turn_write(&t) && may_start)
        make_pods(j);
    sjob_turn_done(&t);
}
