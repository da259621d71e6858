/* exec.c - mete exec and attach: a program of a container at this terminal */

#include "base/mem.h"
#include "cli/commands.h"
#include "cli/job/jobs.h"
#include "cli/job/remote_session.h"

static struct err *exec_run(struct cli *c)
{
    AUTO(session_freep) struct session *s = NULL;
    AUTO(json_freep) json_t *pod = NULL;
    AUTO(buf_done) struct buf path = {0};
    struct remote_session o = {.has_stdin = flag_switch(c->in, "stdin"),
                               .has_terminal = flag_switch(c->in, "tty")};

    if (o.has_terminal && !(c->terminal.in && o.has_stdin)) {
        cli_say(c, "no terminal: standard input is not a terminal, or -i is missing");
        o.has_terminal = false;
    }
    TRY(session_open(c, &s));
    TRY(job_find(s, c->in->arguments.at[0], &pod));
    remote_path_begin(&path, pod, "exec", flag_text(c->in, "container"));
    remote_path_streams(&path, o.has_stdin, o.has_terminal);
    for (size_t i = 1; i < c->in->arguments.n; i++)
        remote_path_command(&path, c->in->arguments.at[i]);
    o.path = path.at;
    return remote_session_run(c, s, &o, &c->exit_code);
}

static const struct flag exec_flags[] = {
    {.name = "stdin",
     .letter = 'i',
     .type = FLAG_SWITCH,
     .doc = "pass standard input to the program"},
    {.name = "tty",
     .letter = 't',
     .type = FLAG_SWITCH,
     .doc = "allocate a terminal for the program; needs -i"},
    {.name = "container",
     .letter = 'c',
     .type = FLAG_TEXT,
     .value = "NAME",
     .doc = "container of the pod. Required if the pod has several"},
    {0},
};

const struct command command_exec = {
    .name = "exec",
    .arguments = "JOB -- PROGRAM [ARGUMENT...]",
    .summary = "run a program in a running job's container",
    .doc = "The program runs as the container's user, with the container's environment, devices "
           "and limits. The exit code is the program's own; 125 is a failure of mete itself.",
    .examples = {{"exec -it 12 -- bash", "opens a shell in job 12"},
                 {"exec 12 -- nvidia-smi", "shows the use of the job's GPUs"},
                 {"exec -i 12 -- sh -c 'cat >/tmp/x' <x", "passes a file as standard input"},
                 {0}},
    .flags = exec_flags,
    .groups = FLAGS_SERVER | FLAGS_NAMESPACE,
    .n_min = 2,
    .takes = TAKES_JOB,
    .n_max = 500,
    .failure_code = EXIT_RUN_FAILED,
    .run = exec_run,
};

static const json_t *find_container(const json_t *pod, const char *name)
{
    const json_t *containers = json_at(pod, "spec", "containers", NULL);
    size_t i;
    json_t *item;

    json_array_foreach (containers, i, item)
        if (!name || text_equal(json_text(item, "name"), name))
            return item;
    return NULL;
}

static struct err *attach_run(struct cli *c)
{
    const char *name = flag_text(c->in, "container");
    AUTO(session_freep) struct session *s = NULL;
    AUTO(json_freep) json_t *pod = NULL;
    AUTO(buf_done) struct buf path = {0};
    struct remote_session o = {0};
    const json_t *container = NULL;

    TRY(session_open(c, &s));
    TRY(job_find(s, c->in->arguments.at[0], &pod));
    container = find_container(pod, name);
    o.has_stdin = json_bool(container, "stdin", false) && !flag_switch(c->in, "no-stdin");
    o.has_terminal = json_bool(container, "tty", false);
    o.can_detach = o.has_terminal && o.has_stdin && c->terminal.in;
    remote_path_begin(&path, pod, "attach", name);
    remote_path_streams(&path, o.has_stdin, o.has_terminal);
    o.path = path.at;
    cli_say(c, "attached to job %s: %s", job_of(pod).id,
            o.can_detach  ? "Ctrl-P Ctrl-Q detaches, Ctrl-C goes to the job"
            : o.has_stdin ? "standard input goes to the job"
                          : "the job takes no input, Ctrl-C detaches");
    return remote_session_run(c, s, &o, &c->exit_code);
}

static const struct flag attach_flags[] = {
    {.name = "container",
     .letter = 'c',
     .type = FLAG_TEXT,
     .value = "NAME",
     .doc = "container of the pod. Required if the pod has several"},
    {.name = "no-stdin", .type = FLAG_SWITCH, .doc = "do not pass standard input: only watch"},
    {0},
};

const struct command command_attach = {
    .name = "attach",
    .arguments = "JOB",
    .summary = "connect to the input and output of a running job",
    .doc = "Prints the output from now on; `mete logs` prints earlier output. Standard input is "
           "connected if the container has `stdin: true`, the terminal if the container has `tty: "
           "true`.",
    .examples = {{"attach 12", "stays connected until the job ends"},
                 {"attach --no-stdin 12", "watches the output only"},
                 {0}},
    .flags = attach_flags,
    .groups = FLAGS_SERVER | FLAGS_NAMESPACE,
    .n_min = 1,
    .takes = TAKES_JOB,
    .n_max = 1,
    .failure_code = EXIT_RUN_FAILED,
    .run = attach_run,
};
