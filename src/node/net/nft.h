/*
 * nft.h - applies rules of nftables through its library, loaded at its first use (nft_linux.c,
 * docs/adr/0010-libraries-at-first-use.md)
 */
#pragma once

#include "base/err.h"

/*
 * Applies a text in the language of nft(8), all of it or nothing. Blocks: for a worker.
 * ERR_INTERNAL has the library's message.
 */
struct err *nft_apply(const char *text) MUST_CHECK;
