/*
 * launch_devices_linux.c - the device list of a v2 cgroup
 *
 * v2 has no device files: the kernel asks a BPF program at each open and mknod of a device
 * (BPF_PROG_TYPE_CGROUP_DEVICE, linux/bpf.h). The program tries the rules from the last to the
 * first.
 */

#include "node/runtime/launch_devices_linux.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/vec.h"

enum {
    RULES_MAX = 400, /* of at most 8 instructions; a program has 4096 */
    ACCESS_ALL = BPF_DEVCG_ACC_MKNOD | BPF_DEVCG_ACC_READ | BPF_DEVCG_ACC_WRITE
};

/* Registers: 1 the question, 2 the type, 3 the access, 4 major, 5 minor, 6 scratch. */
struct device_program {
    VEC(struct bpf_insn) code;
};

/* The registers are two bit-fields of one byte. */
static void emit(struct device_program *p, uint8_t code, uint8_t to, uint8_t from, int32_t number)
{
    struct bpf_insn insn = {.code = code, .imm = number};
    const uint8_t registers = (uint8_t)(from << 4 | to);

    memcpy((char *)&insn + sizeof(insn.code), &registers, sizeof(registers));
    vec_add(&p->code, insn);
}

static void emit_load(struct device_program *p, uint8_t to, size_t at)
{
    emit(p, BPF_LDX | BPF_MEM | BPF_W, to, BPF_REG_1, 0);
    p->code.at[p->code.n - 1].off = (int16_t)at;
}

static void emit_end(struct device_program *p, bool is_allowed)
{
    emit(p, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, is_allowed);
    emit(p, BPF_JMP | BPF_EXIT, 0, 0, 0);
}

static void emit_begin(struct device_program *p)
{
    emit_load(p, BPF_REG_2, offsetof(struct bpf_cgroup_dev_ctx, access_type));
    emit(p, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_3, BPF_REG_2, 0);
    emit(p, BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_2, 0, 0xffff);
    emit(p, BPF_ALU64 | BPF_RSH | BPF_K, BPF_REG_3, 0, 16);
    emit_load(p, BPF_REG_4, offsetof(struct bpf_cgroup_dev_ctx, major));
    emit_load(p, BPF_REG_5, offsetof(struct bpf_cgroup_dev_ctx, minor));
}

static int access_of(const char *text)
{
    int access = 0;

    for (; text && *text; text++)
        access |= *text == 'r'   ? BPF_DEVCG_ACC_READ
                  : *text == 'w' ? BPF_DEVCG_ACC_WRITE
                  : *text == 'm' ? BPF_DEVCG_ACC_MKNOD
                                 : 0;
    return access;
}

/* An allowing rule must cover all of the access, a denying one any of it. False: the rule has no
 * condition, and the kernel refuses code behind it. */
static bool emit_rule(struct device_program *p, const json_t *rule)
{
    const uint8_t differs = BPF_JMP | BPF_JNE | BPF_K;
    const char *type = json_text(rule, "type");
    bool is_allowed = json_bool(rule, "allow", false);
    int access = access_of(json_text(rule, "access"));
    int64_t numbers[2] = {json_int(rule, "major", -1), json_int(rule, "minor", -1)};
    size_t first = p->code.n;

    if (text_equal(type, "b") || text_equal(type, "c"))
        emit(p, differs, BPF_REG_2, 0, *type == 'b' ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR);
    if (access != ACCESS_ALL) {
        emit(p, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_6, BPF_REG_3, 0);
        emit(p, BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_6, 0, is_allowed ? ~access : access);
        emit(p, is_allowed ? differs : BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_6, 0, 0);
    }
    for (uint8_t i = 0; i < 2; i++)
        if (numbers[i] >= 0)
            emit(p, differs, (uint8_t)(BPF_REG_4 + i), 0, (int32_t)numbers[i]);
    emit_end(p, is_allowed);
    for (size_t i = first; i < p->code.n - 2; i++)
        if (BPF_CLASS(p->code.at[i].code) == BPF_JMP)
            p->code.at[i].off = (int16_t)(p->code.n - i - 1);
    return p->code.n - first > 2;
}

static struct err *program_load(const struct device_program *p, int *ret)
{
    union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE,
                           .insns = (uint64_t)(uintptr_t)p->code.at,
                           .insn_cnt = (uint32_t)p->code.n,
                           .license = (uint64_t)(uintptr_t) "GPL"};

    *ret = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
    return *ret < 0 ? err_errno(errno, "load the program of the device list") : NULL;
}

struct err *launch_devices_attach(int dir_fd, const json_t *rules)
{
    struct device_program p = {0};
    AUTO(fd_closep) int fd = -1;
    union bpf_attr attr = {.target_fd = (uint32_t)dir_fd,
                           .attach_type = BPF_CGROUP_DEVICE,
                           .attach_flags = BPF_F_ALLOW_MULTI};
    struct err *e = NULL;
    bool goes_on = json_array_size(rules) <= RULES_MAX;

    if (!goes_on)
        return err_new(ERR_INVALID, "the device list has more than %d rules", RULES_MAX);
    emit_begin(&p);
    for (size_t i = json_array_size(rules); i > 0 && goes_on; i--)
        goes_on = emit_rule(&p, json_array_get(rules, i - 1));
    if (goes_on)
        emit_end(&p, false);
    e = program_load(&p, &fd);
    vec_done(&p.code);
    attr.attach_bpf_fd = (uint32_t)fd;
    if (!e && syscall(SYS_bpf, BPF_PROG_ATTACH, &attr, sizeof(attr)) < 0)
        e = err_errno(errno, "attach the device list to the cgroup");
    if (e)
        return e;
    return NULL;
}
