/*
 * slurm_mail.c - mail about jobs: --mail-type, --mail-user, MailProg of slurm.conf
 *
 * The server runs `MailProg -s SUBJECT USER`, as Slurm, with an empty input and variables about the
 * job. A mail is tried once: a letter that waits when the server ends is lost.
 */
#include <inttypes.h>
#include <strings.h>

#include "base/proc.h"
#include "control/slurm/slurm_private.h"
#include "model/slurm_time.h"

enum {
    RUNNING_MAX = 4,
    LETTERS_MAX = 1000, /* that wait; more are dropped */
    NAME_MAX_BYTES = 200,
    MAIL_DEADLINE_S = 60
};

struct slurm_letter {
    struct slurm_letter *prev;
    struct slurm_letter *next;
    struct slurm_jobs *jobs;
    struct proc *proc; /* NULL: waits */
    char *program;
    char *subject;
    char *user;
    VEC(char *) env;
};

static void letter_free(struct slurm_letter *l)
{
    LIST_REMOVE(l->jobs->letters, l);
    l->jobs->n_letters--;
    VEC_EACH (&l->env, variable)
        free(*variable);
    vec_done(&l->env);
    free(l->program);
    free(l->subject);
    free(l->user);
    free(l);
}

void slurm_mail_done(struct slurm_jobs *s)
{
    while (s->letters) {
        if (s->letters->proc)
            proc_abandon(s->letters->proc);
        letter_free(s->letters);
    }
}

/* ---- sending ---- */

static void letters_send(struct slurm_jobs *s);

static void mail_on_end(void *arg, const struct proc_end *end)
{
    struct slurm_letter *l = arg;
    struct slurm_jobs *s = l->jobs;
    AUTO_FREE char *how = proc_format_status(end->status);

    if (end->timed_out || end->status != 0)
        LOG(WARN, "mail about a Slurm job was not sent", S("program", l->program), S("to", l->user),
            S("end", end->timed_out ? "took too long" : how));
    letter_free(l);
    letters_send(s);
}

/* False: the program could not be run, and the letter is gone. */
static bool letter_send(struct slurm_letter *l)
{
    const char *const argv[] = {l->program, "-s", l->subject, l->user, NULL};
    const char **env = mem_alloc((l->env.n + 1) * sizeof(*env));
    const struct proc_options o = {.argv = argv,
                                   .env = env,
                                   .cwd = "/",
                                   .has_output = true,
                                   .is_session = true,
                                   .deadline_ns = MAIL_DEADLINE_S * NS_PER_SEC};
    AUTO(err_freep) struct err *e = NULL;

    for (size_t i = 0; i < l->env.n; i++)
        env[i] = l->env.at[i];
    e = proc_start(l->jobs->options.loop, &o, mail_on_end, l, &l->proc);
    free(env);
    if (!e)
        return true;
    LOG(WARN, "mail about a Slurm job was not sent", S("to", l->user), E(e));
    letter_free(l);
    return false;
}

static void letters_send(struct slurm_jobs *s)
{
    size_t n = 0;
    struct slurm_letter *l = NULL;

    LIST_EACH (s->letters, l)
        n += l->proc != NULL;
    LIST_EACH (s->letters, l) {
        if (n >= RUNNING_MAX)
            return;
        if (!l->proc)
            n += letter_send(l);
    }
}

/* ---- the letter ---- */

static const char *mail_types[SJOB_MAILS] = {"BEGIN",   "END",        "FAIL",
                                             "REQUEUE", "TIME_LIMIT", "INVALID_DEPEND"};
static const char *mail_words[SJOB_MAILS] = {
    "Began", "Ended", "Failed", "Requeued", "Reached time limit", "Invalid dependency"};

static bool mail_has(const struct sjob *j, const char *type)
{
    struct str rest = str_of(json_text_at(j->object, "spec", "mailType", NULL));

    while (rest.at) {
        struct str one = str_cut(&rest, ',');

        if (one.size == strlen(type) && strncasecmp(one.at, type, one.size) == 0)
            return true;
    }
    return false;
}

bool sjob_wants_mail(const struct sjob *j, enum sjob_mail what)
{
    return mail_has(j, mail_types[what]) || (what != SJOB_MAIL_TIME_LIMIT && mail_has(j, "ALL"));
}

bool sjob_mails_elements(const struct sjob *j)
{
    return !j->is_array || mail_has(j, "ARRAY_TASKS");
}

/* The job's name in one line. The caller frees it. */
static char *mail_name(const struct sjob *j)
{
    const char *name = text_or_empty(json_text_at(j->object, "spec", "name", NULL));
    char *line = mem_format("%.*s", (int)NAME_MAX_BYTES, name);

    for (char *at = line; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = '?';
    return line;
}

static void add_elapsed(struct buf *out, const char *what, int64_t from_ns, int64_t to_ns)
{
    char text[SLURM_TIME_TEXT_SIZE];

    if (from_ns <= 0 || to_ns < from_ns)
        return;
    slurm_elapsed_format((to_ns - from_ns) / NS_PER_SEC, text);
    buf_printf(out, ", %s time %s", what, text);
}

static void add_job(struct buf *out, const struct sjob *j, size_t index)
{
    AUTO_FREE char *name = mail_name(j);
    int64_t id = sjob_element_id(j, index);

    if (!j->is_array)
        buf_printf(out, "Slurm Job_id=%" PRId64 " Name=%s", j->id, name);
    else if (sjob_mails_elements(j))
        buf_printf(out, "Slurm Array Task Job_id=%" PRId64 "_%zu (%" PRId64 ") Name=%s", j->id,
                   index, id, name);
    else
        buf_printf(out, "Slurm Array Summary Job_id=%" PRId64 "_* (%" PRId64 ") Name=%s", j->id, id,
                   name);
}

/* The end of the job, or of all elements of an array. */
static void add_end(struct buf *out, const struct sjob *j, const struct sjob_end *end)
{
    bool is_mixed = j->failed.count + j->cancelled.count > 0 && j->completed.count > 0;

    if (j->is_array && !sjob_mails_elements(j))
        buf_printf(out, ", %s, ExitCode [%d-%" PRId64 "]",
                   is_mixed ? "Mixed" : sjob_state_names[end->state], 0,
                   json_int(j->status, "exitCode", 0));
    else if (end->signal > 0)
        buf_printf(out, ", %s", sjob_state_names[end->state]);
    else
        buf_printf(out, ", %s, ExitCode %" PRId64, sjob_state_names[end->state], end->code);
}

static char *mail_subject(const struct sjob *j, enum sjob_mail what, size_t index,
                          const struct sjob_end *end)
{
    struct buf out = {0};
    int64_t submitted_ns =
        stamp_or(json_text_at(j->object, "metadata", "creationTimestamp", NULL), 0);
    int64_t now_ns = loop_wall_ns(j->jobs->options.loop);

    add_job(&out, j, index);
    buf_printf(&out, " %s", mail_words[what]);
    if (what == SJOB_MAIL_BEGIN)
        add_elapsed(&out, "Queued", submitted_ns, end->started_ns);
    else if (what != SJOB_MAIL_INVALID_DEPEND)
        add_elapsed(&out, "Run", end->started_ns, end->ended_ns > 0 ? end->ended_ns : now_ns);
    if (what == SJOB_MAIL_END || what == SJOB_MAIL_FAIL)
        add_end(&out, j, end);
    return buf_steal(&out);
}

static void letter_put(struct slurm_letter *l, const char *name, const char *value)
{
    if (value)
        vec_add(&l->env, mem_format("%s=%s", name, value));
}

static void letter_fill(struct slurm_letter *l, const struct sjob *j, enum sjob_mail what,
                        size_t index, const struct sjob_end *end)
{
    const json_t *spec = json_object_get(j->object, "spec");
    AUTO_FREE char *id = mem_format("%" PRId64, sjob_element_id(j, index));
    AUTO_FREE char *array = j->is_array ? mem_format("%" PRId64, j->id) : NULL;
    AUTO_FREE char *element = j->is_array ? mem_format("%zu", index) : NULL;
    AUTO_FREE char *name = mail_name(j);
    bool has_ended = end->state >= SJOB_COMPLETED;

    letter_put(l, "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    letter_put(l, "SLURM_CLUSTER_NAME",
               text_or_empty(json_text(slurm_settings(j->jobs), "ClusterName")));
    letter_put(l, "SLURM_JOB_ID", id);
    letter_put(l, "SLURM_JOB_NAME", name);
    letter_put(l, "SLURM_JOB_USER", json_text_at(spec, "user", "name", NULL));
    letter_put(l, "SLURM_JOB_ARRAY_JOB_ID", array);
    letter_put(l, "SLURM_JOB_ARRAY_TASK_ID", element);
    letter_put(l, "SLURM_JOB_MAIL_TYPE", mail_words[what]);
    letter_put(l, "SLURM_JOB_STATE", sjob_state_names[has_ended ? end->state : SJOB_RUNNING]);
}

void sjob_mail(struct sjob *j, enum sjob_mail what, size_t index, const struct sjob_end *end)
{
    struct slurm_jobs *s = j->jobs;
    const char *program = json_text_filled(slurm_settings(s), "MailProg");
    const char *to = json_text_at(j->object, "spec", "mailUser", NULL);
    struct slurm_letter *l;

    if (!to || !*to)
        to = json_text_at(j->object, "spec", "user", "name", NULL);
    if (!program || !to || !sjob_wants_mail(j, what))
        return;
    if (s->n_letters >= LETTERS_MAX) {
        LOG(WARN, "mail about a Slurm job was dropped: too many wait", S("job", j->key));
        return;
    }
    l = mem_alloc(sizeof(*l));
    *l = (struct slurm_letter){.jobs = s,
                               .program = mem_strdup(program),
                               .subject = mail_subject(j, what, index, end),
                               .user = mem_strdup(to)};
    letter_fill(l, j, what, index, end);
    LIST_ADD(s->letters, l);
    s->n_letters++;
    letters_send(s);
}

/* ---- ends ---- */

void sjob_mail_begin(struct sjob *j, size_t index, const struct sjob_end *end)
{
    bool is_first = j->last_start_ns == 0 && sjob_restarts(j->status, j, index) == 0;

    if (sjob_mails_elements(j) || is_first)
        sjob_mail(j, SJOB_MAIL_BEGIN, index, end);
}

static void mail_element(struct sjob *j, size_t index, const struct sjob_end *end)
{
    bool is_well = end->state == SJOB_COMPLETED || end->state == SJOB_CANCELLED;

    if (!is_well && sjob_wants_mail(j, SJOB_MAIL_FAIL))
        sjob_mail(j, SJOB_MAIL_FAIL, index, end);
    else
        sjob_mail(j, SJOB_MAIL_END, index, end);
    if (end->state == SJOB_TIMEOUT)
        sjob_mail(j, SJOB_MAIL_TIME_LIMIT, index, end);
}

void sjob_mail_ends(const struct sjob_turn *t)
{
    struct sjob *j = t->job;
    bool is_whole = !sjob_mails_elements(j);
    struct sjob_end all = {.state = j->failed.count > 0      ? SJOB_FAILED
                                    : j->cancelled.count > 0 ? SJOB_CANCELLED
                                                             : SJOB_COMPLETED,
                           .started_ns = stamp_or(json_text(j->status, "startTime"), 0),
                           .ended_ns = stamp_or(json_text(j->status, "endTime"), 0)};
    size_t first = 0;

    VEC_EACH (&t->news, news) {
        if (news->is_requeued)
            sjob_mail(j, SJOB_MAIL_REQUEUE, news->index, &news->end);
        else if (!is_whole)
            mail_element(j, news->index, &news->end);
    }
    while (!index_set_has(&j->all, first))
        first++;
    if (is_whole && j->is_over && t->news.n > 0)
        mail_element(j, first, &all);
}
