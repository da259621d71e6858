/*
 * cni.h - runs the plugins of a network configuration list, as the CNI specification 1.0.0 says
 * (cni_linux.c)
 *
 * A plugin is a program: it gets its configuration on stdin and the rest in variables (CNI_COMMAND,
 * CNI_CONTAINERID, CNI_NETNS, CNI_IFNAME, CNI_ARGS, CNI_PATH), and writes its result, or its error,
 * as JSON to stdout. ADD calls the plugins in their order and hands each the result of the one
 * before; DEL and CHECK hand all of them the result of ADD, DEL in reverse order. ADD and DEL of
 * one container never run at the same time: the caller sees to that.
 */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "base/loop.h"

#define CNI_VERSION   "1.0.0"
#define CNI_INTERFACE "eth0"         /* the name of the interface in the container */
#define CNI_DIR       "/usr/lib/cni" /* of Debian's plugins */

struct cni;

enum cni_command {
    CNI_ADD,
    CNI_DEL,
    CNI_CHECK
};

struct cni_options {
    struct loop *loop;
    enum cni_command command;
    const char *dir;       /* of the plugins */
    const char *container; /* an id, unique among those of the network */
    const char *netns;     /* the path of the network namespace; "": it is gone (DEL) */
    const char *name;      /* of the network */
    const json_t *plugins; /* an array of configurations; shared until the end */
    const json_t *result;  /* of ADD, for DEL and CHECK; NULL: unknown */
    /* The end; the cni is dead. `result`, borrowed, is that of ADD. `e` has the message of the
     * plugin that failed. */
    void (*done)(void *arg, const struct err *e, const json_t *result);
    void *arg;
};

/* Texts are copied. `done` reports errors later, never from inside the call. */
struct cni *cni_start(const struct cni_options *o);
/* Drops the callback; a running plugin goes on to its end. */
void cni_abandon(struct cni *c);
