/* intern.h - texts as small numbers: equal texts have the same number while somebody holds it */
#pragma once

#include <stdint.h>

struct intern;

struct intern *intern_new(void);
void intern_free(struct intern *in);

/* The number of `text`, held once more. Never 0. */
uint32_t intern_ref(struct intern *in, const char *text);

/* The number of `text` where somebody holds it, else 0. */
uint32_t intern_find(struct intern *in, const char *text);

/* Lets go of one hold; the last one frees the number for another text. Accepts 0. */
void intern_unref(struct intern *in, uint32_t id);

/* "" for 0. Borrowed. */
const char *intern_text(const struct intern *in, uint32_t id);
