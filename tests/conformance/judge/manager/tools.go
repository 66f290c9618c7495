//go:build tools

// Package tools pins Gatekeeper's manager, which is built from its own module.
package tools

import _ "github.com/open-policy-agent/gatekeeper/v3"
