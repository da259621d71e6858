/* node_state.c - the states of nodes as sinfo writes them */

#include "slurm/node_state.h"

#include <stdio.h>

static bool node_has(const json_t *row, const char *flag)
{
    return json_has_text(json_object_get(row, "flags"), flag);
}

void slurm_node_state_format(const json_t *row, bool is_short, char ret[NODE_STATE_SIZE])
{
    static const struct {
        const char *state;
        const char *words[2]; /* long, short */
    } states[] = {{"IDLE", {"idle", "idle"}},
                  {"MIXED", {"mixed", "mix"}},
                  {"ALLOCATED", {"allocated", "alloc"}},
                  {"DOWN", {"down", "down"}}};
    const char *state = json_text(row, "state");
    bool is_busy = text_equal(state, "MIXED") || text_equal(state, "ALLOCATED");
    const char *word = is_short ? "unk" : "unknown";

    for (size_t i = 0; i < COUNT(states); i++)
        if (text_equal(state, states[i].state))
            word = states[i].words[is_short];
    if (node_has(row, "MAINTENANCE"))
        word = "maint";
    else if (node_has(row, "DRAIN") && is_busy)
        word = is_short ? "drng" : "draining";
    else if (node_has(row, "DRAIN"))
        word = is_short ? "drain" : "drained";
    (void)snprintf(ret, NODE_STATE_SIZE, "%s%s", word, node_has(row, "NOT_RESPONDING") ? "*" : "");
}
