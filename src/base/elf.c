/* elf.c - the class of an ELF file */

#include "base/elf.h"

#include <elf.h>
#include <stdint.h>

#if defined(__x86_64__)
enum {
    MACHINE = EM_X86_64,
    MACHINE_32 = EM_386
};
#elif defined(__aarch64__)
enum {
    MACHINE = EM_AARCH64,
    MACHINE_32 = EM_ARM
};
#else
enum {
    MACHINE = EM_NONE,
    MACHINE_32 = EM_NONE
};
#endif

enum elf_class elf_class_of(struct str head)
{
    uint16_t machine = 0;

    if (head.size < ELF_HEAD_SIZE || memcmp(head.at, ELFMAG, SELFMAG) != 0)
        return ELF_OTHER;
    memcpy(&machine, head.at + offsetof(Elf64_Ehdr, e_machine), sizeof(machine));
    if (head.at[EI_CLASS] == ELFCLASS64 && machine == MACHINE)
        return ELF_NATIVE;
    return head.at[EI_CLASS] == ELFCLASS32 && machine == MACHINE_32 ? ELF_NATIVE_32 : ELF_OTHER;
}
