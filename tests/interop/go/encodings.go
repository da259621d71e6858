package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"reflect"
	"time"

	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	core "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"

	"mete.dev/interop/messages"
)

const rounds = 40

// A schema holds schemas in eleven fields: all of them are filled at the top, one below.
const schemaDepth = 2

// schemas fills the types of apiextensions.k8s.io that hold themselves, or JSON.
func schemas() []any {
	depth := 0
	return []any{
		func(s *apiextensions.JSONSchemaProps, c randfill.Continue) {
			if depth++; depth <= schemaDepth {
				c.FillNoCustom(s)
			} else {
				s.Type, s.Nullable = c.String(8), c.Bool()
			}
			depth--
		},
		func(j *apiextensions.JSON, c randfill.Continue) { j.Raw = []byte(`{"a":[1,true,null]}`) },
		func(f *float64, c randfill.Continue) { *f = float64(int32(c.Uint32())) / 8 },
	}
}

// filler fills every field with a value that both encodings can carry.
func filler(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(0.1).NumElements(1, 2).MaxDepth(24).Funcs(schemas()...).Funcs(
		func(t *meta.Time, c randfill.Continue) {
			t.Time = time.Unix(int64(c.Uint32()), 0).UTC()
		},
		func(t *meta.MicroTime, c randfill.Continue) {
			t.Time = time.Unix(int64(c.Uint32()), int64(c.Intn(1000000))*1000).UTC()
		},
		func(q *resource.Quantity, c randfill.Continue) {
			*q = resource.MustParse(fmt.Sprint(c.Uint32(), []string{"", "m", "Ki", "G"}[c.Intn(4)]))
		},
		func(v *intstr.IntOrString, c randfill.Continue) {
			*v = intstr.FromInt32(int32(c.Uint32()))
			if c.Bool() {
				*v = intstr.FromString(c.String(8))
			}
		},
		func(f *meta.FieldsV1, c randfill.Continue) {
			f.Raw = []byte(`{"f:metadata":{"f:labels":{".":{},"f:a":1.5}}}`)
		},
		func(e *runtime.RawExtension, c randfill.Continue) { // the data of a ControllerRevision
			e.Raw = []byte(`{"spec":{"template":{"$patch":"replace"}}}`)
		},
		func(l core.ResourceList, c randfill.Continue) {
			l["nvidia.com/gpu"] = resource.MustParse("8")
		},
		// Zero values are valid tests too.
		func(n *int32, c randfill.Continue) { *n = int32(c.Uint64()) * int32(c.Intn(2)) },
		func(n *int64, c randfill.Continue) { *n = int64(c.Uint64()) * int64(c.Intn(2)) },
		func(s *string, c randfill.Continue) { *s = c.String(8) },
		func(*meta.TypeMeta, randfill.Continue) {}, // the envelope has these fields
		// A value of a map that is nil is null in JSON and empty in protobuf.
		func(v *authentication.ExtraValue, c randfill.Continue) { *v = []string{c.String(8), ""} },
		func(v *authentication.AttestationValue, c randfill.Continue) { *v = []string{c.String(8)} },
		func(v *authorization.ExtraValue, c randfill.Continue) { *v = []string{c.String(8), ""} },
		func(v *[]byte, c randfill.Continue) { *v = []byte(c.String(8) + "\xff") },
	)
}

// frame writes data after its size.
func frame(w io.Writer, data []byte) error {
	if err := binary.Write(w, binary.LittleEndian, uint32(len(data))); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}

func encode(b messages.Body, o runtime.Object) (proto, text []byte, err error) {
	version := b.Version
	if version == "" {
		version = "batch/v1"
	}
	gv, err := schema.ParseGroupVersion(version)
	if err != nil {
		return nil, nil, err
	}
	kind := reflect.TypeOf(o).Elem().Name()
	o.GetObjectKind().SetGroupVersionKind(gv.WithKind(kind))
	if text, err = json.Marshal(o); err != nil {
		return nil, nil, err
	}
	var out bytes.Buffer
	err = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(o, &out)
	return out.Bytes(), text, err
}

// withoutNulls drops the nulls of unset times from JSON.
func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if value == nil {
				delete(v, key)
				continue
			}
			v[key] = withoutNulls(value)
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return v
}

func parse(text []byte) (any, error) {
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err := d.Decode(&v)
	return withoutNulls(v), err
}

func compareOne(b messages.Body, text, decoded []byte) error {
	want, err := parse(text)
	if err != nil {
		return err
	}
	got, err := parse(decoded)
	if err != nil {
		return fmt.Errorf("%s: %w", decoded, err)
	}
	if !reflect.DeepEqual(want, got) {
		a, _ := json.Marshal(want)
		z, _ := json.Marshal(got)
		i := 0
		for i < len(a) && i < len(z) && a[i] == z[i] {
			i++
		}
		i = max(0, i-100)
		return fmt.Errorf("%T differs:\n  JSON     ...%.300s\n  protobuf ...%.300s", b.Object, a[i:], z[min(i, len(z)):])
	}
	return nil
}

// compareEncodings sends objects through the decoder, a program that reads protobuf bodies and
// writes JSON, each text after its size.
func compareEncodings(decoder string) error {
	var in bytes.Buffer
	var texts [][]byte
	for round := range int64(rounds) {
		for _, b := range messages.Bodies {
			o := b.Object.DeepCopyObject()
			if round > 0 { // the first is empty
				filler(round).Fill(o)
			}
			proto, text, err := encode(b, o)
			if err != nil {
				return err
			}
			texts = append(texts, text)
			if err := frame(&in, proto); err != nil {
				return err
			}
		}
	}
	cmd := exec.Command(decoder)
	cmd.Stdin = &in
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", decoder, err)
	}
	for i, text := range texts {
		if len(out) < 4 {
			return fmt.Errorf("%s: too few answers", decoder)
		}
		size := 4 + binary.LittleEndian.Uint32(out)
		if err := compareOne(messages.Bodies[i%len(messages.Bodies)], text, out[4:size]); err != nil {
			return fmt.Errorf("round %d: %w", i/len(messages.Bodies), err)
		}
		out = out[size:]
	}
	fmt.Printf("ok %d bodies of %d kinds\n", len(texts), len(messages.Bodies))
	return nil
}
