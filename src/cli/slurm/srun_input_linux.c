/* srun_input_linux.c - where the input of the tasks of a step comes from */

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "cli/slurm/srun_private.h"

struct err *srun_input_open(const struct slurm_submit *submit, const struct step_make *make,
                            int *ret_fd, uint32_t *ret_rank)
{
    const char *mode = json_text_filled(submit->spec, "stdin");
    AUTO(err_freep) struct err *e = NULL;
    AUTO_FREE char *path = NULL;
    int64_t rank = 0;
    char step[24];
    const struct slurm_pattern_values values = step_make_values(make, 0, 0, step);

    *ret_fd = STDIN_FILENO;
    *ret_rank = json_bool(submit->step, "pty", false) ? 0 : STEP_ALL_RANKS;
    if (!mode || text_equal(mode, "all"))
        return NULL;
    if (text_equal(mode, "none") || step_pattern_is_local(mode)) {
        *ret_fd = -1;
        return NULL;
    }
    e = num_parse_int64(str_of(mode), 0, make->tasks - 1, &rank);
    if (!e) {
        *ret_rank = (uint32_t)rank;
        return NULL;
    }
    path = slurm_pattern_expand(mode, &values);
    *ret_fd = open(path, O_RDONLY | O_CLOEXEC);
    return *ret_fd < 0 ? err_errno(errno, "Could not open stdin file: %s", path) : NULL;
}

void srun_input_close(int fd)
{
    if (fd > STDERR_FILENO)
        fd_close(fd);
}
