package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"sort"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/test/cases"
)

// published is one conformance case, in the form in which both sides can evaluate it: the query has become
// the last module, whose rule data.conformance__.answers is the set of the query's bindings, each an object
// from variable to value.
type published struct {
	File         string          `json:"file"`
	Note         string          `json:"note"`
	Modules      []string        `json:"modules"`
	Query        string          `json:"query"`
	Input        json.RawMessage `json:"input,omitempty"`
	InputTerm    *string         `json:"input_term,omitempty"`
	InputValue   any             `json:"input_value,omitempty"`
	Data         json.RawMessage `json:"data,omitempty"`
	StrictError  bool            `json:"strict_error"`
	WantError    bool            `json:"want_error"`
	Experimental bool            `json:"experimental"`
	Skip         string          `json:"skip,omitempty"`
}

func publishedCases(dir string, v0 bool) (any, error) {
	set, err := cases.Load(dir)
	if err != nil {
		return nil, err
	}
	list := make([]published, 0, len(set.Cases))
	for _, one := range set.Sorted().Cases {
		converted, err := publish(dir, one, v0)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one.Note, err)
		}
		list = append(list, converted)
	}
	return map[string]any{"cases": list}, nil
}

func publish(dir string, one cases.TestCase, v0 bool) (published, error) {
	file, err := filepath.Rel(dir, one.Filename)
	if err != nil {
		return published{}, err
	}
	p := published{
		File: filepath.ToSlash(file), Note: one.Note, InputTerm: one.InputTerm,
		StrictError:  one.StrictError,
		WantError:    one.WantError != nil || one.WantErrorCode != nil,
		Experimental: one.ExperimentalKeywords,
	}
	p.Modules = append([]string{}, one.Modules...)
	if len(one.Env) > 0 {
		p.Skip = "sets environment variables"
	}
	if p.Query, err = queryModule(one.Query, v0); err != nil {
		p.Skip = err.Error()
	}
	if one.Data != nil {
		if p.Data, err = json.Marshal(*one.Data); err != nil {
			return p, err
		}
	}
	return p, p.readInput(one)
}

func (p *published) readInput(one cases.TestCase) error {
	if one.InputTerm != nil {
		term, err := ast.ParseTerm(*one.InputTerm)
		if err != nil {
			return err
		}
		if p.InputValue, err = tagged(term.Value); err != nil {
			p.Skip = "the input is not a ground value"
		}
		return nil
	}
	if one.Input == nil {
		return nil
	}
	raw, err := json.Marshal(*one.Input)
	p.Input = raw
	return err
}

// queryModule writes the query as a rule. A variable of the query that OPA generated itself (a wildcard) is
// no binding.
func queryModule(query string, v0 bool) (string, error) {
	body, err := ast.ParseBody(query)
	if err != nil {
		return "", fmt.Errorf("the query does not parse alone: %w", err)
	}
	pairs := []string{}
	for _, name := range queryVars(body) {
		pairs = append(pairs, fmt.Sprintf("%q: %s", name, name))
	}
	head := "answers contains {" + strings.Join(pairs, ", ") + "} if"
	if v0 {
		head = "answers[{" + strings.Join(pairs, ", ") + "}]"
	}
	return fmt.Sprintf("package conformance__\n\n%s {\n%s\n}\n", head, query), nil
}

func queryVars(body ast.Body) []string {
	visitor := ast.NewVarVisitor().WithParams(ast.VarVisitorParams{
		SkipRefHead: true, SkipRefCallHead: true, SkipClosures: true, SkipObjectKeys: false,
	})
	visitor.Walk(body)
	names := []string{}
	for name := range visitor.Vars() {
		if !name.IsWildcard() && !name.IsGenerated() && !ast.RootDocumentNames.Contains(ast.NewTerm(name)) {
			names = append(names, string(name))
		}
	}
	sort.Strings(names)
	return names
}
