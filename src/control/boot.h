/*
 * boot.h - what must be there before anything else: the namespaces default, kube-system and
 * kube-public, kube-node-lease, and the system's priority classes
 */
#pragma once

#include "base/loop.h"
#include "kinds/object/objects.h"

struct boot;

struct boot_options {
    struct loop *loop;
    struct objects *objects; /* borrowed, outlives this, with its store */
    /* All of it is durable; once, never from inside boot_new. May be NULL. */
    void (*on_ready)(void *arg);
    void *arg;
};

/* Tries again each second while the disk is full. */
struct err *boot_new(const struct boot_options *o, struct boot **ret) MUST_CHECK;
void boot_free(struct boot *b); /* accepts NULL; before the store */
