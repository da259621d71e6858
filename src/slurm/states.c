/* states.c - the states of jobs in Slurm's words */

#include "slurm/states.h"

#include <strings.h>

#include "base/mem.h"

static const struct {
    const char *name;
    const char *brief;
} states[] = {
    {"PENDING", "PD"},    {"RUNNING", "R"},       {"SUSPENDED", "S"},     {"COMPLETED", "CD"},
    {"CANCELLED", "CA"},  {"FAILED", "F"},        {"TIMEOUT", "TO"},      {"NODE_FAIL", "NF"},
    {"PREEMPTED", "PR"},  {"BOOT_FAIL", "BF"},    {"DEADLINE", "DL"},     {"OUT_OF_MEMORY", "OOM"},
    {"COMPLETING", "CG"}, {"CONFIGURING", "CF"},  {"RESIZING", "RS"},     {"RESV_DEL_HOLD", "RD"},
    {"REQUEUED", "RQ"},   {"REQUEUE_FED", "RF"},  {"REQUEUE_HOLD", "RH"}, {"REVOKED", "RV"},
    {"SIGNALING", "SI"},  {"SPECIAL_EXIT", "SE"}, {"STAGE_OUT", "SO"},    {"STOPPED", "ST"},
};

const char slurm_state_words[] =
    "PENDING,RUNNING,SUSPENDED,COMPLETED,CANCELLED,FAILED,TIMEOUT,NODE_FAIL,PREEMPTED,BOOT_FAIL,"
    "DEADLINE,OUT_OF_MEMORY,COMPLETING,CONFIGURING,RESIZING,RESV_DEL_HOLD,REQUEUED,REQUEUE_FED,"
    "REQUEUE_HOLD,REVOKED,SIGNALING,SPECIAL_EXIT,STAGE_OUT,STOPPED";

const char *slurm_state_short(const char *state)
{
    for (size_t i = 0; i < COUNT(states); i++)
        if (text_equal(states[i].name, state))
            return states[i].brief;
    return text_or_empty(state);
}

const char *slurm_state_long(struct str word)
{
    for (size_t i = 0; i < COUNT(states); i++) {
        const char *names[] = {states[i].name, states[i].brief};

        for (size_t j = 0; j < COUNT(names); j++)
            if (word.size == strlen(names[j]) && strncasecmp(word.at, names[j], word.size) == 0)
                return states[i].name;
    }
    return NULL;
}

const char *slurm_state_shown(const json_t *row)
{
    const json_t *flags = json_object_get(row, "flags");
    const char *flag = json_string_value(json_array_get(flags, 0));
    const char *state = json_text(row, "state");

    return flag ? flag : state ? state : "PENDING";
}

int slurm_state_rank(const char *state)
{
    for (size_t i = 0; i < COUNT(states); i++)
        if (text_equal(states[i].name, state))
            return (int)i;
    return (int)COUNT(states);
}

bool slurm_state_is_live(const char *state)
{
    return text_equal(state, "PENDING") || text_equal(state, "RUNNING") ||
           text_equal(state, "SUSPENDED") || text_equal(state, "COMPLETING") ||
           text_equal(state, "CONFIGURING") || text_equal(state, "REQUEUED");
}

struct err *slurm_states_parse(const char *text, char **ret)
{
    struct buf out = {0};
    struct str rest = str_of(text);

    if (strcasecmp(text, "all") == 0) {
        *ret = mem_strdup("all");
        return NULL;
    }
    while (rest.at) {
        struct str word = str_cut(&rest, ',');
        const char *state = slurm_state_long(word);

        if (!state) {
            buf_done(&out);
            return err_new(ERR_INVALID,
                           "Invalid job state specified: " STR_FMT "\nValid job states include: %s",
                           STR_ARG(word), slurm_state_words);
        }
        buf_printf(&out, "%s%s", out.size > 0 ? "," : "", state);
    }
    *ret = buf_steal(&out);
    return NULL;
}
