/* states.h - the states of jobs in Slurm's words: "PENDING", "PD" */
#pragma once

#include "base/json.h"

/* The states with commas, for messages. */
extern const char slurm_state_words[];

/* The short form of a state: "PD"; an unknown state stays. */
const char *slurm_state_short(const char *state);

/* The long form of a long or short state in any case; NULL: unknown. */
const char *slurm_state_long(struct str word);

/* The state that listings show for a row: its first flag, else its state. */
const char *slurm_state_shown(const json_t *row);

/* Place in the order of listings. */
int slurm_state_rank(const char *state);

/* Has a job in this state not ended? */
bool slurm_state_is_live(const char *state);

/* Reads a list of states for the report of rows: "all", or long states with commas, which the
 * caller frees. ERR_INVALID: an unknown state, with the lines that squeue prints. */
struct err *slurm_states_parse(const char *text, char **ret) MUST_CHECK;
