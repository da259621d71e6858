/* seccomp_table.h - the table of system calls by purpose, for seccomp.c */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct seccomp_group {
    const char *capability;   /* NULL: for all containers; else only with that capability */
    const char *const *names; /* ends with NULL */
};

enum seccomp_op {
    SECCOMP_EQUAL,   /* to value */
    SECCOMP_HAS,     /* (argument & mask) == value */
    SECCOMP_GREATER, /* than value */
};

/* The verdict on a call by one of its arguments. */
struct seccomp_argument {
    const char *name;
    const char *not_with; /* with that capability every value is allowed; may be NULL */
    unsigned index;
    enum seccomp_op op;
    uint64_t value;
    uint64_t mask;
    int error; /* 0: allowed */
};

extern const struct seccomp_group seccomp_allowed[];
extern const size_t seccomp_allowed_count;
extern const struct seccomp_argument seccomp_arguments[];
extern const size_t seccomp_arguments_count;
extern const char *const seccomp_refused[]; /* EPERM; ends with NULL */
