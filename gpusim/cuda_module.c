/*
 * cuda_module.c - modules: the kernels that a PTX text names, and their parameters
 *
 * Compiled images (cubin, fatbin) have no names in a form that the emulation reads.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda.h"

enum {
    PTX_SIZE_MAX = 64 << 20
};

/* ---- PTX ---- */

/* A reader of PTX, after blanks and comments. */
struct ptx {
    const char *at;
};

static void ptx_skip(struct ptx *p)
{
    for (;;) {
        p->at += strspn(p->at, " \t\r\n");
        if (p->at[0] == '/' && p->at[1] == '/') {
            p->at += strcspn(p->at, "\n");
        } else if (p->at[0] == '/' && p->at[1] == '*') {
            const char *end = strstr(p->at + 2, "*/");

            p->at = end ? end + 2 : p->at + strlen(p->at);
        } else {
            return;
        }
    }
}

/* Reads a word: a name, a directive or a number. Returns its size; 0: there is none. */
static size_t ptx_word(struct ptx *p, const char **ret)
{
    size_t n;

    ptx_skip(p);
    n = strspn(p->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.%");
    *ret = p->at;
    p->at += n;
    return n;
}

static bool ptx_has(struct ptx *p, char c)
{
    ptx_skip(p);
    if (*p->at != c)
        return false;
    p->at++;
    return true;
}

static bool word_is(const char *word, size_t n, const char *text)
{
    return n == strlen(text) && memcmp(word, text, n) == 0;
}

static unsigned ptx_number(struct ptx *p)
{
    unsigned value = 0;

    ptx_skip(p);
    for (; *p->at >= '0' && *p->at <= '9' && value < 100000; p->at++)
        value = value * 10 + (unsigned)(*p->at - '0');
    return value;
}

/* The bytes of a type such as ".u64"; 0: it is none. */
static unsigned type_size(const char *word, size_t n)
{
    static const struct {
        const char *name;
        unsigned size;
    } types[] = {{".b8", 1},  {".u8", 1},  {".s8", 1},  {".b16", 2}, {".u16", 2},
                 {".s16", 2}, {".f16", 2}, {".b32", 4}, {".u32", 4}, {".s32", 4},
                 {".f32", 4}, {".b64", 8}, {".u64", 8}, {".s64", 8}, {".f64", 8}};

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (word_is(word, n, types[i].name))
            return types[i].size;
    }
    return 0;
}

/* Reads ".param .align 8 .b8 name[16]" or ".param .u64 name". */
static bool ptx_parameter(struct ptx *p, struct CUfunc_st *f)
{
    const char *word = NULL;
    unsigned align = 0;
    unsigned size = 0;
    size_t n;
    unsigned at;

    while ((n = ptx_word(p, &word)) > 0) {
        if (word_is(word, n, ".align"))
            align = ptx_number(p);
        else if (size == 0)
            size = type_size(word, n);
    }
    if (size == 0 || f->n_parameters == FUNCTION_PARAMETERS_MAX)
        return false;
    if (align == 0)
        align = size;
    if (ptx_has(p, '[')) {
        size *= ptx_number(p);
        if (!ptx_has(p, ']'))
            return false;
    }
    at = (unsigned)ALIGN(f->parameters_size, align);
    if (at + size > sizeof(((struct launch *)0)->parameters))
        return false;
    f->offsets[f->n_parameters] = (uint16_t)at;
    f->sizes[f->n_parameters] = (uint16_t)size;
    f->n_parameters++;
    f->parameters_size = (uint16_t)(at + size);
    return true;
}

/* Reads the name and the parameters behind ".entry". */
static bool ptx_entry(struct ptx *p, struct CUfunc_st *f)
{
    const char *word = NULL;
    size_t n = ptx_word(p, &word);

    if (n == 0 || n >= sizeof(f->name))
        return false;
    memcpy(f->name, word, n);
    f->name[n] = '\0';
    if (!ptx_has(p, '('))
        return true;
    if (ptx_has(p, ')'))
        return true;
    do {
        if (!ptx_parameter(p, f))
            return false;
    } while (ptx_has(p, ','));
    return ptx_has(p, ')');
}

static bool module_add(struct CUmod_st *m, struct CUfunc_st *f)
{
    struct CUfunc_st **more =
        realloc(m->functions, (m->n_functions + 1) * sizeof(struct CUfunc_st *));

    if (!more)
        return false;
    m->functions = more;
    m->functions[m->n_functions++] = f;
    f->module = m;
    return true;
}

static CUresult module_read(struct CUmod_st *m, const char *text)
{
    struct ptx p = {.at = text};
    bool has_version = false;

    while (*p.at) {
        const char *word = NULL;
        size_t n = ptx_word(&p, &word);
        struct CUfunc_st *f;

        if (n == 0) {
            if (*p.at)
                p.at++;
            continue;
        }
        has_version = has_version || word_is(word, n, ".version");
        if (!word_is(word, n, ".entry"))
            continue;
        f = handle_new(HANDLE_FUNCTION, sizeof(*f));
        if (!f || !module_add(m, f)) {
            handle_free(f);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        if (!ptx_entry(&p, f))
            return CUDA_ERROR_INVALID_PTX;
        f->attributes[0] = 1024; /* CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK */
        f->attributes[4] = 32;   /* NUM_REGS */
    }
    return has_version ? CUDA_SUCCESS : CUDA_ERROR_INVALID_PTX;
}

/* ---- modules ---- */

static void module_free(struct CUmod_st *m)
{
    for (unsigned i = 0; i < m->n_functions; i++)
        handle_free(m->functions[i]);
    free(m->functions);
    handle_free(m);
}

static void module_free_one(void *object, void *context)
{
    if (((struct CUmod_st *)object)->context == context)
        module_free(object);
}

void modules_free_of(struct CUctx_st *c)
{
    handle_each(HANDLE_MODULE, module_free_one, c);
}

static CUresult module_load(struct CUctx_st *c, const void *image, struct CUmod_st **ret)
{
    const unsigned char *bytes = image;
    struct CUmod_st *m;
    CUresult result;

    /* Text starts with a directive or a comment; "\177ELF" and fatbins do not. */
    if (bytes[0] >= 0x7f ||
        (bytes[0] < ' ' && bytes[0] != '\n' && bytes[0] != '\t' && bytes[0] != '\r'))
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    m = handle_new(HANDLE_MODULE, sizeof(*m));
    if (!m)
        return CUDA_ERROR_OUT_OF_MEMORY;
    m->context = c;
    result = module_read(m, image);
    if (result != CUDA_SUCCESS) {
        module_free(m);
        return result;
    }
    *ret = m;
    return CUDA_SUCCESS;
}

API(cuModuleLoadDataEx, cuModuleLoadDataEx, 2010, CUmodule *ret, const void *image,
    unsigned n_options, const int *options, void **values)
{
    ENTER_CONTEXT(c);
    (void)n_options;
    (void)options;
    (void)values;
    REQUIRE(ret && image);
    return module_load(c, image, ret);
}

API(cuModuleLoadData, cuModuleLoadData, 2000, CUmodule *ret, const void *image)
{
    return cuModuleLoadDataEx(ret, image, 0, NULL, NULL);
}

API(cuModuleLoadFatBinary, cuModuleLoadFatBinary, 2000, CUmodule *ret, const void *image)
{
    return cuModuleLoadDataEx(ret, image, 0, NULL, NULL);
}

static CUresult file_load(const char *path, char **ret)
{
    FILE *in = fopen(path, "re");
    char *text;
    size_t n;

    if (!in)
        return CUDA_ERROR_FILE_NOT_FOUND;
    text = malloc(PTX_SIZE_MAX + 1);
    if (!text) {
        (void)fclose(in);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    n = fread(text, 1, PTX_SIZE_MAX, in);
    text[n] = '\0';
    (void)fclose(in);
    *ret = text;
    return CUDA_SUCCESS;
}

API(cuModuleLoad, cuModuleLoad, 2000, CUmodule *ret, const char *path)
{
    char *text = NULL;
    CUresult result;

    ENTER_CONTEXT(c);
    REQUIRE(ret && path);
    CHECK(file_load(path, &text));
    result = module_load(c, text, ret);
    free(text);
    return result;
}

API(cuModuleUnload, cuModuleUnload, 2000, CUmodule module)
{
    ENTER_CONTEXT(c);
    if (!handle_is(module, HANDLE_MODULE) || !module->context)
        return CUDA_ERROR_INVALID_HANDLE;
    CHECK(context_wait(c));
    module_free(module);
    return CUDA_SUCCESS;
}

static CUresult function_find(const struct CUmod_st *m, const char *name, struct CUfunc_st **ret)
{
    for (unsigned i = 0; i < m->n_functions; i++) {
        if (strcmp(m->functions[i]->name, name) != 0)
            continue;
        *ret = m->functions[i];
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_FOUND;
}

API(cuModuleGetFunction, cuModuleGetFunction, 2000, CUfunction *ret, CUmodule module,
    const char *name)
{
    ENTER();
    REQUIRE(ret && name);
    if (!handle_is(module, HANDLE_MODULE))
        return CUDA_ERROR_INVALID_HANDLE;
    return function_find(module, name, ret);
}

API(cuModuleGetFunctionCount, cuModuleGetFunctionCount, 12040, unsigned *ret, CUmodule module)
{
    ENTER();
    REQUIRE(ret);
    if (!handle_is(module, HANDLE_MODULE))
        return CUDA_ERROR_INVALID_HANDLE;
    *ret = module->n_functions;
    return CUDA_SUCCESS;
}

/* 1: functions are loaded eagerly. */
API(cuModuleGetLoadingMode, cuModuleGetLoadingMode, 11070, int *ret)
{
    ENTER();
    REQUIRE(ret);
    *ret = 1;
    return CUDA_SUCCESS;
}

/* ---- libraries: modules of no context; their kernels are functions ---- */

/* NOLINTNEXTLINE(readability-function-size): CUDA's interface */
API(cuLibraryLoadData, cuLibraryLoadData, 12000, CUlibrary *ret, const void *image,
    const int *jit_options, void **jit_values, unsigned n_jit, const int *options, void **values,
    unsigned n_options)
{
    struct CUmod_st *m = NULL;

    ENTER();
    (void)jit_options;
    (void)jit_values;
    (void)n_jit;
    (void)options;
    (void)values;
    (void)n_options;
    REQUIRE(ret && image);
    CHECK(module_load(NULL, image, &m));
    *ret = (CUlibrary)(void *)m;
    return CUDA_SUCCESS;
}

API(cuLibraryUnload, cuLibraryUnload, 12000, CUlibrary library)
{
    struct CUmod_st *m = (void *)library;

    ENTER();
    if (!handle_is(m, HANDLE_MODULE) || m->context)
        return CUDA_ERROR_INVALID_HANDLE;
    module_free(m);
    return CUDA_SUCCESS;
}

API(cuLibraryGetKernel, cuLibraryGetKernel, 12000, CUkernel *ret, CUlibrary library,
    const char *name)
{
    struct CUfunc_st *f = NULL;
    struct CUmod_st *m = (void *)library;

    ENTER();
    REQUIRE(ret && name);
    if (!handle_is(m, HANDLE_MODULE))
        return CUDA_ERROR_INVALID_HANDLE;
    CHECK(function_find(m, name, &f));
    *ret = (CUkernel)(void *)f;
    return CUDA_SUCCESS;
}

API(cuLibraryGetModule, cuLibraryGetModule, 12000, CUmodule *ret, CUlibrary library)
{
    ENTER_CONTEXT(c);
    (void)c;
    REQUIRE(ret);
    if (!handle_is(library, HANDLE_MODULE))
        return CUDA_ERROR_INVALID_HANDLE;
    *ret = (CUmodule)(void *)library;
    return CUDA_SUCCESS;
}

API(cuKernelGetFunction, cuKernelGetFunction, 12000, CUfunction *ret, CUkernel kernel)
{
    ENTER_CONTEXT(c);
    (void)c;
    REQUIRE(ret);
    if (!handle_is(kernel, HANDLE_FUNCTION))
        return CUDA_ERROR_INVALID_HANDLE;
    *ret = (CUfunction)(void *)kernel;
    return CUDA_SUCCESS;
}

/* ---- functions ---- */

API(cuFuncGetAttribute, cuFuncGetAttribute, 2020, int *ret, unsigned attribute, CUfunction function)
{
    ENTER();
    REQUIRE(ret && attribute < sizeof(function->attributes) / sizeof(function->attributes[0]));
    if (!handle_is(function, HANDLE_FUNCTION))
        return CUDA_ERROR_INVALID_HANDLE;
    *ret = function->attributes[attribute];
    return CUDA_SUCCESS;
}

API(cuFuncSetAttribute, cuFuncSetAttribute, 9000, CUfunction function, unsigned attribute,
    int value)
{
    ENTER();
    /* Attributes before MAX_DYNAMIC_SHARED_SIZE_BYTES follow from the code. */
    REQUIRE(attribute >= 8 &&
            attribute < sizeof(function->attributes) / sizeof(function->attributes[0]));
    if (!handle_is(function, HANDLE_FUNCTION))
        return CUDA_ERROR_INVALID_HANDLE;
    function->attributes[attribute] = value;
    return CUDA_SUCCESS;
}

API(cuFuncSetCacheConfig, cuFuncSetCacheConfig, 3000, CUfunction function, int config)
{
    ENTER();
    REQUIRE(config >= 0 && config <= 3);
    return handle_is(function, HANDLE_FUNCTION) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

API(cuFuncGetName, cuFuncGetName, 12030, const char **ret, CUfunction function)
{
    ENTER();
    REQUIRE(ret);
    if (!handle_is(function, HANDLE_FUNCTION))
        return CUDA_ERROR_INVALID_HANDLE;
    *ret = function->name;
    return CUDA_SUCCESS;
}

API(cuFuncGetModule, cuFuncGetModule, 11000, CUmodule *ret, CUfunction function)
{
    ENTER();
    REQUIRE(ret);
    if (!handle_is(function, HANDLE_FUNCTION))
        return CUDA_ERROR_INVALID_HANDLE;
    *ret = function->module;
    return CUDA_SUCCESS;
}

API(cuFuncGetParamInfo, cuFuncGetParamInfo, 12040, CUfunction function, size_t i,
    size_t *ret_offset, size_t *ret_size)
{
    ENTER();
    if (!handle_is(function, HANDLE_FUNCTION))
        return CUDA_ERROR_INVALID_HANDLE;
    REQUIRE(ret_offset && i < function->n_parameters);
    *ret_offset = function->offsets[i];
    if (ret_size)
        *ret_size = function->sizes[i];
    return CUDA_SUCCESS;
}

API(cuOccupancyMaxActiveBlocksPerMultiprocessor, cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050,
    int *ret, CUfunction function, int block_size, size_t shared_bytes)
{
    ENTER();
    (void)shared_bytes;
    REQUIRE(ret && block_size > 0);
    if (!handle_is(function, HANDLE_FUNCTION))
        return CUDA_ERROR_INVALID_HANDLE;
    *ret = block_size > 1024 ? 0 : 2048 / block_size < 32 ? 2048 / block_size : 32;
    return CUDA_SUCCESS;
}
