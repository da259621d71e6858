/* top_run.c - child processes with the server's flags of `mete top` */

#include "cli/top/top_run.h"

#include <sys/wait.h>

#include "base/mem.h"
#include "base/proc.h"
#include "base/vec.h"

struct top_command {
    VEC(char *) words; /* NULL at the end */
    bool has_terminal;
};

struct top_run {
    struct top_run_options o;
    VEC(struct top_command) waiting;
    struct proc *proc; /* NULL: none runs */
    bool has_terminal; /* of the running one */
};

static void command_done(struct top_command *c)
{
    VEC_EACH (&c->words, word)
        free(*word);
    vec_done(&c->words);
}

static void run_next(struct top_run *r);

static void run_on_end(void *arg, const struct proc_end *end)
{
    struct top_run *r = arg;

    r->proc = NULL;
    r->has_terminal = false;
    r->o.on_end(r->o.arg, WIFEXITED(end->status) && WEXITSTATUS(end->status) == 0, end->output);
    run_next(r);
}

static void run_next(struct top_run *r)
{
    while (!r->proc && r->waiting.n > 0) {
        struct top_command c = r->waiting.at[0];
        struct proc_options o = {.argv = (const char *const *)c.words.at,
                                 .is_self = true,
                                 .has_output = !c.has_terminal};
        AUTO(err_freep) struct err *e = NULL;

        vec_remove(&r->waiting, 0);
        if (c.has_terminal) {
            o.n_fds = 3;
            for (int i = 0; i < 3; i++)
                o.fds[i] = i;
        }
        r->has_terminal = c.has_terminal;
        e = proc_start(r->o.loop, &o, run_on_end, r, &r->proc);
        command_done(&c);
        if (!e)
            return;
        r->has_terminal = false;
        r->o.on_end(r->o.arg, false, str_of(err_message(e)));
    }
}

struct top_run *top_run_new(const struct top_run_options *o)
{
    struct top_run *r = mem_alloc(sizeof(*r));

    r->o = *o;
    return r;
}

void top_run_free(struct top_run *r)
{
    if (!r)
        return;
    if (r->proc)
        proc_abandon(r->proc);
    VEC_EACH (&r->waiting, c)
        command_done(c);
    vec_done(&r->waiting);
    free(r);
}

static void add_flag(struct top_command *c, const char *name, const char *value)
{
    if (!value)
        return;
    vec_add(&c->words, mem_format("--%s", name));
    vec_add(&c->words, mem_strdup(value));
}

/* The flags come before the first argument: what follows the arguments may be for the job. */
void top_run_add(struct top_run *r, const char *const *words, const char *ns, bool has_terminal)
{
    static const char *const server_flags[] = {"data", "kubeconfig", "context"};
    struct top_command c = {.has_terminal = has_terminal};

    vec_add(&c.words, mem_strdup(r->o.cli->self_path));
    vec_add(&c.words, mem_strdup(words[0]));
    for (size_t i = 0; i < COUNT(server_flags); i++)
        add_flag(&c, server_flags[i], flag_text(r->o.cli->in, server_flags[i]));
    add_flag(&c, "namespace", ns);
    for (size_t i = 1; words[i]; i++)
        vec_add(&c.words, mem_strdup(words[i]));
    vec_add(&c.words, NULL);
    vec_add(&r->waiting, c);
    run_next(r);
}

bool top_run_has_terminal(const struct top_run *r)
{
    return r->has_terminal;
}
