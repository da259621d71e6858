/* exec_walk_linux.c - kills the processes of commands, in a worker */

#include "base/file.h"
#include "base/mem.h"
#include "node/session/exec_cgroup_linux.h"
#include "node/session/exec_linux.h"

struct kill_walk {
    struct exec_set *set;
    uint64_t number;
    struct proc_root root;
    char *cgroup;
    size_t n_killed;
    exec_walked_fn done;
};

static struct err *walk_and_kill(void *message)
{
    struct kill_walk *w = message;

    w->n_killed = (w->root.pid > 0 ? proc_tree_kill(w->root) : 0) + exec_cgroup_kill(w->cgroup);
    return NULL;
}

static void on_walked(void *message, const struct err *e)
{
    struct kill_walk *w = message;

    (void)e; /* a walk never fails */
    w->done(w->set, w->number, w->n_killed);
    free(w->cgroup);
    free(w);
}

void exec_walk(struct exec_set *set, uint64_t number, struct proc_root root, const char *cgroup,
               exec_walked_fn done)
{
    struct kill_walk *w = mem_alloc(sizeof(*w));

    *w = (struct kill_walk){.set = set,
                            .number = number,
                            .root = root,
                            .cgroup = cgroup ? mem_strdup(cgroup) : NULL,
                            .done = done};
    worker_give(set->walker, walk_and_kill, on_walked, w);
}

struct err *exec_sweep(const char *dir)
{
    AUTO(buf_done) struct buf words = {0};

    if (!file_exists(dir))
        return NULL;
    buf_add_text(&words, "--process");
    buf_add_char(&words, '\0');
    buf_printf(&words, "%s/", dir);
    proc_tree_sweep((struct str){words.at, words.size});
    return dir_remove(dir);
}
