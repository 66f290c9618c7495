// Program gator-judge is Gatekeeper's command line at its pinned version, with one more command: `yaml` answers how
// Kubernetes' tools read a document, one JSON line in, one JSON line out, in order.
//
// It is the other side of operators/policy/tests/gator, and decides nothing.
package main

import (
	"os"

	"github.com/open-policy-agent/gatekeeper/v3/cmd/gator/bench"
	"github.com/open-policy-agent/gatekeeper/v3/cmd/gator/expand"
	"github.com/open-policy-agent/gatekeeper/v3/cmd/gator/policy"
	"github.com/open-policy-agent/gatekeeper/v3/cmd/gator/sync"
	"github.com/open-policy-agent/gatekeeper/v3/cmd/gator/test"
	"github.com/open-policy-agent/gatekeeper/v3/cmd/gator/verify"
	"github.com/spf13/cobra"
)

func main() {
	root := &cobra.Command{Use: "gator", SilenceUsage: true}
	root.AddCommand(bench.Cmd, expand.Cmd, policy.Cmd, sync.Cmd, test.Cmd, verify.Cmd, yamlCommand)
	if err := root.Execute(); err != nil {
		os.Exit(1)
	}
}
