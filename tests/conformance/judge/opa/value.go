package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/util"
)

// A value travels as JSON in which only null, booleans, strings and arrays stand for themselves:
// a number is {"n": TEXT}, a set {"s": [...]} and an object {"o": [[KEY, VALUE], ...]}.

// tagged writes a value of the engine.
func tagged(value ast.Value) (any, error) {
	switch v := value.(type) {
	case ast.Null:
		return nil, nil
	case ast.Boolean:
		return bool(v), nil
	case ast.String:
		return string(v), nil
	case ast.Number:
		return map[string]string{"n": string(v)}, nil
	case *ast.Array:
		return taggedTerms(v.Len(), v.Foreach)
	case ast.Set:
		elements, err := taggedTerms(v.Len(), v.Foreach)
		return map[string]any{"s": elements}, err
	case ast.Object:
		return taggedObject(v)
	default:
		return nil, fmt.Errorf("%T is not a ground value", value)
	}
}

func taggedTerms(length int, each func(func(*ast.Term))) ([]any, error) {
	terms := make([]any, 0, length)
	var failed error
	each(func(term *ast.Term) {
		element, err := tagged(term.Value)
		if err != nil {
			failed = err
		}
		terms = append(terms, element)
	})
	return terms, failed
}

func taggedObject(object ast.Object) (any, error) {
	pairs := make([]any, 0, object.Len())
	err := object.Iter(func(key, value *ast.Term) error {
		k, err := tagged(key.Value)
		if err != nil {
			return err
		}
		v, err := tagged(value.Value)
		if err != nil {
			return err
		}
		pairs = append(pairs, []any{k, v})
		return nil
	})
	return map[string]any{"o": pairs}, err
}

// untagged reads what tagged wrote.
func untagged(raw any) (*ast.Term, error) {
	switch v := raw.(type) {
	case nil:
		return ast.NullTerm(), nil
	case bool:
		return ast.BooleanTerm(v), nil
	case string:
		return ast.StringTerm(v), nil
	case []any:
		terms, err := untaggedTerms(v)
		return ast.ArrayTerm(terms...), err
	case map[string]any:
		return untaggedTag(v)
	default:
		return nil, fmt.Errorf("%T is not a tagged value", raw)
	}
}

func untaggedTerms(raw []any) ([]*ast.Term, error) {
	terms := make([]*ast.Term, 0, len(raw))
	for _, element := range raw {
		term, err := untagged(element)
		if err != nil {
			return nil, err
		}
		terms = append(terms, term)
	}
	return terms, nil
}

func untaggedTag(tag map[string]any) (*ast.Term, error) {
	if text, ok := tag["n"].(string); ok {
		return ast.NumberTerm(json.Number(text)), nil
	}
	if elements, ok := tag["s"].([]any); ok {
		terms, err := untaggedTerms(elements)
		return ast.SetTerm(terms...), err
	}
	pairs, ok := tag["o"].([]any)
	if !ok {
		return nil, fmt.Errorf("unknown tag in %v", tag)
	}
	object := ast.NewObject()
	for _, pair := range pairs {
		entry, ok := pair.([]any)
		if !ok || len(entry) != 2 {
			return nil, fmt.Errorf("%v is not a key and a value", pair)
		}
		terms, err := untaggedTerms(entry)
		if err != nil {
			return nil, err
		}
		object.Insert(terms[0], terms[1])
	}
	return ast.NewTerm(object), nil
}

// plain reads JSON as the engine reads an input document: numbers keep their text.
func plain(raw json.RawMessage) (any, error) {
	var value any
	decoder := util.NewJSONDecoder(bytes.NewReader(raw))
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return value, nil
}
