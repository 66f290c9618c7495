package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/open-policy-agent/frameworks/constraint/pkg/client/reviews"
	constrainttypes "github.com/open-policy-agent/frameworks/constraint/pkg/types"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/mutation/types"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/target"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/util"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// question is one line of the input. Which fields count depends on Op:
//
//	client  key, templates, constraints, inventory, cel -> refused: what could not be added, by name
//	review  key, request or object; namespace, operation, source, point -> results, or error
//	crd     template                                    -> crd
//	ingest  as client                                   -> ns, bytes
//	bench   key, reviews, ms                            -> ns of each pass, results of the last
//	cel     expression, subject                         -> refused, or type with value or error
//	forget  key                                         -> ok
//
// A client is a set of templates and constraints with its inventory, as one Gatekeeper pod holds them; cel adds
// the driver of Kubernetes' own validation language, which Gatekeeper then prefers. A review is of an
// AdmissionRequest as the API server sends it, or of an object as an audit finds it. An expression is judged by itself,
// in the environment of admission policies, on CREATE of its subject.
type question struct {
	Op          string                        `json:"op"`
	Key         string                        `json:"key"`
	Templates   []*unstructured.Unstructured  `json:"templates"`
	Constraints []*unstructured.Unstructured  `json:"constraints"`
	Inventory   []*unstructured.Unstructured  `json:"inventory"`
	CEL         bool                          `json:"cel"`
	Request     *admissionv1.AdmissionRequest `json:"request"`
	Object      *unstructured.Unstructured    `json:"object"`
	Namespace   *corev1.Namespace             `json:"namespace"`
	Operation   string                        `json:"operation"`
	Source      string                        `json:"source"`
	Point       string                        `json:"point"`
	Template    *unstructured.Unstructured    `json:"template"`

	Reviews      []string        `json:"reviews"`
	Milliseconds int64           `json:"ms"`
	Expression   string          `json:"expression"`
	Subject      json.RawMessage `json:"subject"`
}

type done struct {
	OK bool `json:"ok"`
}

type fault struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type failure struct {
	Fault fault `json:"error"`
}

// result is one violation.
type result struct {
	Kind    string   `json:"kind"`
	Name    string   `json:"name"`
	Msg     string   `json:"msg"`
	Details *any     `json:"details,omitempty"`
	Action  string   `json:"action"`
	Scoped  []string `json:"scoped"`
}

// judge remembers its clients.
type judge struct {
	clients map[string]*gatekeeper
}

func newJudge() *judge {
	return &judge{clients: map[string]*gatekeeper{}}
}

// answer never fails and never panics out: a panic of the framework is an answer with the code "panic".
func (j *judge) answer(q question) (answer any) {
	defer func() {
		if r := recover(); r != nil {
			answer = failure{fault{Code: "panic", Message: fmt.Sprint(r)}}
		}
	}()
	result, err := j.dispatch(q)
	if err != nil {
		return failure{fault{Code: "error", Message: err.Error()}}
	}
	return result
}

func (j *judge) dispatch(q question) (any, error) {
	switch q.Op {
	case "client":
		client, refused, err := newGatekeeper(q)
		if err != nil {
			return nil, err
		}
		j.clients[q.Key] = client
		return map[string]any{"refused": refused}, nil
	case "review":
		client, ok := j.clients[q.Key]
		if !ok {
			return nil, fmt.Errorf("there is no client %q", q.Key)
		}
		return client.review(q)
	case "ingest":
		return j.ingest(q)
	case "bench":
		client, ok := j.clients[q.Key]
		if !ok {
			return nil, fmt.Errorf("there is no client %q", q.Key)
		}
		return client.bench(q)
	case "crd":
		return createCRD(q.Template)
	case "cel":
		return expression(q)
	case "forget":
		delete(j.clients, q.Key)
		return done{true}, nil
	default:
		return nil, fmt.Errorf("unknown op %q", q.Op)
	}
}

func (g *gatekeeper) review(q question) (any, error) {
	subject, err := subjectOf(q)
	if err != nil {
		return nil, err
	}
	point := q.Point
	if point == "" {
		point = defaultPoint
	}
	options := []reviews.ReviewOpt{reviews.EnforcementPoint(point)}
	if q.Namespace != nil {
		namespace, err := util.NamespaceToMap(q.Namespace)
		if err != nil {
			return nil, err
		}
		options = append(options, reviews.Namespace(namespace))
	}
	responses, err := g.client.Review(context.Background(), subject, options...)
	if err != nil {
		return nil, err
	}
	return map[string]any{"results": resultsOf(responses)}, nil
}

func resultsOf(responses *constrainttypes.Responses) []result {
	results := []result{}
	for _, response := range responses.ByTarget {
		for _, one := range response.Results {
			// Details that are null are details; policies in CEL have none.
			var details *any
			if value, ok := one.Metadata["details"]; ok {
				details = &value
			}
			results = append(results, result{
				Kind: one.Constraint.GetKind(), Name: one.Constraint.GetName(), Msg: one.Msg,
				Details: details, Action: one.EnforcementAction, Scoped: one.ScopedEnforcementActions,
			})
		}
	}
	return results
}

// subjectOf makes what the target handler accepts: a request from the webhook, or an object from an audit.
func subjectOf(q question) (any, error) {
	source := types.SourceType(q.Source)
	if q.Request != nil {
		// The webhook does so before it asks the client, see createReviewForRequest.
		if q.Request.Kind.Kind == "Namespace" && q.Request.Kind.Group == "" {
			q.Request.Namespace = ""
		}
		return &target.AugmentedReview{
			AdmissionRequest: q.Request, Namespace: q.Namespace, Source: source, IsAdmission: true,
		}, nil
	}
	if q.Object == nil {
		return nil, fmt.Errorf("a review needs a request or an object")
	}
	return &target.AugmentedUnstructured{
		Object: *q.Object, Namespace: q.Namespace, Source: source, Operation: admissionv1.Operation(q.Operation),
	}, nil
}

func createCRD(template *unstructured.Unstructured) (any, error) {
	client, err := emptyClient(false)
	if err != nil {
		return nil, err
	}
	typed, err := toTemplate(template)
	if err != nil {
		return nil, err
	}
	crd, err := client.CreateCRD(context.Background(), typed)
	if err != nil {
		return nil, err
	}
	versioned := &apiextensionsv1.CustomResourceDefinition{}
	err = apiextensionsv1.Convert_apiextensions_CustomResourceDefinition_To_v1_CustomResourceDefinition(crd, versioned, nil)
	return map[string]any{"crd": versioned}, err
}
