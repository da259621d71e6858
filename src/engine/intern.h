/* intern.h - texts as small numbers: equal texts have the same number while it is held */
#pragma once

#include <stdint.h>

struct intern;

struct intern *intern_new(void);
void intern_free(struct intern *in);

/* The number of `text`, with one more hold. Never 0. */
uint32_t intern_ref(struct intern *in, const char *text);

/* The number of `text`; 0: not held. */
uint32_t intern_find(struct intern *in, const char *text);

/* Drops one hold. The last drop frees the number for another text. Accepts 0. */
void intern_unref(struct intern *in, uint32_t id);

/* "" for 0. Borrowed. */
const char *intern_text(const struct intern *in, uint32_t id);
