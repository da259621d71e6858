/*
 * door.h - mete.sock of a node of another machine: passes connections of the users of its jobs on
 * to the server
 *
 * Each connection becomes one to the server, which takes it for a connection of the peer's uid
 * (api/node_door.c). Bytes pass unread.
 */
#pragma once

#include "client/client.h"

struct door;

struct door_options {
    struct loop *loop;
    struct client *client; /* of the node */
    int fd;                /* a listening unix socket, which the caller keeps */
    /* A pod of a Slurm job that runs here as `uid`, "NAMESPACE/NAME", which the caller frees;
     * NULL: none. */
    char *(*find)(void *arg, uint32_t uid);
    void *arg;
};

struct door *door_new(const struct door_options *o);
void door_free(struct door *d); /* accepts NULL; closes all connections */
