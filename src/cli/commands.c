/* commands.c - the table of commands, in the order of help */

#include "cli/commands.h"

const struct command *const commands[] = {
    &command_up,          &command_down,    &command_run,
    &command_apply,       &command_get,     &command_delete,
    &command_ps,          &command_show,    &command_why,
    &command_logs,        &command_exec,    &command_attach,
    &command_cp,          &command_cancel,  &command_hold,
    &command_release,     &command_requeue, &command_move,
    &command_free_gpus,   &command_login,   &command_gpus,
    &command_image,       &command_nodes,   &command_topo,
    &command_events,      &command_queues,  &command_quota,
    &command_reserve,     &command_usage,   &command_advise,
    &command_top,         &command_audit,   &command_cdi,
    &command_drain,       &command_resume,  &command_token,
    &command_doctor,      &command_sim,     &command_completion,
    &command_version,     &command_help,    &command_complete,
    &command_server,      &command_node,    &command_learn_values,
    &command_sbatch,      &command_squeue,  &command_scancel,
    &command_slurm_links, &command_sacct,   &command_sinfo,
    &command_scontrol,    &command_srun,    &command_salloc,
    &command_sacctmgr,    &command_sattach, &command_sbcast,
    &command_sdiag,       &command_sprio,   &command_sreport,
    &command_sshare,      &command_sstat,   &command_strigger,
    &command_step,        &command_kube,    NULL,
};
