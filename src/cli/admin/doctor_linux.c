/* doctor_linux.c - mete doctor: the checks of this machine, each with a finding and a remedy */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/loop_linux.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/proc.h"
#include "base/stamp.h"
#include "cli/admin/doctor.h"
#include "gpu/gpu_readers.h"

enum {
    SMALL_FILE_MAX = 65536,
    FREE_PCT_WARN = 15, /* image garbage collection starts here */
    FREE_PCT_FAIL = 3,
    CERT_DAYS_WARN = 14
};

static const int64_t program_deadline_ns = 5 * NS_PER_SEC;

/* Returns the first line of a small file; "" if the file cannot be read. The caller frees the line.
 */
static char *first_line(const char *path)
{
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *e = file_read(path, SMALL_FILE_MAX, &text);

    return e || text.size == 0 ? mem_strdup("") : mem_strndup(text.at, strcspn(text.at, "\n"));
}

/* ---- the kernel ---- */

/* "6.1.0-28-amd64" as 6001; 0: not understood. */
static int64_t kernel_number(const char *release)
{
    struct str rest = str_of(release);
    struct str major = str_cut(&rest, '.');
    int64_t numbers[2] = {0};
    AUTO(err_freep) struct err *e = num_parse_int64(major, 0, 1000, &numbers[0]);

    if (e || !rest.at)
        return 0;
    rest.size = strspn(rest.at, "0123456789");
    e = num_parse_int64(rest, 0, 1000, &numbers[1]);
    return e ? 0 : numbers[0] * 1000 + numbers[1];
}

static void check_kernel(struct findings *f)
{
    struct utsname u;

    if (uname(&u) < 0)
        return;
    if (kernel_number(u.release) < 5012)
        findings_add(f, "kernel", FINDING_WARN, mem_strdup(u.release),
                     mem_strdup("5.12 or newer lets each pod have user ids of its own"));
    else
        findings_add(f, "kernel", FINDING_OK, mem_strdup(u.release), NULL);
}

/* Can this process create a user namespace? A chroot or a seccomp filter may forbid what the kernel
 * allows. */
static bool makes_user_namespaces(void)
{
    pid_t child = fork();
    int status = 0;

    if (child == 0)
        _exit(unshare(CLONE_NEWUSER) < 0 ? 1 : 0);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static void check_user_namespaces(struct findings *f)
{
    AUTO_FREE char *text = first_line("/proc/sys/user/max_user_namespaces");
    int64_t n = 0;
    AUTO(err_freep) struct err *e = num_parse_int64(str_of(text), 0, INT64_MAX, &n);

    if (e || n == 0)
        findings_add(f, "user namespaces", FINDING_FAIL, mem_strdup("not allowed"),
                     mem_strdup("sysctl user.max_user_namespaces=15000: containers of images need "
                                "user namespaces"));
    else if (geteuid() == 0 && !makes_user_namespaces())
        findings_add(f, "user namespaces", FINDING_FAIL, mem_strdup("cannot be made here"),
                     mem_strdup("start Mete outside of chroots and containers that forbid user "
                                "namespaces: containers of images need them"));
    else
        findings_add(f, "user namespaces", FINDING_OK, mem_format("up to %" PRId64, n), NULL);
}

static void check_cgroups(struct findings *f)
{
    AUTO_FREE char *v2 = first_line("/sys/fs/cgroup/cgroup.controllers");
    struct stat st;

    if (*v2)
        findings_add(f, "cgroups", FINDING_OK, mem_format("v2: %s", v2), NULL);
    else if (stat("/sys/fs/cgroup/memory", &st) == 0 && stat("/sys/fs/cgroup/pids", &st) == 0)
        findings_add(f, "cgroups", FINDING_OK, mem_strdup("v1"), NULL);
    else
        findings_add(f, "cgroups", FINDING_FAIL, mem_strdup("no memory and pids controllers"),
                     mem_strdup("mount cgroup2 at /sys/fs/cgroup"));
}

static void check_clock(struct findings *f)
{
    struct timex t = {0};
    int state = adjtimex(&t);

    if (state < 0)
        findings_add(f, "clock", FINDING_UNKNOWN, mem_strdup("the kernel does not say"), NULL);
    else if (state == TIME_ERROR || (t.status & STA_UNSYNC))
        findings_add(f, "clock", FINDING_WARN, mem_strdup("is not synchronised"),
                     mem_strdup("run chrony or systemd-timesyncd: logs, certificates and bills "
                                "depend on the clock"));
    else
        findings_add(f, "clock", FINDING_OK, mem_strdup("synchronised"), NULL);
}

/* ---- programs ---- */

struct server_asked {
    struct loop *loop;
    char *line; /* the first line of output; NULL: the program failed */
};

static void doctor_on_end(void *arg, const struct proc_end *end)
{
    struct server_asked *a = arg;
    struct str rest = end->output;
    struct str line = str_cut(&rest, '\n');

    if (end->status == 0)
        a->line = mem_strndup(line.at ? line.at : "", line.size);
    loop_linux_stop(a->loop);
}

/* Returns the first output line of `PROGRAM --version`; NULL: the program is missing or failed. The
 * caller frees the line. */
static char *ask_version(const char *program)
{
    const char *const argv[] = {program, "--version", NULL};
    const struct proc_options o = {
        .argv = argv, .has_output = true, .is_session = true, .deadline_ns = program_deadline_ns};
    struct server_asked a = {.loop = loop_linux_new()};
    AUTO(err_freep) struct err *e = proc_start(a.loop, &o, doctor_on_end, &a, NULL);

    if (!e)
        e = loop_linux_run(a.loop);
    loop_linux_free(a.loop);
    return a.line;
}

static void check_program(struct findings *f, const char *check, const char *program,
                          enum finding_state without, const char *why)
{
    AUTO_FREE char *version = ask_version(program);

    if (version)
        findings_add(f, check, FINDING_OK, mem_strdup(version), NULL);
    else
        findings_add(f, check, without, mem_format("%s is missing", program),
                     mem_format("apt-get install %s: %s", program, why));
}

/* ---- gpus ---- */

/* The cards of AMD and Intel in /sys that are accelerators. */
static unsigned count_others(void)
{
    struct gpu_readers readers = {0};
    unsigned n = 0;

    gpu_readers_add(&readers, &gpu_reader_amd, amd_reader_new("/sys", ""));
    gpu_readers_add(&readers, &gpu_reader_intel, intel_reader_new("/sys", ""));
    err_free(gpu_readers_count(&readers, &n));
    gpu_readers_done(&readers);
    return n;
}

static void check_driver(struct findings *f)
{
    AUTO_FREE char *version = first_line("/proc/driver/nvidia/version");
    unsigned others = *version ? 0 : count_others();
    struct stat st;

    if (others > 0) {
        findings_add(f, "gpu driver", FINDING_OK,
                     mem_format("%u GPU%s of AMD or Intel by the kernel's drivers", others,
                                others == 1 ? "" : "s"),
                     NULL);
        return;
    }
    if (!*version) {
        findings_add(f, "gpu driver", FINDING_WARN, mem_strdup("no NVIDIA driver is loaded"),
                     mem_strdup("mete up --gpus emulated:8xH100 emulates GPUs for a trial"));
        return;
    }
    if (stat("/dev/nvidiactl", &st) < 0)
        findings_add(f, "gpu driver", FINDING_FAIL,
                     mem_format("%s, without /dev/nvidiactl", version),
                     mem_strdup("nvidia-modprobe -u -c=0"));
    else
        findings_add(f, "gpu driver", FINDING_OK, mem_strdup(version), NULL);
}

/* NVIDIA's kernel module wipes memory between processes, unless a module parameter disables that.
 */
static void check_scrubbing(struct findings *f)
{
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *e = file_read("/proc/driver/nvidia/params", SMALL_FILE_MAX, &text);

    if (e || text.size == 0)
        return;
    if (strstr(text.at, "RMDisableScrubOnFree"))
        findings_add(
            f, "gpu memory", FINDING_FAIL,
            mem_strdup("not wiped between users: RMDisableScrubOnFree is set"),
            mem_strdup(
                "remove RMDisableScrubOnFree from NVreg_RegistryDwords, and reload the module"));
    else
        findings_add(f, "gpu memory", FINDING_OK, mem_strdup("wiped when it is freed"), NULL);
}

/* ---- the data directory ---- */

static void check_disk(const char *dir, struct findings *f)
{
    struct statvfs v;
    int64_t pct = 0;
    char *text = NULL;

    if (statvfs(dir, &v) < 0 || v.f_blocks == 0) {
        findings_add(f, "disk", FINDING_UNKNOWN, mem_format("%s: %s", dir, strerrordesc_np(errno)),
                     NULL);
        return;
    }
    pct = (int64_t)(v.f_bavail * 100 / v.f_blocks);
    text = mem_format("%s: %" PRId64 " %% free", dir, pct);
    if (pct < FREE_PCT_FAIL)
        findings_add(f, "disk", FINDING_FAIL, text,
                     mem_strdup("free disk space: new jobs are refused while the disk is full"));
    else if (pct < FREE_PCT_WARN)
        findings_add(f, "disk", FINDING_WARN, text, mem_strdup("mete image gc, or a larger disk"));
    else
        findings_add(f, "disk", FINDING_OK, text, NULL);
}

static void check_directory(const char *dir, struct findings *f)
{
    AUTO_FREE char *server = mem_format("%s/server", dir);
    struct stat st;

    if (stat(server, &st) < 0 && errno == ENOENT) {
        findings_add(f, "data directory", FINDING_WARN, mem_format("%s does not exist yet", dir),
                     mem_strdup("mete up creates it"));
        return;
    }
    if (stat(dir, &st) < 0 || st.st_uid != 0 || (st.st_mode & 022) != 0)
        findings_add(f, "data directory", FINDING_FAIL,
                     mem_format("users other than root may write %s", dir),
                     mem_format("chown root %s; chmod 0711 %s", dir, dir));
    else
        findings_add(f, "data directory", FINDING_OK, mem_strdup(dir), NULL);
}

/* Days until the certificate expires; INT_MIN: the certificate cannot be read. */
static int cert_days(const char *path)
{
    AUTO(buf_done) struct buf bytes = {0};
    AUTO(err_freep) struct err *e = file_read(path, SMALL_FILE_MAX, &bytes);
    BIO *bio = e ? NULL : BIO_new_mem_buf(bytes.at ? bytes.at : "", (int)bytes.size);
    X509 *cert = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
    int days = INT32_MIN;
    int seconds = 0;

    if (cert && ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(cert)) != 1)
        days = INT32_MIN;
    X509_free(cert);
    (void)BIO_free(bio);
    return days;
}

static void check_certificates(const char *dir, struct findings *f)
{
    static const char *const names[] = {"ca", "server"};

    for (size_t i = 0; i < 2; i++) {
        AUTO_FREE char *path = mem_format("%s/server/pki/%s.crt", dir, names[i]);
        int days = cert_days(path);

        if (days == INT32_MIN)
            continue;
        if (days < CERT_DAYS_WARN)
            findings_add(f, "certificates", days < 0 ? FINDING_FAIL : FINDING_WARN,
                         mem_format("%s ends in %d days", path, days),
                         mem_strdup("restart mete up: it renews certificates"));
        else
            findings_add(f, "certificates", FINDING_OK,
                         mem_format("%s.crt: %d days left", names[i], days), NULL);
    }
}

void doctor_machine(const char *dir, struct findings *ret)
{
    check_kernel(ret);
    check_user_namespaces(ret);
    check_cgroups(ret);
    check_clock(ret);
    check_program(ret, "container runtime", "crun", FINDING_FAIL, "crun runs the containers");
    check_program(ret, "monitor", "conmon", FINDING_FAIL,
                  "with conmon, containers survive a restart of Mete");
    check_program(ret, "image transport", "skopeo", FINDING_WARN, "skopeo pulls images");
    check_driver(ret);
    check_scrubbing(ret);
    check_disk(dir, ret);
    check_directory(dir, ret);
    check_certificates(dir, ret);
}
