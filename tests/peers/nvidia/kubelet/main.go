// Stands in for a kubelet: takes N registrations of a device plugin, and prints for each its resource, its list of
// devices and its answer to an allocation of all of them as JSON.
//
//	kubelet DIRECTORY N COMMAND...
//
// DIRECTORY is where the socket of a kubelet lies; COMMAND is the device plugin, which ends with this program.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const patience = 20 * time.Second

type kubelet struct {
	registered chan *api.RegisterRequest
}

func (k kubelet) Register(_ context.Context, request *api.RegisterRequest) (*api.Empty, error) {
	k.registered <- request
	return &api.Empty{}, nil
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "kubelet:", err)
		os.Exit(1)
	}
}

// ask lists the devices of a plugin, and allocates them all to one container.
func ask(socket string) (*api.ListAndWatchResponse, *api.AllocateResponse, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, nil, err
	}
	defer connection.Close()
	plugin := api.NewDevicePluginClient(connection)
	stream, err := plugin.ListAndWatch(ctx, &api.Empty{})
	if err != nil {
		return nil, nil, err
	}
	list, err := stream.Recv()
	if err != nil {
		return nil, nil, err
	}
	container := &api.ContainerAllocateRequest{}
	for _, device := range list.Devices {
		container.DevicesIDs = append(container.DevicesIDs, device.ID)
	}
	answer, err := plugin.Allocate(ctx, &api.AllocateRequest{ContainerRequests: []*api.ContainerAllocateRequest{container}})
	return list, answer, err
}

// read waits for the plugin's registrations, and asks for the devices of each.
func read(k kubelet, ended chan error, n int, directory string) ([]any, error) {
	said := []any{}
	for len(said) < n {
		select {
		case request := <-k.registered:
			list, answer, err := ask(filepath.Join(directory, request.Endpoint))
			if err != nil {
				return nil, err
			}
			said = append(said, map[string]any{
				"resource": request.ResourceName, "devices": list.Devices, "allocated": answer.ContainerResponses[0]})
		case err := <-ended:
			return nil, fmt.Errorf("the plugin ended after %d registrations: %v", len(said), err)
		case <-time.After(patience):
			return nil, fmt.Errorf("%d registrations, and no other within %v", len(said), patience)
		}
	}
	return said, nil
}

func main() {
	runtime.LockOSThread() // The death of the thread that started the plugin would end it.
	directory := os.Args[1]
	n, err := strconv.Atoi(os.Args[2])
	fail(err)
	listener, err := net.Listen("unix", filepath.Join(directory, "kubelet.sock"))
	fail(err)
	k := kubelet{registered: make(chan *api.RegisterRequest, n)}
	server := grpc.NewServer()
	api.RegisterRegistrationServer(server, k)
	go server.Serve(listener)

	plugin := exec.Command(os.Args[3], os.Args[4:]...)
	plugin.Stderr = os.Stderr
	plugin.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	fail(plugin.Start())
	ended := make(chan error)
	go func() { ended <- plugin.Wait() }()
	said, err := read(k, ended, n, directory)
	plugin.Process.Kill()
	fail(err)
	fail(json.NewEncoder(os.Stdout).Encode(said))
}
