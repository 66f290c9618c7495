package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// question is one line of the input. Which fields count depends on Op:
//
//	compile  modules, v0                            -> errors (empty when the modules compile)
//	prepare  key, modules, v0, query                -> ok, or error
//	eval     key or modules+v0+query; input or input_term, data, strict -> result, undefined or error
//	evals    as eval, with inputs                   -> answers, one of eval's for each input
//	forget   key                                    -> ok
//	bench_load     key, modules, v0, query, data, inputs -> ok; a prepared query with parsed inputs
//	bench_run      key, case, rounds                -> nanos of all rounds, and what the last answered
//	bench_compile  modules, v0, query, rounds       -> nanos of all rounds, from text to prepared query
//	call     name, args (tagged)                    -> result, undefined or error, of one builtin function
//	builtins                                        -> builtins, what OPA calls them and the types they take
//	cases    dir, v0                                -> cases, the published conformance cases of a folder
//
// query is a reference such as data.x.violation; its value is the result.
type question struct {
	Op        string            `json:"op"`
	Key       string            `json:"key"`
	Modules   map[string]string `json:"modules"`
	V0        bool              `json:"v0"`
	Query     string            `json:"query"`
	Input     json.RawMessage   `json:"input"`
	InputTerm *string           `json:"input_term"`
	Data      json.RawMessage   `json:"data"`
	Strict    bool              `json:"strict"`
	Inputs    []json.RawMessage `json:"inputs"`
	Rounds    int               `json:"rounds"`
	Case      int               `json:"case"`
	Name      string            `json:"name"`
	Args      []any             `json:"args"`
	Dir       string            `json:"dir"`
}

type done struct {
	OK bool `json:"ok"`
}

type defined struct {
	Result any `json:"result"`
}

type undefined struct {
	Undefined bool `json:"undefined"`
}

type fault struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Row     int    `json:"row,omitempty"`
	Col     int    `json:"col,omitempty"`
	File    string `json:"file,omitempty"`
}

type failure struct {
	Fault fault `json:"error"`
}

type findings struct {
	Errors []fault `json:"errors"`
}

// judge remembers what was prepared.
type judge struct {
	prepared map[string]*policy
	benches  map[string]*bench
}

func newJudge() *judge {
	return &judge{prepared: map[string]*policy{}, benches: map[string]*bench{}}
}

// answer never fails and never panics out: a panic of the engine is an answer with the code "panic".
func (j *judge) answer(q question) (answer any) {
	defer func() {
		if r := recover(); r != nil {
			answer = failure{fault{Code: "panic", Message: fmt.Sprint(r)}}
		}
	}()
	result, err := j.dispatch(q)
	if err != nil {
		return failure{faultOf(err)}
	}
	return result
}

func (j *judge) dispatch(q question) (any, error) {
	switch q.Op {
	case "compile":
		return compileFindings(q), nil
	case "prepare":
		policy, err := newPolicy(q.Modules, q.V0, q.Query)
		if err != nil {
			return nil, err
		}
		j.prepared[q.Key] = policy
		return done{true}, nil
	case "forget":
		delete(j.prepared, q.Key)
		return done{true}, nil
	case "eval":
		return j.eval(q)
	case "evals":
		return j.evals(q)
	case "bench_load":
		return j.benchLoad(q)
	case "bench_run":
		return j.benchRun(q)
	case "bench_compile":
		return benchCompile(q)
	case "call":
		return call(q.Name, q.Args)
	case "builtins":
		return declaredBuiltins(), nil
	case "cases":
		return publishedCases(q.Dir, q.V0)
	default:
		return nil, fmt.Errorf("unknown op %q", q.Op)
	}
}

func (j *judge) policyOf(q question) (*policy, error) {
	if q.Key == "" {
		return newPolicy(q.Modules, q.V0, q.Query)
	}
	if policy, ok := j.prepared[q.Key]; ok {
		return policy, nil
	}
	return nil, fmt.Errorf("nothing is prepared as %q", q.Key)
}

func (j *judge) eval(q question) (any, error) {
	policy, err := j.policyOf(q)
	if err != nil {
		return nil, err
	}
	input, err := inputTerm(q)
	if err != nil {
		return nil, err
	}
	data, err := documents(q.Data)
	if err != nil {
		return nil, err
	}
	return policy.eval(input, data, q.Strict)
}

// evals compiles once for all inputs. A failed evaluation is one of the answers.
func (j *judge) evals(q question) (any, error) {
	policy, err := j.policyOf(q)
	if err != nil {
		return nil, err
	}
	data, err := documents(q.Data)
	if err != nil {
		return nil, err
	}
	answers := make([]any, 0, len(q.Inputs))
	for _, raw := range q.Inputs {
		input, err := inputTerm(question{Input: raw})
		if err != nil {
			return nil, err
		}
		answer, err := policy.eval(input, data, q.Strict)
		if err != nil {
			answer = failure{faultOf(err)}
		}
		answers = append(answers, answer)
	}
	return map[string]any{"answers": answers}, nil
}

func inputTerm(q question) (*ast.Term, error) {
	if q.InputTerm != nil {
		return ast.ParseTerm(*q.InputTerm)
	}
	if len(q.Input) == 0 {
		return nil, nil
	}
	value, err := plain(q.Input)
	if err != nil {
		return nil, err
	}
	term, err := ast.InterfaceToValue(value)
	return ast.NewTerm(term), err
}

func documents(raw json.RawMessage) (map[string]any, error) {
	if len(raw) == 0 {
		return map[string]any{}, nil
	}
	value, err := plain(raw)
	if err != nil {
		return nil, err
	}
	if object, ok := value.(map[string]any); ok {
		return object, nil
	}
	return nil, errors.New("data must be an object")
}

// faultOf keeps the first of several compiler errors; "compile" lists them all.
func faultOf(err error) fault {
	if many, ok := errors.AsType[ast.Errors](err); ok && len(many) > 0 {
		return compilerFault(many[0])
	}
	if one, ok := errors.AsType[*topdown.Error](err); ok {
		f := fault{Code: one.Code, Message: one.Message}
		if one.Location != nil {
			f.Row, f.Col, f.File = one.Location.Row, one.Location.Col, one.Location.File
		}
		return f
	}
	return fault{Code: "error", Message: err.Error()}
}

func compilerFault(err *ast.Error) fault {
	f := fault{Code: err.Code, Message: err.Message}
	if err.Location != nil {
		f.Row, f.Col, f.File = err.Location.Row, err.Location.Col, err.Location.File
	}
	return f
}
