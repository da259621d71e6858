/* cuda_names.c - names of functions and errors, versions, and the library's lock */

#include <pthread.h>
#include <string.h>

#include "cuda.h"

/* The linker makes a list of all entries of the section. */
extern struct cuda_name __start_cuda_names[]; /* NOLINT(bugprone-reserved-identifier) */
extern struct cuda_name __stop_cuda_names[];  /* NOLINT(bugprone-reserved-identifier) */

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void cuda_lock(void)
{
    (void)pthread_mutex_lock(&lock);
}

void cuda_unlock(void)
{
    (void)pthread_mutex_unlock(&lock);
}

static const struct error_text {
    CUresult value;
    const char *name;
    const char *text;
} error_texts[] = {{CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
#define X(name, value, text) {(value), "CUDA_ERROR_" #name, (text)},
                   CUDA_ERRORS(X)
#undef X
};

static const struct error_text *error_find(CUresult value)
{
    for (size_t i = 0; i < sizeof(error_texts) / sizeof(error_texts[0]); i++) {
        if (error_texts[i].value == value)
            return &error_texts[i];
    }
    return NULL;
}

API(cuGetErrorName, cuGetErrorName, 6000, CUresult error, const char **ret)
{
    const struct error_text *found = error_find(error);

    REQUIRE(ret);
    *ret = found ? found->name : NULL;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

API(cuGetErrorString, cuGetErrorString, 6000, CUresult error, const char **ret)
{
    const struct error_text *found = error_find(error);

    REQUIRE(ret);
    *ret = found ? found->text : NULL;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The newest function of this name that the version has. */
static const struct cuda_name *name_find(const char *name, int version, bool *ret_is_known)
{
    const struct cuda_name *best = NULL;

    for (const struct cuda_name *n = __start_cuda_names; n < __stop_cuda_names; n++) {
        if (strcmp(n->name, name) != 0)
            continue;
        *ret_is_known = true;
        if (n->since <= version && (!best || n->since > best->since))
            best = n;
    }
    return best;
}

API(cuGetProcAddress_v2, cuGetProcAddress, 12000, const char *symbol, void **ret, int version,
    uint64_t flags, int *ret_status)
{
    bool is_known = false;
    const struct cuda_name *found;
    int status;

    REQUIRE(symbol && ret && flags <= 2);
    found = name_find(symbol, version, &is_known);
    if (found)
        status = CU_GET_PROC_ADDRESS_SUCCESS;
    else
        status = is_known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                          : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (ret_status)
        *ret_status = status;
    *ret = NULL;
    if (!found)
        return ret_status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
    memcpy(ret, &found->function, sizeof(found->function));
    return CUDA_SUCCESS;
}

API(cuGetProcAddress, cuGetProcAddress, 11030, const char *symbol, void **ret, int version,
    uint64_t flags)
{
    return cuGetProcAddress_v2(symbol, ret, version, flags, NULL);
}

/* The tables behind it are not documented. */
API(cuGetExportTable, cuGetExportTable, 3000, const void **ret, const struct CUuuid *id)
{
    REQUIRE(ret && id);
    *ret = NULL;
    return CUDA_ERROR_NOT_FOUND;
}
