/* elf.h - the machine for which an ELF file was built, from its first bytes */
#pragma once

#include "base/str.h"

enum {
    ELF_HEAD_SIZE = 20
};

enum elf_class {
    ELF_OTHER,     /* another machine, or no ELF file */
    ELF_NATIVE,    /* as this program */
    ELF_NATIVE_32, /* the 32 bit programs that the same CPU runs */
};

enum elf_class elf_class_of(struct str head);
