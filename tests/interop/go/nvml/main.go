// Command nvml reads all gpus through go-nvml, as the device plugin and the exporter do, and divides
// the first one: a line a gpu with its name and memory, then the MIG device's multiprocessors.
package main

import (
	"fmt"
	"log"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

func must(what string, ret nvml.Return) {
	if ret != nvml.SUCCESS {
		log.Fatalf("%s: %s", what, nvml.ErrorString(ret))
	}
}

func list() {
	n, ret := nvml.DeviceGetCount()
	must("count", ret)
	for i := 0; i < n; i++ {
		d, ret := nvml.DeviceGetHandleByIndex(i)
		must("handle", ret)
		name, ret := d.GetName()
		must("name", ret)
		memory, ret := d.GetMemoryInfo_v2()
		must("memory", ret)
		_, ret = d.GetPciInfo()
		must("pci", ret)
		_, ret = d.GetComputeRunningProcesses()
		must("processes", ret)
		fmt.Println(name, memory.Total>>20)
	}
}

func divide() {
	d, ret := nvml.DeviceGetHandleByIndex(0)
	must("handle", ret)
	activation, ret := d.SetMigMode(1)
	must("mode", ret)
	must("activation", activation)
	profile, ret := d.GetGpuInstanceProfileInfo(nvml.GPU_INSTANCE_PROFILE_2_SLICE)
	must("profile", ret)
	_, ret = d.GetGpuInstanceProfileInfoV(nvml.GPU_INSTANCE_PROFILE_2_SLICE).V3()
	must("profile, version 3", ret)
	places, ret := d.GetGpuInstancePossiblePlacements(&profile)
	must("placements", ret)
	instance, ret := d.CreateGpuInstanceWithPlacement(&profile, &places[len(places)-1])
	must("gpu instance", ret)
	compute, ret := instance.GetComputeInstanceProfileInfo(nvml.COMPUTE_INSTANCE_PROFILE_2_SLICE, 0)
	must("compute profile", ret)
	_, ret = instance.CreateComputeInstance(&compute)
	must("compute instance", ret)
	mig, ret := d.GetMigDeviceHandleByIndex(0)
	must("mig device", ret)
	parent, ret := mig.GetDeviceHandleFromMigDeviceHandle()
	must("parent", ret)
	uuid, ret := parent.GetUUID()
	must("uuid", ret)
	own, ret := mig.GetUUID()
	must("uuid of the mig device", ret)
	attributes, ret := mig.GetAttributes()
	must("attributes", ret)
	fmt.Println(attributes.MultiprocessorCount, uuid[:4], own[:4])
}

func main() {
	must("init", nvml.Init())
	list()
	divide()
	must("shutdown", nvml.Shutdown())
}
