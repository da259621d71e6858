// Calls every getter of go-nvml that needs no argument, on the system and on each device, and prints what they return
// as JSON: {"system": {NAME: [VALUE, RETURN]}, "devices": [{NAME: [VALUE, RETURN]}]}. A function that the library lacks
// ends the program.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

func isGetter(name string) bool {
	return strings.HasPrefix(name, "Get") || strings.HasPrefix(name, "Is") || strings.HasPrefix(name, "System")
}

// call returns for each getter its values as text and the name of its return code.
func call(object any) map[string][2]string {
	said := map[string][2]string{}
	value := reflect.ValueOf(object)
	for i := range value.NumMethod() {
		method, name := value.Method(i), value.Type().Method(i).Name
		kind := method.Type()
		if kind.NumIn() > 0 || kind.NumOut() < 2 || !isGetter(name) {
			continue
		}
		fmt.Fprintln(os.Stderr, name) // The last line tells which function ended the program.
		results := method.Call(nil)
		code, isCode := results[len(results)-1].Interface().(nvml.Return)
		if !isCode {
			continue
		}
		said[name] = [2]string{fmt.Sprintf("%.80v", results[0].Interface()), nvml.ErrorString(code)}
	}
	return said
}

func must(code nvml.Return) {
	if code != nvml.SUCCESS {
		fmt.Fprintln(os.Stderr, nvml.ErrorString(code))
		os.Exit(1)
	}
}

func main() {
	library := nvml.New()
	must(library.Init())
	defer library.Shutdown()
	n, code := library.DeviceGetCount()
	must(code)
	devices := []any{}
	for i := range n {
		device, code := library.DeviceGetHandleByIndex(i)
		must(code)
		devices = append(devices, call(device))
	}
	system := call(library)
	if err := json.NewEncoder(os.Stdout).Encode(map[string]any{"system": system, "devices": devices}); err != nil {
		panic(err)
	}
}
