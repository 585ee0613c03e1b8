// Command kind-shapes prints the shapes of the kinds that the embedded API server serves, as Kubernetes defines them: the fields of
// every message with their protobuf numbers and types, how lists merge, and which fields are required. One message per line.
package main

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	apps "k8s.io/api/apps/v1"
	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	coordination "k8s.io/api/coordination/v1"
	coordinationalpha "k8s.io/api/coordination/v1alpha2"
	coordinationbeta "k8s.io/api/coordination/v1beta1"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	events "k8s.io/api/events/v1"
	flowcontrol "k8s.io/api/flowcontrol/v1"
	policy "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	openapi "k8s.io/kubernetes/pkg/generated/openapi"
)

var roots = []any{
	core.Namespace{}, core.ConfigMap{}, core.Secret{}, core.ServiceAccount{}, core.Pod{}, core.Service{}, core.Endpoints{},
	core.Event{}, core.ResourceQuota{}, core.LimitRange{}, events.Event{}, coordination.Lease{}, coordinationalpha.LeaseCandidate{}, coordinationbeta.LeaseCandidate{}, rbac.Role{}, rbac.RoleBinding{},
	rbac.ClusterRole{}, rbac.ClusterRoleBinding{}, apps.Deployment{}, discovery.EndpointSlice{},
	admissionregistration.ValidatingAdmissionPolicy{}, admissionregistration.ValidatingAdmissionPolicyBinding{},
	flowcontrol.FlowSchema{}, flowcontrol.PriorityLevelConfiguration{}, policy.PodDisruptionBudget{},
	authorization.SelfSubjectAccessReview{}, authorization.SubjectAccessReview{}, authorization.SelfSubjectRulesReview{}, authentication.SelfSubjectReview{},
	meta.DeleteOptions{}, meta.ListMeta{},
}

// Types that are written in JSON in another way than their fields say.
var leaves = map[reflect.Type]string{
	reflect.TypeFor[meta.Time]():                 "time",
	reflect.TypeFor[meta.MicroTime]():            "microTime",
	reflect.TypeFor[intstr.IntOrString]():        "intOrString",
	reflect.TypeFor[resource.Quantity]():         "quantity",
	reflect.TypeFor[runtime.RawExtension]():      "any",
	reflect.TypeFor[meta.FieldsV1]():             "fieldsV1",
	reflect.TypeFor[[]byte]():                    "bytes",
	reflect.TypeFor[authentication.ExtraValue](): "strings",
	reflect.TypeFor[authorization.ExtraValue]():  "strings",
}

var definitions = openapi.GetOpenAPIDefinitions(func(path string) spec.Ref {
	return spec.MustCreateRef("#/" + path)
})

type shapes map[string]string

func main() {
	found := shapes{}
	for _, root := range roots {
		found.add(reflect.TypeOf(root))
	}
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Printf("%s:%s\n", name, found[name])
	}
}

// The name of a message: `core.v1.Container`.
func nameOf(t reflect.Type) string {
	parts := strings.Split(t.PkgPath(), "/")
	return strings.Join(parts[len(parts)-2:], ".") + "." + t.Name()
}

func definitionOf(t reflect.Type) common.OpenAPIDefinition {
	for _, name := range []string{modelName(t), t.PkgPath() + "." + t.Name()} {
		if found, ok := definitions[name]; ok {
			return found
		}
	}
	panic("no definition of " + t.String())
}

func modelName(t reflect.Type) string {
	if named, ok := reflect.New(t).Interface().(interface{ OpenAPIModelName() string }); ok {
		return named.OpenAPIModelName()
	}
	return ""
}

func (found shapes) add(t reflect.Type) {
	name := nameOf(t)
	if _, ok := found[name]; ok {
		return
	}
	found[name] = ""
	schema := definitionOf(t).Schema
	required := map[string]bool{}
	for _, field := range schema.Required {
		required[field] = true
	}
	var fields []string
	for i := range t.NumField() {
		field := t.Field(i)
		number := protobufNumber(field)
		jsonName, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if number == "" {
			continue
		}
		text := " " + jsonName + mark(required[jsonName], "!") + " " + number + " "
		// A struct without a name of its own is a message in protobuf, and its fields are those of the outer one in JSON.
		if jsonName == "" {
			text = " ^ " + number + " "
		}
		property := schema.Properties[jsonName]
		fields = append(fields, text+found.typeOf(field.Type, property)+mergeOf(property))
	}
	if schema.Extensions["x-kubernetes-map-type"] == "atomic" {
		found[name] = " atomic;"
	}
	found[name] += strings.Join(fields, ";")
}

func mark(condition bool, text string) string {
	if condition {
		return text
	}
	return ""
}

func protobufNumber(field reflect.StructField) string {
	parts := strings.Split(field.Tag.Get("protobuf"), ",")
	if len(parts) < 2 {
		return ""
	}
	return parts[1]
}

func (found shapes) typeOf(t reflect.Type, schema spec.Schema) string {
	if leaf, ok := leaves[t]; ok {
		return leaf
	}
	switch t.Kind() {
	case reflect.Pointer:
		text := found.typeOf(t.Elem(), schema)
		// The zero value of a pointer is not the same as its absence.
		return text + mark(t.Elem().Kind() != reflect.Struct, "*")
	case reflect.Slice:
		items := spec.Schema{}
		if schema.Items != nil && schema.Items.Schema != nil {
			items = *schema.Items.Schema
		}
		return found.typeOf(t.Elem(), items) + "[" + keysOf(schema) + "]"
	case reflect.Map:
		return found.typeOf(t.Elem(), spec.Schema{}) + mark(schema.Extensions["x-kubernetes-map-type"] == "atomic", "{=}") +
			mark(schema.Extensions["x-kubernetes-map-type"] != "atomic", "{}")
	case reflect.Struct:
		found.add(t)
		return nameOf(t)
	case reflect.String:
		return "string" + enumOf(schema)
	case reflect.Bool:
		return "boolean"
	case reflect.Int32, reflect.Int64, reflect.Float64:
		return t.Kind().String()
	}
	panic("no type for " + t.String())
}

func keysOf(schema spec.Schema) string {
	switch schema.Extensions["x-kubernetes-list-type"] {
	case "set":
		return "="
	case "map":
		var keys []string
		for _, key := range schema.Extensions["x-kubernetes-list-map-keys"].([]any) {
			keys = append(keys, key.(string))
		}
		return strings.Join(keys, ",")
	case "atomic":
		return "-"
	}
	return ""
}

func enumOf(schema spec.Schema) string {
	if len(schema.Enum) == 0 {
		return ""
	}
	var values []string
	for _, value := range schema.Enum {
		values = append(values, value.(string))
	}
	return "(" + strings.Join(values, "|") + ")"
}

func mergeOf(schema spec.Schema) string {
	strategy, _ := schema.Extensions["x-kubernetes-patch-strategy"].(string)
	key, _ := schema.Extensions["x-kubernetes-patch-merge-key"].(string)
	if strategy == "" {
		return ""
	}
	return " " + strategy + mark(key != "", ":"+key)
}
