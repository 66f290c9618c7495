package main

import (
	"fmt"
	"math"
	"sort"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	kjson "k8s.io/apimachinery/pkg/util/json"
	plugin "k8s.io/apiserver/pkg/admission/plugin/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// celAnswer is what Kubernetes makes of one expression: refused, or its type with a value or an error.
type celAnswer struct {
	Type    string `json:"type,omitempty"`
	Value   string `json:"value,omitempty"`
	Error   string `json:"error,omitempty"`
	Refused string `json:"refused,omitempty"`
}

// admissionEnv is the environment of expressions in admission policies, with variables of any name.
var admissionEnv = sync.OnceValues(func() (*cel.Env, error) {
	version := environment.DefaultCompatibilityVersion()
	request, namespace := plugin.BuildRequestType(), plugin.BuildNamespaceType()
	extended, err := environment.MustBaseEnvSet(version).Extend(environment.VersionedOptions{
		IntroducedVersion: version,
		EnvOptions: []cel.EnvOption{
			cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType),
			cel.Variable("variables", cel.MapType(cel.StringType, cel.DynType)),
			cel.Variable("request", request.CelType()), cel.Variable("namespaceObject", namespace.CelType()),
		},
		DeclTypes: []*apiservercel.DeclType{request, namespace},
	})
	if err != nil {
		return nil, err
	}
	return extended.Env(environment.StoredExpressions)
})

// expression judges q.Expression on CREATE of the object q.Subject.
func expression(q question) (any, error) {
	env, err := admissionEnv()
	if err != nil {
		return nil, err
	}
	var object any
	if err := kjson.Unmarshal(q.Subject, &object); err != nil {
		return nil, err
	}
	ast, issues := env.Compile(q.Expression)
	if issues != nil && issues.Err() != nil {
		return celAnswer{Refused: issues.Err().Error()}, nil
	}
	program, err := env.Program(ast)
	if err != nil {
		return celAnswer{Refused: err.Error()}, nil
	}
	answer := celAnswer{Type: ast.OutputType().String()}
	value, _, err := program.Eval(map[string]any{
		"object": object, "oldObject": nil, "namespaceObject": nil,
		"variables": map[string]any{"anyObject": object},
		"request": map[string]any{
			"operation": "CREATE", "kind": map[string]any{"group": "", "version": "v1", "kind": "Pod"},
			"userInfo": map[string]any{},
		},
	})
	if err != nil {
		answer.Error = err.Error()
	} else {
		answer.Value = show(value)
	}
	return answer, nil
}

// show writes a value so that values of different types differ, and maps do not depend on their order.
func show(value ref.Val) string {
	switch value := value.(type) {
	case types.Bool, types.Int:
		return fmt.Sprint(value.Value())
	case types.Uint:
		return fmt.Sprintf("%du", uint64(value))
	case types.Double:
		if math.IsNaN(float64(value)) {
			return "NaN"
		}
		return fmt.Sprintf("double %016x", math.Float64bits(float64(value)))
	case types.String:
		return quote(string(value))
	case types.Bytes:
		return fmt.Sprintf("b%x", []byte(value))
	case types.Null:
		return "null"
	case types.Duration:
		return fmt.Sprintf("duration %d", value.Nanoseconds())
	case types.Timestamp:
		return fmt.Sprintf("timestamp %d.%09d", value.Unix(), value.Nanosecond())
	case *types.Optional:
		if value.HasValue() {
			return "optional(" + show(value.GetValue()) + ")"
		}
		return "optional.none"
	case *types.Type:
		return "type " + value.TypeName()
	case traits.Lister:
		shown := []string{}
		for _, element := range elements(value) {
			shown = append(shown, show(element))
		}
		return "[" + strings.Join(shown, ",") + "]"
	case traits.Mapper:
		entries := []string{}
		for _, key := range elements(value) {
			entries = append(entries, show(key)+":"+show(value.Get(key)))
		}
		sort.Strings(entries)
		return "{" + strings.Join(entries, ",") + "}"
	}
	return "opaque " + value.Type().TypeName()
}

// elements are those of a list, or the keys of a map.
func elements(of traits.Iterable) (found []ref.Val) {
	for it := of.Iterator(); it.HasNext() == types.True; {
		found = append(found, it.Next())
	}
	return found
}

// quote leaves printable ASCII as it is.
func quote(text string) string {
	var quoted strings.Builder
	quoted.WriteByte('"')
	for _, r := range text {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			fmt.Fprintf(&quoted, "\\u{%x}", r)
		} else {
			quoted.WriteRune(r)
		}
	}
	quoted.WriteByte('"')
	return quoted.String()
}
