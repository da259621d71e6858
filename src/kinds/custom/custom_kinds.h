/*
 * custom_kinds.h - the registry of custom kinds: what CustomResourceDefinitions in the store define
 *
 * An established definition gives a struct kind for each served version, which kind_find and its
 * like find from then on. A struct kind keeps its address and its names as long as the process
 * lives: watches, lists and queues of work hold it. What a definition may change hangs from it
 * (kind->form), and is replaced between two turns of the loop; NULL once the definition is gone.
 */
#pragma once

#include "store/store.h"

struct custom_kinds;

/*
 * Reads all definitions, and follows them. One registry a process: the next one takes its place.
 * Borrows the store.
 */
struct err *custom_kinds_new(struct store *s, struct custom_kinds **ret) MUST_CHECK;
/* No custom kinds are served afterwards, and none may be used. Accepts NULL. */
void custom_kinds_free(struct custom_kinds *c);
