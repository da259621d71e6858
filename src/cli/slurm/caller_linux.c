/* caller_linux.c - the surroundings of a submission */

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/slurm/caller.h"

enum {
    HOST_SIZE = 256
};

struct err *caller_look(struct caller *ret)
{
    char host[HOST_SIZE] = "";
    char *cwd = getcwd(NULL, 0);
    mode_t mask = umask(0);

    (void)umask(mask);
    if (!cwd)
        return err_errno(errno, "get the working directory");
    if (gethostname(host, sizeof(host) - 1) < 0)
        host[0] = 0;
    *ret = (struct caller){.cwd = cwd,
                           .host = mem_strndup(host, strcspn(host, ".")),
                           .umask = (int64_t)mask,
                           .environment = (const char *const *)environ};
    return NULL;
}

void caller_done(struct caller *c)
{
    free(c->cwd);
    free(c->host);
    *c = (struct caller){0};
}
