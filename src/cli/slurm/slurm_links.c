/* slurm_links.c - mete slurm-links: links by which programs find the commands of Slurm */

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/commands.h"

/* The program of the links: mete-slurm, if it lies beside this one, which is slower to start. The
 * caller frees it. */
static char *linked_program(const struct cli *c)
{
    AUTO_FREE char *quick = mem_format("%s-slurm", c->self_path);

    return file_exists(quick) ? TAKE(quick) : mem_strdup(c->self_path);
}

/* Is the file a link to this program, or to mete-slurm? */
static bool is_own_link(const struct cli *c, const char *path)
{
    AUTO_FREE char *program = linked_program(c);
    AUTO_FREE char *target = realpath(path, NULL);
    AUTO_FREE char *linked = realpath(program, NULL);
    AUTO_FREE char *self = realpath(c->self_path, NULL);

    return target && (text_equal(target, self) || text_equal(target, linked));
}

/* The path of another program of this name in $PATH; NULL: none. The caller frees it. */
static char *other_program(const struct cli *c, const char *name)
{
    struct str rest = str_of(getenv("PATH")); /* NOLINT(concurrency-mt-unsafe): one thread */

    while (rest.at) {
        struct str dir = str_cut(&rest, ':');
        AUTO_FREE char *path = mem_format(STR_FMT "/%s", STR_ARG(dir), name);

        if (dir.size > 0 && access(path, X_OK) == 0 && !is_own_link(c, path))
            return TAKE(path);
    }
    return NULL;
}

static struct err *link_one(const struct cli *c, const char *dir, const char *name)
{
    AUTO_FREE char *path = mem_format("%s/%s", dir, name);
    AUTO_FREE char *program = linked_program(c);
    struct stat st;

    if (lstat(path, &st) == 0) {
        if (is_own_link(c, path))
            return NULL;
        return err_new(ERR_EXISTS, "%s exists and is not a link to %s", path, program);
    }
    if (symlink(program, path) < 0)
        return err_errno(errno, "link %s", path);
    return NULL;
}

static struct err *slurm_links_run(struct cli *c)
{
    const char *dir = c->in->arguments.at[0];

    for (size_t i = 0; commands[i]; i++) {
        AUTO_FREE char *other =
            commands[i]->reads_words ? other_program(c, commands[i]->name) : NULL;

        if (other) {
            cli_try(c, "docs/slurm.md   says how both live side by side");
            return err_new(ERR_EXISTS, "%s is a program of a real Slurm: no links were made",
                           other);
        }
    }
    TRY(dir_make(dir, 0755));
    for (size_t i = 0; commands[i]; i++)
        if (commands[i]->reads_words)
            TRY(link_one(c, dir, commands[i]->name));
    return NULL;
}

const struct command command_slurm_links = {
    .name = "slurm-links",
    .arguments = "DIR",
    .summary = "make links such as DIR/sbatch, by which programs find Slurm's commands",
    .doc = "The program that is called by such a link behaves as the command of that name. No "
           "links are made where $PATH has the programs of a\nreal Slurm.",
    .examples = {{"slurm-links /usr/local/bin", "lets scripts and clients call sbatch and squeue"},
                 {"slurm-links ~/slurm", "makes the links in a directory of one's own"},
                 {0}},
    .takes = TAKES_FILES,
    .n_min = 1,
    .n_max = 1,
    .run = slurm_links_run,
};
