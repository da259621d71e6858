"""Gpus of AMD and Intel beside NVIDIA's, from a directory like /sys."""

import json
import os

from harness import Mete, check, equal, pod, wait

GIB = 1 << 30


def put(root, path, text):
    path = os.path.join(root, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(f"{text}\n")


def put_card(root, card, pci, vendor, device):
    below = f"bus/pci/devices/{pci}"
    for name, text in (("vendor", vendor), ("device", device), ("class", "0x038000"), ("numa_node", "0"),
                       ("local_cpulist", "0-47"), (f"drm/renderD{128 + card}/dev", f"226:{128 + card}")):
        put(root, f"{below}/{name}", text)
    os.makedirs(os.path.join(root, f"class/drm/card{card}"), exist_ok=True)
    os.symlink(f"../../../{below}", os.path.join(root, f"class/drm/card{card}/device"))
    return below


def put_mi300x(root, card, bus):
    below = put_card(root, card, f"0000:{bus:02x}:00.0", "0x1002", "0x74a1")
    for name, text in (("product_name", "AMD Instinct MI300X OAM"), ("serial_number", f"6922510011{bus}"),
                       ("current_compute_partition", "SPX"), ("current_memory_partition", "NPS1"),
                       ("gpu_busy_percent", "7"), ("hwmon/hwmon3/temp2_input", "41000"),
                       ("hwmon/hwmon3/power1_average", "133000000")):
        put(root, f"{below}/{name}", text)
    node = f"class/kfd/kfd/topology/nodes/{card}"
    put(root, f"{node}/properties",
        "cpu_cores_count 0\nsimd_count 1216\nsimd_per_cu 4\ngfx_target_version 90402\n"
        f"location_id {bus << 8}\ndomain 0\ndrm_render_minor {128 + card}\nhive_id 15188982192727901047\n"
        f"unique_id {0xe3aa140f9a5f9e30 + card}")
    put(root, f"{node}/mem_banks/0/properties", f"heap_type 1\nsize_in_bytes {192 * GIB}")
    put(root, f"{node}/mem_banks/0/used_memory", "2907979776")
    put(root, "class/kfd/kfd/dev", "510:0")
    put(root, "module/amdgpu/version", "6.8.5")


def put_flex(root, card):
    below = put_card(root, card, "0000:4d:00.0", "0x8086", "0x56c0")
    os.symlink("../../../../bus/pci/drivers/xe", os.path.join(root, below, "driver"))
    line = "0x0000000000000000 0x0000000000000000 0x0000000000000000"
    put(root, f"{below}/resource", f"{line}\n{line}\n0x{1 << 44:016x} 0x{(1 << 44) + 16 * GIB - 1:016x} 0x14220c")


def machine(gpus):
    m = Mete(gpus=gpus)
    root = os.path.join(m.dir, "sys")
    put_mi300x(root, 1, 5)
    put_mi300x(root, 2, 39)
    put_flex(root, 3)
    m.env["METE_SYSFS"] = root
    return m


def asking(name, command, resource, n):
    c = {"name": "main", "image": "host", "command": ["sh", "-c", command], "resources": {"limits": {resource: n}}}
    return pod(name, "", containers=[c])


def test_pods_get_gpus_of_the_vendor_that_they_ask_for():
    with machine("emulated:3xT4") as m:
        node = m.object("nodes")["items"][0]
        for resource, n in (("nvidia.com/gpu", "3"), ("amd.com/gpu", "2"), ("gpu.intel.com/xe", "1")):
            equal(node["status"]["allocatable"][resource], n, resource)
        labels = node["metadata"]["labels"]
        for name, value in (("nvidia.com/gpu.count", "3"), ("amd.com/gpu.product-name", "AMD_Instinct_MI300X_OAM"),
                            ("amd.com/gpu.vram", "192G"), ("amd.com/gpu.cu-count", "304"), ("amd.com/gpu.family", "AI"),
                            ("beta.amd.com/gpu.device-id.74a1", "2"), ("amd.com/gpu.driver-version", "6.8.5"),
                            ("amd.com/gpu.compute-memory-partition", "spx_nps1"),
                            ("gpu.intel.com/product", "Flex_170"), ("gpu.intel.com/device-id.0380-56c0.count", "1")):
            equal(labels.get(name), value, name)
        table = json.loads(m.mete("gpus", "-o", "json").out)
        check("AMD Instinct MI300X OAM" in json.dumps(table) and "Flex 170" in json.dumps(table), table)

        show = "ls /dev/kfd /dev/dri/* /dev/nvidia[0-9] 2>/dev/null | tr '\\n' ' '; sleep 1000"
        m.ok("apply", "-f", "-", stdin=asking("amd", show, "amd.com/gpu", 2))
        m.ok("apply", "-f", "-", stdin=asking("intel", show, "gpu.intel.com/xe", 1))
        m.ok("apply", "-f", "-", stdin=asking("nvidia", show, "nvidia.com/gpu", 2))
        for name, files in (("amd", "/dev/dri/card1 /dev/dri/card2 /dev/dri/renderD129 /dev/dri/renderD130 /dev/kfd"),
                            ("intel", "/dev/dri/card3 /dev/dri/renderD131"), ("nvidia", "/dev/nvidia0 /dev/nvidia1")):
            m.wait_phase(name, "Running")
            wait(lambda name=name, files=files: m.ok("logs", name).split() == files.split(), f"the files of {name}")

        free = m.mete("free", "--gpus", "2xamd")
        check("would wait" in free.out + free.err, free)

        # All are held: the next ones wait, for their own vendor.
        m.ok("apply", "-f", "-", stdin=asking("late", "echo got it", "amd.com/gpu", 1))
        wait(lambda: "MI300X" in m.ok("get", "pod", "late", "-o", "jsonpath={.status.conditions[*].message}"), "the reason")
        check("any model" not in m.mete("why", "late").out, "a free gpu of NVIDIA is no help")
        m.ok("delete", "pod", "amd", "--now")
        m.wait_phase("late", "Succeeded")
        equal(m.ok("logs", "late").split(), ["got", "it"])
        ran = m.mete("run", "--gpus", "2xamd", "--", "sh", "-c", "ls /dev/dri | grep -c render")
        equal((ran.code, ran.out.split()[-1]), (0, "2"), ran)


def test_a_machine_without_nvidia_and_what_cannot_be_asked_for():
    with machine("auto") as m:
        wait(lambda: m.object("nodes")["items"][0]["status"]["allocatable"].get("amd.com/gpu") == "2", "the gpus are offered")
        equal(m.object("nodes")["items"][0]["status"]["allocatable"]["nvidia.com/gpu"], "0")
        check("MI300X" in m.mete("nodes").out, "the model in mete nodes")
        m.ok("apply", "-f", "-", stdin=asking("n", "true", "nvidia.com/gpu", 1))
        wait(lambda: "nvidia" in m.ok("get", "pod", "n", "-o", "jsonpath={.status.conditions[*].message}").lower(), "the reason")
        both = json.loads(asking("both", "true", "amd.com/gpu", 1))
        both["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = 1
        refused = m.mete("apply", "-f", "-", stdin=json.dumps(both))
        check(refused.code != 0 and "one vendor only" in refused.err, refused)
        name = m.object("nodes")["items"][0]["metadata"]["name"]
        refused = m.mete("gpus", "set", f"{name}/0", "--mode", "replicas=4")
        check(refused.code != 0 and "gpus of amd are given whole only; computePartition and memoryPartition are read only" in refused.err,
              refused)
        listed = m.mete("gpus")
        check("whole, SPX/NPS1" in listed.out and "memoryPartition of AMD's GPUs are read only" in listed.out + listed.err, listed)
