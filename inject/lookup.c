/* lookup.c - cuGetProcAddress: programs that ask for functions by name get those of the share */

#include <stdbool.h>
#include <string.h>

#include "hooks.h"

struct hook {
    const char *name;
    void (*ours)(void);
};

/* Only the addresses of the hooks are used here, so the hooks are declared without arguments. */
#define DECLARE(name) extern void hook_##name(void) __asm__(#name);
#define LIST(name)    {#name, hook_##name},

HOOKS(DECLARE)

static const struct hook hooks[] = {HOOKS(LIST)};

enum {
    N_HOOKS = sizeof(hooks) / sizeof(hooks[0])
};

/* The hook of a function that the driver returned: the driver picks the version by its own rules.
 */
static void (*hook_of_address(const void *function))(void)
{
    static void *real[N_HOOKS];

    for (size_t i = 0; i < N_HOOKS; i++) {
        if (!real[i])
            real[i] = driver_find(hooks[i].name);
        if (real[i] && real[i] == function)
            return hooks[i].ours;
    }
    return NULL;
}

static void (*hook_named(const char *base, const char *suffix))(void)
{
    size_t n = strlen(base);

    for (size_t i = 0; i < N_HOOKS; i++)
        if (strncmp(hooks[i].name, base, n) == 0 && strcmp(hooks[i].name + n, suffix) == 0)
            return hooks[i].ours;
    return NULL;
}

/*
 * The hook by its name, for a driver whose lookup returns other addresses than its symbols have.
 * Contexts, cuGetProcAddress and functions of graphs take other arguments in each version: they are
 * known by address only.
 */
static void (*hook_of_name(const char *base, uint64_t flags))(void)
{
    static const char *const changed[] = {"cuGetProcAddress", "cuGraphInstantiate",
                                          "cuGraphExecUpdate"};
    bool is_per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
    void (*ours)(void) = is_per_thread ? hook_named(base, "_ptsz") : NULL;

    for (size_t i = 0; i < sizeof(changed) / sizeof(changed[0]); i++)
        if (strcmp(base, changed[i]) == 0)
            return NULL;
    if (!ours)
        ours = hook_named(base, "_v2");
    if (!ours)
        ours = hook_named(base, "");
    return ours;
}

static void lookup_replace(const char *name, void **function, uint64_t flags)
{
    void (*ours)(void);

    if (!name || !function || !*function)
        return;
    ours = hook_of_address(*function);
    if (!ours)
        ours = hook_of_name(name, flags);
    if (ours)
        *function = (void *)(uintptr_t)ours; /* NOLINT(performance-no-int-to-ptr) */
}

HOOK(cuGetProcAddress, const char *name, void **function, int version, uint64_t flags)
{
    CUresult result = DRIVER(cuGetProcAddress, name, function, version, flags);

    if (result == CUDA_SUCCESS)
        lookup_replace(name, function, flags);
    return result;
}

HOOK(cuGetProcAddress_v2, const char *name, void **function, int version, uint64_t flags,
     int *status)
{
    CUresult result = DRIVER(cuGetProcAddress_v2, name, function, version, flags, status);

    if (result == CUDA_SUCCESS)
        lookup_replace(name, function, flags);
    return result;
}
