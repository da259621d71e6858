/*
 * launch_helper.h - the launcher, a role of `mete` as a child process of the node, and its waiters
 *
 * The launcher lives in a mount namespace of its own, in which the directory of Mete's data appears
 * empty: all native attempts share that namespace, so that an attempt costs none. For each attempt
 * the launcher forks a waiter, which makes the cgroup, forks the first process of the job into it,
 * and writes the end into the attempt's file once the cgroup is gone. Waiters survive the launcher
 * and the node.
 *
 * Descriptors: 3, a socket of packets: the ids of attempts, each with a NUL, and as many
 * descriptors of their files (native_file_linux.h); 4, a pipe of lines to the node: "ID {end}" from
 * a waiter (the end as in the file), "ID" from the launcher when a waiter ended without a line of
 * its own.
 */
#pragma once

enum {
    LAUNCH_SOCKET_FD = 3,
    LAUNCH_REPORT_FD = 4,
    LAUNCH_BATCH_MAX = 64,        /* attempts in one packet */
    LAUNCH_PACKET_MAX = 64 * 256, /* bytes of ids in one packet */
    LAUNCH_SIGNAL = 40,           /* real-time signal to a waiter; its value is the signal for the
                                     first process. SIGKILL: for all; SIGTERM: also for steps */
    LAUNCH_FIRST_ONLY = 0x100     /* added to the value: for the first process, whatever it is */
};

#define LAUNCH_ROLE      "launch-helper"
#define LAUNCH_EXEC_ROLE "launch-exec"
/* A command that is `mete step`, of our own program. A second word is the number of the step, a
 * third one goes before it: `mete step use NUMBER`, `mete step attach NUMBER`. */
#define LAUNCH_STEP_WORD    "mete-step"
#define LAUNCH_EXEC_GONE    "404" /* the job has ended */
#define LAUNCH_EXEC_REFUSED "422"
#define LAUNCH_JOBS_DIR     "/run/mete/jobs" /* scripts, in the launcher's namespace */

/* An emulated driver, if the node has one, in the launcher's namespace. */
#define LAUNCH_GPUSIM_DIR "/run/mete/gpu"

/* launch-exec FILE CGROUP-ROOT CGROUP tty|pipes -- COMMAND...: becomes a command in the attempt of
 * FILE, in the CGROUP below the attempt's. Descriptor 3 is a pipe: "404 TEXT" or "422 TEXT" tells
 * why the command could not run. */
int launch_exec_main(int argc, char **argv);

/* launch-helper MASKED-DIR CGROUP-ROOT GPUSIM-DIR */
int launch_helper_main(int argc, char **argv);
