package main

import (
	"context"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"
)

const answerVar = ast.Var("answer__")

// policy is a compiled set of modules with one compiled query.
type policy struct {
	compiler *ast.Compiler
	query    ast.Body
}

func parserOptions(v0 bool) ast.ParserOptions {
	if v0 {
		return ast.ParserOptions{RegoVersion: ast.RegoV0}
	}
	return ast.ParserOptions{RegoVersion: ast.RegoV1}
}

func compileModules(modules map[string]string, v0 bool) (*ast.Compiler, error) {
	return ast.CompileModulesWithOpt(modules, ast.CompileOpts{
		EnablePrintStatements: false,
		ParserOptions:         parserOptions(v0),
	})
}

// compileFindings lists every error of the first stage that has any, as the engine does.
func compileFindings(q question) findings {
	found := findings{Errors: []fault{}}
	_, err := compileModules(q.Modules, q.V0)
	if err == nil {
		return found
	}
	if many, ok := err.(ast.Errors); ok {
		for _, one := range many {
			found.Errors = append(found.Errors, compilerFault(one))
		}
		return found
	}
	found.Errors = append(found.Errors, faultOf(err))
	return found
}

func newPolicy(modules map[string]string, v0 bool, query string) (*policy, error) {
	compiler, err := compileModules(modules, v0)
	if err != nil {
		return nil, err
	}
	wanted, err := ast.ParseTerm(query)
	if err != nil {
		return nil, err
	}
	body := ast.NewBody(ast.Equality.Expr(ast.NewTerm(answerVar), wanted))
	compiled, err := compiler.QueryCompiler().Compile(body)
	if err != nil {
		return nil, err
	}
	return &policy{compiler, compiled}, nil
}

// over fixes the data documents, and returns the evaluation of one input.
func (p *policy) over(data map[string]any) func(*ast.Term, bool) (topdown.QueryResultSet, error) {
	ctx := context.Background()
	store := inmem.NewFromObjectWithOpts(data, inmem.OptRoundTripOnWrite(false))
	return func(input *ast.Term, strict bool) (topdown.QueryResultSet, error) {
		txn := storage.NewTransactionOrDie(ctx, store)
		defer store.Abort(ctx, txn)
		return topdown.NewQuery(p.query).
			WithCompiler(p.compiler).
			WithStore(store).
			WithTransaction(txn).
			WithInput(input).
			WithStrictBuiltinErrors(strict).
			Run(ctx)
	}
}

func (p *policy) eval(input *ast.Term, data map[string]any, strict bool) (any, error) {
	rows, err := p.over(data)(input, strict)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return undefined{true}, nil
	}
	value, err := tagged(rows[0][answerVar].Value)
	if err != nil {
		return nil, err
	}
	return defined{value}, nil
}
