/* nvml_names.c - functions of NVML that the emulation has no answer for: NOT_SUPPORTED */

#include "nvml_names.h"

#include "library.h"

/* Each alias takes the place of a function that no other file defines. */
int library_answer_nothing(void)
{
    return library_references ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_UNINITIALIZED;
}

#define X(name) EXPORT int name(void) __attribute__((weak, alias("library_answer_nothing")));
NVML_NAMES(X)
#undef X
