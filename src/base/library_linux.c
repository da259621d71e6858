/* library_linux.c - dlopen with all symbols resolved at once */

#include "base/library_linux.h"

#include <dlfcn.h>
#include <string.h>

/* The library stays loaded for the life of the process, and so its pointers stay valid. */
static struct err *library_open(struct library *l)
{
    void *handle = dlopen(l->file, RTLD_NOW | RTLD_LOCAL);

    if (!handle)
        return err_new(ERR_INTERNAL, "%s", dlerror()); /* NOLINT(concurrency-mt-unsafe): glibc's */
    for (size_t i = 0; i < l->n_symbols; i++) {
        void *symbol = dlsym(handle, l->symbols[i].name);

        if (!symbol) {
            (void)dlclose(handle);
            return err_new(ERR_INTERNAL, "%s has no %s: want a newer one", l->file,
                           l->symbols[i].name);
        }
        memcpy(l->symbols[i].at, &symbol, sizeof(symbol));
    }
    l->is_loaded = true;
    return NULL;
}

struct err *library_load(struct library *l)
{
    struct err *e = NULL;

    (void)pthread_mutex_lock(&l->mutex); /* fails only for an invalid mutex */
    if (!l->is_loaded)
        e = library_open(l);
    (void)pthread_mutex_unlock(&l->mutex);
    return e;
}
