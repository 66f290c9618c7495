// Program health-judge tells what GitOps tools conclude from an object, one JSON line in, one JSON line out, in order.
//
// It knows nothing about the operator. A question has an object, the Kustomization of Flux and the ConfigMap argocd-cm, both
// in YAML. The answer has the verdict of kstatus, by which Flux and Helm wait, that of the healthCheckExprs of the
// Kustomization, and that of the health check in the ConfigMap. Argo CD's module cannot be imported: the scripts run in the
// interpreter that it uses (gopher-lua), with the base, string and table libraries.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

type question struct {
	Object        json.RawMessage `json:"object"`
	Kustomization string          `json:"kustomization"`
	ArgoCM        string          `json:"argoCM"`
}

type kustomization struct {
	Spec struct {
		HealthCheckExprs []kustomize.CustomHealthCheck `json:"healthCheckExprs"`
	} `json:"spec"`
}

type argoCM struct {
	Data map[string]string `json:"data"`
}

type answer struct {
	Kstatus     string `json:"kstatus,omitempty"`
	Flux        string `json:"flux,omitempty"`
	Argo        string `json:"argo,omitempty"`
	ArgoMessage string `json:"argoMessage,omitempty"`
	Error       string `json:"error,omitempty"`
}

func main() {
	if err := start(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "health-judge:", err)
		os.Exit(1)
	}
}

// start answers questions, or, with the argument "generate" and a number, prints objects with the verdict of kstatus.
func start(arguments []string) error {
	if len(arguments) == 2 && arguments[0] == "generate" {
		count, err := strconv.Atoi(arguments[1])
		if err != nil {
			return err
		}
		return generate(count, os.Stdout)
	}
	return serve(os.Stdin, os.Stdout)
}

func serve(in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	encoder := json.NewEncoder(out)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			said, failure := judge(line)
			if failure != nil {
				said = answer{Error: failure.Error()}
			}
			if err := encoder.Encode(said); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func judge(line []byte) (answer, error) {
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return answer{}, err
	}
	// Unlike encoding/json, this reads integers as int64, as an object from the API server has them.
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(asked.Object); err != nil {
		return answer{}, err
	}
	computed, err := status.Compute(object)
	if err != nil {
		return answer{}, fmt.Errorf("kstatus: %w", err)
	}
	flux, err := byExpressions(asked.Kustomization, object)
	if err != nil {
		return answer{}, fmt.Errorf("flux: %w", err)
	}
	health, message, err := byScript(asked.ArgoCM, object)
	if err != nil {
		return answer{}, fmt.Errorf("argo: %w", err)
	}
	return answer{Kstatus: computed.Status.String(), Flux: flux, Argo: health, ArgoMessage: message}, nil
}

func byExpressions(config string, object *unstructured.Unstructured) (string, error) {
	var read kustomization
	if err := yaml.Unmarshal([]byte(config), &read); err != nil {
		return "", err
	}
	for _, check := range read.Spec.HealthCheckExprs {
		if check.APIVersion != object.GetAPIVersion() || check.Kind != object.GetKind() {
			continue
		}
		evaluator, err := cel.NewStatusEvaluator(&check.HealthCheckExpressions)
		if err != nil {
			return "", err
		}
		result, err := evaluator.Evaluate(context.Background(), object)
		if err != nil {
			return "", err
		}
		return result.Status.String(), nil
	}
	return "", fmt.Errorf("no expressions for %s %s", object.GetAPIVersion(), object.GetKind())
}

func byScript(config string, object *unstructured.Unstructured) (string, string, error) {
	var read argoCM
	if err := yaml.Unmarshal([]byte(config), &read); err != nil {
		return "", "", err
	}
	var customizations map[string]struct {
		Health string `json:"health.lua"`
	}
	if err := yaml.Unmarshal([]byte(read.Data["resource.customizations"]), &customizations); err != nil {
		return "", "", err
	}
	key := object.GroupVersionKind().Group + "/" + object.GetKind()
	for pattern, customization := range customizations {
		if matches, err := path.Match(pattern, key); err != nil || matches {
			return run(customization.Health, object)
		}
	}
	return "", "", fmt.Errorf("no health check for %s", key)
}

// run evaluates a health check: the script finds the object in `obj` and returns a table with status and message.
func run(script string, object *unstructured.Unstructured) (string, string, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	libraries := map[string]lua.LGFunction{
		lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable, lua.StringLibName: lua.OpenString,
	}
	for name, open := range libraries {
		call := lua.P{Fn: state.NewFunction(open), NRet: 0, Protect: true}
		if err := state.CallByParam(call, lua.LString(name)); err != nil {
			return "", "", err
		}
	}
	state.SetGlobal("obj", value(state, object.Object))
	if err := state.DoString(script); err != nil {
		return "", "", err
	}
	table, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return "", "", fmt.Errorf("the script returned %s, not a table", state.Get(-1).Type())
	}
	return lua.LVAsString(table.RawGetString("status")), lua.LVAsString(table.RawGetString("message")), nil
}

func value(state *lua.LState, from any) lua.LValue {
	switch from := from.(type) {
	case bool:
		return lua.LBool(from)
	case int64:
		return lua.LNumber(from)
	case float64:
		return lua.LNumber(from)
	case string:
		return lua.LString(from)
	case []any:
		table := state.NewTable()
		for _, item := range from {
			table.Append(value(state, item))
		}
		return table
	case map[string]any:
		table := state.NewTable()
		for name, item := range from {
			table.RawSetString(name, value(state, item))
		}
		return table
	default:
		return lua.LNil
	}
}
