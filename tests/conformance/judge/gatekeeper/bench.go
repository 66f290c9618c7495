package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"time"

	"github.com/open-policy-agent/frameworks/constraint/pkg/client/reviews"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/target"
	admissionv1 "k8s.io/api/admission/v1"
)

// measured is what a benchmark of reviews answers: how long each pass over all reviews took, and what the last
// pass found, so that the other side can be held to the same verdicts.
type measured struct {
	Nanoseconds []int64    `json:"ns"`
	Results     [][]result `json:"results"`
}

// bench reviews the texts of admission requests, all of them once in a pass, until the time is up; at least once.
// A pass goes from the bytes of the requests to the bytes of the answers.
func (g *gatekeeper) bench(q question) (any, error) {
	answer := measured{}
	deadline := time.Now().Add(time.Duration(q.Milliseconds) * time.Millisecond)
	for len(answer.Nanoseconds) == 0 || time.Now().Before(deadline) {
		begun := time.Now()
		found, err := g.pass(q.Reviews)
		if err != nil {
			return nil, err
		}
		answer.Nanoseconds = append(answer.Nanoseconds, time.Since(begun).Nanoseconds())
		answer.Results = found
	}
	return answer, nil
}

func (g *gatekeeper) pass(requests []string) ([][]result, error) {
	all := make([][]result, 0, len(requests))
	for _, text := range requests {
		found, err := g.decide(text)
		if err != nil {
			return nil, err
		}
		if _, err := json.Marshal(found); err != nil {
			return nil, err
		}
		all = append(all, found)
	}
	return all, nil
}

func (g *gatekeeper) decide(text string) ([]result, error) {
	request := &admissionv1.AdmissionRequest{}
	if err := json.Unmarshal([]byte(text), request); err != nil {
		return nil, err
	}
	review := &target.AugmentedReview{AdmissionRequest: request, IsAdmission: true}
	responses, err := g.client.Review(context.Background(), review, reviews.EnforcementPoint(defaultPoint))
	if err != nil {
		return nil, err
	}
	return resultsOf(responses), nil
}

// ingest fills a client and says how long each part took and what it left on the heap.
func (j *judge) ingest(q question) (any, error) {
	before := heap()
	begun := time.Now()
	client, refused, err := newGatekeeper(q)
	if err != nil {
		return nil, err
	}
	took := time.Since(begun)
	if len(refused) > 0 {
		return nil, fmt.Errorf("refused: %v", refused)
	}
	// The question holds the manifests too: they count for neither side.
	after := heap()
	j.clients[q.Key] = client
	return map[string]int64{"ns": took.Nanoseconds(), "bytes": int64(after) - int64(before)}, nil
}

// heap is the size of what is reachable. Two collections, because the first only queues finalizers.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
