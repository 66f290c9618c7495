package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
)

// bench is a policy as a Go program holds one that it evaluates over and over: a prepared query with its
// data in a store, and inputs parsed beforehand.
type bench struct {
	prepared rego.PreparedEvalQuery
	inputs   []ast.Value
}

// prepareQuery is everything that stands between the text of the modules and the first evaluation.
func prepareQuery(q question, data map[string]any) (rego.PreparedEvalQuery, error) {
	compiler, err := compileModules(q.Modules, q.V0)
	if err != nil {
		return rego.PreparedEvalQuery{}, err
	}
	return rego.New(
		rego.Query(q.Query),
		rego.Compiler(compiler),
		rego.Store(inmem.NewFromObjectWithOpts(data, inmem.OptRoundTripOnWrite(false))),
	).PrepareForEval(context.Background())
}

func (j *judge) benchLoad(q question) (any, error) {
	data, err := documents(q.Data)
	if err != nil {
		return nil, err
	}
	prepared, err := prepareQuery(q, data)
	if err != nil {
		return nil, err
	}
	loaded := &bench{prepared: prepared}
	for _, raw := range q.Inputs {
		input, err := inputTerm(question{Input: raw})
		if err != nil {
			return nil, err
		}
		loaded.inputs = append(loaded.inputs, input.Value)
	}
	j.benches[q.Key] = loaded
	return done{true}, nil
}

// benchRun times the evaluations alone, and says what the last of them answered.
func (j *judge) benchRun(q question) (any, error) {
	loaded, ok := j.benches[q.Key]
	if !ok || q.Case < 0 || q.Case >= len(loaded.inputs) {
		return nil, fmt.Errorf("nothing is loaded as case %d of %q", q.Case, q.Key)
	}
	ctx, input := context.Background(), rego.EvalParsedInput(loaded.inputs[q.Case])
	var results rego.ResultSet
	start := time.Now()
	for range q.Rounds {
		var err error
		if results, err = loaded.prepared.Eval(ctx, input); err != nil {
			return nil, err
		}
	}
	answer := map[string]any{"nanos": time.Since(start).Nanoseconds()}
	if len(results) > 0 {
		answer["result"] = results[0].Expressions[0].Value
	}
	return answer, nil
}

func benchCompile(q question) (any, error) {
	data, err := documents(json.RawMessage(nil))
	if err != nil {
		return nil, err
	}
	start := time.Now()
	for range q.Rounds {
		if _, err := prepareQuery(q, data); err != nil {
			return nil, err
		}
	}
	return map[string]int64{"nanos": time.Since(start).Nanoseconds()}, nil
}
