/* redact.h - takes secrets out of a text that leaves the machine */
#pragma once

#include "base/str.h"

/*
 * Copies `text` without: the value after a key that is about secrets (password, token, secret, key
 * data, credential, authorization; "KEY: v", "KEY=v", "\"KEY\":\"v\""), the body of a private key
 * in PEM, JSON web tokens, one-time links, and the texts in `known` (NULL-terminated). The caller
 * frees it.
 */
char *redact(struct str text, const char *const *known);
