// Program go-judge answers what functions of Go's standard library and of sigs.k8s.io/yaml return, one JSON line in, one
// JSON line out, in order.
//
// A question is {"call": name, "args": [string, ...]}; the answer is the result as a string, null for an error. The
// functions are listed in calls.go.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

type question struct {
	Call string   `json:"call"`
	Args []string `json:"args"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			fail(err)
		}
		call, ok := calls[asked.Call]
		if !ok {
			fail(fmt.Errorf("no call is named %q", asked.Call))
		}
		var answer *string
		if result, err := call(asked.Args); err == nil {
			answer = &result
		}
		if err := encoder.Encode(answer); err != nil {
			fail(err)
		}
		if err := out.Flush(); err != nil {
			fail(err)
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "go-judge:", err)
	os.Exit(1)
}
