/* driver_root_linux.c - reads the driver root and the device nodes of this machine */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/elf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "gpu/driver_cache.h"
#include "gpu/driver_root.h"
#include "gpu/gpusim_machine.h"

enum {
    CACHE_MAX = 64 << 20,
    PROC_MAX = 65536,
    NVIDIA_MAJOR = 195,
    CONTROL_MINOR = 255,
    MODESET_MINOR = 254
};

/* Directories with libraries below a root without a loader's cache. */
static const char *const library_dirs[] = {
#if defined(__x86_64__)
    "usr/lib/x86_64-linux-gnu",
    "lib/x86_64-linux-gnu",
    "usr/lib/i386-linux-gnu",
#elif defined(__aarch64__)
    "usr/lib/aarch64-linux-gnu",
    "lib/aarch64-linux-gnu",
    "usr/lib/arm-linux-gnueabihf",
#endif
    "usr/lib64",
    "lib64",
    "usr/lib",
    "lib",
    "usr/lib32",
    "usr/local/lib",
};

/* Directories beside the libraries that hold some of them. */
static const char *const library_subdirs[] = {"", "vdpau/", "gbm/"};

/* The beginnings of the names of the driver's libraries in a loader's cache. */
static const char *const library_prefixes[] = {"libnvidia-", "libcuda.",    "libnvcuvid.",
                                               "libEGL_nv",  "libGLX_nv",   "libGLESv1_CM_nv",
                                               "libnvoptix", "libvdpau_nv", "libGLESv2_nv"};

static const char *const program_dirs[] = {"usr/bin", "usr/sbin", "bin", "sbin", "usr/local/bin"};

static const char *const programs[] = {"nvidia-smi",
                                       "nvidia-debugdump",
                                       "nvidia-persistenced",
                                       "nvidia-cuda-mps-control",
                                       "nvidia-cuda-mps-server",
                                       "nvidia-imex",
                                       "nvidia-imex-ctl"};

static const char *const sockets[] = {"/run/nvidia-persistenced/socket",
                                      "/run/nvidia-fabricmanager/socket"};

/* Descriptions by which the loaders of EGL, Vulkan and OptiX find the driver. */
static const char *const data_files[] = {
    "/etc/vulkan/icd.d/nvidia_icd.json",
    "/etc/vulkan/implicit_layer.d/nvidia_layers.json",
    "/usr/share/vulkan/icd.d/nvidia_icd.json",
    "/usr/share/vulkan/implicit_layer.d/nvidia_layers.json",
    "/usr/share/glvnd/egl_vendor.d/10_nvidia.json",
    "/usr/share/egl/egl_external_platform.d/10_nvidia_wayland.json",
    "/usr/share/egl/egl_external_platform.d/15_nvidia_gbm.json",
    "/usr/share/egl/egl_external_platform.d/20_nvidia_xcb.json",
    "/usr/share/egl/egl_external_platform.d/20_nvidia_xlib.json",
    "/usr/share/nvidia/nvoptix.bin",
};

/* NOLINTBEGIN(bugprone-macro-parentheses): `item` is a name to declare */
#define EACH(item, list)                                                            \
    for (size_t item##_i = 0; item##_i < COUNT(list); item##_i++)                   \
        for (const char *item = (list)[item##_i], *item##_once = item; item##_once; \
             item##_once = NULL)
/* NOLINTEND(bugprone-macro-parentheses) */

/* ---- the search for libraries ---- */

struct search {
    int root;
    VEC(char *) dirs; /* below the root */
};

static void search_done(struct search *s)
{
    VEC_EACH (&s->dirs, dir)
        free(*dir);
    vec_done(&s->dirs);
    fd_close(s->root);
}

static struct err *search_open(const char *dir, struct search *ret)
{
    *ret = (struct search){.root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC)};
    return ret->root < 0 ? err_errno(errno, "open the driver root %s", dir) : NULL;
}

static void search_add(struct search *s, const char *dir, size_t size)
{
    AUTO_FREE char *text = mem_strndup(dir, size);

    VEC_EACH (&s->dirs, known)
        if (text_equal(*known, text))
            return;
    vec_add(&s->dirs, TAKE(text));
}

static void search_add_parent(struct search *s, const char *path)
{
    const char *slash = strrchr(path, '/');

    if (slash)
        search_add(s, path, (size_t)(slash - path));
}

/* Adds the directory of a library, and the directory of the file behind its symlinks. */
static void on_cached(void *arg, const char *name, const char *path)
{
    struct search *s = arg;
    AUTO(fd_closep) int handle = -1;
    AUTO_FREE char *root = NULL;
    AUTO_FREE char *real = NULL;
    size_t size = 0;
    bool is_ours = false;

    EACH(prefix, library_prefixes)
    is_ours = is_ours || text_starts_with(name, prefix);
    if (!is_ours)
        return;
    search_add_parent(s, path);
    handle = file_open_below(s->root, path);
    root = file_path_of(s->root);
    real = handle < 0 ? NULL : file_path_of(handle);
    size = root && !text_equal(root, "/") ? strlen(root) : 0;
    if (real && text_starts_with(real, root) && real[size] == '/')
        search_add_parent(s, real + size);
}

/* Finds the directories with libraries of the driver: by the loader's cache, else the usual ones.
 */
static void search_find(struct search *s)
{
    AUTO(fd_closep) int handle = file_open_below(s->root, "etc/ld.so.cache");
    AUTO_FREE char *path = handle < 0 ? NULL : file_path_of(handle);
    AUTO(buf_done) struct buf bytes = {0};
    AUTO(err_freep) struct err *e = path ? file_read(path, CACHE_MAX, &bytes) : NULL;

    if (path && !e)
        e = driver_cache_parse((struct str){bytes.at, bytes.size}, on_cached, s);
    if (s->dirs.n > 0)
        return;
    EACH(dir, library_dirs)
    search_add(s, dir, strlen(dir));
}

/* Opens a regular file. Returns -1 if it is none; `*ret_path` is its path without symlinks. */
static int search_file(const struct search *s, const char *path, char **ret_path)
{
    AUTO(fd_closep) int handle = file_open_below(s->root, path);
    struct stat st = {0};

    if (handle < 0 || fstat(handle, &st) < 0 || !S_ISREG(st.st_mode))
        return -1;
    *ret_path = file_path_of(handle);
    return *ret_path ? fd_take(&handle) : -1;
}

static enum elf_class class_of(int handle)
{
    char head[ELF_HEAD_SIZE] = {0};

    return elf_class_of((struct str){head, file_read_head(handle, head, sizeof(head))});
}

/* ---- files ---- */

/* Adds the file `dir`/`subdir``name` if it, or the file behind its symlinks, is a library of the
 * driver. */
static void add_library(struct driver_root *r, const struct search *s, const char *dir,
                        const char *subdir, const char *name)
{
    AUTO_FREE char *path = mem_format("%s/%s%s", dir, subdir, name);
    AUTO_FREE char *inside = mem_format("%s%s", subdir, name);
    AUTO_FREE char *real = NULL;
    AUTO(fd_closep) int handle = -1;
    enum elf_class class = ELF_OTHER;

    if (!strstr(name, ".so"))
        return;
    handle = search_file(s, path, &real);
    if (handle < 0 || !driver_is_library(strrchr(real, '/') + 1, r->version))
        return;
    class = class_of(handle);
    if (class != ELF_OTHER)
        driver_root_add_file(r, class == ELF_NATIVE ? DRIVER_LIBRARY : DRIVER_LIBRARY_32, real,
                             inside);
}

static void add_libraries_in(struct driver_root *r, const struct search *s, const char *dir,
                             const char *subdir)
{
    AUTO_FREE char *path = mem_format("%s/%s", dir, subdir);
    AUTO(fd_closep) int handle = file_open_below(s->root, path);
    AUTO_FREE char *real = handle < 0 ? NULL : file_path_of(handle);
    char **names = NULL;
    size_t n = 0;
    AUTO(err_freep) struct err *e = real ? dir_list(real, &names, &n) : NULL;

    for (size_t i = 0; !e && i < n; i++)
        add_library(r, s, dir, subdir, names[i]);
    if (!e)
        names_free(names, n);
}

static void add_libraries(struct driver_root *r, const struct search *s)
{
    VEC_EACH (&s->dirs, dir) {
        EACH(subdir, library_subdirs)
        add_libraries_in(r, s, *dir, subdir);
    }
}

static void add_programs(struct driver_root *r, const struct search *s)
{
    EACH(program, programs)
    {
        EACH(dir, program_dirs)
        {
            AUTO_FREE char *path = mem_format("%s/%s", dir, program);
            AUTO_FREE char *real = NULL;
            AUTO(fd_closep) int handle = search_file(s, path, &real);

            if (handle >= 0)
                driver_root_add_file(r, DRIVER_PROGRAM, real, program);
        }
    }
}

static void add_data(struct driver_root *r, const struct search *s)
{
    EACH(name, data_files)
    {
        AUTO_FREE char *real = NULL;
        AUTO(fd_closep) int handle = search_file(s, name, &real);

        if (handle >= 0)
            driver_root_add_file(r, DRIVER_DATA, real, name);
    }
    EACH(socket, sockets)
    {
        AUTO(fd_closep) int handle = file_open_below(s->root, socket);
        AUTO_FREE char *real = handle < 0 ? NULL : file_path_of(handle);
        struct stat st = {0};

        if (real && fstat(handle, &st) == 0 && S_ISSOCK(st.st_mode))
            driver_root_add_file(r, DRIVER_SOCKET, real, socket);
    }
}

static void add_firmware_in(struct driver_root *r, const struct search *s, const char *dir)
{
    AUTO_FREE char *path = mem_format("%s/nvidia/%s", dir, r->version);
    AUTO(fd_closep) int handle = file_open_below(s->root, path);
    AUTO_FREE char *real = handle < 0 ? NULL : file_path_of(handle);
    char **names = NULL;
    size_t n = 0;
    AUTO(err_freep) struct err *e = real ? dir_list(real, &names, &n) : NULL;

    for (size_t i = 0; !e && i < n; i++) {
        AUTO_FREE char *file = mem_format("%s/%s", real, names[i]);
        AUTO_FREE char *name = mem_format("/lib/firmware/nvidia/%s/%s", r->version, names[i]);

        if (text_starts_with(names[i], "gsp") && text_ends_with(names[i], ".bin"))
            driver_root_add_file(r, DRIVER_DATA, file, name);
    }
    if (!e)
        names_free(names, n);
}

/* Adds the first line of a file of the host as a directory, if it is one. */
static void add_firmware(struct driver_root *r, const struct search *s, const char *host)
{
    AUTO_FREE char *parameter = mem_format("%s/sys/module/firmware_class/parameters/path", host);
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *e = file_read(parameter, PROC_MAX, &text);
    struct utsname uts = {0};
    const char *release = uname(&uts) == 0 ? uts.release : "";
    AUTO_FREE char *custom = e ? NULL : mem_strndup(text.at, strcspn(text.at, "\n"));
    AUTO_FREE char *updates = mem_format("lib/firmware/updates/%s", release);
    AUTO_FREE char *own = mem_format("lib/firmware/%s", release);
    const char *const dirs[] = {updates, "lib/firmware/updates", own, "lib/firmware"};

    if (custom && custom[0] == '/') {
        /* The kernel reads this directory itself: it counts from the root of the machine. */
        AUTO_FREE char *top = mem_format("%s/", host);
        struct search machine = {0};
        AUTO(err_freep) struct err *closed = search_open(top, &machine);

        if (!closed)
            add_firmware_in(r, &machine, custom);
        search_done(&machine);
    }
    EACH(dir, dirs)
    add_firmware_in(r, s, dir);
}

/* ---- device nodes ---- */

static void add_node(struct driver_root *r, const char *path, int64_t major, int64_t minor)
{
    vec_add(&r->nodes, ((struct driver_node){mem_strdup(path), major, minor}));
}

static bool has_node(const struct driver_root_options *o, const char *host, const char *path)
{
    AUTO_FREE char *here = mem_format("%s%s", host, path);
    AUTO_FREE char *there = mem_format("%s%s", o->dir, path);

    return file_exists(here) || file_exists(there);
}

/* Adds the numbered nodes /dev/nvidia-caps-imex-channels/channelN, whose minor is N. */
static void add_channels(struct driver_root *r, const char *host, int64_t major)
{
    AUTO_FREE char *dir = mem_format("%s/dev/nvidia-caps-imex-channels", host);
    char **names = NULL;
    size_t n = 0;
    AUTO(err_freep) struct err *e = major < 0 ? NULL : dir_list(dir, &names, &n);

    for (size_t i = 0; !e && i < n; i++) {
        int64_t minor = 0;
        AUTO(err_freep)
        struct err *bad =
            text_starts_with(names[i], "channel")
                ? num_parse_int64(str_of(names[i] + strlen("channel")), 0, INT32_MAX, &minor)
                : err_new(ERR_INVALID, "no channel");

        if (!bad)
            vec_add(&r->channels,
                    ((struct driver_node){mem_format("/dev/nvidia-caps-imex-channels/%s", names[i]),
                                          major, minor}));
    }
    if (!e)
        names_free(names, n);
}

static void add_nodes(struct driver_root *r, const struct driver_root_options *o, const char *host,
                      const char *devices)
{
    int64_t uvm = driver_find_major(devices, "nvidia-uvm");
    int64_t gpu = driver_find_major(devices, "nvidia");

    if (gpu < 0)
        gpu = driver_find_major(devices, "nvidia-frontend");
    r->gpu_major = gpu < 0 ? NVIDIA_MAJOR : gpu;
    r->capability_major = driver_find_major(devices, "nvidia-caps");
    add_node(r, "/dev/nvidiactl", r->gpu_major, CONTROL_MINOR);
    if (uvm >= 0) {
        add_node(r, "/dev/nvidia-uvm", uvm, 0);
        add_node(r, "/dev/nvidia-uvm-tools", uvm, 1);
    }
    if (has_node(o, host, "/dev/nvidia-modeset"))
        add_node(r, "/dev/nvidia-modeset", r->gpu_major, MODESET_MINOR);
    add_channels(r, host, driver_find_major(devices, "nvidia-caps-imex-channels"));
}

static void add_emulated(struct driver_root *r, const struct driver_root_options *o)
{
    r->is_emulated = true;
    r->gpu_major = GPUSIM_DEVICE_MAJOR;
    r->capability_major = GPUSIM_DEVICE_MAJOR;
    r->capability_base = GPUSIM_CAPS_MINOR;
    add_node(r, "/dev/nvidiactl", GPUSIM_DEVICE_MAJOR, GPUSIM_CONTROL_MINOR);
    add_node(r, "/dev/nvidia-uvm", GPUSIM_DEVICE_MAJOR, GPUSIM_UVM_MINOR);
    add_node(r, "/dev/nvidia-uvm-tools", GPUSIM_DEVICE_MAJOR, GPUSIM_UVM_TOOLS_MINOR);
    driver_root_add_file(r, DRIVER_STATE, o->machine, GPUSIM_MACHINE_PATH);
}

/* ---- capabilities ---- */

/* Reads "DeviceFileMinor: 3" from the capability's file `access`; -1: none. */
static int capability_minor(const char *dir)
{
    AUTO_FREE char *path = mem_format("%s/access", dir);
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *e = file_read(path, PROC_MAX, &text);
    struct str rest = {text.at, text.size};
    int64_t minor = -1;

    while (!e && rest.at && rest.size > 0) {
        struct str value = str_cut(&rest, '\n');
        struct str key = str_cut(&value, ':');

        if (!str_equal(key, STR("DeviceFileMinor")))
            continue;
        while (value.size > 0 && (*value.at == ' ' || *value.at == '\t'))
            value = (struct str){value.at + 1, value.size - 1};
        e = num_parse_int64(value, 0, INT32_MAX, &minor);
    }
    return e ? -1 : (int)minor;
}

/* Calls `fn` for each directory `prefix`N in `dir`, such as gpu0 or gi3, with its path and N. */
static void each_numbered(const char *dir, const char *prefix,
                          void (*fn)(struct driver_root *r, struct driver_capability c,
                                     const char *path, int number),
                          struct driver_root *r, struct driver_capability c)
{
    char **names = NULL;
    size_t n = 0;
    AUTO(err_freep) struct err *e = dir_list(dir, &names, &n);

    for (size_t i = 0; !e && i < n; i++) {
        AUTO_FREE char *path = mem_format("%s/%s", dir, names[i]);
        AUTO(err_freep) struct err *bad = NULL;
        int64_t number = 0;

        if (!text_starts_with(names[i], prefix))
            continue;
        bad = num_parse_int64(str_of(names[i] + strlen(prefix)), 0, INT32_MAX, &number);
        if (!bad)
            fn(r, c, path, (int)number);
    }
    if (!e)
        names_free(names, n);
}

static void add_capability(struct driver_root *r, struct driver_capability c, const char *path)
{
    c.number = capability_minor(path);
    if (c.number >= 0)
        vec_add(&r->capabilities, c);
}

static void add_compute_instance(struct driver_root *r, struct driver_capability c,
                                 const char *path, int number)
{
    c.compute_instance = number;
    add_capability(r, c, path);
}

static void add_gpu_instance(struct driver_root *r, struct driver_capability c, const char *path,
                             int number)
{
    c.gpu_instance = number;
    add_capability(r, c, path);
    each_numbered(path, "ci", add_compute_instance, r, c);
}

static void add_gpu_capabilities(struct driver_root *r, struct driver_capability c,
                                 const char *path, int number)
{
    AUTO_FREE char *mig = mem_format("%s/mig", path);

    c.gpu = number;
    each_numbered(mig, "gi", add_gpu_instance, r, c);
}

static void add_capabilities(struct driver_root *r, const char *host)
{
    AUTO_FREE char *dir = mem_format("%s/proc/driver/nvidia/capabilities", host);
    const struct driver_capability none = {.compute_instance = -1};

    each_numbered(dir, "gpu", add_gpu_capabilities, r, none);
}

char *driver_numbers(const char *host)
{
    AUTO(driver_root_freep) struct driver_root *r = mem_alloc(sizeof(*r));
    AUTO_FREE char *path = mem_format("%s/proc/devices", host);
    struct buf text = {0};
    AUTO(err_freep) struct err *e = file_read(path, PROC_MAX, &text);

    if (e)
        buf_clear(&text);
    add_capabilities(r, host);
    VEC_EACH (&r->capabilities, c)
        buf_printf(&text, "%d.%d.%d=%d\n", c->gpu, c->gpu_instance, c->compute_instance, c->number);
    return buf_steal(&text);
}

/* ---- all ---- */

struct err *driver_root_read(const struct driver_root_options *o, struct driver_root **ret)
{
    AUTO(driver_root_freep) struct driver_root *r = mem_alloc(sizeof(*r));
    AUTO(search_done) struct search s = {.root = -1};
    const char *host = o->host ? o->host : "";
    AUTO_FREE char *devices_path = mem_format("%s/proc/devices", host);
    AUTO(buf_done) struct buf devices = {0};

    TRY(search_open(o->dir, &s));
    r->dir = mem_strdup(o->dir);
    r->version = mem_strdup(o->version);
    search_find(&s);
    add_libraries(r, &s);
    add_programs(r, &s);
    add_data(r, &s);
    if (o->machine) {
        add_emulated(r, o);
    } else {
        add_firmware(r, &s, host);
        TRY(file_read(devices_path, PROC_MAX, &devices));
        add_nodes(r, o, host, devices.at ? devices.at : "");
        add_capabilities(r, host);
    }
    driver_root_sort(r);
    *ret = TAKE(r);
    return NULL;
}

char *driver_root_find_library(const char *dir, const char *name)
{
    AUTO(search_done) struct search s = {.root = -1};
    AUTO(err_freep) struct err *e = search_open(dir, &s);

    if (e)
        return NULL;
    search_find(&s);
    VEC_EACH (&s.dirs, at) {
        AUTO_FREE char *path = mem_format("%s/%s", *at, name);
        AUTO_FREE char *real = NULL;
        AUTO(fd_closep) int handle = search_file(&s, path, &real);

        if (handle >= 0 && class_of(handle) == ELF_NATIVE)
            return TAKE(real);
    }
    return NULL;
}
