/* commands.h - all commands; each is defined in the file of its name */
#pragma once

#include "cli/term/command.h"

extern const struct command command_up;
extern const struct command command_down;
extern const struct command command_run;
extern const struct command command_apply;
extern const struct command command_get;
extern const struct command command_delete;
extern const struct command command_ps;
extern const struct command command_show;
extern const struct command command_why;
extern const struct command command_logs;
extern const struct command command_exec;
extern const struct command command_attach;
extern const struct command command_cp;
extern const struct command command_cancel;
extern const struct command command_hold;
extern const struct command command_release;
extern const struct command command_requeue;
extern const struct command command_move;
extern const struct command command_free_gpus;
extern const struct command command_login;
extern const struct command command_rotate_key;
extern const struct command command_token;
extern const struct command command_gpus;
extern const struct command command_image;
extern const struct command command_nodes;
extern const struct command command_topo;
extern const struct command command_events;
extern const struct command command_queues;
extern const struct command command_reserve;
extern const struct command command_quota;
extern const struct command command_advise;
extern const struct command command_usage;
extern const struct command command_audit;
extern const struct command command_top;
extern const struct command command_version;
extern const struct command command_help;
extern const struct command command_completion;
extern const struct command command_complete;
extern const struct command command_cdi;
extern const struct command command_kube;
extern const struct command command_drain;
extern const struct command command_resume;
extern const struct command command_doctor;
extern const struct command command_sim;

/* The commands of Slurm. */
extern const struct command command_sbatch;
extern const struct command command_squeue;
extern const struct command command_scancel;
extern const struct command command_sacct;
extern const struct command command_sinfo;
extern const struct command command_scontrol;
extern const struct command command_slurm_links;

/* Commands of Slurm that are refused by name. */
extern const struct command command_srun;
extern const struct command command_salloc;
extern const struct command command_sacctmgr;
extern const struct command command_sattach;
extern const struct command command_sbcast;
extern const struct command command_sdiag;
extern const struct command command_sprio;
extern const struct command command_sreport;
extern const struct command command_sshare;
extern const struct command command_sstat;
extern const struct command command_strigger;

/* Roles that `mete up` starts. */
extern const struct command command_server;
extern const struct command command_node;
/* A role that the server starts. */
extern const struct command command_learn_values;
extern const struct command command_step;
