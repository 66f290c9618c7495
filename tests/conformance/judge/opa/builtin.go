package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/types"
)

// call runs one builtin function on given arguments, without a module around it and in strict mode.
func call(name string, args []any) (any, error) {
	run := topdown.GetBuiltin(name)
	if run == nil {
		return nil, fmt.Errorf("no builtin is called %q", name)
	}
	operands, err := untaggedTerms(args)
	if err != nil {
		return nil, err
	}
	// A function that generates without end is stopped as a query's deadline would stop it.
	cancel := topdown.NewCancel()
	deadline := time.AfterFunc(time.Second, cancel.Cancel)
	defer deadline.Stop()
	var answer *ast.Term
	err = run(builtinContext(cancel), operands, func(term *ast.Term) error {
		answer = term
		return nil
	})
	if err != nil {
		return nil, builtinError(err)
	}
	if answer == nil {
		return undefined{true}, nil
	}
	value, err := tagged(answer.Value)
	return defined{value}, err
}

func builtinContext(cancel topdown.Cancel) topdown.BuiltinContext {
	return topdown.BuiltinContext{
		Context:      context.Background(),
		Cancel:       cancel,
		Time:         ast.NumberTerm("0"),
		Capabilities: ast.CapabilitiesForThisVersion(),
	}
}

func builtinError(err error) error {
	if halt, ok := errors.AsType[topdown.Halt](err); ok {
		return halt.Err
	}
	return err
}

// declared is a builtin function as the compiler knows it.
type declared struct {
	Name             string   `json:"name"`
	Args             []string `json:"args"`
	Deprecated       bool     `json:"deprecated"`
	Nondeterministic bool     `json:"nondeterministic"`
}

func declaredBuiltins() any {
	list := make([]declared, 0, len(ast.Builtins))
	for _, builtin := range ast.Builtins {
		args := []string{}
		for _, arg := range builtin.Decl.FuncArgs().Args {
			args = append(args, types.Sprint(arg))
		}
		list = append(list, declared{builtin.Name, args, builtin.IsDeprecated(), builtin.Nondeterministic})
	}
	return map[string]any{"builtins": list}
}
