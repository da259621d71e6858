/* roles.h - what `mete up` and its children agree on */
#pragma once

/* Descriptors that a child is born with. */
enum {
    ROLE_FD_LIFELINE = 3, /* its end of file is the end of `mete up`, and of the child */
    ROLE_FD_READY = 4,    /* takes one letter when the child serves */
    ROLE_FD_CHILDREN = 5, /* only held: the next `mete up` waits until it is nobody's */
    ROLE_FD_UNIX = 6,     /* server: listening */
    ROLE_FD_TLS = 7,
};

/* How often the server may learn, and after how many arrivals. */
#define LEARN_EVERY "1h"
#define LEARN_AFTER "1000"

#define ROLE_READY_SERVER 's'
#define ROLE_READY_NODE   'n'
