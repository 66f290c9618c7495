package main

import (
	"context"

	"github.com/open-policy-agent/frameworks/constraint/pkg/apis"
	constraintclient "github.com/open-policy-agent/frameworks/constraint/pkg/client"
	"github.com/open-policy-agent/frameworks/constraint/pkg/client/drivers/rego"
	"github.com/open-policy-agent/frameworks/constraint/pkg/core/templates"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/drivers/k8scel"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/gator/reader"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/target"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/util"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

const defaultPoint = util.WebhookEnforcementPoint

// gatekeeper is the constraint framework's client, filled.
type gatekeeper struct {
	client *constraintclient.Client
}

func emptyClient(cel bool) (*constraintclient.Client, error) {
	driver, err := rego.New()
	if err != nil {
		return nil, err
	}
	args := []constraintclient.Opt{
		constraintclient.Targets(&target.K8sValidationTarget{}),
		constraintclient.Driver(driver),
		constraintclient.EnforcementPoints(
			util.WebhookEnforcementPoint, util.AuditEnforcementPoint, util.GatorEnforcementPoint, util.VAPEnforcementPoint,
		),
	}
	if cel {
		native, err := k8scel.New()
		if err != nil {
			return nil, err
		}
		args = append(args, constraintclient.Driver(native))
	}
	return constraintclient.NewClient(args...)
}

// newGatekeeper adds what can be added, and says what could not, and why.
func newGatekeeper(q question) (*gatekeeper, map[string]string, error) {
	client, err := emptyClient(q.CEL)
	if err != nil {
		return nil, nil, err
	}
	ctx := context.Background()
	refused := map[string]string{}
	note := func(object *unstructured.Unstructured, err error) {
		if err != nil {
			refused[object.GetKind()+"/"+object.GetName()] = err.Error()
		}
	}
	for _, raw := range q.Templates {
		template, err := toTemplate(raw)
		if err == nil {
			_, err = client.AddTemplate(ctx, template)
		}
		note(raw, err)
	}
	for _, constraint := range q.Constraints {
		_, err := client.AddConstraint(ctx, constraint)
		note(constraint, err)
	}
	for _, object := range q.Inventory {
		_, err := client.AddData(ctx, object)
		note(object, err)
	}
	return &gatekeeper{client}, refused, nil
}

func toTemplate(raw *unstructured.Unstructured) (*templates.ConstraintTemplate, error) {
	scheme := runtime.NewScheme()
	if err := apis.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return reader.ToTemplate(scheme, raw)
}
