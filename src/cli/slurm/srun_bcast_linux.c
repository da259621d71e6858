/* srun_bcast_linux.c - srun --bcast: copies the program to the nodes, where the tasks run the copy
 */

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/slurm/bcast.h"
#include "cli/slurm/srun_bcast.h"

/* The file of a program: as a shell finds it. NULL: there is none. The caller frees it. */
static char *program_find(const char *cwd, const char *name)
{
    const char *path = slurm_variable("PATH");
    struct str rest = str_of(path ? path : "/usr/local/bin:/usr/bin:/bin");

    if (strchr(name, '/'))
        return *name == '/' ? mem_strdup(name) : mem_format("%s/%s", cwd, name);
    while (rest.at) {
        struct str dir = str_cut(&rest, ':');
        AUTO_FREE char *file = mem_format("%.*s/%s", (int)dir.size, dir.at, name);

        if (dir.size > 0 && access(file, X_OK) == 0)
            return TAKE(file);
    }
    return NULL;
}

/* The name of the copies: that of --bcast, where a last '/' means a directory; else a file of the
 * working directory. */
static char *copy_name(const char *cwd, const char *wish, int64_t job, int64_t step)
{
    AUTO_FREE char *own = mem_format("slurm_bcast_%" PRId64 ".%" PRId64, job, step);
    AUTO_FREE char *text = NULL;

    if (!*wish)
        return mem_format("%s/%s", cwd, own);
    text = text_ends_with(wish, "/") ? mem_format("%s%s", wish, own) : mem_strdup(wish);
    return *text == '/' ? TAKE(text) : mem_format("%s/%s", cwd, text);
}

struct err *srun_bcast(const struct srun_bcast *o, char **ret)
{
    const char *wish = json_text(o->submit->step, "bcast");
    AUTO_FREE char *source = NULL;
    AUTO_FREE char *target = NULL;
    struct bcast b = {.ns = o->ns, .nodes = o->nodes, .replaces = true};
    bool has_failed = false;

    if (!wish)
        return NULL;
    if (o->is_het || json_bool(o->submit->step, "multiProg", false))
        return err_new(ERR_INVALID, "--bcast copies one program: not with --multi-prog, and not in "
                                    "a heterogeneous job");
    source = program_find(o->cwd, o->program);
    if (!source)
        return err_new(ERR_INVALID, "--bcast: no program '%s' in PATH", o->program);
    target = copy_name(o->cwd, wish, o->job, o->step);
    b.source = source;
    b.target = target;
    TRY(bcast_run(o->s, &b, &has_failed));
    if (has_failed)
        return err_new(ERR_INVALID, "Failed to copy %s to all nodes as %s", source, target);
    *ret = TAKE(target);
    return NULL;
}
