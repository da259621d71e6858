/*
 * fuzz_containerd_conf.c - fuzzes configurations of containerd
 *
 * The drop-in of a file that can be read can be read, an import that was added is there, and none
 * is left after it was forgotten.
 */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "node/cri/containerd_conf.h"

#define PATH "/etc/containerd/conf.d/99-mete.toml"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_dropin(struct str text, int version)
{
    struct containerd_conf c = {.version = version, .base = text, .has_handler = true};
    AUTO_FREE char *made = NULL;
    AUTO_FREE char *again = NULL;
    AUTO(err_freep) struct err *e = containerd_conf_make(&c, &made);
    bool has_section = false;

    if (e)
        return;
    assert(!containerd_conf_has_section(str_of(made), version, &has_section) && has_section);
    c.base = str_of(made);
    assert(!containerd_conf_make(&c, &again));
}

static void check_import(struct str text, int version)
{
    AUTO_FREE char *made = NULL;
    AUTO_FREE char *imports = NULL;
    AUTO_FREE char *without = NULL;
    AUTO_FREE char *left = NULL;
    AUTO(err_freep) struct err *e = containerd_conf_import(text, PATH, version, &made);

    if (e)
        return;
    assert(!containerd_conf_imports(str_of(made), &imports) && strstr(imports, PATH "\n"));
    assert(!containerd_conf_forget(str_of(made), PATH, &without));
    assert(!containerd_conf_imports(str_of(without), &left));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct str text = {.at = (const char *)data, .size = size};
    int version = 0;
    AUTO(err_freep) struct err *e = NULL;

    if (size > 0 && memchr(data, 0, size))
        return 0; /* files are texts */
    e = containerd_conf_version(text, &version);
    if (e)
        return 0;
    check_dropin(text, version == 3 ? 3 : 2);
    check_import(text, version);
    return 0;
}
