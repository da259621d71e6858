// Command tables writes src/kinds/wire/protobuf_fields.c: the protobuf fields of each message that a
// client of Kubernetes may send to Mete, read by reflection from the Go types of k8s.io/api.
//
// A struct tag of these types names both the protobuf field and the JSON member. The Go type says
// how a value is encoded and whether JSON leaves its zero value out.
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"reflect"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"mete.dev/interop/messages"
)

// Types whose JSON is not that of their members.
var special = map[reflect.Type]string{
	reflect.TypeFor[meta.Time]():            "PROTO_TIME",
	reflect.TypeFor[meta.MicroTime]():       "PROTO_MICRO_TIME",
	reflect.TypeFor[resource.Quantity]():    "PROTO_QUANTITY",
	reflect.TypeFor[intstr.IntOrString]():   "PROTO_INT_OR_STRING",
	reflect.TypeFor[meta.FieldsV1]():        "PROTO_JSON",
	reflect.TypeFor[runtime.RawExtension](): "PROTO_JSON",
	reflect.TypeFor[[]byte]():               "PROTO_BYTES",
	reflect.TypeFor[apiextensions.JSON]():   "PROTO_JSON",
}

// Types whose JSON is a schema, or one of another type.
var schemas = map[reflect.Type]string{
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrArray]():       "PROTO_SCHEMA_OR_LIST",
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrBool]():        "PROTO_SCHEMA_OR_BOOL",
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrStringArray](): "PROTO_SCHEMA_OR_STRINGS",
}

type writer struct {
	out  *bufio.Writer
	done map[reflect.Type]bool
	open map[reflect.Type]bool // of messages around the present one
}

// tableName is "core_v1_pod_spec".
func tableName(t reflect.Type) string {
	parts := strings.Split(t.PkgPath(), "/")
	name := strings.Join(parts[len(parts)-2:], "_") + "_"
	for i, c := range t.Name() {
		lower := strings.ToLower(string(c))
		before := i > 0 && strings.ToLower(t.Name()[i-1:i]) == t.Name()[i-1:i]
		if lower != string(c) && before {
			name += "_"
		}
		name += lower
	}
	return name
}

// typeOf is the type, the table and the flags of a value.
func (w *writer) typeOf(t reflect.Type) (kind, table string, flags []string) {
	if s, ok := special[t]; ok {
		return s, "NULL", nil
	}
	if s, ok := schemas[t]; ok {
		props := reflect.TypeFor[apiextensions.JSONSchemaProps]()
		w.message(props)
		return s, tableName(props), nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return w.typeOf(t.Elem())
	case reflect.String:
		return "PROTO_STRING", "NULL", nil
	case reflect.Int32, reflect.Int64:
		return "PROTO_INT", "NULL", nil
	case reflect.Float64:
		return "PROTO_DOUBLE", "NULL", nil
	case reflect.Bool:
		return "PROTO_BOOL", "NULL", nil
	case reflect.Slice:
		kind, table, flags = w.typeOf(t.Elem())
		return kind, table, append(flags, "PROTO_REPEATED")
	case reflect.Map:
		if e := t.Elem(); e.Kind() == reflect.Slice && special[e] == "" {
			return "PROTO_STRINGS", "NULL", []string{"PROTO_MAP"} // a message of one repeated string
		}
		kind, table, flags = w.typeOf(t.Elem())
		return kind, table, append(flags, "PROTO_MAP")
	case reflect.Struct:
		w.message(t)
		return "PROTO_MESSAGE", tableName(t), nil
	}
	log.Fatalf("tables: %v: no encoding is known", t)
	return
}

// isOmitted tells whether JSON leaves out the zero value.
func isOmitted(t reflect.Type, options []string) bool {
	for _, o := range options {
		switch {
		case o == "omitempty" && (t.Kind() == reflect.String || t.Kind() == reflect.Int32 ||
			t.Kind() == reflect.Int64 || t.Kind() == reflect.Bool || t == reflect.TypeFor[[]byte]()):
			return true
		case o == "omitzero" && t.Kind() == reflect.Struct:
			return true
		}
	}
	return false
}

func (w *writer) field(t reflect.Type, f reflect.StructField) string {
	tag, ok := f.Tag.Lookup("protobuf")
	if !ok {
		return ""
	}
	number := strings.Split(tag, ",")[1]
	options := strings.Split(f.Tag.Get("json"), ",")
	kind, table, flags := w.typeOf(f.Type)
	if isOmitted(f.Type, options[1:]) {
		flags = append(flags, "PROTO_OMIT_ZERO")
	}
	if options[0] == "" {
		if kind != "PROTO_MESSAGE" {
			log.Fatalf("tables: %v.%s: no name in JSON", t, f.Name)
		}
		kind = "PROTO_INLINE"
		options[0] = f.Name
	}
	if len(flags) == 0 {
		flags = []string{"0"}
	}
	return fmt.Sprintf("    {%s, \"%s\", %s, %s, %s},\n", number, options[0], kind, strings.Join(flags, " | "), table)
}

// declare writes what a table that comes before that of t needs to point to it.
func (w *writer) declare(t reflect.Type) {
	size := 1
	for i := 0; i < t.NumField(); i++ {
		if _, ok := t.Field(i).Tag.Lookup("protobuf"); ok {
			size++
		}
	}
	fmt.Fprintf(w.out, "static const struct proto_field %s[%d];\n\n", tableName(t), size)
}

// message writes the table of a struct after those of its members.
func (w *writer) message(t reflect.Type) {
	if w.open[t] {
		w.declare(t) // it holds itself
	}
	if w.open[t] || w.done[t] {
		return
	}
	w.open[t] = true
	var text string
	for i := 0; i < t.NumField(); i++ {
		text += w.field(t, t.Field(i))
	}
	delete(w.open, t)
	w.done[t] = true
	fmt.Fprintf(w.out, "static const struct proto_field %s[] = {\n%s    {0},\n};\n\n", tableName(t), text)
}

const head = `/*
 * protobuf_fields.c - the protobuf messages that clients of Kubernetes send, as tables
 *
 * tests/interop/go/tables writes this file from the Go types of k8s.io/api; test_go.py compares.
 */

#include <stddef.h>

#include "base/attr.h"
#include "kinds/wire/protobuf_tables.h"

/* clang-format off */

`

func main() {
	w := &writer{bufio.NewWriter(os.Stdout), map[reflect.Type]bool{}, map[reflect.Type]bool{}}
	fmt.Fprint(w.out, head)
	for _, b := range messages.Bodies {
		w.message(reflect.TypeOf(b.Object).Elem())
	}
	fmt.Fprint(w.out, "const struct proto_message proto_messages[] = {\n")
	for _, b := range messages.Bodies {
		t := reflect.TypeOf(b.Object).Elem()
		version := `"` + b.Version + `"`
		if b.Version == "" {
			version = "NULL"
		}
		fmt.Fprintf(w.out, "    {%s, \"%s\", %s},\n", version, t.Name(), tableName(t))
	}
	fmt.Fprint(w.out, "};\nconst size_t proto_messages_count = COUNT(proto_messages);\n")
	if err := w.out.Flush(); err != nil {
		log.Fatal(err)
	}
}
