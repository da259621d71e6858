#include "cli/commands.h"

const struct command *const commands[] = {
    &command_up,    &command_down,   &command_run,
    &command_apply, &command_get,    &command_delete,
    &command_ps,    &command_show,   &command_why,
    &command_logs,  &command_cancel, &command_gpus,
    &command_nodes, &command_events, &command_version,
    &command_help,  &command_server, &command_node,
    NULL,
};
