/* nft_linux.c - libnftables */

#include <nftables/libnftables.h>

#include "base/library_linux.h"
#include "base/str.h"
#include "node/net/nft.h"

/* clang-format off */
#define NFT_CALLS(X) \
    X(nft_ctx_buffer_error) X(nft_ctx_free) X(nft_ctx_get_error_buffer) X(nft_ctx_new) \
    X(nft_run_cmd_from_buffer)
/* clang-format on */

#define X(name) static __typeof__(name) *sym_##name;
NFT_CALLS(X)
#undef X

static struct err *nft_load(void)
{
    static const struct library_symbol symbols[] = {
#define X(name) {#name, &sym_##name},
        NFT_CALLS(X)
#undef X
    };
    static struct library library = {.file = "libnftables.so.1",
                                     .symbols = symbols,
                                     .n_symbols = COUNT(symbols),
                                     .mutex = PTHREAD_MUTEX_INITIALIZER};

    return library_load(&library);
}

struct err *nft_apply(const char *text)
{
    struct nft_ctx *c;
    struct err *e = NULL;

    TRY(nft_load());
    c = sym_nft_ctx_new(NFT_CTX_DEFAULT);
    if (!c || sym_nft_ctx_buffer_error(c) != 0)
        e = err_new(ERR_INTERNAL, "nftables cannot be used");
    else if (sym_nft_run_cmd_from_buffer(c, text) != 0)
        e = err_new(ERR_INTERNAL, "nftables: %s", text_or_empty(sym_nft_ctx_get_error_buffer(c)));
    if (c)
        sym_nft_ctx_free(c);
    return e;
}
