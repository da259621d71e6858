/* signals.c - names of signals */

#include "slurm/signals.h"

#include <strings.h>

#include "base/num.h"

/* The signals of Linux on x86-64 and arm64 (signal(7)), which scancel and sbatch know by name. */
static const struct {
    const char *name;
    int number;
} signals[] = {
    {"HUP", 1},   {"INT", 2},   {"QUIT", 3},  {"ABRT", 6},  {"KILL", 9},  {"USR1", 10},
    {"USR2", 12}, {"PIPE", 13}, {"ALRM", 14}, {"TERM", 15}, {"CHLD", 17}, {"CONT", 18},
    {"STOP", 19}, {"TSTP", 20}, {"TTIN", 21}, {"TTOU", 22}, {"URG", 23},  {"XCPU", 24},
};

int slurm_signal_number(struct str name)
{
    AUTO(err_freep) struct err *e = NULL;
    int64_t number = 0;

    if (name.size > 0 && *name.at >= '0' && *name.at <= '9') {
        e = num_parse_int64(name, 1, 64, &number);
        return e ? 0 : (int)number;
    }
    if (name.size > 3 && strncasecmp(name.at, "SIG", 3) == 0)
        name = (struct str){name.at + 3, name.size - 3};
    for (size_t i = 0; i < COUNT(signals); i++)
        if (name.size == strlen(signals[i].name) &&
            strncasecmp(name.at, signals[i].name, name.size) == 0)
            return signals[i].number;
    return 0;
}
