// Watches kinds with controller-runtime's cache and unstructured informers, and reports what that costs.
//
//	judge URL REGISTRARS group/version/kind...
//
// prints one line of JSON when every informer has synced and the garbage has been collected.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

type report struct {
	Objects int     `json:"objects"`
	Heap    uint64  `json:"heap"`
	RSS     uint64  `json:"rss"`
	Seconds float64 `json:"seconds"`
}

func main() {
	log.SetLogger(logr.Discard())
	registrars, err := strconv.Atoi(os.Args[2])
	check(err)
	config := &rest.Config{Host: os.Args[1], QPS: -1}
	informers, err := cache.New(config, cache.Options{DefaultTransform: cache.TransformStripManagedFields()})
	check(err)
	heap, rss := heapBytes(), residentBytes()

	begun := time.Now()
	go func() { check(informers.Start(context.Background())) }()
	var waiting []toolscache.ResourceEventHandlerRegistration
	for _, name := range os.Args[3:] {
		waiting = append(waiting, watch(informers, name, registrars)...)
	}
	for _, handler := range waiting {
		for !handler.HasSynced() {
			time.Sleep(time.Millisecond)
		}
	}
	result := report{Seconds: time.Since(begun).Seconds()}
	result.Heap = heapBytes() - heap
	result.RSS = residentBytes() - rss
	result.Objects = count(informers)
	check(json.NewEncoder(os.Stdout).Encode(result))
}

// watch gets the informer of a kind and adds a handler for each registrar.
func watch(informers cache.Cache, name string, registrars int) []toolscache.ResourceEventHandlerRegistration {
	informer, err := informers.GetInformer(context.Background(), object(name), cache.BlockUntilSynced(false))
	check(err)
	var handlers []toolscache.ResourceEventHandlerRegistration
	for range registrars {
		handler, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{})
		check(err)
		handlers = append(handlers, handler)
	}
	return handlers
}

func object(name string) *unstructured.Unstructured {
	parts := strings.Split(name, "/")
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: parts[0], Version: parts[1], Kind: parts[2]})
	return object
}

func count(informers cache.Cache) int {
	total := 0
	for _, name := range os.Args[3:] {
		list := &unstructured.UnstructuredList{}
		gvk := object(name).GroupVersionKind()
		gvk.Kind += "List"
		list.SetGroupVersionKind(gvk)
		check(informers.List(context.Background(), list))
		total += len(list.Items)
	}
	return total
}

func heapBytes() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func residentBytes() uint64 {
	text, err := os.ReadFile("/proc/self/statm")
	check(err)
	pages, err := strconv.ParseUint(strings.Fields(string(text))[1], 10, 64)
	check(err)
	return pages * uint64(os.Getpagesize())
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
